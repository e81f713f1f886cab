import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_CELLS,
  TensorError,
  at,
  broadcastIndex,
  broadcastShapes,
  broadcastStrides,
  format,
  formatCell,
  formatShape,
  fromNested,
  indexOf,
  offset,
  offsets,
  replaceCell,
  size,
  strides,
  tensor,
  toNested,
  zeros,
} from '../tensor.js';

test('shape arithmetic: size, strides, offset and its inverse', () => {
  const shape = [2, 3, 5];
  assert.equal(size(shape), 30);
  assert.equal(size([]), 1);
  assert.deepEqual(strides(shape), [15, 5, 1]);
  assert.equal(offset(shape, [1, 2, 3]), 28);
  for (let flat = 0; flat < 30; flat++) assert.equal(offset(shape, indexOf(shape, flat)), flat);
  assert.deepEqual(indexOf([], 0), []);
});

test('broadcasting follows NumPy', () => {
  assert.deepEqual(broadcastShapes([2, 1, 5], [3, 1]), [2, 3, 5]);
  assert.deepEqual(broadcastShapes([], [4]), [4]);
  assert.deepEqual(broadcastShapes([1], [0]), [0]);
  assert.equal(broadcastShapes([2, 3], [2]), null);
  assert.deepEqual(broadcastStrides([3, 1], [2, 3, 5]), [0, 1, 0]);
  assert.deepEqual(broadcastIndex([1, 2, 4], [3, 1]), [2, 0]);
});

test('offsets read a tensor in any order', () => {
  assert.deepEqual([...offsets([3, 2], [1, 3])], [0, 3, 1, 4, 2, 5], 'the transpose of a 2 × 3 matrix');
  assert.deepEqual([...offsets([2, 2], [0, 1])], [0, 1, 0, 1], 'a row, stretched');
  assert.deepEqual([...offsets([], [])], [0]);
  assert.deepEqual([...offsets([2, 0], [0, 1])], []);
});

test('nested lists become a tensor and back', () => {
  for (const nested of [7, [], [1, 2, 3], [[1, 2], [3, 4], [5, 6]], [[[1], [2]]], [[], []]]) {
    assert.deepEqual(toNested(fromNested(nested)), nested);
  }
  assert.deepEqual(toNested(fromNested([[true, false]], 'bool')), [[true, false]]);
  assert.deepEqual(fromNested([[1, 2, 3]]).shape, [1, 3]);
});

test('values that do not fit are refused', () => {
  const refused = (work, message) =>
    assert.throws(work, (error) => error instanceof TensorError && message.test(error.message));
  refused(() => tensor([2, 3], [1, 2, 3]), /\(2, 3\) holds 6 values, but 3 were given/);
  refused(() => fromNested([[1, 2], [3]]), /ragged/);
  refused(() => fromNested([[1, 2], 3]), /ragged/);
  refused(() => fromNested([1, [2]]), /finite number/);
  refused(() => fromNested([1, '2']), /not "2"/);
  refused(() => fromNested([NaN]), /not NaN/);
  refused(() => fromNested([1.5], 'int'), /whole number/);
  refused(() => fromNested([1, 0], 'bool'), /true or false, not 1/);
  refused(() => fromNested([[[[[[[[[1]]]]]]]]]), /8 deep/);
  refused(() => zeros([MAX_CELLS + 1]), /too large/);
});

test('replaceCell copies and checks', () => {
  const x = fromNested([[1, 2], [3, 4]]);
  const y = replaceCell(x, [1, 0], 9);
  assert.deepEqual(toNested(y), [[1, 2], [9, 4]]);
  assert.deepEqual(toNested(x), [[1, 2], [3, 4]]);
  assert.equal(at(y, [1, 0]), 9);
  for (const index of [[2, 0], [0, -1], [0], [0, 0, 0], [0.5, 0], 'x', null]) {
    assert.throws(() => replaceCell(x, index, 1), TensorError);
  }
  assert.throws(() => replaceCell(x, [0, 0], Infinity), TensorError);
  assert.ok(Object.is(at(replaceCell(x, [0, 0], -0), [0, 0]), 0), 'an edit from 0 to −0 is none');
  assert.equal(at(replaceCell(fromNested([true], 'bool'), [0], false), [0]), 0);
  assert.throws(() => replaceCell(fromNested([true], 'bool'), [0], 2), TensorError);
  assert.throws(() => replaceCell(tensor([1], [3], 'int'), [0], 0.5), TensorError);
});

test('numbers are shown by one rule', () => {
  const cases = [
    [0, 2, '0.00'],
    [-0, 2, '0.00'],
    [-0.001, 2, '0.00'],
    [-0.004999, 2, '0.00'],
    [0.005, 2, '0.01'],
    [-0.005, 2, '−0.01'],
    [0.125, 2, '0.13'],
    [-0.125, 2, '−0.13'],
    [1.005, 2, '1.01'],
    [2.675, 2, '2.68'],
    [0.1 + 0.2, 2, '0.30'],
    [0.015 - 1e-17, 2, '0.02'],
    [0.01499, 2, '0.01'],
    [2.5, 0, '3'],
    [-0.4, 0, '0'],
    [1234.5678, 3, '1234.568'],
    [999999.99, 2, '999999.99'],
    [999999.999, 2, '1000000.00'],
    [1e6, 2, '1.00e6'],
    [-1.25e6, 2, '−1.25e6'],
    [1.255e6, 4, '1.26e6'],
    [9.996e6, 2, '1.00e7'],
    [9.994e6, 2, '9.99e6'],
    [123456789, 0, '1.23e8'],
    [1e15, 2, '1.00e15'],
    [1e300, 2, '1.00e300'],
    [5e-324, 2, '0.00'],
    [-Infinity, 2, '−∞'],
    [Infinity, 2, '∞'],
    [NaN, 2, 'NaN'],
  ];
  for (const [x, decimals, text] of cases)
    assert.equal(format(x, decimals), text, `format(${x}, ${decimals})`);
  assert.equal(format(3), '3.00');
});

test('cells are shown by their kind', () => {
  assert.equal(formatCell(1, 'bool'), '✓');
  assert.equal(formatCell(0, 'bool'), '·');
  assert.equal(formatCell(12, 'int'), '12');
  assert.equal(formatCell(-12, 'int'), '−12');
  assert.equal(formatCell(-0, 'int'), '0');
  assert.equal(formatCell(-1.5, 'float', 1), '−1.5');
  assert.equal(formatShape([4, 3]) + formatShape([4]) + formatShape([]), '(4, 3)(4,)()');
});
