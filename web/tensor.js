/**
 * Tensors: a shape, the numbers in row-major order, and what they mean (numbers, token ids or a mask).
 *
 * A tensor is never changed after it is made: whoever wants another value makes a copy (`replaceCell`).
 *
 * @typedef {'float'|'int'|'bool'} Dtype
 *   numbers; token ids; a mask, 1 where attention is allowed and 0 elsewhere
 * @typedef {{shape: number[], data: Float64Array, dtype: Dtype}} Tensor
 */

import { POINT } from './language.js';

/** Larger tensors are refused: a page must not freeze because of one wrong shape. */
export const MAX_CELLS = 4_000_000;
export const MAX_RANK = 8;

export class TensorError extends Error {
  name = 'TensorError';
}

/**
 * @param {number[]} shape
 * @param {ArrayLike<number>} data  row-major
 * @param {Dtype} dtype
 * @returns {Tensor}
 */
export function tensor(shape, data, dtype = 'float') {
  if (size(shape) !== data.length) {
    throw new TensorError(
      `the shape ${formatShape(shape)} holds ${size(shape)} values, but ${data.length} were given`,
    );
  }
  return { shape: [...shape], data: data instanceof Float64Array ? data : Float64Array.from(data), dtype };
}

/** A tensor of zeros, to be filled by the function that asked for it. */
export function zeros(shape, dtype = 'float') {
  if (size(shape) > MAX_CELLS) {
    throw new TensorError(
      `the shape ${formatShape(shape)} is too large: at most ${MAX_CELLS} values are allowed`,
    );
  }
  return { shape: [...shape], data: new Float64Array(size(shape)), dtype };
}

/** How many cells a shape has. */
export function size(shape) {
  return shape.reduce((product, length) => product * length, 1);
}

/** How far apart two neighbours along each axis lie in the row-major data. */
export function strides(shape) {
  const steps = new Array(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    steps[axis] = step;
    step *= shape[axis];
  }
  return steps;
}

/** The place of a cell in the row-major data. */
export function offset(shape, index) {
  return strides(shape).reduce((sum, step, axis) => sum + step * index[axis], 0);
}

/** The inverse of `offset`: the index of the cell at a place in the row-major data. */
export function indexOf(shape, flat) {
  return strides(shape).map((step, axis) => Math.floor(flat / step) % shape[axis]);
}

/** The value of one cell. */
export function at(x, index) {
  return x.data[offset(x.shape, index)];
}

/** The shape that several shapes stretch to by NumPy's broadcasting rule, or null where they do not fit. */
export function broadcastShapes(...shapes) {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  const result = new Array(rank).fill(1);
  for (const shape of shapes) {
    const missing = rank - shape.length;
    for (let axis = 0; axis < shape.length; axis++) {
      const length = shape[axis];
      if (length === 1) continue;
      if (result[missing + axis] !== 1 && result[missing + axis] !== length) return null;
      result[missing + axis] = length;
    }
  }
  return result;
}

/** Strides that read a tensor of `shape` as if it were stretched to `target`: a stretched axis has step 0. */
export function broadcastStrides(shape, target) {
  const missing = target.length - shape.length;
  const steps = strides(shape);
  return target.map((_, axis) => (axis < missing || shape[axis - missing] === 1 ? 0 : steps[axis - missing]));
}

/** The cell of a tensor of `shape` that a cell of the stretched tensor is read from. */
export function broadcastIndex(index, shape) {
  const missing = index.length - shape.length;
  return shape.map((length, axis) => (length === 1 ? 0 : index[missing + axis]));
}

/**
 * For every cell of `shape`, in row-major order: the sum of index × step over the axes.
 * Broadcasting, transposing and splitting into heads are all just a choice of steps.
 */
export function offsets(shape, steps) {
  let result = new Int32Array(1);
  for (let axis = 0; axis < shape.length; axis++) {
    const length = shape[axis];
    const next = new Int32Array(result.length * length);
    for (let i = 0, k = 0; i < result.length; i++) {
      for (let j = 0; j < length; j++) next[k++] = result[i] + j * steps[axis];
    }
    result = next;
  }
  return result;
}

/** A tensor from nested lists, as `[[1, 2], [3, 4]]`; a mask from lists of true and false. */
export function fromNested(nested, dtype = 'float') {
  const shape = [];
  for (let level = nested; Array.isArray(level); level = level[0]) {
    shape.push(level.length);
    if (shape.length > MAX_RANK) throw new TensorError(`lists may be nested ${MAX_RANK} deep at most`);
  }
  const result = zeros(shape, dtype);
  let filled = 0;
  const fill = (item, depth) => {
    if (depth < shape.length) {
      if (!Array.isArray(item) || item.length !== shape[depth]) {
        throw new TensorError(
          `the nested lists are ragged: ${shape[depth]} items were expected at depth ${depth}`,
        );
      }
      for (const child of item) fill(child, depth + 1);
    } else {
      result.data[filled++] = readValue(item, dtype);
    }
  };
  fill(nested, 0);
  return result;
}

