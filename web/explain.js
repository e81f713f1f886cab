/**
 * Where a number comes from: for every cell of every op, the arithmetic that gives it, made of cells of
 * the inputs.
 *
 * `explain` looks at the inputs only, never at the computed output, so that `evaluate(explain(…))` is an
 * independent check.
 *
 * @typedef {import('./tensor.js').Tensor} Tensor
 * @typedef {{kind: 'ref', input: number, index: number[], value: number}} Ref
 *   a cell of input number `input`
 * @typedef {{kind: 'num', value: number}
 *   | {kind: 'var', name: string}
 *   | {kind: 'sum'|'product'|'quotient'|'difference', args: Expr[], mean?: true}
 *   | {kind: 'call', fn: 'exp'|'log'|'max'|'sqrt'|'tanh'|'erf'|'square'|'sin'|'cos'|'power', args: Expr[]}
 *   | {kind: 'choice', text: string, parameters: Object<string, number>, because: Ref[], args: [Expr]}
 *   | Ref} Expr
 *   A choice is a value with a reason: `text` is a key of REASONS, `because` the cells that decide,
 *   `args[0]` the value. A quotient with `mean: true` is a sum divided by the number of its terms.
 * @typedef {{lets: {name: string, expr: Expr}[], result: Expr}} Explanation
 */

import { at, broadcastIndex, format, indexOf, offset } from './tensor.js';
import {
  LAYOUTS,
  WEIGHING,
  completeAttributes,
  distance,
  erf,
  findOp,
  joining,
  lastAllowedKey,
  meanOf,
  meeting,
  ranking,
  resolveAxis,
} from './ops.js';

/**
 * @param {string} opName
 * @param {Tensor[]} inputs
 * @param {Object<string, number>} attributes
 * @param {Tensor} output
 * @param {number[]} index  the cell of the output
 * @returns {Explanation}
 */
export function explain(opName, inputs, attributes, output, index) {
  findOp(opName);
  const cell = {
    inputs,
    index,
    ref: (input, place) => ({ kind: 'ref', input, index: place, value: at(inputs[input], place) }),
    reason: (name, value, because = [], parameters = {}) => ({
      kind: 'choice',
      text: `${opName}.${name}`,
      parameters,
      because,
      args: [value],
    }),
    attributes: completeAttributes(opName, attributes ?? {}),
    shape: output.shape,
  };
  const explanation = EXPLAIN[opName](cell);
  return 'lets' in explanation ? explanation : { lets: [], result: explanation };
}

// ---- Building expressions -----------------------------------------------------------------------

const num = (value) => ({ kind: 'num', value });
const variable = (name) => ({ kind: 'var', name });
const sum = (...args) => ({ kind: 'sum', args });
const product = (...args) => ({ kind: 'product', args });
const quotient = (a, b) => ({ kind: 'quotient', args: [a, b] });
const mean = (terms) => ({ ...quotient(sum(...terms), num(terms.length)), mean: true });
const difference = (a, b) => ({ kind: 'difference', args: [a, b] });
const call = (fn, ...args) => ({ kind: 'call', fn, args });
/** pos / base^(power / width): how far a pair of columns has turned at a position, in radians. */
const turned = (position, power, width, base) =>
  quotient(num(position), call('power', num(base), quotient(num(power), num(width))));

const range = (n) => Array.from({ length: n }, (_, i) => i);

const swapLastTwo = (index) => [...index.slice(0, -2), index.at(-1), index.at(-2)];

/** The cell of input k that broadcasting puts at `index`. */
const stretched = ({ inputs, ref }, k, index) => ref(k, broadcastIndex(index, inputs[k].shape));

/** All cells of x on the line along `axis` through `index`. */
function line({ inputs, ref, index }, axis) {
  return range(inputs[0].shape[axis]).map((i) => ref(0, index.with(axis, i)));
}

