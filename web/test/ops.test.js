import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SENTENCES, RULES } from '../explain_text.js';
import { OPS, OpError, findOp } from '../ops.js';
import { fromNested, tensor, toNested, zeros } from '../tensor.js';

const NO = -Infinity;
const floats = (nested) => fromNested(nested);
const ids = (nested) => fromNested(nested, 'int');
const mask = (nested) => fromNested(nested, 'bool');
/** Nested lists that may hold −∞, which fromNested refuses. */
const scores = (rows) => tensor([rows.length, rows[0].length], rows.flat());
const counting = (...shape) => {
  const x = zeros(shape);
  return { ...x, data: x.data.map((_, i) => i) };
};

function gives(op, inputs, attributes, expected, dtype = 'float') {
  const copies = inputs.map((x) => x.data.slice());
  const output = OPS[op].forward(inputs, attributes);
  assert.deepEqual(toNested(output), expected);
  assert.equal(output.dtype, dtype);
  inputs.forEach((x, k) => assert.deepEqual(x.data, copies[k], 'inputs are not changed'));
}

function close(op, inputs, attributes, expected) {
  const output = OPS[op].forward(inputs, attributes);
  const wanted = expected.flat(Infinity);
  assert.equal(output.data.length, wanted.length);
  output.data.forEach((value, i) =>
    assert.ok(
      Math.abs(value - wanted[i]) <= 1e-15 * Math.max(1, Math.abs(wanted[i])),
      `${op}: ${value}, not ${wanted[i]}`,
    ),
  );
}

test('matmul: matrices, vectors and leading axes', () => {
  const a = floats([[1, 2, 3], [4, 5, 6]]);
  const b = floats([[1, 0, 2, 0, 1], [0, 1, 0, 2, 1], [1, 1, 1, 1, 1]]);
  gives('matmul', [a, b], {}, [[4, 5, 5, 7, 6], [10, 11, 14, 16, 15]]);
  gives('matmul', [floats([1, 2, 3]), b], {}, [4, 5, 5, 7, 6]);
  gives('matmul', [a, floats([1, 0, -1])], {}, [-2, -2]);
  gives('matmul', [floats([1, 2]), floats([3, 4])], {}, 11);
  const heads = floats([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]);
  gives('matmul', [heads, floats([[1, 2], [3, 4]])], {}, [[[1, 2], [3, 4]], [[3, 4], [1, 2]]]);
  gives('matmul', [floats([[1, 2], [3, 4]]), heads], {}, [[[1, 2], [3, 4]], [[2, 1], [4, 3]]]);
  gives('matmul', [heads, floats([5, 7])], {}, [[5, 7], [7, 5]]);
  gives('matmul', [zeros([2, 0]), zeros([0, 3])], {}, [[0, 0, 0], [0, 0, 0]]);
  assert.deepEqual(OPS.matmul.forward([zeros([2, 1, 3, 5]), zeros([7, 5, 11])]).shape, [2, 7, 3, 11]);
});

test('transpose, add, multiply, divide', () => {
  gives('transpose', [floats([[1, 2, 3], [4, 5, 6]])], {}, [[1, 4], [2, 5], [3, 6]]);
  gives('transpose', [floats([[[1, 2]], [[3, 4]]])], {}, [[[1], [2]], [[3], [4]]]);
  gives('add', [floats([[1, 2, 3], [4, 5, 6]]), floats([10, 20, 30])], {}, [[11, 22, 33], [14, 25, 36]]);
  gives('add', [floats([[1], [2]]), floats([[10, 20, 30]])], {}, [[11, 21, 31], [12, 22, 32]]);
  gives('add', [ids([1, 2]), ids([3, 4])], {}, [4, 6]);
  gives('subtract', [floats([[1, 2], [3, 4]]), floats([[5], [7]])], {}, [[-4, -3], [-4, -3]]);
  gives('multiply', [floats([[1, 2], [3, 4]]), floats(10)], {}, [[10, 20], [30, 40]]);
  gives('divide', [floats([[1, 2], [3, 4]]), floats([[2], [4]])], {}, [[0.5, 1], [0.75, 1]]);
});

