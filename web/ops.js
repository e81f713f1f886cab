/**
 * The ops a program is made of: the same list, names and rules as the Python side has.
 *
 * Each entry of OPS says what it takes (`takes`, with … for any number), which attributes it knows, how it
 * is computed (`forward`), how it is written (`symbol`) and what it does in words (`sentence`). Leading axes
 * broadcast as in NumPy. Inputs are never changed.
 *
 * @typedef {import('./tensor.js').Tensor} Tensor
 * @typedef {{type: 'integer'|'number', default?: number, above?: number}} AttributeRule
 * @typedef {{takes: string[], minInputs: number, maxInputs: number,
 *   attributes: Object<string, AttributeRule>,
 *   forward: (inputs: Tensor[], attributes?: Object<string, number>) => Tensor,
 *   symbol: (names: string[], attributes?: Object<string, number>) => string,
 *   sentence: (names: string[]) => string}} Op
 */

import {
  MAX_CELLS,
  broadcastShapes,
  broadcastStrides,
  describe,
  formatShape,
  indexOf,
  offsets,
  size,
  strides,
} from './tensor.js';
import * as tensors from './tensor.js';
import { RULES, SENTENCES, fill } from './explain_text.js';

/** What is wrong with the inputs of an op; `rule` is the key of the message in RULES. */
export class OpError extends Error {
  name = 'OpError';

  constructor(op, rule, parameters = {}) {
    const show = (key, value) => {
      if (!Array.isArray(value)) return value;
      return key === 'index' ? `[${value.join(', ')}]` : formatShape(value);
    };
    const shown = {};
    for (const [key, value] of Object.entries(parameters)) shown[key] = show(key, value);
    super(`${op}: ${fill(RULES[rule], shown)}`);
    Object.assign(this, { op, rule, parameters: shown });
  }
}

/** @type {Object<string, Op>} */
export const OPS = {};

/** Adds an op to OPS; the checks that all ops share are made here, around its own `forward`. */
function define(name, { takes, attributes = {}, forward, symbol }) {
  const many = takes.at(-1) === '…';
  const op = {
    takes,
    minInputs: many ? 1 : takes.length,
    maxInputs: many ? Infinity : takes.length,
    attributes,
    forward: (inputs, given = {}) => {
      checkInputCount(name, inputs.length);
      return forward(inputs, completeAttributes(name, given));
    },
    symbol: (names, given = {}) => symbol(names, given),
    sentence: (names) => fill(SENTENCES[name], names),
  };
  OPS[name] = op;
}

/** The op of this name; a name such as "constructor" is not an op although every object has it. */
export function findOp(name) {
  if (!Object.hasOwn(OPS, name)) throw new OpError(describe(name), 'unknown_op');
  return OPS[name];
}

export function checkInputCount(name, count) {
  const { minInputs, maxInputs } = findOp(name);
  if (count < minInputs || count > maxInputs) {
    const expected = maxInputs === Infinity ? `${minInputs} or more` : maxInputs;
    throw new OpError(name, 'input_count', { expected, given: count });
  }
}

/** The attributes of an op, checked, with defaults filled in. */
export function completeAttributes(name, given) {
  const rules = findOp(name).attributes;
  for (const attribute of Object.keys(given)) {
    if (!Object.hasOwn(rules, attribute))
      throw new OpError(name, 'attribute_unknown', { attribute: describe(attribute) });
  }
  const complete = {};
  for (const [attribute, rule] of Object.entries(rules)) {
    const value = Object.hasOwn(given, attribute) ? given[attribute] : rule.default;
    if (value === undefined) throw new OpError(name, 'attribute_missing', { attribute });
    const right = rule.type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value);
    if (!right) throw new OpError(name, `attribute_${rule.type}`, { attribute, given: describe(value) });
    if (value <= rule.above) {
      throw new OpError(name, 'attribute_above', { attribute, above: rule.above, given: describe(value) });
    }
    complete[attribute] = value;
  }
  return complete;
}

// ---- Helpers: checks ----------------------------------------------------------------------------