/** How far a score lies below the largest of its line, and what softmax and its logarithm share. */
function powers(scores, of = '') {
  const below = (score) => difference(score, variable(`max${of}`));
  const lets = [
    { name: `max${of}`, expr: call('max', ...scores) },
    { name: `total${of}`, expr: sum(...scores.map((score) => call('exp', below(score)))) },
  ];
  return { below, lets };
}

/** Sum of products of a row of input 0 and a column of input 1, for the cell `index` of a matmul. */
function dotProduct({ inputs: [a, b], ref, index }) {
  const leadingRank = index.length - (a.shape.length > 1) - (b.shape.length > 1);
  const leading = index.slice(0, leadingRank);
  const place = [...index.slice(leadingRank)];
  const row = a.shape.length > 1 ? [place.shift()] : [];
  const column = b.shape.length > 1 ? [place.shift()] : [];
  const aLeading = broadcastIndex(leading, a.shape.slice(0, -2));
  const bLeading = broadcastIndex(leading, b.shape.slice(0, -2));
  return sum(
    ...range(a.shape.at(-1)).map((k) =>
      product(ref(0, [...aLeading, ...row, k]), ref(1, [...bLeading, k, ...column])),
    ),
  );
}

const score = ({ ref, index }) => ref(0, index);

/** The products of a convolution, and the bias. */
const convolution =
  (op, channel) =>
  ({ inputs, ref, index, attributes }) =>
    sum(
      ...meeting(op, inputs, attributes, index).map(([a, b]) => product(ref(0, a), ref(1, b))),
      ref(2, [index.at(channel)]),
    );

/** One value where the mask (input 1) allows this cell, another where it does not. */
function maskChoice(cell, ifAllowed, ifRefused, index = cell.index) {
  const may = stretched(cell, 1, index);
  return may.value === 1 ? cell.reason('allowed', ifAllowed, [may]) : cell.reason('refused', ifRefused, [may]);
}

/** A cell of a table of sinusoids, with the sum it stands in, if any; `position` is the number of its row. */
function sinusoid(layout, position, { index, shape, attributes: { base }, reason }, within = (value) => value) {
  const column = index.at(-1);
  const width = shape.at(-1);
  const { power, cosine } = layout(column, width);
  const value = within(call(cosine ? 'cos' : 'sin', variable('angle')));
  const parameters = { position, column, pair: power / 2 };
  return {
    lets: [{ name: 'angle', expr: turned(position, power, width, base) }],
    result: reason(cosine ? 'cosine' : 'sine', value, [], parameters),
  };
}

// ---- One entry per op ---------------------------------------------------------------------------

/**
 * @typedef {{inputs: Tensor[], index: number[], shape: number[], attributes: Object<string, number>,
 *   ref: (input: number, index: number[]) => Ref,
 *   reason: (name: string, value: Expr, because?: Ref[], parameters?: Object<string, number>) => Expr}} Cell
 *   the cell to explain, and the shape of the output; `reason` makes a choice
 * @type {Object<string, (cell: Cell) => Expr|Explanation>}
 */
