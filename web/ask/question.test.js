import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluate, explain } from '../explain.js';
import { OPS } from '../ops.js';
import { fromNested, tensor } from '../tensor.js';
import { isAskable, isRight, order, parseAnswer, rowOf, toleranceOf } from './question.js';

const toleranceAt = (op, inputs, attributes, index) => {
  const explanation = explain(op, inputs, attributes, OPS[op].forward(inputs, attributes), index);
  return toleranceOf(explanation, evaluate(explanation));
};

test('exact numbers leave half a unit of the last decimal', () => {
  const inputs = [fromNested([[0.5, 1]]), fromNested([[1], [0.2]])];
  assert.equal(toleranceAt('matmul', inputs, {}, [0, 0]), 0.005);
});

test('whoever works with the numbers as they are shown is right, but never by more than 5 %', () => {
  // shown 1.23 · 4.57 = 5.6211, but 1.2349 · 4.5749 = 5.6495…: 0.0284 away, so 0.0334 are needed
  const inputs = [fromNested([[1.2349]]), fromNested([[4.5749]])];
  const value = 1.2349 * 4.5749;
  const tolerance = toleranceAt('matmul', inputs, {}, [0, 0]);
  assert.equal(tolerance, 0.05);
  assert.ok(isRight({ value, tolerance }, 5.62));
  assert.ok(!isRight({ value, tolerance }, 5.72));
  // 0.1349 · 0.5749 = 0.0776 is shown as 0.13 · 0.57 = 0.0741: near 0 half a unit is all
  assert.equal(toleranceAt('matmul', [fromNested([[0.1349]]), fromNested([[0.5749]])], {}, [0, 0]), 0.005);
});

test('what comes out of the numbers as they are shown is right, however far it is', () => {
  // 100 · 0.054 = 5.4 is shown as 100.00 · 0.05 = 5.00
  const inputs = [fromNested([[100]]), fromNested([[0.054]])];
  const explanation = explain('matmul', inputs, {}, OPS.matmul.forward(inputs, {}), [0, 0]);
  const cell = { value: 5.4, explanation, tolerance: toleranceOf(explanation, 5.4) };
  assert.ok(isRight(cell, 5) && isRight(cell, 5.4));
  assert.ok(!isRight(cell, 5.2) && !isRight(cell, 4.98));
});

test('rounding on the way counts too', () => {
  // exp(−1.5) = 0.2231, exp(−2.2) = 0.1108; the total 1.3339 is noted as 1.33: 1 / 1.33 = 0.7519, not 0.7497
  const value = 1 / (1 + Math.exp(-1.5) + Math.exp(-2.2));
  const tolerance = toleranceAt('softmax', [fromNested([[2.2, 0.7, 0]])], { axis: -1 }, [0, 0]);
  assert.equal(tolerance, 0.01);
  assert.ok(isRight({ value, tolerance }, 0.75) && isRight({ value, tolerance }, 0.7519));
});

test('a tolerance is one of four, whatever the number: it tells nothing about it', () => {
  for (let i = 0; i < 200; i++) {
    const inputs = [fromNested([[Math.sin(i) * 3, Math.cos(i) * 3]]), fromNested([[Math.sin(2 * i)], [Math.cos(3 * i)]])];
    assert.ok([0.005, 0.01, 0.02, 0.05].includes(toleranceAt('matmul', inputs, {}, [0, 0])));
  }
});

test('the edge of the tolerance is inside', () => {
  assert.ok(isRight({ value: 0.125, tolerance: 0.005 }, 0.13));
  assert.ok(isRight({ value: 0.125, tolerance: 0.005 }, 0.12));
  assert.ok(!isRight({ value: 0.125, tolerance: 0.005 }, 0.1311));
  assert.ok(isRight({ value: -Infinity, tolerance: 0.005 }, -Infinity));
  assert.ok(!isRight({ value: -Infinity, tolerance: 0.005 }, -1e9));
  assert.ok(!isRight({ value: 2, tolerance: 0 }, 2.001));
});

test('−∞ is typed in several ways', () => {
  for (const text of ['−∞', '-inf', '−inf', ' -Infinity ', '- ∞', '–∞', '-INF']) assert.equal(parseAnswer(text), -Infinity, text);
  for (const text of ['inf', '∞', '-', '', 'x']) assert.equal(parseAnswer(text), null, text);
  assert.equal(parseAnswer('0,25'), 0.25);
  assert.equal(parseAnswer('27 %'), 0.27);
  assert.equal(parseAnswer('%'), null);
  assert.equal(parseAnswer('1,234'), 1234);
  assert.equal(parseAnswer('1 234'), 1234);
  assert.equal(parseAnswer('−1/4'), -0.25);
});

test('everyone is asked the same cells in the same order, telling ones first', () => {
  const x = tensor([3, 4], [0, 0.5, 1, 0.25, -Infinity, 0.75, 0.3, 0, 0.1, 0.2, -1, 2e6]);
  const cells = order({ name: 'weights', tensor: x, lead: [] });
  assert.deepEqual(order({ name: 'weights', tensor: x, lead: [] }), cells);
  assert.notDeepEqual(order({ name: 'scores', tensor: x, lead: [] }), cells);
  const value = ([i, j]) => x.data[4 * i + j];
  assert.deepEqual(cells.slice(0, 6).map(value).sort(), [0.1, 0.2, 0.25, 0.3, 0.5, 0.75]);
  assert.deepEqual(cells.slice(6).map(value).sort((a, b) => a - b), [-Infinity, -1, 0, 0, 1]);
  // It is a mixture, not the order of the rows.
  assert.notDeepEqual(cells.slice(0, 6), cells.slice(0, 6).toSorted((a, b) => a[0] - b[0] || a[1] - b[1]));
});

test('only the slice on show is asked about', () => {
  const x = tensor([2, 2, 3], Array.from({ length: 12 }, (_, i) => i + 2));
  const cells = order({ name: 'x', tensor: x, lead: [1] });
  assert.equal(cells.length, 6);
  assert.ok(cells.every(([head]) => head === 1));
  assert.equal(order({ name: 's', tensor: tensor([], [2]), lead: [] }).length, 1);
});

test('a row is asked for where it has 2 to 12 cells', () => {
  assert.deepEqual(rowOf([2, 3], [1, 2]), [[1, 0], [1, 1], [1, 2]]);
  assert.deepEqual(rowOf([3], [0]), [[0], [1], [2]]);
  for (const [shape, index] of [[[2, 1], [0, 0]], [[2, 13], [0, 0]], [[], []]]) assert.equal(rowOf(shape, index), null);
});

test('numbers with an exponent, infinity and no number are not asked for', () => {
  assert.deepEqual([1e6, Infinity, NaN, -2e7].map(isAskable), [false, false, false, false]);
  assert.deepEqual([0, -5, 999999, -Infinity].map(isAskable), [true, true, true, true]);
});