function zeros(op, shape, dtype = 'float') {
  if (size(shape) > MAX_CELLS) throw new OpError(op, 'too_large', { shape, limit: MAX_CELLS });
  return tensors.zeros(shape, dtype);
}

function needNumbers(op, argument, x) {
  if (x.dtype === 'bool') throw new OpError(op, 'needs_numbers', { argument });
}

function needAllNumbers(op, inputs) {
  inputs.forEach((x, k) => needNumbers(op, OPS[op].takes[k], x));
}

function needMask(op, argument, x) {
  if (x.dtype !== 'bool') throw new OpError(op, 'needs_mask', { argument });
}

function needTokens(op, argument, x) {
  if (x.dtype !== 'int') throw new OpError(op, 'needs_tokens', { argument, dtype: x.dtype });
}

function needAxes(op, argument, x, rank) {
  if (x.shape.length < rank) throw new OpError(op, 'at_least', { argument, shape: x.shape, rank });
}

/** A negative axis counts from the end. */
export function resolveAxis(op, axis, shape) {
  const resolved = axis < 0 ? axis + shape.length : axis;
  if (resolved < 0 || resolved >= shape.length) throw new OpError(op, 'axis', { axis, shape });
  return resolved;
}

function commonShape(op, first, a, second, b, aShape = a.shape, bShape = b.shape) {
  const shape = broadcastShapes(aShape, bShape);
  if (shape === null) throw new OpError(op, 'broadcast', { first, shape: a.shape, second, other: b.shape });
  return shape;
}

// ---- Helpers: ways to walk through a tensor -----------------------------------------------------

/** Where each cell of the stretched `shape` is read from in x. */
function stretched(x, shape) {
  return offsets(shape, broadcastStrides(x.shape, shape));
}

/** Combines two tensors cell by cell. */
function cellwise(op, inputs, dtype, combine) {
  const [a, b] = inputs;
  const [first, second] = OPS[op].takes;
  const result = zeros(op, commonShape(op, first, a, second, b), dtype);
  const fromA = stretched(a, result.shape);
  const fromB = stretched(b, result.shape);
  for (let i = 0; i < result.data.length; i++) result.data[i] = combine(a.data[fromA[i]], b.data[fromB[i]]);
  return result;
}

/** A number per cell, from the number in that cell. */
function each(op, x, change) {
  needNumbers(op, OPS[op].takes[0], x);
  return { shape: [...x.shape], data: x.data.map(change), dtype: 'float' };
}

/** The same numbers in another order: the cell of the new `shape` is read from x with the given steps. */
function rearranged(x, shape, steps) {
  const from = offsets(shape, steps);
  const data = new Float64Array(from.length);
  for (let i = 0; i < data.length; i++) data[i] = x.data[from[i]];
  return { shape, data, dtype: 'float' };
}

/** Calls work(start, step, n) for every line of n cells along one axis. */
function alongAxis(shape, axis, work) {
  const n = shape[axis];
  const step = strides(shape)[axis];
  const lines = offsets(shape.with(axis, 1), strides(shape));
  for (const start of lines) work(start, step, n);
}

// ---- Arithmetic ---------------------------------------------------------------------------------

define('matmul', {
  takes: ['a', 'b'],
  symbol: ([a, b]) => `${a} · ${b}`,
  forward(inputs) {
    const [a, b] = inputs;
    needAllNumbers('matmul', inputs);
    needAxes('matmul', 'a', a, 1);
    needAxes('matmul', 'b', b, 1);
    // A vector on the left is one row, a vector on the right one column; the result drops that axis.
    const aShape = a.shape.length === 1 ? [1, ...a.shape] : a.shape;
    const bShape = b.shape.length === 1 ? [...b.shape, 1] : b.shape;
    const [n, inner] = aShape.slice(-2);
    const [rows, m] = bShape.slice(-2);
    if (inner !== rows) {
      throw new OpError('matmul', 'inner', {
        first: 'a',
        shape: a.shape,
        second: 'b',
        other: b.shape,
        inner,
        rows,
      });
    }
    const leading = commonShape('matmul', 'a', a, 'b', b, aShape.slice(0, -2), bShape.slice(0, -2));
    const result = zeros('matmul', [...leading, n, m]);
    const aStarts = offsets(leading, broadcastStrides(aShape.slice(0, -2), leading));
    const bStarts = offsets(leading, broadcastStrides(bShape.slice(0, -2), leading));
    for (let k = 0; k < aStarts.length; k++) {
      multiplyMatrices(
        a.data,
        aStarts[k] * n * inner,
        b.data,
        bStarts[k] * inner * m,
        result.data,
        k * n * m,
        n,
        inner,
        m,
      );
    }
    const shape = [...leading];
    if (a.shape.length > 1) shape.push(n);
    if (b.shape.length > 1) shape.push(m);
    return { ...result, shape };
  },
});

