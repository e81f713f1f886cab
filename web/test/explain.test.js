import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contributions } from '../contributions.js';
import { EXPLAINED_OPS, evaluate, explain, references } from '../explain.js';
import { REASONS, fill } from '../explain_text.js';
import { OPS } from '../ops.js';
import { fromNested, indexOf, offset, size, tensor } from '../tensor.js';

const NO = -Infinity;

/** Repeatable pseudo-random numbers in −1 … 1 (a linear congruential generator). */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return (state / 2 ** 31 - 1) * 0.999;
  };
}

const random = generator(7);
const floats = (factor, ...shape) =>
  tensor(
    shape,
    Array.from({ length: size(shape) }, () => random() * factor),
  );
const mask = (...shape) =>
  tensor(
    shape,
    Array.from({ length: size(shape) }, () => Number(random() > 0)),
    'bool',
  );
const ids = (below, ...shape) => {
  const data = Array.from({ length: size(shape) }, () => Math.floor(Math.abs(random()) * below));
  return tensor(shape, data, 'int');
};

/** Scores with some −∞ in each row, and one row of nothing else. */
function maskedScores(factor, ...shape) {
  const x = floats(factor, ...shape);
  const width = shape.at(-1);
  x.data.forEach((_, i) => {
    if (random() > 0.4 || i < width) x.data[i] = NO;
  });
  return x;
}

const slidingCases = (f) => [
  [[floats(f, 2, 5, 3), floats(f, 3, 3, 2), floats(f, 2)]],
  [[floats(f, 7, 2), floats(f, 3, 2, 5), floats(f, 5)], { before: 4, after: 1, stride: 2, dilation: 2 }],
];
const imageCases = (f) => [
  [[floats(f, 2, 2, 5, 4), floats(f, 3, 2, 2, 3), floats(f, 3)]],
  [[floats(f, 1, 5, 3), floats(f, 2, 1, 3, 2), floats(f, 2)], { padding: 1, stride: 2 }],
];

