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
  at,
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
import { rule as ruleText, sentence } from './explain_text.js';
import { fill } from './language.js';

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
    super(`${op}: ${ruleText(rule, shown)}`);
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
    sentence: (names) => sentence(name, names),
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

/** For attributes that are complete: of which op. A program's steps are run and explained again and again. */
const completeFor = new WeakMap();

/** The attributes of an op, checked, with defaults filled in. */
export function completeAttributes(name, given) {
  if (completeFor.get(given) === name) return given;
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
  completeFor.set(complete, name);
  return Object.freeze(complete);
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

/**
 * One (n, inner) by (inner, m) product into `out`; plain loops, because this is where the time goes. Four columns at a
 * time read each row of `b` in pieces that lie side by side; every sum still adds its terms in the order of k.
 */
function multiplyMatrices(a, b, out, n, inner, m) {
  const wide = m - (m % 4);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < wide; j += 4) {
      let sum0 = 0;
      let sum1 = 0;
      let sum2 = 0;
      let sum3 = 0;
      for (let k = 0, at = j; k < inner; k++, at += m) {
        const x = a[i * inner + k];
        sum0 += x * b[at];
        sum1 += x * b[at + 1];
        sum2 += x * b[at + 2];
        sum3 += x * b[at + 3];
      }
      const to = i * m + j;
      out[to] = sum0;
      out[to + 1] = sum1;
      out[to + 2] = sum2;
      out[to + 3] = sum3;
    }
    for (let j = wide; j < m; j++) {
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
    for (let i = 0, j = 0; i < product.data.length; i++, j = j + 1 === width ? 0 : j + 1) product.data[i] += bias.data[j];
    return product;
  },
});

define('relu', {
  takes: { x: numbers() },
  symbol: 'max(0, {0})',
  forward: ([x]) => each(x, (value) => Math.max(0, value)),
});

define('tanh', { takes: { x: numbers() }, forward: ([x]) => each(x, Math.tanh) });

/** The error function, by a series whose terms all have one sign, so that nothing cancels. */
export function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let total = x;
  for (let n = 3; Math.abs(term) > 1e-17 * Math.abs(total); n += 2) total += term *= (2 * x * x) / n;
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * total;
}

define('gelu', {
  takes: { x: numbers() },
  forward: ([x]) => each(x, (value) => value * ((1 + erf(value / Math.SQRT2)) / 2)),
});

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

// ---- Layer norm, step by step -------------------------------------------------------------------

/** One number for each line of x along an axis, which is kept with length 1. */
function alongEach([x], { axis, correction = 0 }, reduce) {
  const along = resolveAxis(axis, x.shape);
  const count = x.shape[along] - correction;
  if (count < 1) throw new Refusal('too_few', [0], { axis });
  const results = [];
  alongAxis(x.shape, along, (start, step, n) => {
    results.push(reduce(range(n).map((i) => x.data[start + i * step]), count));
  });
  return { shape: x.shape.with(along, 1), data: Float64Array.from(results), dtype: 'float' };
}

const range = (n) => Array.from({ length: n }, (_, i) => i);

const AXIS = { type: 'integer', default: -1 };

define('mean', {
  takes: { x: numbers(1) },
  attributes: { axis: AXIS },
  forward: (inputs, given) => alongEach(inputs, given, meanOf),
});

define('mean_square', {
  takes: { x: numbers(1) },
  attributes: { axis: AXIS, correction: { type: 'integer', default: 0 } },
  symbol: 'mean({0}²)',
  forward: (inputs, given) =>
    alongEach(inputs, given, (line, count) => line.reduce((sum, x) => sum + x * x, 0) / count),
});

define('root', {
  takes: { x: numbers() },
  attributes: { eps: { type: 'number', default: 0 } },
  symbol: '√({0} + {eps})',
  forward([x], { eps }) {
    const wrong = x.data.findIndex((value) => !(value + eps >= 0));
    if (wrong >= 0) throw new Refusal('negative', [0], { index: indexOf(x.shape, wrong) });
    return each(x, (value) => Math.sqrt(value + eps));
  },
});

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

// ---- Gradients ----------------------------------------------------------------------------------

define('row_norm', {
  takes: { x: numbers(1) },
  symbol: '‖rows of {0}‖',
  forward: ([x]) => each(OPS.row_total.forward([each(x, (value) => value * value)]), Math.sqrt),
});