/** One (n, inner) by (inner, m) product into `out`; plain loops, because this is where the time goes. */
function multiplyMatrices(a, aStart, b, bStart, out, outStart, n, inner, m) {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      let sum = 0;
      for (let k = 0; k < inner; k++) sum += a[aStart + i * inner + k] * b[bStart + k * m + j];
      out[outStart + i * m + j] = sum;
    }
  }
}

define('transpose', {
  takes: ['x'],
  symbol: ([x]) => `${x}ᵀ`,
  forward([x]) {
    needNumbers('transpose', 'x', x);
    needAxes('transpose', 'x', x, 2);
    return transposed(x);
  },
});

function transposed(x) {
  const swapLastTwo = (list) => [...list.slice(0, -2), list.at(-1), list.at(-2)];
  return rearranged(x, swapLastTwo(x.shape), swapLastTwo(strides(x.shape)));
}

define('add', {
  takes: ['a', 'b'],
  symbol: ([a, b]) => `${a} + ${b}`,
  forward(inputs) {
    needAllNumbers('add', inputs);
    return cellwise('add', inputs, 'float', (a, b) => a + b);
  },
});

define('multiply', {
  takes: ['a', 'b'],
  symbol: ([a, b]) => `${a} ⊙ ${b}`,
  forward(inputs) {
    needAllNumbers('multiply', inputs);
    return cellwise('multiply', inputs, 'float', (a, b) => a * b);
  },
});

define('divide', {
  takes: ['a', 'b'],
  symbol: ([a, b]) => `${a} / ${b}`,
  forward(inputs) {
    needAllNumbers('divide', inputs);
    const b = inputs[1];
    const zero = b.data.indexOf(0);
    if (zero >= 0)
      throw new OpError('divide', 'zero_divisor', { argument: 'b', index: indexOf(b.shape, zero) });
    return cellwise('divide', inputs, 'float', (p, q) => p / q);
  },
});

define('scale_up', {
  takes: ['x'],
  symbol: ([x]) => `√dim · ${x}`,
  forward([x]) {
    needAxes('scale_up', 'x', x, 1);
    const root = Math.sqrt(x.shape.at(-1));
    return each('scale_up', x, (value) => value * root);
  },
});

define('linear', {
  takes: ['x', 'weight', 'bias'],
  symbol: ([x, weight, bias]) => `${x} · ${weight} + ${bias}`,
  forward([x, weight, bias]) {
    needAllNumbers('linear', [x, weight, bias]);
    needAxes('linear', 'x', x, 1);
    if (weight.shape.length !== 2)
      throw new OpError('linear', 'matrix', { argument: 'weight', shape: weight.shape });
    const [rows, width] = weight.shape;
    if (x.shape.at(-1) !== rows) {
      throw new OpError('linear', 'inner', {
        first: 'x',
        shape: x.shape,
        second: 'weight',
        other: weight.shape,
        inner: x.shape.at(-1),
        rows,
      });
    }
    needVector('linear', 'bias', bias, width);
    const product = OPS.matmul.forward([x, weight]);
    return { ...product, data: product.data.map((value, i) => value + bias.data[i % width]) };
  },
});

function needVector(op, argument, x, length) {
  if (x.shape.length !== 1 || x.shape[0] !== length) {
    throw new OpError(op, 'vector', { argument, expected: [length], shape: x.shape });
  }
}

define('relu', {
  takes: ['x'],
  symbol: ([x]) => `max(0, ${x})`,
  forward: ([x]) => each('relu', x, (value) => Math.max(0, value)),
});