test('scale and linear', () => {
  gives('scale', [floats([[2, 4], [6, 8]]), zeros([7, 4])], {}, [[1, 2], [3, 4]]);
  gives(
    'linear',
    [floats([[1, 2], [3, 4]]), floats([[1, 0, 2], [0, 1, 3]]), floats([10, 20, 30])],
    {},
    [[11, 22, 38], [13, 24, 48]],
  );
  gives('linear', [floats([1, 2]), floats([[1, 0, 2], [0, 1, 3]]), floats([10, 20, 30])], {}, [11, 22, 38]);
});

test('causal_mask is aligned bottom right', () => {
  const t = true;
  const f = false;
  gives('causal_mask', [zeros([3, 5]), zeros([3, 5])], {}, [[t, f, f], [t, t, f], [t, t, t]], 'bool');
  gives('causal_mask', [zeros([2, 5]), zeros([3, 5])], {}, [[t, t, f], [t, t, t]], 'bool');
  gives('causal_mask', [zeros([3, 5]), zeros([2, 5])], {}, [[f, f], [t, f], [t, t]], 'bool');
  assert.deepEqual(OPS.causal_mask.forward([zeros([2, 3, 5]), zeros([2, 7, 5])]).shape, [3, 7]);
});

test('sinusoids: sine and cosine alternate, in blocks, with the slip, over the batch', () => {
  const { sin, cos } = Math;
  const x = zeros([2, 3, 5]);
  const row = (t) => [sin(t), cos(t), sin(t / 10000 ** 0.4), cos(t / 10000 ** 0.4), sin(t / 10000 ** 0.8)];
  close('sinusoids', [x], {}, [row(0), row(1), row(2)]);
  close('add_batch_positions', [x], {}, [[row(0), row(0), row(0)], [row(1), row(1), row(1)]]);
  const blocks = (t) => [0, 2, 4, 1, 3].map((column) => row(t)[column]);
  close('sinusoids_in_blocks', [x], {}, [blocks(0), blocks(1), blocks(2)]);
  const narrow = zeros([2, 4]);
  close('sinusoids', [narrow], { base: 100 }, [[0, 1, 0, 1], [sin(1), cos(1), sin(0.1), cos(0.1)]]);
  close('sinusoids_exponent_slip', [narrow], {}, [[0, 1, 0, 1], [sin(1), cos(0.01), sin(1e-4), cos(1e-6)]]);
});

test('first_rows, rotate_pairs, distance_bias and scale_up', () => {
  const table = floats([[1, 2], [3, 4], [5, 6]]);
  gives('first_rows', [table, zeros([7, 2, 5])], {}, [[1, 2], [3, 4]]);
  gives('first_rows', [table, zeros([3, 1])], {}, [[1, 2], [3, 4], [5, 6]]);
  const { sin, cos } = Math;
  close('rotate_pairs', [floats([[3, 4, 5, 6], [1, 0, 0, 1]])], {}, [
    [3, 4, 5, 6],
    [cos(1), sin(1), -sin(0.01), cos(0.01)],
  ]);
  gives('distance_bias', [zeros([2, 1]), zeros([4, 1])], { slope: 0.5 }, [[-1, -0.5, 0, -0.5], [-1.5, -1, -0.5, 0]]);
  gives('scale_up', [floats([[1, 2, 3, 4]])], {}, [[2, 4, 6, 8]]);
});