/** For each op: inputs of prime sizes with leading axes that broadcast, and attributes. */
const CASES = {
  matmul: (f) => [
    [[floats(f, 3, 5), floats(f, 5, 7)]],
    [[floats(f, 2, 1, 3, 5), floats(f, 3, 5, 7)]],
    [[floats(f, 5), floats(f, 2, 5, 7)]],
    [[floats(f, 2, 3, 5), floats(f, 5)]],
    [[floats(f, 5), floats(f, 5)]],
  ],
  transpose: (f) => [[[floats(f, 2, 3, 5)]]],
  add: (f) => [[[floats(f, 2, 1, 5), floats(f, 3, 1)]], [[floats(f), floats(f, 3)]]],
  subtract: (f) => [[[floats(f, 2, 1, 5), floats(f, 3, 1)]], [[floats(f), floats(f, 3)]]],
  multiply: (f) => [[[floats(f, 3, 5), floats(f, 2, 3, 5)]]],
  divide: (f) => [[[floats(f, 3, 1), floats(f, 5)]]],
  scale: (f) => [[[maskedScores(f, 3, 5), floats(f, 3, 7)]]],
  scale_up: (f) => [[[floats(f, 2, 3, 5)]]],
  linear: (f) => [[[floats(f, 2, 3, 5), floats(f, 5, 7), floats(f, 7)]]],
  causal_mask: (f) => [[[floats(f, 3, 2), floats(f, 5, 2)]], [[floats(f, 5, 2), floats(f, 3, 2)]]],
  padding_mask: () => [[[ids(3, 2, 7)], { pad_id: 1 }]],
  both: () => [[[mask(3, 1), mask(2, 1, 5)]], [[mask(5, 7), mask(5, 7)]]],
  share_across_heads: () => [[[mask(2, 3, 5)]]],
  mask: (f) => [[[floats(f, 2, 3, 5), mask(3, 5)]], [[floats(f, 3, 5), mask(1, 5)]]],
  mask_with_zero: (f) => [[[floats(f, 2, 3, 5), mask(1, 5)]]],
  mask_opposite: (f) => [[[floats(f, 2, 3, 5), mask(5)]]],
  mask_transposed: (f) => [[[floats(f, 2, 3, 5), mask(1, 5, 3)]], [[floats(f, 2, 5, 5), mask(1, 5)]]],
  zero_masked: (f) => [
    [[floats(f, 5, 7), mask(2, 3, 5)]],
    [[floats(f, 2, 5, 3), mask(1, 5)]],
  ],
  row_norm: (f) => [[[floats(f, 2, 3, 5)]], [[floats(f, 7)]]],
  row_total: (f) => [[[floats(f, 2, 3, 5)]], [[floats(f, 7)]]],
  positive: (f) => [[[floats(f, 3, 5)]]],
  gelu_slope: (f) => [[[floats(f, 3, 5)]]],
  softmax: (f) => [
    [[floats(f, 2, 3, 5)]],
    [[maskedScores(f, 3, 5)]],
    [[maskedScores(f, 3, 2, 5)], { axis: 0 }],
    [[floats(f, 3, 7)], { axis: -2 }],
  ],
  softmax_averaged: (f) => [[[floats(f, 3, 5, 7)]], [[maskedScores(f, 2, 3, 2, 5)]]],
  total: (f) => [[[floats(f, 2, 3, 5)]], [[floats(f, 2, 3, 5)], { axis: 1 }], [[floats(f, 7)]]],
  count_rows: (f) => [[[floats(f, 2, 3, 5)]]],
  cross_entropy: (f) => [[[floats(f, 2, 3, 5), ids(5, 2, 3)]]],
  one_hot: () => [[[ids(5, 2, 3)], { vocab_size: 5 }]],
  hardmax: (f) => [[[maskedScores(f, 3, 5)]], [[ids(3, 3, 7)], { axis: 0 }]],
  relu: (f) => [[[floats(f, 3, 5)]]],
  tanh: (f) => [[[floats(f, 3, 5)]]],
  exp: (f) => [[[floats(f, 3, 5)]]],
  keep_top_k: (f) => [[[maskedScores(f, 2, 3, 5), tensor([], [2])]]],
  keep_top_p: () => [[[tensor([2, 4], [0.1, 0.4, 0.3, 0.2, 0.25, 0, 0.5, 0.25]), tensor([], [0.45])]]],
  smooth: (f) => [[[floats(f, 3, 5), tensor([], [0.3])]]],
  soft_cross_entropy: (f) => [
    [[floats(f, 2, 3), tensor([2, 3], [0.2, 0.5, 0.3, 0, 0, 0])]],
    [[floats(f, 2, 2, 3), tensor([2, 2, 3], [1, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 0.2, 0.2, 0.6])]],
  ],
  clear_padding: (f) => [
    [[floats(f, 2, 7, 3), ids(3, 2, 7)], { pad_id: 1 }],
    [[floats(f, 7), ids(3, 7)], { pad_id: 0 }],
  ],
  count_tokens: () => [[[ids(3, 2, 7)], { pad_id: 1 }]],
  gelu: (f) => [[[floats(f, 3, 5)]]],
  mean: (f) => [[[floats(f, 2, 3, 5)]], [[floats(f, 2, 3, 5)], { axis: -2 }], [[tensor([7], new Array(7).fill(f))]]],
  mean_square: (f) => [[[floats(f, 2, 3, 5)]], [[floats(f, 7, 3)], { axis: 0, correction: 1 }]],
  root: (f) => [[[tensor([2, 3], [0, 1, 2, 3, 4, 5 * f])]], [[tensor([2], [0, f])], { eps: 1e-5 }]],
  layer_norm: (f) => [
    [[floats(f, 2, 3, 11), floats(f, 11), floats(f, 11)]],
    [[tensor([2, 13], new Array(26).fill(f * 30.1)), floats(f, 13), floats(f, 13)], { eps: 1e-12 }],
    [[floats(f, 3, 1), floats(f, 1), floats(f, 1)]],
    [[floats(f, 3, 2), floats(f, 2), floats(f, 2)], { eps: 0.5 }],
  ],
  concat: (f) => [
    [[floats(f, 2, 3), floats(f, 2, 5), floats(f, 2, 1)]],
    [[floats(f, 2, 3, 5), floats(f, 2, 7, 5)], { axis: 1 }],
  ],
  split_heads: (f) => [[[floats(f, 2, 5, 21)], { n_heads: 3 }]],
  merge_heads: (f) => [[[floats(f, 2, 3, 5, 7)]]],
  reshape_heads: (f) => [[[floats(f, 2, 5, 21)], { n_heads: 3 }]],
  sinusoids: (f) => [[[floats(f, 2, 5, 7)]], [[floats(f, 3, 4)], { base: 100 }]],
  sinusoids_in_blocks: (f) => [[[floats(f, 2, 5, 7)]], [[floats(f, 3, 4)], { base: 100 }]],
  sinusoids_exponent_slip: (f) => [[[floats(f, 2, 5, 7)]], [[floats(f, 3, 4)], { base: 100 }]],
  add_batch_positions: (f) => [[[floats(f, 3, 5, 7)]], [[floats(f, 2, 3, 1, 4)], { base: 100 }]],
  first_rows: (f) => [[[floats(f, 7, 5), floats(f, 2, 3, 1)]]],
  rotate_pairs: (f) => [[[floats(f, 2, 5, 6)]], [[floats(f, 3, 2)], { base: 100 }]],
  distance_bias: (f) => [
    [[floats(f, 2, 3, 5), floats(f, 7, 5)], { slope: 0.5 }],
    [[floats(f, 5, 3), floats(f, 2, 3)], { slope: 2 }],
  ],
  convolve_1d: slidingCases,
  convolve_1d_flipped: slidingCases,
  convolve_2d: imageCases,
  convolve_2d_flipped: imageCases,
  embed: (f) => [[[ids(5, 2, 3), floats(f, 5, 7)]]],
  add_pairs: (f) => [[[floats(f, 2, 1, 3, 7), floats(f, 5, 2, 7)]]],
  copy: (f) => [[[floats(f, 3, 5)]], [[ids(5, 3)]], [[mask(2, 3)]]],
  sigmoid: (f) => [[[floats(f, 3, 5)]]],
  join_pair: () =>
    [
      [0, 3, 1],
      [2, 0, 3],
      [0, 0, 0],
    ].map((counts) => [
      [
        fromNested([
          [5, 0, 0],
          [0, 5, 0],
          [0, 0, 0],
          [2, 0, 0],
          [0, 0, 2],
        ]),
        fromNested([counts, [0, 0, 0], [1, 0, 0]]),
      ],
      { column: 2 },
    ]),
  trim: () => [[[ids(7, 2, 5)], { front: 1 }], [[ids(7, 5)], { front: 1, back: 2 }]],
  row: (f) => [[[floats(f, 2, 3, 5)], { index: 2 }], [[floats(f, 7, 5)], { index: 0 }]],
  stack: (f) => [[[floats(f, 2, 3), floats(f, 2, 3), floats(f, 2, 3)]], [[floats(f, 5)]]],
  hold: (f) => [0, 1, 2].map((index) => [[floats(f, 2, 5), floats(f, 2, 5), mask(2, 1, 3)], { index }]),
};