const EXPLAIN = {
  matmul: dotProduct,

  transpose: ({ ref, index }) => ref(0, swapLastTwo(index)),

  add: (cell) => sum(stretched(cell, 0, cell.index), stretched(cell, 1, cell.index)),

  subtract: (cell) => difference(stretched(cell, 0, cell.index), stretched(cell, 1, cell.index)),

  multiply: (cell) => product(stretched(cell, 0, cell.index), stretched(cell, 1, cell.index)),

  divide: (cell) => quotient(stretched(cell, 0, cell.index), stretched(cell, 1, cell.index)),

  scale: ({ inputs: [, query], ref, index }) =>
    quotient(ref(0, index), call('sqrt', num(query.shape.at(-1)))),

  scale_up: ({ ref, index, shape }) => product(call('sqrt', num(shape.at(-1))), ref(0, index)),

  linear: (cell) => sum(dotProduct(cell), cell.ref(2, [cell.index.at(-1)])),

  relu: ({ ref, index }) => call('max', num(0), ref(0, index)),

  tanh: ({ ref, index }) => call('tanh', ref(0, index)),

  gelu({ ref, index }) {
    const x = ref(0, index);
    const root = call('sqrt', num(2));
    return product(x, quotient(sum(num(1), call('erf', quotient(x, root))), num(2)));
  },

  mean: (cell) => mean(line(cell, resolveAxis(cell.attributes.axis, cell.shape))),

  mean_square(cell) {
    const { axis, correction } = cell.attributes;
    const squares = line(cell, resolveAxis(axis, cell.shape)).map((x) => call('square', x));
    return quotient(sum(...squares), num(squares.length - correction));
  },

  root: ({ ref, index, attributes: { eps } }) => call('sqrt', eps ? sum(ref(0, index), num(eps)) : ref(0, index)),

  layer_norm(cell) {
    const { ref, index, attributes } = cell;
    const column = index.at(-1);
    const row = line(cell, index.length - 1);
    const distance = (x) => difference(x, variable('mean'));
    const squares = row.map((x) => call('square', distance(x)));
    const deviation = call('sqrt', sum(variable('variance'), num(attributes.eps)));
    return {
      lets: [
        { name: 'mean', expr: mean(row) },
        { name: 'variance', expr: quotient(sum(...squares), num(row.length)) },
      ],
      result: sum(product(ref(1, [column]), quotient(distance(row[column]), deviation)), ref(2, [column])),
    };
  },

  row_norm: (cell) =>
    call('sqrt', sum(...line(cell, cell.index.length - 1).map((x) => call('square', x)))),

  row_total: (cell) => sum(...line(cell, cell.index.length - 1)),

  positive({ ref, index, reason }) {
    const x = ref(0, index);
    return reason(x.value > 0 ? 'above' : 'not_above', num(Number(x.value > 0)), [x]);
  },

  gelu_slope({ ref, index }) {
    const x = ref(0, index);
    const share = quotient(sum(num(1), call('erf', quotient(x, call('sqrt', num(2))))), num(2));
    const density = call('exp', quotient(product(num(-1), call('square', x)), num(2)));
    return sum(share, quotient(product(x, density), call('sqrt', product(num(2), num(Math.PI)))));
  },

  softmax(cell, of = '') {
    const axis = resolveAxis(cell.attributes.axis, cell.shape);
    const scores = line(cell, axis);
    if (scores.every(({ value }) => value === -Infinity))
      return cell.reason('nothing_allowed', num(0), scores);
    const { below, lets } = powers(scores, of);
    return { lets, result: quotient(call('exp', below(scores[cell.index[axis]])), variable(`total${of}`)) };
  },

  softmax_averaged(cell) {
    const axis = cell.index.length - 3;
    const heads = range(cell.shape[axis]).map((head) =>
      EXPLAIN.softmax({ ...cell, index: cell.index.with(axis, head), attributes: { axis: -1 } }, ` ${head}`),
    );
    return { lets: heads.flatMap(({ lets = [] }) => lets), result: mean(heads.map((head) => head.result ?? head)) };
  },

  total(cell) {
    const axis = resolveAxis(cell.attributes.axis, cell.inputs[0].shape);
    return sum(...line({ ...cell, index: cell.index.toSpliced(axis, 0, 0) }, axis));
  },

  count_rows: ({ inputs: [x] }) => num(x.shape.at(-2)),

  cross_entropy(cell) {
    const row = line({ ...cell, index: [...cell.index, 0] }, cell.index.length);
    const target = cell.ref(1, cell.index);
    const { below, lets } = powers(row);
    const loss = difference(call('log', variable('total')), below(row[target.value]));
    return { lets, result: cell.reason('right', loss, [target], { token: target.value }) };
  },

  hardmax(cell) {
    const axis = resolveAxis(cell.attributes.axis, cell.shape);
    const scores = line(cell, axis);
    const values = scores.map(({ value }) => value);
    const largest = Math.max(...values);
    if (largest === -Infinity) return cell.reason('nothing_allowed', num(0), scores);
    return values.indexOf(largest) === cell.index[axis]
      ? cell.reason('largest', num(1), scores)
      : cell.reason('not_largest', num(0), scores);
  },

  add_pairs: ({ inputs: [a, b], ref, index }) => {
    const [i, j, column] = index.slice(-3);
    const leading = index.slice(0, -3);
    return sum(
      ref(0, [...broadcastIndex(leading, a.shape.slice(0, -2)), i, column]),
      ref(1, [...broadcastIndex(leading, b.shape.slice(0, -2)), j, column]),
    );
  },

  causal_mask({ inputs: [query, key], index: [i, j], reason }) {
    const last = lastAllowedKey(i, query.shape.at(-2), key.shape.at(-2));
    const parameters = { query: i, key: j, last };
    if (j <= last) return reason('allowed', num(1), [], parameters);
    return reason(last < 0 ? 'none' : 'later', num(0), [], parameters);
  },

  padding_mask({ ref, index, attributes: { pad_id: pad }, reason }) {
    const token = ref(0, index.toSpliced(-2, 1));
    const parameters = { token: token.value, pad };
    return token.value === pad
      ? reason('padding', num(0), [token], parameters)
      : reason('token', num(1), [token], parameters);
  },

  both(cell) {
    const masks = [stretched(cell, 0, cell.index), stretched(cell, 1, cell.index)];
    return masks.every(({ value }) => value === 1)
      ? cell.reason('allowed', num(1), masks)
      : cell.reason('refused', num(0), masks);
  },

  share_across_heads: ({ ref, index }) => ref(0, index.toSpliced(-3, 1)),

  mask: (cell) => maskChoice(cell, score(cell), num(-Infinity)),

  mask_with_zero: (cell) => maskChoice(cell, score(cell), num(0)),

  mask_opposite: (cell) => maskChoice(cell, num(-Infinity), score(cell)),

  mask_transposed: (cell) =>
    maskChoice(cell, score(cell), num(-Infinity), swapLastTwo(cell.index)),

  zero_masked(cell) {
    const {
      inputs: [x, allowed],
      ref,
      index,
      reason,
    } = cell;
    const key = index.at(-2);
    const leading = broadcastIndex(index.slice(0, -2), allowed.shape.slice(0, -2));
    const queries = range(allowed.shape.at(-2)).map((query) => ref(1, [...leading, query, key]));
    return queries.some(({ value }) => value === 1)
      ? reason('kept', ref(0, broadcastIndex(index, x.shape)), queries)
      : reason('zeroed', num(0), queries);
  },

  ...Object.fromEntries(
    Object.entries(LAYOUTS).map(([op, layout]) => [op, (cell) => sinusoid(layout, cell.index.at(-2), cell)]),
  ),

  add_batch_positions: (cell) =>
    sinusoid(LAYOUTS.sinusoids, cell.index.at(-3), cell, (value) =>
      sum(cell.ref(0, cell.index), value),
    ),

  first_rows: ({ ref, index }) => ref(0, index),

  rotate_pairs({ ref, index, shape, attributes: { base } }) {
    const column = index.at(-1);
    const even = column - (column % 2);
    const [first, second] = [even, even + 1].map((place) => ref(0, index.with(-1, place)));
    const [cosine, sine] = ['cos', 'sin'].map((fn) => call(fn, variable('angle')));
    return {
      lets: [{ name: 'angle', expr: turned(index.at(-2), even, shape.at(-1), base) }],
      result:
        column === even
          ? difference(product(first, cosine), product(second, sine))
          : sum(product(first, sine), product(second, cosine)),
    };
  },

  distance_bias: ({ index: [i, j], shape: [queries, keys], attributes: { slope } }) =>
    product(num(-slope), num(distance(i, j, queries, keys))),

  convolve_1d: convolution('convolve_1d', -1),
  convolve_1d_flipped: convolution('convolve_1d_flipped', -1),
  convolve_2d: convolution('convolve_2d', -3),
  convolve_2d_flipped: convolution('convolve_2d_flipped', -3),

  one_hot({ ref, index, reason }) {
    const token = ref(0, index.slice(0, -1));
    const column = index.at(-1);
    const hit = column === token.value;
    return reason(hit ? 'token' : 'other', num(Number(hit)), [token], { token: token.value, column });
  },

  embed({ ref, index, reason }) {
    const token = ref(0, index.slice(0, -1));
    return reason('row', ref(1, [token.value, index.at(-1)]), [token], { token: token.value });
  },

  concat({ inputs, ref, index, shape, attributes }) {
    const axis = resolveAxis(attributes.axis, shape);
    let part = 0;
    let place = index[axis];
    while (place >= inputs[part].shape[axis]) {
      place -= inputs[part].shape[axis];
      part += 1;
    }
    return ref(part, index.with(axis, place));
  },

  split_heads({ ref, index, shape }) {
    const [head, row, column] = index.slice(-3);
    return ref(0, [...index.slice(0, -3), row, head * shape.at(-1) + column]);
  },

  merge_heads({ inputs: [x], ref, index }) {
    const [row, column] = index.slice(-2);
    const width = x.shape.at(-1);
    return ref(0, [...index.slice(0, -2), Math.floor(column / width), row, column % width]);
  },

  reshape_heads: ({ inputs: [x], ref, index, shape }) => ref(0, indexOf(x.shape, offset(shape, index))),

  exp: ({ ref, index }) => call('exp', ref(0, index)),

  ...Object.fromEntries(
    Object.entries(WEIGHING).map(([op, weigh]) => [
      op,
      (cell) => {
        const row = line(cell, cell.index.length - 1);
        const limit = cell.ref(1, []);
        const { rank, before } = ranking(Float64Array.from(row, ({ value }) => value), weigh)[cell.index.at(-1)];
        const kept = before < limit.value;
        const parameters = { rank, before: format(before), limit: format(limit.value) };
        return cell.reason(kept ? 'kept' : 'dropped', num(Number(kept)), [...row, limit], parameters);
      },
    ]),
  ),

  smooth: ({ ref, index, shape }) =>
    sum(product(difference(num(1), ref(1, [])), ref(0, index)), quotient(ref(1, []), num(shape.at(-1)))),

  soft_cross_entropy(cell) {
    const row = line({ ...cell, index: [...cell.index, 0] }, cell.index.length);
    const shares = row.map(({ index }) => cell.ref(1, index));
    if (shares.every(({ value }) => value === 0)) return cell.reason('nothing', num(0), shares);
    const { below, lets } = powers(row);
    const surprise = (score) => difference(call('log', variable('total')), below(score));
    const terms = shares.flatMap((share, j) => (share.value ? [product(share, surprise(row[j]))] : []));
    return { lets, result: cell.reason('expected', sum(...terms), shares) };
  },

  clear_padding({ inputs: [, tokens], ref, index, attributes: { pad_id: pad }, reason }) {
    const token = ref(1, index.slice(0, tokens.shape.length));
    return token.value === pad
      ? reason('padding', num(0), [token], { pad })
      : reason('token', ref(0, index), [token], { token: token.value });
  },

  count_tokens({ inputs: [{ shape, data }], ref, attributes: { pad_id: pad }, reason }) {
    const all = range(data.length).map((i) => ref(0, indexOf(shape, i)));
    const real = all.filter(({ value }) => value !== pad).length;
    return reason('counted', num(real), all, { n: data.length, pad });
  },

  join_pair({ inputs, ref, index: [place, column], attributes, reason }) {
    const { first, second, rows } = joining(inputs);
    // Any other count or row could have changed what is joined.
    const all = inputs.flatMap(({ shape, data }, k) => range(data.length).map((i) => ref(k, indexOf(shape, i))));
    const from = rows[place];
    if (!from) return reason('empty', num(0), all);
    if (!from.joined) return reason('kept', ref(0, [from.row, column]), all, from);
    return reason('joined', column === attributes.column ? ref(0, [from.row, first]) : num(0), all, { first, second });
  },

  trim: ({ ref, index, attributes }) => ref(0, index.with(-1, index.at(-1) + attributes.front)),

  copy: ({ ref, index }) => ref(0, index),

  sigmoid: ({ ref, index }) => quotient(num(1), sum(num(1), call('exp', product(num(-1), ref(0, index))))),

  row: ({ ref, index, attributes }) => ref(0, index.toSpliced(-1, 0, attributes.index)),

  stack: ({ ref, index }) => ref(index.at(-2), index.toSpliced(-2, 1)),

  hold({ ref, index, reason, attributes }) {
    const word = ref(2, [...index.slice(0, -1), 0, attributes.index]);
    return word.value === 1 ? reason('new', ref(0, index), [word]) : reason('old', ref(1, index), [word]);
  },
};