test('the other masks', () => {
  const t = true;
  const f = false;
  gives('padding_mask', [ids([3, 1, 0])], { pad_id: 0 }, [[t, t, f]], 'bool');
  gives('padding_mask', [ids([[3, 0], [0, 5]])], { pad_id: 0 }, [[[t, f]], [[f, t]]], 'bool');
  gives('both', [mask([[t, f], [t, t]]), mask([[t, f]])], {}, [[t, f], [t, f]], 'bool');
  gives('share_across_heads', [mask([[t, f]])], {}, [[[t, f]]], 'bool');
  assert.deepEqual(OPS.share_across_heads.forward([zeros([2, 3, 5], 'bool')]).shape, [2, 1, 3, 5]);
  const s = floats([[1, 2], [3, 4]]);
  const allowed = mask([[t, f]]);
  gives('mask', [s, allowed], {}, [[1, NO], [3, NO]]);
  gives('mask_with_zero', [s, allowed], {}, [[1, 0], [3, 0]]);
  gives('mask_opposite', [s, allowed], {}, [[NO, 2], [NO, 4]]);
  gives('mask_transposed', [s, allowed], {}, [[1, 2], [NO, NO]]);
});

test('zero_masked clears keys that nobody may see, whatever they hold', () => {
  const x = tensor([3, 2], [1, 2, NaN, Infinity, 5, 6]);
  const allowed = mask([[true, false, false], [false, false, true]]);
  gives('zero_masked', [x, allowed], {}, [[1, 2], [0, 0], [5, 6]]);
  const perHead = mask([[[true, false, true]], [[false, true, true]]]);
  gives('zero_masked', [floats([[1], [2], [3]]), perHead], {}, [[[1], [0], [3]], [[0], [2], [3]]]);
});

test('softmax: by hand, along any axis, masked and all masked', () => {
  const third = 1 / 3;
  close('softmax', [floats([[0, Math.log(2)], [5, 5]])], {}, [third, 2 * third, 0.5, 0.5]);
  close('softmax', [floats([[0, 5], [Math.log(2), 5]])], { axis: 0 }, [third, 0.5, 2 * third, 0.5]);
  close('softmax', [scores([[7, NO, 7], [NO, NO, NO]])], {}, [0.5, 0, 0.5, 0, 0, 0]);
  close('softmax', [floats([1000, 1000])], {}, [0.5, 0.5]);
  close('softmax', [floats([-1000, -1000])], {}, [0.5, 0.5]);
  close('softmax', [zeros([2, 0])], {}, []);
});

test('softmax_averaged: every head has the mean of all, masked or not', () => {
  const third = 1 / 3;
  const x = floats([[[0, Math.log(2)], [5, 5]], [[3, 3], [Math.log(2), 0]]]);
  const mean = [(third + 0.5) / 2, (2 * third + 0.5) / 2, (2 * third + 0.5) / 2, (third + 0.5) / 2];
  close('softmax_averaged', [x], {}, [mean, mean]);
  close('softmax_averaged', [tensor([2, 1, 2], [NO, NO, 7, NO])], {}, [0.5, 0, 0.5, 0]);
});

test('hardmax: the first maximum', () => {
  gives('hardmax', [scores([[1, 3, 3], [NO, -5, NO], [NO, NO, NO]])], {}, [[0, 1, 0], [0, 1, 0], [0, 0, 0]]);
  gives('hardmax', [floats([[1, 2], [3, 0]])], { axis: -2 }, [[0, 1], [1, 0]]);
});

test('relu, tanh, copy', () => {
  gives('relu', [floats([-1, 0, 2])], {}, [0, 0, 2]);
  gives('tanh', [floats([0])], {}, [0]);
  close('tanh', [floats([Math.log(3)])], {}, [0.8]);
  gives('copy', [floats([1, 2])], {}, [1, 2]);
  gives('copy', [ids([1, 2])], {}, [1, 2], 'int');
});

test('gelu: a share of the number, all of it far to the right and nothing far to the left', () => {
  close('gelu', [floats([0, 1, -1, 40, -40])], {}, [0, 0.8413447460685429, -0.15865525393145707, 40, 0]);
});