define('tanh', {
  takes: ['x'],
  symbol: ([x]) => `tanh(${x})`,
  forward: ([x]) => each('tanh', x, Math.tanh),
});

define('layer_norm', {
  takes: ['x', 'gain', 'bias'],
  attributes: { eps: { type: 'number', default: 1e-5, above: 0 } },
  symbol: ([x, gain, bias]) => `layer_norm(${x}) ⊙ ${gain} + ${bias}`,
  forward([x, gain, bias], { eps }) {
    needAllNumbers('layer_norm', [x, gain, bias]);
    needAxes('layer_norm', 'x', x, 1);
    const width = x.shape.at(-1);
    if (width === 0)
      throw new OpError('layer_norm', 'empty_axis', { argument: 'x', shape: x.shape, axis: -1 });
    needVector('layer_norm', 'gain', gain, width);
    needVector('layer_norm', 'bias', bias, width);
    const result = zeros('layer_norm', x.shape);
    for (let start = 0; start < x.data.length; start += width) {
      const row = x.data.subarray(start, start + width);
      const mean = meanOf(row);
      const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
      const deviation = Math.sqrt(variance + eps);
      for (let j = 0; j < width; j++) {
        result.data[start + j] = gain.data[j] * ((row[j] - mean) / deviation) + bias.data[j];
      }
    }
    return result;
  },
});

/**
 * The mean, as the first value plus the mean distance from it: for a row of equal numbers that is exactly
 * the number, where adding up and dividing would leave rounding errors that layer_norm then blows up.
 */
export function meanOf(values) {
  const first = values[0];
  let distance = 0;
  for (const value of values) distance += value - first;
  return first + distance / values.length;
}

// ---- Attention ----------------------------------------------------------------------------------

define('scale', {
  takes: ['scores', 'query'],
  symbol: ([scores, query]) => `${scores} / √dim(${query})`,
  forward([scores, query]) {
    needNumbers('scale', 'query', query);
    needAxes('scale', 'query', query, 1);
    const width = query.shape.at(-1);
    if (width === 0)
      throw new OpError('scale', 'empty_axis', { argument: 'query', shape: query.shape, axis: -1 });
    const root = Math.sqrt(width);
    return each('scale', scores, (score) => score / root);
  },
});

define('softmax', {
  takes: ['x'],
  attributes: { axis: { type: 'integer', default: -1 } },
  symbol: ([x]) => `softmax(${x})`,
  forward([x], { axis }) {
    needScores('softmax', x);
    const result = zeros('softmax', x.shape);
    alongAxis(x.shape, resolveAxis('softmax', axis, x.shape), (start, step, n) => {
      const end = start + n * step;
      let max = -Infinity;
      for (let i = start; i < end; i += step) max = Math.max(max, x.data[i]);
      if (max === -Infinity) return; // nothing to attend to: the weights stay 0
      let total = 0;
      for (let i = start; i < end; i += step) {
        result.data[i] = Math.exp(x.data[i] - max);
        total += result.data[i];
      }
      for (let i = start; i < end; i += step) result.data[i] /= total;
    });
    return result;
  },
});

define('softmax_averaged', {
  takes: ['x'],
  symbol: ([x]) => `mean over heads of softmax(${x})`,
  forward([x]) {
    needAxes('softmax_averaged', 'x', x, 3);
    needScores('softmax_averaged', x);
    const weights = OPS.softmax.forward([x]);
    const [heads, queries, keys] = x.shape.slice(-3);
    const block = queries * keys;
    const data = weights.data.map((_, i) => {
      const first = i - (Math.floor(i / block) % heads) * block;
      let total = 0;
      for (let head = 0; head < heads; head++) total += weights.data[first + head * block];
      return total / heads;
    });
    return { ...weights, data };
  },
});

