/**
 * The ops a program is made of: the same list, names and rules as the Python side has.
 *
 * Each call of `define` says what an op takes, which attributes it knows, how it is computed (`forward`) and how
 * it is written (`symbol`, where {0} is the name of the first input and {eps} an attribute; without it, as a
 * function call). Its sentence stands in SENTENCES. Leading axes broadcast as in NumPy. Inputs are never changed.
 *
 * @typedef {import('./tensor.js').Tensor} Tensor
 * @typedef {{type: 'integer'|'number', default?: number, above?: number}} AttributeRule
 * @typedef {{takes: string[], minInputs: number, maxInputs: number,
 *   attributes: Object<string, AttributeRule>,
 *   forward: (inputs: Tensor[], attributes?: Object<string, number>) => Tensor,
 *   symbol: (names: string[], attributes: Object<string, number>) => string,
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

/**
 * Thrown while an op works: which rule is broken, and by which of its inputs. `define` makes an OpError of it,
 * with the names of these inputs (`argument`, `second`) and their shapes (`shape`, `other`).
 */
class Refusal extends Error {
  constructor(rule, about = [], parameters = {}) {
    super(rule);
    Object.assign(this, { rule, about, parameters });
  }
}

/** @type {Object<string, Op>} */
export const OPS = {};

/**
 * Adds an op to OPS. `takes` says of each input what it must be; with `many`, all inputs are of the one kind.
 * These checks and those of the attributes are made here, around the op's own `forward`.
 */
function define(name, { takes, many = false, attributes = {}, forward, symbol }) {
  const args = Object.keys(takes);
  const needs = Object.values(takes);
  const argument = (k) => (many ? `${args[0]}[${k}]` : args[k]);
  const template = symbol ?? `${name}(${args.map((_, k) => `{${k}}`).join(', ')})`;
  OPS[name] = {
    takes: args,
    minInputs: args.length,
    maxInputs: many ? Infinity : args.length,
    attributes,
    forward: (inputs, given = {}) => {
      checkInputCount(name, inputs.length);
      const complete = completeAttributes(name, given);
      try {
        inputs.forEach((x, k) => needs[many ? 0 : k](x, k));
        return forward(inputs, complete);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const { rule, about, parameters } = error;
        const [x, y] = about.map((k) => inputs[k]);
        throw new OpError(name, rule, {
          argument: argument(about[0]),
          shape: x?.shape,
          second: argument(about[1]),
          other: y?.shape,
          ...parameters,
        });
      }
    },
    symbol: (names, given) => fill(template, { ...names, ...given, all: names.join('; ') }),
    sentence: (names) => fill(SENTENCES[name], names),
  };
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

/** A kind of input: `refuses` names the rule that a tensor breaks, if any; it must have so many axes or more. */
const kind =
  (refuses) =>
  (axes = 0) =>
  (x, k) => {
    const rule = refuses(x);
    if (rule) throw new Refusal(rule, [k], { dtype: x.dtype });
    if (x.shape.length < axes) throw new Refusal('at_least', [k], { rank: axes });
  };

const anything = kind(() => null);
const numbers = kind(({ dtype }) => dtype === 'bool' && 'needs_numbers');
const mask = kind(({ dtype }) => dtype !== 'bool' && 'needs_mask');
const tokens = kind(({ dtype }) => dtype !== 'int' && 'needs_tokens');

/** A table of numbers: exactly two axes. */
function matrix(x, k) {
  numbers()(x, k);
  if (x.shape.length !== 2) throw new Refusal('matrix', [k]);
}

/** Scores may be −∞ (masked), but +∞ and NaN have no place: they would make every weight NaN. */
const scores = (axes) => (x, k) => {
  numbers(axes)(x, k);
  const wrong = x.data.findIndex((score) => Number.isNaN(score) || score === Infinity);
  if (wrong >= 0) throw new Refusal('scores', [k], { value: x.data[wrong], index: indexOf(x.shape, wrong) });
};

function needVector(x, k, length) {
  if (x.shape.length !== 1 || x.shape[0] !== length) throw new Refusal('vector', [k], { expected: [length] });
}

/** The length of the last axis, which must not be 0. */
function widthOf(x, k) {
  const width = x.shape.at(-1);
  if (width === 0) throw new Refusal('empty_axis', [k], { axis: -1 });
  return width;
}

function zeros(shape, dtype = 'float') {
  if (size(shape) > MAX_CELLS) throw new Refusal('too_large', [], { shape, limit: MAX_CELLS });
  return tensors.zeros(shape, dtype);
}

/** A negative axis counts from the end. */
export function resolveAxis(axis, shape) {
  const resolved = axis < 0 ? axis + shape.length : axis;
  if (resolved < 0 || resolved >= shape.length) throw new Refusal('axis', [], { axis, shape });
  return resolved;
}

/** The shape that two shapes, of the first two inputs or of parts of them, stretch to. */
function commonShape(a, b) {
  const shape = broadcastShapes(a, b);
  if (shape === null) throw new Refusal('broadcast', [0, 1]);
  return shape;
}

// ---- Helpers: ways to walk through a tensor -----------------------------------------------------

/** Where each cell of the stretched `shape` is read from in x. */
function stretched(x, shape) {
  return offsets(shape, broadcastStrides(x.shape, shape));
}

/** Combines two tensors cell by cell. */
function cellwise([a, b], combine, dtype = 'float') {
  const result = zeros(commonShape(a.shape, b.shape), dtype);
  const fromA = stretched(a, result.shape);
  const fromB = stretched(b, result.shape);
  for (let i = 0; i < result.data.length; i++) result.data[i] = combine(a.data[fromA[i]], b.data[fromB[i]]);
  return result;
}

/** A number per cell, from the number in that cell. */
function each(x, change) {
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
  takes: { a: numbers(1), b: numbers(1) },
  symbol: '{0} · {1}',
  forward([a, b]) {
    // A vector on the left is one row, a vector on the right one column; the result drops that axis.
    const aShape = a.shape.length === 1 ? [1, ...a.shape] : a.shape;
    const bShape = b.shape.length === 1 ? [...b.shape, 1] : b.shape;
    const [n, inner] = aShape.slice(-2);
    const [rows, m] = bShape.slice(-2);
    if (inner !== rows) throw new Refusal('inner', [0, 1], { inner, rows });
    const [aLeading, bLeading] = [aShape.slice(0, -2), bShape.slice(0, -2)];
    const leading = commonShape(aLeading, bLeading);
    const result = zeros([...leading, n, m]);
    const aStarts = offsets(leading, broadcastStrides(aLeading, leading));
    const bStarts = offsets(leading, broadcastStrides(bLeading, leading));
    for (let k = 0; k < aStarts.length; k++) {
      const aMatrix = a.data.subarray(aStarts[k] * n * inner);
      const bMatrix = b.data.subarray(bStarts[k] * inner * m);
      multiplyMatrices(aMatrix, bMatrix, result.data.subarray(k * n * m), n, inner, m);
    }
    const shape = [...leading];
    if (a.shape.length > 1) shape.push(n);
    if (b.shape.length > 1) shape.push(m);
    return { ...result, shape };
  },
});