test('convolve_1d lays the window on as it is; the flipped one turns it round', () => {
  const x = floats([[1], [2], [3], [4]]);
  const [ones, slope] = [[[[1]], [[1]], [[1]]], [[[1]], [[0]], [[-1]]]].map((weight) => floats(weight));
  const column = (...numbers) => numbers.map((number) => [number]);
  gives('convolve_1d', [x, slope, zeros([1])], {}, column(-2, -2));
  gives('convolve_1d_flipped', [x, slope, zeros([1])], {}, column(2, 2));
  gives('convolve_1d', [x, ones, zeros([1])], { before: 2 }, column(1, 3, 6, 9));
  gives('convolve_1d', [x, ones, zeros([1])], { before: 1, after: 1 }, column(3, 6, 9, 7));
  gives('convolve_1d', [x, slope, floats([10])], { before: 4, stride: 3, dilation: 2 }, column(9, 6));
});

test('convolve_2d by hand', () => {
  const inputs = [counting(1, 3, 3), floats([[[[1, 0], [0, -1]]]]), floats([10])];
  gives('convolve_2d', inputs, {}, [[[6, 6], [6, 6]]]);
  gives('convolve_2d_flipped', inputs, {}, [[[14, 14], [14, 14]]]);
  gives('convolve_2d', inputs, { padding: 1, stride: 2 }, [[[10, 8], [4, 6]]]);
});

test('layer_norm: by hand', () => {
  const gain = floats([1, 1, 10, 1]);
  const bias = floats([0, 0, 5, 0]);
  // Mean 5, biased variance 5; with eps 4 the root is 3.
  const x = floats([[2, 4, 6, 8]]);
  close('layer_norm', [x, gain, bias], { eps: 4 }, [-1, -1 / 3, 10 / 3 + 5, 1]);
  gives('layer_norm', [floats([[0.1, 0.1, 0.1, 0.1]]), gain, bias], {}, [[0, 0, 5, 0]]);
  // 30.1 added up 13 times and divided by 13 is not quite 30.1, but the row must come out as exactly 0.
  const equal = floats(new Array(13).fill(30.1));
  gives('layer_norm', [equal, floats(new Array(13).fill(1)), zeros([13])], {}, new Array(13).fill(0));
});

test('concat along each axis', () => {
  const a = floats([[1, 2], [3, 4]]);
  gives('concat', [a, floats([[5], [6]])], {}, [[1, 2, 5], [3, 4, 6]]);
  gives('concat', [a, floats([[5, 6]])], { axis: 0 }, [[1, 2], [3, 4], [5, 6]]);
  gives('concat', [a], {}, [[1, 2], [3, 4]]);
  gives('concat', [counting(2, 1, 2), counting(2, 2, 2)], { axis: 1 }, [
    [[0, 1], [0, 1], [2, 3]],
    [[2, 3], [4, 5], [6, 7]],
  ]);
});

test('heads: split, merge and the wrong way', () => {
  const x = counting(3, 4);
  const split = [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]];
  gives('split_heads', [x], { n_heads: 2 }, split);
  gives('merge_heads', [floats(split)], {}, toNested(x));
  gives('reshape_heads', [x], { n_heads: 2 }, [[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]);
  const batch = counting(2, 3, 10);
  const there = OPS.split_heads.forward([batch], { n_heads: 5 });
  assert.deepEqual(there.shape, [2, 5, 3, 2]);
  assert.deepEqual(OPS.merge_heads.forward([there]), batch);
});

test('embed and add_pairs', () => {
  const table = floats([[0, 1], [10, 11], [20, 21]]);
  gives('embed', [ids([2, 0, 2]), table], {}, [[20, 21], [0, 1], [20, 21]]);
  assert.deepEqual(OPS.embed.forward([ids([[1, 2, 0]]), table]).shape, [1, 3, 2]);
  gives(
    'add_pairs',
    [floats([[1, 2], [3, 4]]), floats([[10, 20], [30, 40], [50, 60]])],
    {},
    [[[11, 22], [31, 42], [51, 62]], [[13, 24], [33, 44], [53, 64]]],
  );
  assert.deepEqual(OPS.add_pairs.forward([zeros([5, 1, 2, 7]), zeros([3, 3, 7])]).shape, [5, 3, 2, 3, 7]);
});