define('hardmax', {
  takes: ['x'],
  attributes: { axis: { type: 'integer', default: -1 } },
  symbol: ([x]) => `hardmax(${x})`,
  forward([x], { axis }) {
    needScores('hardmax', x);
    const result = zeros('hardmax', x.shape);
    alongAxis(x.shape, resolveAxis('hardmax', axis, x.shape), (start, step, n) => {
      let best = start;
      for (let i = start; i < start + n * step; i += step) if (x.data[i] > x.data[best]) best = i;
      if (x.data[best] !== -Infinity) result.data[best] = 1;
    });
    return result;
  },
});

/** Scores may be −∞ (masked), but +∞ and NaN have no place: they would make every weight NaN. */
function needScores(op, x) {
  needNumbers(op, 'x', x);
  const wrong = x.data.findIndex((score) => Number.isNaN(score) || score === Infinity);
  if (wrong >= 0)
    throw new OpError(op, 'scores', { argument: 'x', value: x.data[wrong], index: indexOf(x.shape, wrong) });
}

define('add_pairs', {
  takes: ['a', 'b'],
  symbol: ([a, b]) => `${a}ᵢ + ${b}ⱼ`,
  forward([a, b]) {
    needAllNumbers('add_pairs', [a, b]);
    needAxes('add_pairs', 'a', a, 2);
    needAxes('add_pairs', 'b', b, 2);
    if (a.shape.at(-1) !== b.shape.at(-1)) {
      throw new OpError('add_pairs', 'width', { first: 'a', shape: a.shape, second: 'b', other: b.shape });
    }
    commonShape('add_pairs', 'a', a, 'b', b, a.shape.slice(0, -2), b.shape.slice(0, -2));
    const [n, d] = a.shape.slice(-2);
    const m = b.shape.at(-2);
    const columns = { ...a, shape: [...a.shape.slice(0, -2), n, 1, d] };
    const rows = { ...b, shape: [...b.shape.slice(0, -2), 1, m, d] };
    return OPS.add.forward([columns, rows]);
  },
});

// ---- Masks: true = may attend -------------------------------------------------------------------

define('causal_mask', {
  takes: ['query', 'key'],
  symbol: ([query, key]) => `causal_mask(${query}, ${key})`,
  forward([query, key]) {
    needAllNumbers('causal_mask', [query, key]);
    needAxes('causal_mask', 'query', query, 2);
    needAxes('causal_mask', 'key', key, 2);
    const queries = query.shape.at(-2);
    const keys = key.shape.at(-2);
    const allowed = zeros('causal_mask', [queries, keys], 'bool');
    for (let i = 0; i < queries; i++) {
      for (let j = 0; j < keys; j++)
        allowed.data[i * keys + j] = Number(j <= lastAllowedKey(i, queries, keys));
    }
    return allowed;
  },
});

/** The last query may look at the last key: with fewer queries than keys, they are the latest positions. */
export function lastAllowedKey(i, queries, keys) {
  return i + (keys - queries);
}

define('padding_mask', {
  takes: ['tokens'],
  attributes: { pad_id: { type: 'integer' } },
  symbol: ([tokens], { pad_id: pad = '' }) => `${tokens} ≠ ${pad}`,
  forward([tokens], { pad_id: pad }) {
    needTokens('padding_mask', 'tokens', tokens);
    needAxes('padding_mask', 'tokens', tokens, 1);
    const shape = [...tokens.shape.slice(0, -1), 1, tokens.shape.at(-1)];
    return { shape, data: tokens.data.map((token) => Number(token !== pad)), dtype: 'bool' };
  },
});

define('both', {
  takes: ['a', 'b'],
  symbol: ([a, b]) => `${a} ∧ ${b}`,
  forward(inputs) {
    inputs.forEach((x, i) => needMask('both', 'ab'[i], x));
    return cellwise('both', inputs, 'bool', (a, b) => a & b);
  },
});

define('share_across_heads', {
  takes: ['allowed'],
  symbol: ([allowed]) => `share_across_heads(${allowed})`,
  forward([allowed]) {
    needMask('share_across_heads', 'allowed', allowed);
    needAxes('share_across_heads', 'allowed', allowed, 2);
    return { ...allowed, shape: [...allowed.shape.slice(0, -2), 1, ...allowed.shape.slice(-2)] };
  },
});