/** One (n, inner) by (inner, m) product into `out`; plain loops, because this is where the time goes. */
function multiplyMatrices(a, b, out, n, inner, m) {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < m; j++) {
      let sum = 0;
      for (let k = 0; k < inner; k++) sum += a[i * inner + k] * b[k * m + j];
      out[i * m + j] = sum;
    }
  }
}

define('transpose', { takes: { x: numbers(2) }, symbol: '{0}ᵀ', forward: ([x]) => transposed(x) });

function transposed(x) {
  const swapLastTwo = (list) => [...list.slice(0, -2), list.at(-1), list.at(-2)];
  return rearranged(x, swapLastTwo(x.shape), swapLastTwo(strides(x.shape)));
}

define('add', {
  takes: { a: numbers(), b: numbers() },
  symbol: '{0} + {1}',
  forward: (inputs) => cellwise(inputs, (a, b) => a + b),
});

define('subtract', {
  takes: { a: numbers(), b: numbers() },
  symbol: '{0} − {1}',
  forward: (inputs) => cellwise(inputs, (a, b) => a - b),
});

define('multiply', {
  takes: { a: numbers(), b: numbers() },
  symbol: '{0} ⊙ {1}',
  forward: (inputs) => cellwise(inputs, (a, b) => a * b),
});

define('divide', {
  takes: { a: numbers(), b: numbers() },
  symbol: '{0} / {1}',
  forward(inputs) {
    const [, b] = inputs;
    const zero = b.data.indexOf(0);
    if (zero >= 0) throw new Refusal('zero_divisor', [1], { index: indexOf(b.shape, zero) });
    return cellwise(inputs, (p, q) => p / q);
  },
});

define('scale_up', {
  takes: { x: numbers(1) },
  symbol: '√dim · {0}',
  forward([x]) {
    const root = Math.sqrt(x.shape.at(-1));
    return each(x, (value) => value * root);
  },
});