test('errors name the op, the argument, the shapes and the rule', () => {
  const cases = [
    [
      'matmul',
      [zeros([4, 5]), zeros([3, 2])],
      {},
      'inner',
      /a of shape \(4, 5\) and b of shape \(3, 2\).*5.*3/,
    ],
    ['matmul', [zeros([2, 4, 5]), zeros([3, 5, 2])], {}, 'broadcast', /\(2, 4, 5\).*\(3, 5, 2\)/],
    ['matmul', [zeros([]), zeros([3])], {}, 'at_least', /a has the shape \(\)/],
    ['matmul', [zeros([2, 3], 'bool'), zeros([3, 2])], {}, 'needs_numbers', /a is a mask/],
    ['matmul', [zeros([2, 3])], {}, 'input_count', /takes 2 inputs, but 1 were given/],
    ['matmul', [zeros([4_000_000, 1]), zeros([1, 2])], {}, 'too_large', /\(4000000, 2\)/],
    [
      'convolve_1d',
      [zeros([4, 3]), zeros([2, 3, 5]), zeros([5])],
      { before: 1e9, stride: 1e9 },
      'too_large',
      /\(1000000004, 3\)/,
    ],
    ['convolve_2d', [zeros([1, 4, 3]), zeros([2, 1, 2, 2]), zeros([2])], { padding: 1e6, stride: 1e6 }, 'too_large', /./],
    ['transpose', [zeros([3])], {}, 'at_least', /x has the shape \(3,\)/],
    ['add', [zeros([2, 3]), zeros([2])], {}, 'broadcast', /\(2, 3\).*\(2,\)/],
    ['divide', [zeros([2]), floats([[1, 2], [3, 0]])], {}, 'zero_divisor', /b holds a zero at \[1, 1\]/],
    ['divide', [zeros([1]), floats([-0])], {}, 'zero_divisor', /zero/],
    ['mean', [zeros([2, 0])], {}, 'too_few', /x of shape \(2, 0\) has too few values along axis -1/],
    ['mean_square', [zeros([1, 2])], { axis: 0, correction: 1 }, 'too_few', /axis 0/],
    ['root', [floats([1, -2])], { eps: 1 }, 'negative', /x holds a value at \[1\] that is too small/],
    ['scale', [zeros([2]), zeros([2, 0])], {}, 'empty_axis', /query/],
    ['linear', [zeros([2, 3]), zeros([4, 5]), zeros([5])], {}, 'inner', /x of shape \(2, 3\)/],
    ['linear', [zeros([2, 3]), zeros([3, 5]), zeros([1])], {}, 'vector', /bias must have the shape \(5,\)/],
    ['linear', [zeros([2, 3]), zeros([3]), zeros([1])], {}, 'matrix', /weight/],
    ['causal_mask', [zeros([3]), zeros([3, 2])], {}, 'at_least', /query/],
    ['padding_mask', [zeros([3])], { pad_id: 0 }, 'needs_tokens', /tokens must hold token ids/],
    ['padding_mask', [ids([1])], {}, 'attribute_missing', /pad_id/],
    ['padding_mask', [ids([1])], { pad_id: '0' }, 'attribute_integer', /"0"/],
    ['padding_mask', [ids([1])], { pad_id: 0, axis: 1 }, 'attribute_unknown', /"axis"/],
    ['both', [zeros([2], 'bool'), zeros([2])], {}, 'needs_mask', /b must be a mask/],
    ['mask', [zeros([2, 3]), zeros([2, 3])], {}, 'needs_mask', /allowed must be a mask/],
    ['mask', [zeros([3]), zeros([2, 3], 'bool')], {}, 'mask_shape', /allowed of shape \(2, 3\)/],
    ['mask', [zeros([2, 3]), zeros([2, 4], 'bool')], {}, 'mask_shape', /\(2, 4\)/],
    ['mask_opposite', [zeros([2, 3]), zeros([2, 4], 'bool')], {}, 'mask_shape', /^mask_opposite/],
    ['mask_transposed', [zeros([2, 3]), zeros([2, 3], 'bool')], {}, 'mask_shape', /allowed of shape \(3, 2\)/],
    ['mask_transposed', [zeros([2, 3]), zeros([3], 'bool')], {}, 'at_least', /allowed/],
    ['mask_transposed', [zeros([2, 3]), zeros([3, 2])], {}, 'needs_mask', /allowed must be a mask/],
    ['zero_masked', [zeros([3, 2]), zeros([2, 4], 'bool')], {}, 'keys', /3 rows.*4 keys/],
    ['zero_masked', [zeros([3, 2]), zeros([2, 1], 'bool')], {}, 'keys', /3 rows.*1 keys/],
    ['zero_masked', [zeros([2, 3, 1]), zeros([5, 2, 3], 'bool')], {}, 'broadcast', /x of shape/],
    ['softmax', [floats(1)], {}, 'axis', /axis -1/],
    ['softmax', [zeros([2, 3])], { axis: 2 }, 'axis', /axis 2 does not exist in a tensor of shape \(2, 3\)/],
    ['softmax', [zeros([2, 3])], { axis: 0.5 }, 'attribute_integer', /0\.5/],
    ['softmax', [tensor([2], [1, NaN])], {}, 'scores', /NaN at \[1\]/],
    ['softmax_averaged', [zeros([2, 3])], {}, 'at_least', /at least 3 axes/],
    ['softmax_averaged', [tensor([1, 1, 1], [NaN])], {}, 'scores', /NaN at \[0, 0, 0\]/],
    ['hardmax', [tensor([2], [Infinity, 1])], {}, 'scores', /Infinity at \[0\]/],
    ['layer_norm', [zeros([2, 3]), zeros([2]), zeros([3])], {}, 'vector', /gain must have the shape \(3,\)/],
    ['layer_norm', [zeros([2, 3]), zeros([3]), zeros([3])], { eps: 0 }, 'attribute_above', /greater than 0/],
    ['layer_norm', [zeros([2, 3]), zeros([3]), zeros([3])], { eps: NaN }, 'attribute_number', /NaN/],
    ['concat', [], {}, 'input_count', /1 or more/],
    ['concat', [zeros([2, 3]), zeros([3, 3])], {}, 'concat', /parts\[1\] of shape \(3, 3\)/],
    ['concat', [zeros([2, 3]), zeros([2])], {}, 'concat', /parts\[1\]/],
    ['concat', [zeros([2]), zeros([2], 'bool')], {}, 'needs_numbers', /parts\[1\]/],
    ['split_heads', [zeros([3, 10])], { n_heads: 3 }, 'heads', /\(3, 10\) cannot be cut into 3 heads/],
    ['split_heads', [zeros([3, 10])], { n_heads: 0 }, 'attribute_above', /greater than 0, not 0/],
    ['reshape_heads', [zeros([3, 10])], { n_heads: 4 }, 'heads', /^reshape_heads/],
    ['merge_heads', [zeros([3, 10])], {}, 'at_least', /3 axes/],
    ['embed', [ids([0, 3]), zeros([3, 2])], {}, 'token_range', /id 3 at \[1\].*0 to 2/],
    ['embed', [ids([-1]), zeros([3, 2])], {}, 'token_range', /-1/],
    ['embed', [zeros([2]), zeros([3, 2])], {}, 'needs_tokens', /float/],
    ['embed', [ids([1]), zeros([3])], {}, 'matrix', /table/],
    ['one_hot', [ids([0, 3])], { vocab_size: 3 }, 'token_range', /id 3 at \[1\].*0 to 2/],
    ['cross_entropy', [zeros([2, 3]), ids([0, 3])], {}, 'token_range', /targets holds .* 3 at \[1\]/],
    ['cross_entropy', [zeros([2, 3]), ids([0])], {}, 'targets', /targets of shape \(1,\).*logits, of shape \(2, 3\)/],
    ['cross_entropy', [tensor([1, 2], [NO, 1]), ids([0])], {}, 'impossible', /logits is −∞ .* row \[0\]/],
    ['soft_cross_entropy', [zeros([2, 3]), zeros([3])], {}, 'same_shape', /logits of shape \(2, 3\)/],
    ['soft_cross_entropy', [tensor([2], [NO, 1]), floats([0.5, 0.5])], {}, 'impossible', /logits is −∞/],
    ['keep_top_k', [zeros([3]), floats(0)], {}, 'single', /k must be one number between 0 and ∞/],
    ['keep_top_k', [zeros([3]), zeros([3])], {}, 'single', /k must be one number/],
    ['keep_top_p', [zeros([3]), floats(1.1)], {}, 'single', /p must be one number between 0 and 1/],
    ['keep_top_p', [floats([1, -1]), floats(1)], {}, 'needs_shares', /probabilities must hold/],
    ['smooth', [zeros([3]), floats(-0.1)], {}, 'single', /smoothing/],
    ['clear_padding', [zeros([2, 3]), ids([1, 2, 3])], { pad_id: 0 }, 'one_each', /x of shape \(2, 3\).*\(3,\)/],
    ['add_pairs', [zeros([2, 3]), zeros([2, 4])], {}, 'width', /last axes/],
    ['convolve_1d', [zeros([4, 2]), zeros([2, 5]), zeros([5])], {}, 'rank', /weight must have 3 axes/],
    ['convolve_1d', [zeros([4, 2]), zeros([3, 5, 2]), zeros([2])], {}, 'channels', /\(4, 2\).*\(3, 5, 2\)/],
    ['convolve_1d', [zeros([4, 2]), zeros([3, 2, 5]), zeros([2])], {}, 'vector', /bias must have the shape \(5,\)/],
    ['convolve_1d', [zeros([2, 2]), zeros([3, 2, 5]), zeros([5])], {}, 'window', /3 does not fit into 2 places/],
    ['convolve_2d', [zeros([1, 4, 2]), zeros([2, 1, 3, 3]), zeros([2])], {}, 'window', /3 does not fit into 2/],
    ['convolve_2d', [zeros([3, 4, 4]), zeros([2, 1, 3, 3]), zeros([2])], {}, 'channels', /x of shape \(3, 4, 4\)/],
    ['convolve_2d', [zeros([1, 4, 4]), zeros([2, 1, 3, 3]), zeros([2])], { stride: 0 }, 'attribute_above', /stride/],
    ['sinusoids', [zeros([2, 4])], { base: 0 }, 'attribute_above', /base must be greater than 0/],
    ['add_batch_positions', [zeros([2, 4])], {}, 'at_least', /at least 3 axes/],
    ['first_rows', [zeros([3, 2]), zeros([4, 2])], {}, 'too_long', /has 3 rows.*4 tokens: 4 > 3/],
    ['first_rows', [zeros([3]), zeros([2, 3])], {}, 'matrix', /table/],
    ['rotate_pairs', [zeros([2, 3])], {}, 'pairs', /\(2, 3\) has an odd width/],
    ['distance_bias', [zeros([2, 3]), zeros([2, 3])], {}, 'attribute_missing', /slope/],
    ['trim', [ids([1, 2])], { front: 3 }, 'trim', /tokens of shape \(2,\), 3 tokens/],
    ['join_pair', [zeros([2, 3]), zeros([3, 2])], { column: 0 }, 'vector', /counts must have the shape \(3, 3\)/],
    ['join_pair', [zeros([2, 3]), zeros([3, 3])], { column: 3 }, 'too_few', /x of shape \(2, 3\)/],
    ['join_pair', [zeros([2]), zeros([2, 2])], { column: 0 }, 'matrix', /x must be a matrix/],
    ['row', [zeros([2, 3])], { index: 2 }, 'no_row', /x of shape \(2, 3\) has no row 2/],
    ['stack', [zeros([2]), zeros([3])], {}, 'same_shape', /rows\[1\] of shape \(3,\) and rows\[0\]/],
    ['hold', [zeros([2]), zeros([2]), zeros([2, 3], 'bool')], { index: 0 }, 'hold', /allowed of shape \(2, 3\)/],
  ];
  for (const [op, inputs, attributes, rule, message] of cases) {
    assert.throws(
      () => OPS[op].forward(inputs, attributes),
      (error) => {
        assert.ok(error instanceof OpError, `${op}: ${error}`);
        assert.equal(error.rule, rule);
        assert.match(error.message, message);
        assert.match(error.message, new RegExp(`^${op}: `));
        assert.doesNotMatch(error.message, /[{}]|undefined/, 'every placeholder is filled');
        return true;
      },
    );
  }
  const tested = new Set([...cases.map(([, , , rule]) => rule), 'unknown_op']);
  assert.deepEqual(
    Object.keys(RULES).filter((rule) => !tested.has(rule)),
    [],
    'every rule is tested',
  );
});