/** Calls check(explanation, value, inputs, where) for every cell of a call. */
function everyCell(op, inputs, attributes, check) {
  const output = OPS[op].forward(inputs, attributes);
  output.data.forEach((value, flat) => {
    const index = indexOf(output.shape, flat);
    check(explain(op, inputs, attributes, output, index), value, inputs, `${op} [${index}]`);
  });
  return output;
}

const walk = (expr, visit) => {
  visit(expr);
  for (const child of [...(expr.args ?? []), ...(expr.because ?? [])]) walk(child, visit);
};

test('there is an explanation and a test of it for every op', () => {
  assert.deepEqual([...EXPLAINED_OPS].sort(), Object.keys(OPS).sort());
  assert.deepEqual(Object.keys(CASES).sort(), Object.keys(OPS).sort());
});

for (const [op, cases] of Object.entries(CASES)) {
  test(`${op}: the arithmetic of every cell gives its value`, () => {
    for (const factor of [1e-3, 1, 30]) {
      for (const [inputs, attributes = {}] of cases(factor)) {
        const output = everyCell(op, inputs, attributes, (explanation, value, _, where) => {
          const explained = evaluate(explanation);
          if (explained === value) return;
          assert.ok(
            Math.abs(explained - value) <= 1e-12 * Math.max(1, Math.abs(value)),
            `${where}: ${explained}, not ${value}`,
          );
        });
        assert.ok(output.data.length > 0);
      }
    }
  });

  test(`${op}: the terms of every cell add up to its value and hold every cell that it is made of`, () => {
    for (const factor of [1e-3, 1, 30]) {
      for (const [inputs, attributes = {}] of cases(factor)) {
        everyCell(op, inputs, attributes, (explanation, value, _, where) => {
          const mentioned = references(explanation);
          const { terms, deciding } = contributions(explanation);
          const total = terms.reduce((sum, term) => sum + term.value, 0);
          const scale = terms.reduce((sum, term) => sum + Math.abs(term.value), 1);
          assert.ok(total === value || Math.abs(total - value) <= 1e-12 * scale, `${where}: ${total}, not ${value}`);
          const key = ({ input, index }) => `${input}:${index}`;
          const found = new Set([...terms.flatMap(({ cells }) => cells), ...deciding].map(key));
          assert.deepEqual([...found].sort(), mentioned.map(key).sort(), where);
          const sizes = terms.map((term) => Math.abs(term.value));
          assert.deepEqual(sizes, sizes.toSorted((a, b) => b - a), where);
        });
      }
    }
  });

  test(`${op}: explanations are well formed`, () => {
    for (const [inputs, attributes = {}] of cases(1)) {
      everyCell(op, inputs, attributes, ({ lets, result }, _, __, where) => {
        const known = new Set();
        const check = (expr) =>
          walk(expr, (node) => {
            if (node.kind === 'ref')
              assert.equal(
                node.value,
                inputs[node.input].data[offset(inputs[node.input].shape, node.index)],
                where,
              );
            if (node.kind === 'var') assert.ok(known.has(node.name), where);
            if (node.kind === 'choice') {
              assert.equal(node.args.length, 1, where);
              assert.doesNotMatch(fill(REASONS[node.text], node.parameters), /[{}]|undefined/, where);
            }
          });
        for (const { name, expr } of lets) {
          check(expr);
          known.add(name);
        }
        check(result);
      });
    }
  });

  test(`${op}: a cell depends on the cells its explanation names, and on no others`, () => {
    for (const [inputs, attributes = {}] of cases(1)) {
      const output = OPS[op].forward(inputs, attributes);
      const named = Array.from(output.data, (_, flat) => {
        const cells = references(explain(op, inputs, attributes, output, indexOf(output.shape, flat)));
        return new Set(cells.map(({ input, index }) => `${input}:${offset(inputs[input].shape, index)}`));
      });
      inputs.forEach((x, k) =>
        x.data.forEach((value, place) => {
          const data = x.data.slice();
          data[place] =
            x.dtype === 'bool' ? 1 - value : x.dtype === 'int' ? (value === 0 ? 1 : 0) : value + 0.5;
          const changed = OPS[op].forward(inputs.with(k, { ...x, data }), attributes);
          changed.data.forEach((now, flat) => {
            if (now !== output.data[flat])
              assert.ok(named[flat].has(`${k}:${place}`), `${op}: cell ${flat} of input ${k}:${place}`);
          });
        }),
      );
    }
  });
}