define('linear', {
  takes: { x: numbers(1), weight: matrix, bias: numbers() },
  symbol: '{0} · {1} + {2}',
  forward([x, weight, bias]) {
    const [rows, width] = weight.shape;
    const inner = x.shape.at(-1);
    if (inner !== rows) throw new Refusal('inner', [0, 1], { inner, rows });
    needVector(bias, 2, width);
    const product = OPS.matmul.forward([x, weight]);
    return { ...product, data: product.data.map((value, i) => value + bias.data[i % width]) };
  },
});

define('relu', {
  takes: { x: numbers() },
  symbol: 'max(0, {0})',
  forward: ([x]) => each(x, (value) => Math.max(0, value)),
});

define('tanh', { takes: { x: numbers() }, forward: ([x]) => each(x, Math.tanh) });

define('layer_norm', {
  takes: { x: numbers(1), gain: numbers(), bias: numbers() },
  attributes: { eps: { type: 'number', default: 1e-5, above: 0 } },
  symbol: 'layer_norm({0}) ⊙ {1} + {2}',
  forward([x, gain, bias], { eps }) {
    const width = widthOf(x, 0);
    needVector(gain, 1, width);
    needVector(bias, 2, width);
    const result = zeros(x.shape);
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
  takes: { scores: numbers(), query: numbers(1) },
  symbol: '{0} / √dim({1})',
  forward([scores, query]) {
    const root = Math.sqrt(widthOf(query, 1));
    return each(scores, (score) => score / root);
  },
});

const LAST_AXIS = { axis: { type: 'integer', default: -1 } };

define('softmax', {
  takes: { x: scores() },
  attributes: LAST_AXIS,
  forward([x], { axis }) {
    const result = zeros(x.shape);
    alongAxis(x.shape, resolveAxis(axis, x.shape), (start, step, n) => {
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

define('total', {
  takes: { x: numbers(1) },
  attributes: LAST_AXIS,
  symbol: 'sum of {0}',
  forward([x], { axis }) {
    const along = resolveAxis(axis, x.shape);
    const totals = [];
    alongAxis(x.shape, along, (start, step, n) => {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += x.data[start + i * step];
      totals.push(sum);
    });
    return { shape: x.shape.toSpliced(along, 1), data: Float64Array.from(totals), dtype: 'float' };
  },
});

define('count_rows', {
  takes: { x: numbers(2) },
  forward: ([x]) => ({ shape: [], data: Float64Array.of(x.shape.at(-2)), dtype: 'int' }),
});

define('cross_entropy', {
  takes: { logits: scores(2), targets: tokens(1) },
  forward([logits, targets]) {
    const width = logits.shape.at(-1);
    const shape = logits.shape.slice(0, -1);
    if (shape.join() !== targets.shape.join()) throw new Refusal('targets', [1, 0]);
    const data = targets.data.map((_, i) => {
      const row = logits.data.subarray(i * width, (i + 1) * width);
      const right = row[tokenAt(targets, i, width, 1)];
      if (right === -Infinity) throw new Refusal('impossible', [0, 1], { index: indexOf(shape, i) });
      const max = row.reduce((a, b) => Math.max(a, b));
      return Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - max), 0)) - (right - max);
    });
    return { shape, data, dtype: 'float' };
  },
});

define('softmax_averaged', {
  takes: { x: scores(3) },
  symbol: 'mean over heads of softmax({0})',
  forward([x]) {
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
  takes: { x: scores() },
  attributes: LAST_AXIS,
  forward([x], { axis }) {
    const result = zeros(x.shape);
    alongAxis(x.shape, resolveAxis(axis, x.shape), (start, step, n) => {
      let best = start;
      for (let i = start; i < start + n * step; i += step) if (x.data[i] > x.data[best]) best = i;
      if (x.data[best] !== -Infinity) result.data[best] = 1;
    });
    return result;
  },
});

define('add_pairs', {
  takes: { a: numbers(2), b: numbers(2) },
  symbol: '{0}ᵢ + {1}ⱼ',
  forward([a, b]) {
    if (a.shape.at(-1) !== b.shape.at(-1)) throw new Refusal('width', [0, 1]);
    const [aLeading, bLeading] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
    commonShape(aLeading, bLeading);
    const [n, d] = a.shape.slice(-2);
    const m = b.shape.at(-2);
    return OPS.add.forward([
      { ...a, shape: [...aLeading, n, 1, d] },
      { ...b, shape: [...bLeading, 1, m, d] },
    ]);
  },
});

// ---- Masks: true = may attend -------------------------------------------------------------------

/** One value for each pair of a query and a key, from the place of both. */
function forEachPair([query, key], valueAt, dtype) {
  const queries = query.shape.at(-2);
  const keys = key.shape.at(-2);
  const result = zeros([queries, keys], dtype);
  for (let i = 0; i < queries; i++) {
    for (let j = 0; j < keys; j++) result.data[i * keys + j] = valueAt(i, j, queries, keys);
  }
  return result;
}

define('causal_mask', {
  takes: { query: numbers(2), key: numbers(2) },
  forward: (inputs) =>
    forEachPair(inputs, (i, j, queries, keys) => Number(j <= lastAllowedKey(i, queries, keys)), 'bool'),
});

/** The last query may look at the last key: with fewer queries than keys, they are the latest positions. */
export function lastAllowedKey(i, queries, keys) {
  return i + (keys - queries);
}

define('padding_mask', {
  takes: { tokens: tokens(1) },
  attributes: { pad_id: { type: 'integer' } },
  symbol: '{0} ≠ {pad_id}',
  forward([tokens], { pad_id: pad }) {
    const shape = [...tokens.shape.slice(0, -1), 1, tokens.shape.at(-1)];
    return { shape, data: tokens.data.map((token) => Number(token !== pad)), dtype: 'bool' };
  },
});

define('both', {
  takes: { a: mask(), b: mask() },
  symbol: '{0} ∧ {1}',
  forward: (inputs) => cellwise(inputs, (a, b) => a & b, 'bool'),
});

define('share_across_heads', {
  takes: { allowed: mask(2) },
  forward: ([allowed]) => ({ ...allowed, shape: allowed.shape.toSpliced(-2, 0, 1) }),
});

define('mask', {
  takes: { scores: numbers(), allowed: mask() },
  forward: (inputs) => masked(inputs, (score, may) => (may ? score : -Infinity)),
});

// The next three are known mistakes, kept so that they can be switched on and seen.

define('mask_with_zero', {
  takes: { scores: numbers(), allowed: mask() },
  forward: (inputs) => masked(inputs, (score, may) => (may ? score : 0)),
});

define('mask_opposite', {
  takes: { scores: numbers(), allowed: mask() },
  forward: (inputs) => masked(inputs, (score, may) => (may ? -Infinity : score)),
});

define('mask_transposed', {
  takes: { scores: numbers(), allowed: mask(2) },
  symbol: 'mask({0}, {1}ᵀ)',
  forward: ([scores, allowed]) =>
    masked([scores, transposed(allowed)], (score, may) => (may ? score : -Infinity)),
});

function masked([scores, allowed], choose) {
  const shape = broadcastShapes(scores.shape, allowed.shape);
  if (shape === null || shape.join() !== scores.shape.join())
    throw new Refusal('mask_shape', [1, 0], { shape: allowed.shape });
  return cellwise([scores, allowed], choose);
}

define('zero_masked', {
  takes: { x: numbers(2), allowed: mask(2) },
  forward([x, allowed]) {
    const rows = x.shape.at(-2);
    const [queries, keys] = allowed.shape.slice(-2);
    if (rows !== keys) throw new Refusal('keys', [0, 1], { rows, keys });
    const leading = allowed.shape.slice(0, -2);
    commonShape(x.shape.slice(0, -2), leading);
    const seen = zeros([...leading, keys, 1], 'bool');
    for (let i = 0; i < allowed.data.length; i++) {
      const matrix = Math.floor(i / (queries * keys));
      seen.data[matrix * keys + (i % keys)] |= allowed.data[i];
    }
    return cellwise([x, seen], (value, may) => (may ? value : 0));
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

function sinusoidTable(shape, layout, base) {
  const result = zeros(shape);
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
    takes: { x: numbers(2) },
    attributes: BASE,
    forward: ([x], { base }) => sinusoidTable(x.shape.slice(-2), layout, base),
  });
}

define('add_batch_positions', {
  takes: { x: numbers(3) },
  attributes: BASE,
  forward([x], { base }) {
    const [batch, , width] = x.shape.slice(-3);
    return OPS.add.forward([x, sinusoidTable([batch, 1, width], LAYOUTS.sinusoids, base)]);
  },
});

define('first_rows', {
  takes: { table: matrix, x: numbers(2) },
  symbol: '{0}[0 … len({1}) − 1]',
  forward([table, x]) {
    const [rows, width] = table.shape;
    const n = x.shape.at(-2);
    if (n > rows) throw new Refusal('too_long', [0], { n, rows });
    return { shape: [n, width], data: table.data.slice(0, n * width), dtype: 'float' };
  },
});

define('rotate_pairs', {
  takes: { x: numbers(2) },
  attributes: BASE,
  forward([x], { base }) {
    const [n, width] = x.shape.slice(-2);
    if (width % 2 === 1) throw new Refusal('pairs', [0]);
    const result = zeros(x.shape);
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
  takes: { query: numbers(2), key: numbers(2) },
  attributes: { slope: { type: 'number', above: 0 } },
  symbol: '−{slope} · distance({0}, {1})',
  forward: (inputs, { slope }) => forEachPair(inputs, (...places) => 0 - slope * distance(...places)),
});

/** How far query i and key j stand apart; the last query stands at the last key. */
export function distance(i, j, queries, keys) {
  return Math.abs(lastAllowedKey(i, queries, keys) - j);
}

// ---- Tokens and heads ---------------------------------------------------------------------------

/** Token number i of input k, which must be one of so many. */
function tokenAt(tokens, i, count, k = 0) {
  const id = tokens.data[i];
  if (id < 0 || id >= count)
    throw new Refusal('token_range', [k], { id, index: indexOf(tokens.shape, i), last: count - 1 });
  return id;
}

define('one_hot', {
  takes: { tokens: tokens(1) },
  attributes: { vocab_size: { type: 'integer', above: 0 } },
  forward([tokens], { vocab_size: words }) {
    const result = zeros([...tokens.shape, words]);
    tokens.data.forEach((_, i) => (result.data[i * words + tokenAt(tokens, i, words)] = 1));
    return result;
  },
});

define('embed', {
  takes: { tokens: tokens(1), table: matrix },
  symbol: '{1}[{0}]',
  forward([tokens, table]) {
    const [words, width] = table.shape;
    const result = zeros([...tokens.shape, width]);
    tokens.data.forEach((_, i) => {
      const start = tokenAt(tokens, i, words) * width;
      result.data.set(table.data.subarray(start, start + width), i * width);
    });
    return result;
  },
});

define('concat', {
  takes: { parts: numbers() },
  many: true,
  attributes: LAST_AXIS,
  symbol: '[{all}]',
  forward(parts, { axis }) {
    const [first] = parts;
    const resolved = resolveAxis(axis, first.shape);
    const others = ({ shape }) => shape.map((length, k) => (k === resolved ? '' : length)).join();
    parts.forEach((part, k) => {
      if (others(part) !== others(first)) throw new Refusal('concat', [k, 0], { axis });
    });
    const length = parts.reduce((sum, part) => sum + part.shape[resolved], 0);
    const result = zeros(first.shape.with(resolved, length));
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

const HEADS = { n_heads: { type: 'integer', above: 0 } };

/** The shape (…, n, d) with d cut into heads; an error where that does not come out even. */
function cutIntoHeads(x, heads) {
  const [n, d] = x.shape.slice(-2);
  if (d % heads !== 0) throw new Refusal('heads', [0], { heads });
  return { leading: x.shape.slice(0, -2), n, d, width: d / heads };
}

define('split_heads', {
  takes: { x: numbers(2) },
  attributes: HEADS,
  symbol: 'split_heads({0}, {n_heads})',
  forward([x], { n_heads: heads }) {
    const { leading, n, d, width } = cutIntoHeads(x, heads);
    const leadingSteps = strides(x.shape).slice(0, -2);
    return rearranged(x, [...leading, heads, n, width], [...leadingSteps, width, d, 1]);
  },
});

define('merge_heads', {
  takes: { x: numbers(3) },
  forward([x]) {
    const leading = x.shape.slice(0, -3);
    const [heads, n, width] = x.shape.slice(-3);
    const leadingSteps = strides(x.shape).slice(0, -3);
    const merged = rearranged(x, [...leading, n, heads, width], [...leadingSteps, width, n * width, 1]);
    return { ...merged, shape: [...leading, n, heads * width] };
  },
});

define('reshape_heads', {
  takes: { x: numbers(2) },
  attributes: HEADS,
  symbol: 'reshape_heads({0}, {n_heads})',
  forward([x], { n_heads: heads }) {
    const { leading, n, width } = cutIntoHeads(x, heads);
    return { ...x, shape: [...leading, heads, n, width], dtype: 'float' };
  },
});

define('copy', { takes: { x: anything() }, symbol: '{0}', forward: ([x]) => ({ ...x }) });