test('only ops are ops', () => {
  for (const name of ['constructor', '__proto__', 'toString', 'Matmul', '']) {
    assert.throws(
      () => findOp(name),
      (error) => error instanceof OpError && error.rule === 'unknown_op',
    );
  }
});

test('total, count_rows, one_hot, cross_entropy', () => {
  const x = floats([[1, 2, 3], [4, 5, 6]]);
  gives('total', [x], {}, [6, 15]);
  gives('total', [x], { axis: 0 }, [5, 7, 9]);
  gives('total', [floats([1, 2])], {}, 3);
  gives('count_rows', [x], {}, 2, 'int');
  gives('one_hot', [ids([2, 0])], { vocab_size: 3 }, [[0, 0, 1], [1, 0, 0]]);
  close('cross_entropy', [floats([[0, 0, 0, 0]]), ids([1])], {}, [Math.log(4)]);
  close('cross_entropy', [floats([[1000, 0], [0, 1000]]), ids([1, 1])], {}, [1000, 0]);
});

test('exp, keep_top_k, keep_top_p, smooth, soft_cross_entropy, clear_padding, count_tokens', () => {
  close('exp', [floats([0, 1])], {}, [1, Math.E]);
  gives('keep_top_k', [floats([1, 3, 3, 2]), floats(2)], {}, [false, true, true, false], 'bool');
  gives('keep_top_p', [floats([0.25, 0.5, 0.25]), floats(0.75)], {}, [true, true, false], 'bool');
  close('smooth', [floats([0, 1]), floats(0.5)], {}, [0.25, 0.75]);
  close('soft_cross_entropy', [floats([[0, 0], [9, 9]]), floats([[0.5, 0.5], [0, 0]])], {}, [Math.log(2), 0]);
  gives('clear_padding', [floats([[1, 2], [3, 4]]), ids([0, 5])], { pad_id: 0 }, [[0, 0], [3, 4]]);
  gives('count_tokens', [ids([0, 5, 5])], { pad_id: 0 }, 2, 'int');
  gives('trim', [ids([[1, 4, 2], [1, 5, 2]])], { front: 1 }, [[4, 2], [5, 2]], 'int');
  gives('trim', [ids([1, 4, 2])], { back: 1 }, [1, 4], 'int');
});

test('every op has its symbol and its sentence', () => {
  assert.deepEqual(Object.keys(SENTENCES).sort(), Object.keys(OPS).sort());
  for (const [name, op] of Object.entries(OPS)) {
    const attributes = Object.fromEntries(Object.keys(op.attributes).map((attribute) => [attribute, 2]));
    for (const text of [op.symbol(op.takes, attributes), op.sentence(op.takes)]) {
      assert.ok(text.length > 0 && !/[{}]|undefined/.test(text), `${name}: ${text}`);
    }
  }
  assert.equal(OPS.matmul.symbol(['query', 'keyᵀ']), 'query · keyᵀ');
  assert.equal(OPS.split_heads.symbol(['x'], { n_heads: 2 }), 'split_heads(x, 2)');
  assert.equal(OPS.causal_mask.symbol(['query', 'key']), 'causal_mask(query, key)');
  assert.equal(OPS.concat.symbol(['a', 'b', 'c']), '[a; b; c]');
});