define('mask', {
  takes: ['scores', 'allowed'],
  symbol: ([scores, allowed]) => `mask(${scores}, ${allowed})`,
  forward: (inputs) => masked('mask', inputs, (score, may) => (may ? score : -Infinity)),
});

// The next three are known mistakes, kept so that they can be switched on and seen.

define('mask_with_zero', {
  takes: ['scores', 'allowed'],
  symbol: ([scores, allowed]) => `mask_with_zero(${scores}, ${allowed})`,
  forward: (inputs) => masked('mask_with_zero', inputs, (score, may) => (may ? score : 0)),
});

define('mask_opposite', {
  takes: ['scores', 'allowed'],
  symbol: ([scores, allowed]) => `mask_opposite(${scores}, ${allowed})`,
  forward: (inputs) => masked('mask_opposite', inputs, (score, may) => (may ? -Infinity : score)),
});

define('mask_transposed', {
  takes: ['scores', 'allowed'],
  symbol: ([scores, allowed]) => `mask(${scores}, ${allowed}ᵀ)`,
  forward([scores, allowed]) {
    needMask('mask_transposed', 'allowed', allowed);
    needAxes('mask_transposed', 'allowed', allowed, 2);
    const swapped = { ...transposed(allowed), dtype: 'bool' };
    return masked('mask_transposed', [scores, swapped], (score, may) => (may ? score : -Infinity));
  },
});

function masked(op, [scores, allowed], choose) {
  needNumbers(op, 'scores', scores);
  needMask(op, 'allowed', allowed);
  const shape = broadcastShapes(scores.shape, allowed.shape);
  if (shape === null || shape.join() !== scores.shape.join()) {
    throw new OpError(op, 'mask_shape', { argument: 'allowed', shape: allowed.shape, other: scores.shape });
  }
  return cellwise(op, [scores, allowed], 'float', choose);
}

define('zero_masked', {
  takes: ['x', 'allowed'],
  symbol: ([x, allowed]) => `zero_masked(${x}, ${allowed})`,
  forward([x, allowed]) {
    needNumbers('zero_masked', 'x', x);
    needMask('zero_masked', 'allowed', allowed);
    needAxes('zero_masked', 'x', x, 2);
    needAxes('zero_masked', 'allowed', allowed, 2);
    const rows = x.shape.at(-2);
    const [queries, keys] = allowed.shape.slice(-2);
    if (rows !== keys) {
      throw new OpError('zero_masked', 'keys', {
        first: 'x',
        shape: x.shape,
        second: 'allowed',
        other: allowed.shape,
        rows,
        keys,
      });
    }
    commonShape('zero_masked', 'x', x, 'allowed', allowed, x.shape.slice(0, -2), allowed.shape.slice(0, -2));
    const seen = zeros('zero_masked', [...allowed.shape.slice(0, -2), keys, 1], 'bool');
    for (let i = 0; i < allowed.data.length; i++) {
      const matrix = Math.floor(i / (queries * keys));
      seen.data[matrix * keys + (i % keys)] |= allowed.data[i];
    }
    return cellwise('zero_masked', [x, seen], 'float', (value, may) => (may ? value : 0));
  },
});

// ---- Positions ----------------------------------------------------------------------------------

const BASE = { base: { type: 'number', default: 10000, above: 0 } };

/**
 * Which pair a column belongs to and whether it is its cosine, in each of the layouts.
 * @type {Object<string, (column: number, width: number) => {power: number, cosine: boolean}>}
 *   the angle at position `pos` is pos / base^(power / width)
 */
export const LAYOUTS = {
  sinusoids: (column) => ({ power: 2 * Math.floor(column / 2), cosine: column % 2 === 1 }),
  sinusoids_in_blocks(column, width) {
    const sines = Math.ceil(width / 2);
    return column < sines
      ? { power: 2 * column, cosine: false }
      : { power: 2 * (column - sines), cosine: true };
  },
  sinusoids_exponent_slip: (column) => ({ power: 2 * column, cosine: column % 2 === 1 }),
};

/** How far a column has turned at a position, in radians. */
function angle(position, power, width, base) {
  return position / base ** (power / width);
}

