/** Calls of every op whose cells are all explained: what walks over the ops in a test takes them from here. */
import { fromNested, size, tensor } from '../tensor.js';

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
export const CASES = {
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