/** The ops that can be explained; a test compares it with OPS. */
export const EXPLAINED_OPS = /* @__PURE__ */ Object.keys(EXPLAIN);

// ---- Using an explanation -----------------------------------------------------------------------

const FUNCTIONS = {
  exp: Math.exp,
  log: Math.log,
  max: Math.max,
  sqrt: Math.sqrt,
  tanh: Math.tanh,
  erf,
  square: (x) => x ** 2,
  sin: Math.sin,
  cos: Math.cos,
  power: (base, exponent) => base ** exponent,
};

/** The number that the arithmetic of an explanation gives. */
export function evaluate({ lets, result }) {
  const known = new Map();
  for (const { name, expr } of lets) known.set(name, valueOf(expr, known));
  return valueOf(result, known);
}

function valueOf(expr, known) {
  switch (expr.kind) {
    case 'ref':
    case 'num':
      return expr.value;
    case 'var':
      return known.get(expr.name);
    case 'choice':
      return valueOf(expr.args[0], known);
  }
  const values = expr.args.map((arg) => valueOf(arg, known));
  switch (expr.kind) {
    case 'sum':
      return values.reduce((a, b) => a + b, 0);
    case 'product':
      return values.reduce((a, b) => a * b, 1);
    case 'difference':
      return values[0] - values[1];
    case 'quotient':
      return expr.mean ? meanOf(expr.args[0].args.map((arg) => valueOf(arg, known))) : values[0] / values[1];
    case 'call':
      return FUNCTIONS[expr.fn](...values);
  }
  throw new Error(`an expression cannot be of the kind ${expr.kind}`);
}

/** The input cells an explanation mentions, each once, in the order of their mention. */
export function references({ lets, result }) {
  const found = new Map();
  const visit = (expr) => {
    if (expr.kind === 'ref') {
      const key = `${expr.input}:${expr.index}`;
      if (!found.has(key)) found.set(key, { input: expr.input, index: expr.index });
    }
    for (const child of [...(expr.because ?? []), ...(expr.args ?? [])]) visit(child);
  };
  for (const { expr } of lets) visit(expr);
  visit(result);
  return [...found.values()];
}

/** Whether an explanation names a certain cell of an input. */
export function refersTo({ lets, result }, input, index) {
  const isIt = (expr) => expr.kind === 'ref' && expr.input === input && expr.index.every((i, axis) => i === index[axis]);
  const holdsIt = (expr) => isIt(expr) || Boolean(expr.because?.some(holdsIt)) || Boolean(expr.args?.some(holdsIt));
  return lets.some(({ expr }) => holdsIt(expr)) || holdsIt(result);
}