function sinusoidTable(op, shape, layout, base) {
  const result = zeros(op, shape);
  const width = shape.at(-1);
  result.data.forEach((_, flat) => {
    const { power, cosine } = layout(flat % width, width);
    const turned = angle(Math.floor(flat / width), power, width, base);
    result.data[flat] = cosine ? Math.cos(turned) : Math.sin(turned);
  });
  return result;
}

for (const [op, layout] of Object.entries(LAYOUTS)) {
  define(op, {
    takes: ['x'],
    attributes: BASE,
    symbol: ([x]) => `${op}(${x})`,
    forward([x], { base }) {
      needNumbers(op, 'x', x);
      needAxes(op, 'x', x, 2);
      return sinusoidTable(op, x.shape.slice(-2), layout, base);
    },
  });
}

define('add_batch_positions', {
  takes: ['x'],
  attributes: BASE,
  symbol: ([x]) => `add_batch_positions(${x})`,
  forward([x], { base }) {
    needNumbers('add_batch_positions', 'x', x);
    needAxes('add_batch_positions', 'x', x, 3);
    const [batch, , width] = x.shape.slice(-3);
    const rows = sinusoidTable('add_batch_positions', [batch, 1, width], LAYOUTS.sinusoids, base);
    return OPS.add.forward([x, rows]);
  },
});

define('first_rows', {
  takes: ['table', 'x'],
  symbol: ([table, x]) => `${table}[0 … len(${x}) − 1]`,
  forward([table, x]) {
    needAllNumbers('first_rows', [table, x]);
    if (table.shape.length !== 2)
      throw new OpError('first_rows', 'matrix', { argument: 'table', shape: table.shape });
    needAxes('first_rows', 'x', x, 2);
    const [rows, width] = table.shape;
    const n = x.shape.at(-2);
    if (n > rows) throw new OpError('first_rows', 'too_long', { argument: 'table', n, rows });
    return { shape: [n, width], data: table.data.slice(0, n * width), dtype: 'float' };
  },
});

define('rotate_pairs', {
  takes: ['x'],
  attributes: BASE,
  symbol: ([x]) => `rotate_pairs(${x})`,
  forward([x], { base }) {
    needNumbers('rotate_pairs', 'x', x);
    needAxes('rotate_pairs', 'x', x, 2);
    const [n, width] = x.shape.slice(-2);
    if (width % 2 === 1) throw new OpError('rotate_pairs', 'pairs', { argument: 'x', shape: x.shape });
    const result = zeros('rotate_pairs', x.shape);
    for (let i = 0; i < x.data.length; i += 2) {
      const turned = angle(Math.floor(i / width) % n, i % width, width, base);
      const [even, odd, cosine, sine] = [x.data[i], x.data[i + 1], Math.cos(turned), Math.sin(turned)];
      result.data[i] = even * cosine - odd * sine;
      result.data[i + 1] = even * sine + odd * cosine;
    }
    return result;
  },
});

define('distance_bias', {
  takes: ['query', 'key'],
  attributes: { slope: { type: 'number', above: 0 } },
  symbol: ([query, key], { slope = '' }) => `−${slope} · distance(${query}, ${key})`,
  forward([query, key], { slope }) {
    needAllNumbers('distance_bias', [query, key]);
    needAxes('distance_bias', 'query', query, 2);
    needAxes('distance_bias', 'key', key, 2);
    const queries = query.shape.at(-2);
    const keys = key.shape.at(-2);
    const result = zeros('distance_bias', [queries, keys]);
    for (let i = 0; i < queries; i++) {
      for (let j = 0; j < keys; j++) result.data[i * keys + j] = 0 - slope * distance(i, j, queries, keys);
    }
    return result;
  },
});

/** How far query i and key j stand apart; the last query stands at the last key. */
export function distance(i, j, queries, keys) {
  return Math.abs(lastAllowedKey(i, queries, keys) - j);
}

// ---- Tokens and heads ---------------------------------------------------------------------------