define('row_total', {
  takes: { x: numbers(1) },
  symbol: 'sum of each row of {0}',
  forward(inputs) {
    const { shape, ...totals } = OPS.total.forward(inputs);
    return { ...totals, shape: [...shape, 1] };
  },
});

define('positive', {
  takes: { x: numbers() },
  symbol: '[{0} > 0]',
  forward: ([x]) => each(x, (value) => Number(value > 0)),
});

define('gelu_slope', {
  takes: { x: numbers() },
  symbol: 'GELU′({0})',
  forward: ([x]) =>
    each(x, (value) => (1 + erf(value / Math.SQRT2)) / 2 + (value * Math.exp(-(value ** 2) / 2)) / Math.sqrt(2 * Math.PI)),
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

// ---- Convolution: a small window that slides ----------------------------------------------------

const least = (value) => ({ type: 'integer', default: value, above: value - 1 });

const cellsOf = (shape) => Array.from({ length: size(shape) }, (_, flat) => indexOf(shape, flat));

/** How many places a window has along one axis. */
function placesAlong(n, window, before, after, stride, dilation = 1) {
  const reach = dilation * (window - 1) + 1;
  const places = before + n + after;
  if (window < 1 || reach > places) throw new Refusal('window', [0], { window: reach, places });
  return Math.floor((places - reach) / stride) + 1;
}

/**
 * Which cells meet in one cell of a convolution, to be multiplied and added up: pairs of a cell of the input and a
 * cell of the kernel. Cells outside of the input are 0 and left out.
 */
export function meeting(op, [x, weight], attributes, index) {
  const [kind, flipped] = op.split('_flipped');
  const { axes, meet } = CONVOLUTIONS[kind];
  const leading = index.slice(0, -axes);
  const mirrored = (cell) =>
    cell.map((k, axis) => (CONVOLUTIONS[kind].window.includes(axis) ? weight.shape[axis] - 1 - k : k));
  return meet(weight.shape, attributes, index.slice(-axes))
    .filter(([cell]) => cell.every((k, axis) => k >= 0 && k < x.shape[leading.length + axis]))
    .map(([cell, place]) => [[...leading, ...cell], flipped === undefined ? place : mirrored(place)]);
}

/** Of each kind: the last axes of input and result, where channels stand, and the cells that meet in one cell. */
const CONVOLUTIONS = {
  convolve_1d: {
    attributes: { before: least(0), after: least(0), stride: least(1), dilation: least(1) },
    axes: 2,
    channel: -1,
    window: [0],
    out: 2,
    shape: ([n], [width, , out], { before, after, stride, dilation }) => [
      placesAlong(n, width, before, after, stride, dilation),
      out,
    ],
    meet: ([width, channels], { before, stride, dilation }, [i, out]) =>
      cellsOf([width, channels]).map(([k, c]) => [
        [i * stride + k * dilation - before, c],
        [k, c, out],
      ]),
  },
  convolve_2d: {
    attributes: { padding: least(0), stride: least(1) },
    axes: 3,
    channel: -3,
    window: [2, 3],
    out: 0,
    shape: ([, ...sizes], [out, , ...windows], { padding, stride }) => [
      out,
      ...sizes.map((n, k) => placesAlong(n, windows[k], padding, padding, stride)),
    ],
    meet: ([, ...window], { padding, stride }, [out, i, j]) =>
      cellsOf(window).map(([c, k, l]) => [
        [c, i * stride + k - padding, j * stride + l - padding],
        [out, c, k, l],
      ]),
  },
};

for (const [kind, { attributes, axes, channel, window, out, shape }] of Object.entries(CONVOLUTIONS)) {
  for (const op of [kind, `${kind}_flipped`]) {
    define(op, {
      takes: { x: numbers(axes), weight: numbers(), bias: numbers() },
      attributes,
      forward([x, weight, bias], given) {
        const rank = window.length + 2;
        if (weight.shape.length !== rank) throw new Refusal('rank', [1], { rank });
        if (x.shape.at(channel) !== weight.shape[1]) throw new Refusal('channels', [0, 1]);
        needVector(bias, 2, weight.shape[out]);
        const { before = 0, after = 0, padding = 0 } = given;
        const rows = x.shape.length - 2;
        const padded = x.shape.map((n, k) => n + (k === rows ? before + after : 0) + (k < rows ? 0 : 2 * padding));
        if (size(padded) > MAX_CELLS) throw new Refusal('too_large', [], { shape: padded, limit: MAX_CELLS });
        const leading = x.shape.slice(0, -axes);
        const result = zeros([...leading, ...shape(x.shape.slice(-axes), weight.shape, given)]);
        result.data.forEach((_, flat) => {
          const pairs = meeting(op, [x, weight], given, indexOf(result.shape, flat));
          const start = bias.data[indexOf(result.shape, flat).at(channel)];
          result.data[flat] = pairs.reduce((sum, [a, b]) => sum + at(x, a) * at(weight, b), start);
        });
        return result;
      },
    });
  }
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

// ---- Recurrent networks -------------------------------------------------------------------------

define('sigmoid', {
  takes: { x: numbers() },
  symbol: 'σ({0})',
  forward: ([x]) => each(x, (value) => 1 / (1 + Math.exp(-value))),
});

const INDEX = { index: { type: 'integer', above: -1 } };

define('row', {
  takes: { x: numbers(2) },
  attributes: INDEX,
  symbol: '{0}[{index}]',
  forward([x], { index }) {
    const [n, width] = x.shape.slice(-2);
    if (index >= n) throw new Refusal('no_row', [0], { index });
    const steps = strides(x.shape).toSpliced(-2, 1);
    const from = { ...x, data: x.data.subarray(index * width) };
    return rearranged(from, x.shape.toSpliced(-2, 1), steps);
  },
});

define('stack', {
  takes: { rows: numbers(1) },
  many: true,
  symbol: '[{all}]',
  forward(rows) {
    rows.forEach(({ shape }, k) => {
      if (`${shape}` !== `${rows[0].shape}`) throw new Refusal('same_shape', [k, 0]);
    });
    const asMatrices = rows.map((x) => ({ ...x, shape: x.shape.toSpliced(-1, 0, 1) }));
    return OPS.concat.forward(asMatrices, { axis: -2 });
  },
});

define('hold', {
  takes: { new: numbers(1), old: numbers(1), allowed: mask(2) },
  attributes: INDEX,
  symbol: 'hold({0}, {1})',
  forward([x, old, allowed], { index }) {
    const [n] = allowed.shape.slice(-1);
    if (`${x.shape}` !== `${old.shape}`) throw new Refusal('same_shape', [0, 1]);
    if (`${[...x.shape.slice(0, -1), 1, n]}` !== `${allowed.shape}`) throw new Refusal('hold', [2, 0]);
    if (index >= n) throw new Refusal('no_row', [2], { index });
    const width = x.shape.at(-1);
    const data = x.data.map((value, i) =>
      allowed.data[Math.floor(i / width) * n + index] ? value : old.data[i],
    );
    return { ...x, data, dtype: 'float' };
  },
});

// ---- Byte-pair encoding ---------------------------------------------------------------------------

/**
 * Where each row comes from when the most frequent pair is joined: the row it was, and whether it took the next one in.
 * The explanations need it as well.
 */
export function joining([x, counts]) {
  const [n, width] = x.shape;
  const best = counts.data.reduce((found, count, k) => (count > counts.data[found] ? k : found), 0);
  const [first, second] = [Math.floor(best / width), best % width];
  const rows = [];
  for (let row = 0; row < n; row += 1) {
    const joined =
      counts.data[best] > 0 &&
      row + 1 < n &&
      x.data[row * width + first] !== 0 &&
      x.data[(row + 1) * width + second] !== 0;
    rows.push({ row, joined });
    if (joined) row += 1;
  }
  return { first, second, rows };
}

define('join_pair', {
  takes: { x: matrix, counts: scores(1) },
  attributes: { column: { type: 'integer', above: -1 } },
  forward([x, counts], { column }) {
    const width = x.shape[1];
    if (`${counts.shape}` !== `${[width, width]}`) throw new Refusal('vector', [1], { expected: [width, width] });
    if (column >= width) throw new Refusal('too_few', [0], { axis: -1 });
    const { first, rows } = joining([x, counts]);
    const result = zeros(x.shape);
    rows.forEach(({ row, joined }, place) => {
      if (joined) result.data[place * width + column] = x.data[row * width + first];
      else result.data.set(x.data.slice(row * width, (row + 1) * width), place * width);
    });
    return result;
  },
});

// ---- Output: the next word, and the loss of a target --------------------------------------------

define('exp', { takes: { x: numbers() }, forward: ([x]) => each(x, Math.exp) });

/**
 * From the largest number of each row downwards: is what came before it lighter than the limit? The answer stands
 * in the explanations as well: how many came before, and how much they weigh.
 */
export function ranking(row, weigh) {
  const places = Array.from(row.keys()).sort((i, j) => row[j] - row[i] || i - j);
  const ranked = [];
  let before = 0;
  places.forEach((place, rank) => {
    ranked[place] = { rank, before };
    before += weigh(row[place]);
  });
  return ranked;
}

const keepLargest = (weigh) => ([x, limit]) => {
  const width = x.shape.at(-1);
  const data = x.data.map((_, i) => {
    const start = i - (i % width);
    return ranking(x.data.subarray(start, start + width), weigh)[i % width].before < limit.data[0];
  });
  return { shape: x.shape, data, dtype: 'bool' };
};

/** What a word weighs on the way down: itself, or its probability. */
export const WEIGHING = { keep_top_k: () => 1, keep_top_p: (probability) => probability };

/** One number above `low`, or equal to it where `closed`, and at most `high`. */
const single = (low, high, closed) => (x, k) => {
  numbers()(x, k);
  const [value] = x.data;
  if (x.shape.length || !(closed ? value >= low : value > low) || !(value <= high))
    throw new Refusal('single', [k], { low, high: high === Infinity ? '∞' : high });
};

const shares = (x, k) => {
  numbers(1)(x, k);
  if (!x.data.every((share) => share >= 0)) throw new Refusal('needs_shares', [k]);
};

define('keep_top_k', {
  takes: { x: scores(1), k: single(0, Infinity) },
  forward: keepLargest(WEIGHING.keep_top_k),
});

define('keep_top_p', {
  takes: { probabilities: shares, p: single(0, 1) },
  forward: keepLargest(WEIGHING.keep_top_p),
});

define('smooth', {
  takes: { x: numbers(1), smoothing: single(0, 1, true) },
  symbol: '(1 − {1}) · {0} + {1} / width',
  forward([x, smoothing]) {
    const [part] = smoothing.data;
    const share = part / widthOf(x, 0);
    return each(x, (value) => (1 - part) * value + share);
  },
});

define('soft_cross_entropy', {
  takes: { logits: scores(1), probabilities: shares },
  forward([logits, { shape: other, data: wanted }]) {
    if (logits.shape.join() !== other.join()) throw new Refusal('same_shape', [0, 1]);
    const width = other.at(-1);
    const shape = other.slice(0, -1);
    const result = zeros(shape);
    result.data.forEach((_, i) => {
      const row = logits.data.subarray(i * width, (i + 1) * width);
      const max = row.reduce((a, b) => Math.max(a, b), -Infinity);
      const total = row.reduce((sum, logit) => sum + Math.exp(logit - max), 0);
      row.forEach((logit, j) => {
        const share = wanted[i * width + j];
        if (share === 0) return;
        if (logit === -Infinity) throw new Refusal('impossible', [0, 1], { index: indexOf(shape, i) });
        result.data[i] += share * (Math.log(total) - (logit - max));
      });
    });
    return result;
  },
});

const PAD = { pad_id: { type: 'integer' } };

define('clear_padding', {
  takes: { x: numbers(), tokens: tokens(1) },
  attributes: PAD,
  symbol: '{0} where {1} ≠ {pad_id}, else 0',
  forward([x, { shape, data }], { pad_id: pad }) {
    if (x.shape.slice(0, shape.length).join() !== shape.join()) throw new Refusal('one_each', [0, 1]);
    const each = x.data.length / data.length;
    return {
      shape: x.shape,
      data: Float64Array.from(x.data, (value, i) => (data[Math.floor(i / each)] === pad ? 0 : value)),
      dtype: 'float',
    };
  },
});

define('count_tokens', {
  takes: { tokens: tokens(1) },
  attributes: PAD,
  symbol: 'how many of {0} ≠ {pad_id}',
  forward: ([{ data }], { pad_id: pad }) => ({
    shape: [],
    data: Float64Array.of(data.filter((token) => token !== pad).length),
    dtype: 'int',
  }),
});

// ---- Decoder: the target, shifted ---------------------------------------------------------------

define('trim', {
  takes: { tokens: tokens(1) },
  attributes: { front: least(0), back: least(0) },
  symbol: '{0} without {front} in front, {back} behind',
  forward([x], { front, back }) {
    const n = x.shape.at(-1) - front - back;
    if (n < 0) throw new Refusal('trim', [0], { count: front + back });
    const from = { ...x, data: x.data.subarray(front) };
    return { ...rearranged(from, x.shape.with(-1, n), strides(x.shape)), dtype: 'int' };
  },
});

define('copy', { takes: { x: anything() }, symbol: '{0}', forward: ([x]) => ({ ...x }) });