/** The nested lists of a tensor; the cells of a mask become true and false. */
export function toNested({ shape, data, dtype }) {
  let next = 0;
  const read = (axis) => {
    if (axis < shape.length) return Array.from({ length: shape[axis] }, () => read(axis + 1));
    const value = data[next++];
    return dtype === 'bool' ? value === 1 : value;
  };
  return read(0);
}

/** A copy of a tensor with one other value. */
export function replaceCell(x, index, value) {
  const inside =
    Array.isArray(index) &&
    index.length === x.shape.length &&
    index.every((i, axis) => Number.isInteger(i) && i >= 0 && i < x.shape[axis]);
  if (!inside)
    throw new TensorError(`there is no cell [${index}] in a tensor of shape ${formatShape(x.shape)}`);
  const data = x.data.slice();
  data[offset(x.shape, index)] = checkValue(value, x.dtype);
  return { ...x, data };
}

/** A JSON value as the number that a cell stores. In JSON a mask is true or false; 0 and 1 are refused. */
export function readValue(value, dtype) {
  if (dtype !== 'bool') return checkValue(value, dtype);
  if (typeof value !== 'boolean') throw new TensorError(`a mask holds true or false, not ${describe(value)}`);
  return Number(value);
}

/** The number that a cell of this dtype stores for a value; anything that does not fit is an error. */
export function checkValue(value, dtype) {
  if (dtype === 'bool') {
    if (value === true || value === 1) return 1;
    if (value === false || value === 0) return 0;
    throw new TensorError(`a mask holds true or false, not ${describe(value)}`);
  }
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new TensorError(`a finite number was expected, not ${describe(value)}`);
  }
  if (dtype === 'int' && !Number.isSafeInteger(value)) {
    throw new TensorError(`a whole number was expected, not ${describe(value)}`);
  }
  return value + 0; // −0 is stored as 0
}

/** A short, safe description of any JSON value for an error message. */
export function describe(value) {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value !== null && typeof value === 'object') return 'an object';
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  return value === undefined ? 'nothing' : String(value);
}

/** A shape as Python writes it: (4, 3), (4,), (). */
export function formatShape(shape) {
  return shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
}

/**
 * A number as it is shown everywhere, with the decimal sign of the page's language; in English the Python function
 * `format_number` gives the same text.
 * Ties go away from zero, and a value that rounds to zero has no sign.
 */
export function format(x, decimals = 2) {
  if (Number.isNaN(x)) return 'NaN';
  if (x === -Infinity) return '−∞';
  if (x === Infinity) return '∞';
  const magnitude = Math.abs(x);
  if (magnitude < 1e6) return withSign(x, roundedUnits(magnitude, decimals), decimals);

  // In exponent form the mantissa always has two decimals.
  let exponent = Math.floor(Math.log10(magnitude));
  let units = roundedUnits(magnitude / Number(`1e${exponent}`), 2);
  if (units >= 1000) {
    units = 100;
    exponent += 1;
  }
  return `${withSign(x, units, 2)}e${exponent}`;
}

/** A cell as it is shown: a mask as ✓ and ·, a token id as a whole number, any other number by `format`. */
export function formatCell(value, dtype, decimals = 2) {
  if (dtype === 'bool') return value ? '✓' : '·';
  if (dtype === 'int') return value < 0 ? `−${-value}` : String(value);
  return format(value, decimals);
}

/** How many units of the last shown decimal; 1e-7 lifts a tie that the last binary digit hides. */
function roundedUnits(magnitude, decimals) {
  return Math.floor(magnitude * 10 ** decimals + 0.5 + 1e-7);
}

function withSign(x, units, decimals) {
  const digits = String(units).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const sign = x < 0 && units > 0 ? '−' : '';
  return decimals > 0 ? `${sign}${whole}${POINT}${digits.slice(-decimals)}` : `${sign}${whole}`;
}

/** Equal but for the rounding of a computation that adds in another order; it is the tolerance of the tests. */
export function agree(a, b) {
  const distance = Math.abs(a - b);
  return a === b || (distance < Infinity && distance <= 1e-12 * Math.max(1, Math.abs(a), Math.abs(b)));
}

/** Whether two tensors are the same to the last digit. */
export function same(a, b) {
  if (a.dtype !== b.dtype || !sameShape(a, b)) return false;
  for (let i = 0; i < a.data.length; i++) if (!Object.is(a.data[i], b.data[i])) return false;
  return true;
}

/** Whether two tensors have as many axes, and each the same length. */
export function sameShape(a, b) {
  return a.shape.length === b.shape.length && a.shape.every((length, axis) => length === b.shape[axis]);
}