test('every reason is used', () => {
  const used = new Set();
  for (const [op, cases] of Object.entries(CASES)) {
    for (const [inputs, attributes = {}] of cases(1)) {
      everyCell(op, inputs, attributes, ({ result }) =>
        walk(result, ({ kind, text }) => kind === 'choice' && used.add(text)),
      );
    }
  }
  assert.deepEqual(
    Object.keys(REASONS).filter((reason) => !used.has(reason)),
    [],
  );
});

test('softmax names its maximum and total; layer_norm its mean and variance', () => {
  const x = fromNested([[1, 3, 2]]);
  const weights = OPS.softmax.forward([x]);
  const { lets } = explain('softmax', [x], {}, weights, [0, 2]);
  assert.deepEqual(
    lets.map(({ name }) => name),
    ['max', 'total'],
  );
  assert.equal(evaluate({ lets: [], result: lets[0].expr }), 3);

  const inputs = [x, fromNested([1, 1, 1]), fromNested([0, 0, 0])];
  const normal = explain('layer_norm', inputs, {}, OPS.layer_norm.forward(inputs), [0, 1]);
  assert.deepEqual(
    normal.lets.map(({ name }) => name),
    ['mean', 'variance'],
  );
  const [mean, variance] = normal.lets;
  assert.equal(evaluate({ lets: [], result: mean.expr }), 2);
  assert.ok(Math.abs(evaluate({ lets: [mean], result: variance.expr }) - 2 / 3) < 1e-15);
});

test('a masked score says why it is −∞, and the mask cell is lit', () => {
  const inputs = [fromNested([[5, 6]]), fromNested([[true, false]], 'bool')];
  const output = OPS.mask.forward(inputs);
  const { result } = explain('mask', inputs, {}, output, [0, 1]);
  assert.deepEqual(result, {
    kind: 'choice',
    text: 'mask.refused',
    parameters: {},
    because: [{ kind: 'ref', input: 1, index: [0, 1], value: 0 }],
    args: [{ kind: 'num', value: NO }],
  });
  assert.deepEqual(references({ lets: [], result }), [{ input: 1, index: [0, 1] }]);
});

test('references names each cell once, in order', () => {
  const inputs = [fromNested([[1, 2]]), fromNested([[3], [4]])];
  const explanation = explain('matmul', inputs, {}, OPS.matmul.forward(inputs), [0, 0]);
  assert.deepEqual(references(explanation), [
    { input: 0, index: [0, 0] },
    { input: 1, index: [0, 0] },
    { input: 0, index: [0, 1] },
    { input: 1, index: [1, 0] },
  ]);
  const x = fromNested([[1, 2, 3]]);
  assert.equal(references(explain('softmax', [x], {}, OPS.softmax.forward([x]), [0, 1])).length, 3);
});