define('embed', {
  takes: ['tokens', 'table'],
  symbol: ([tokens, table]) => `${table}[${tokens}]`,
  forward([tokens, table]) {
    needTokens('embed', 'tokens', tokens);
    needAxes('embed', 'tokens', tokens, 1);
    needNumbers('embed', 'table', table);
    if (table.shape.length !== 2)
      throw new OpError('embed', 'matrix', { argument: 'table', shape: table.shape });
    const [words, width] = table.shape;
    const result = zeros('embed', [...tokens.shape, width]);
    tokens.data.forEach((id, i) => {
      if (id < 0 || id >= words) {
        const index = indexOf(tokens.shape, i);
        throw new OpError('embed', 'token_range', { argument: 'tokens', id, index, last: words - 1 });
      }
      result.data.set(table.data.subarray(id * width, (id + 1) * width), i * width);
    });
    return result;
  },
});

define('concat', {
  takes: ['parts', '…'],
  attributes: { axis: { type: 'integer', default: -1 } },
  symbol: (names) => `[${names.join('; ')}]`,
  forward(parts, { axis }) {
    const [first] = parts;
    const resolved = resolveAxis('concat', axis, first.shape);
    parts.forEach((part, k) => {
      const argument = `parts[${k}]`;
      needNumbers('concat', argument, part);
      if (
        part.shape.length !== first.shape.length ||
        part.shape.with(resolved, 0).join() !== first.shape.with(resolved, 0).join()
      ) {
        throw new OpError('concat', 'concat', { argument, shape: part.shape, other: first.shape, axis });
      }
    });
    const length = parts.reduce((sum, part) => sum + part.shape[resolved], 0);
    const result = zeros('concat', first.shape.with(resolved, length));
    // Row-major data of each part falls into blocks that lie one after the other in the result.
    const inner = strides(first.shape)[resolved];
    const outer = size(first.shape.slice(0, resolved));
    let end = 0;
    for (let block = 0; block < outer; block++) {
      for (const part of parts) {
        const width = part.shape[resolved] * inner;
        result.data.set(part.data.subarray(block * width, (block + 1) * width), end);
        end += width;
      }
    }
    return result;
  },
});

/** The shape (…, n, d) with d cut into heads; an error where that does not come out even. */
function cutIntoHeads(op, x, heads) {
  needNumbers(op, 'x', x);
  needAxes(op, 'x', x, 2);
  const [n, d] = x.shape.slice(-2);
  if (d % heads !== 0) throw new OpError(op, 'heads', { argument: 'x', shape: x.shape, heads });
  return { leading: x.shape.slice(0, -2), n, d, width: d / heads };
}

define('split_heads', {
  takes: ['x'],
  attributes: { n_heads: { type: 'integer', above: 0 } },
  symbol: ([x], { n_heads: heads = '' }) => `split_heads(${x}, ${heads})`,
  forward([x], { n_heads: heads }) {
    const { leading, n, d, width } = cutIntoHeads('split_heads', x, heads);
    const leadingSteps = strides(x.shape).slice(0, -2);
    return rearranged(x, [...leading, heads, n, width], [...leadingSteps, width, d, 1]);
  },
});

define('merge_heads', {
  takes: ['x'],
  symbol: ([x]) => `merge_heads(${x})`,
  forward([x]) {
    needNumbers('merge_heads', 'x', x);
    needAxes('merge_heads', 'x', x, 3);
    const leading = x.shape.slice(0, -3);
    const [heads, n, width] = x.shape.slice(-3);
    const leadingSteps = strides(x.shape).slice(0, -3);
    const merged = rearranged(x, [...leading, n, heads, width], [...leadingSteps, width, n * width, 1]);
    return { ...merged, shape: [...leading, n, heads * width] };
  },
});

define('reshape_heads', {
  takes: ['x'],
  attributes: { n_heads: { type: 'integer', above: 0 } },
  symbol: ([x], { n_heads: heads = '' }) => `reshape_heads(${x}, ${heads})`,
  forward([x], { n_heads: heads }) {
    const { leading, n, width } = cutIntoHeads('reshape_heads', x, heads);
    return { ...x, shape: [...leading, heads, n, width], dtype: 'float' };
  },
});

define('copy', {
  takes: ['x'],
  symbol: ([x]) => x,
  forward: ([x]) => ({ ...x, shape: [...x.shape] }),
});
