import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { explain } from '../explain.js';
import { OPS } from '../ops.js';
import { Session } from '../player/session.js';
import { parseProgram } from '../program.js';
import { CASES } from '../test/cases.js';
import { indexOf, offset, tensor, toNested } from '../tensor.js';
import { toleranceOf } from './question.js';
import { NAMES } from './text.js';
import { isAmbiguous, recognise, wrongAnswers } from './wrong_answers.js';

/** Names of leaves with their shapes and numbers, and steps [result, op, …inputs]; the last may be an object of attributes. */
function sessionOf(leaves, steps) {
  const tensors = [];
  const axes = (n) => Array.from({ length: n }, (_, i) => `axis_${n}_${i}`);
  for (const [name, { shape, data, dtype }] of Object.entries(leaves)) {
    const cells = dtype === 'bool' ? Array.from(data, Boolean) : Array.from(data);
    tensors.push({ name, axes: axes(shape.length), dtype, shape, data: cells });
  }
  const values = Object.values(leaves);
  const told = steps.map(([name, op, ...rest]) => {
    const attributes = typeof rest.at(-1) === 'object' ? rest.pop() : {};
    const inputs = rest.map((input) => tensors.findIndex((one) => one.name === input));
    const result = OPS[op].forward(inputs.map((i) => values[i]), attributes);
    values.push(result);
    tensors.push({ name, axes: axes(result.shape.length), dtype: result.dtype });
    return { op, inputs, output: tensors.length - 1, scope: '', attributes };
  });
  return new Session(parseProgram({ format: 'stepformer.trace/1', title: '', labels: {}, tensors, steps: told, breaks: [] }));
}

function known(session, name, index) {
  const { program, run } = session;
  const id = program.find(name);
  const { op, inputs, attributes } = session.producer(id);
  const value = run.values[id].data[offset(run.values[id].shape, index)];
  const explanation = explain(op, inputs.map((input) => run.values[input]), attributes, run.values[id], index);
  const tolerance = run.values[id].dtype === 'float' ? toleranceOf(explanation, value) : 0;
  const found = wrongAnswers(session, id, { index, value, tolerance, explanation }, (one) => program.tensors[one].name);
  return { value, tolerance, found };
}

/** The mistake that is named for an answer. */
function named(session, name, index, answer) {
  const { found, tolerance } = known(session, name, index);
  return recognise(found, answer, tolerance)?.mistake ?? null;
}

const matrix = (...rows) => tensor([rows.length, rows[0].length], rows.flat());
const vector = (...data) => tensor([data.length], data);
const allowed = (...rows) => tensor([rows.length, rows[0].length], rows.flat(), 'bool');

/** d_k = 4: scores [[2, 4, 0], [0, 2, 6]], scaled by 2 to [[1, 2, 0], [0, 1, 3]]. The mask hides the last key of query 0. */
const ATTENTION = sessionOf(
  {
    query: matrix([1, 1, 0, 0], [0, 0, 1, 1]),
    key: matrix([2, 0, 0, 0], [2, 2, 1, 1], [0, 0, 3, 3]),
    value: matrix([1, 0], [0, 1], [1, 1]),
    allowed: allowed([1, 1, 0], [1, 1, 1]),
  },
  [
    ['key_transposed', 'transpose', 'key'],
    ['scores', 'matmul', 'query', 'key_transposed'],
    ['scaled', 'scale', 'scores', 'query'],
    ['masked', 'mask', 'scaled', 'allowed'],
    ['weights', 'softmax', 'masked', { axis: -1 }],
    ['output', 'matmul', 'weights', 'value'],
  ],
);

test('the program is the one that the numbers below were worked out for', () => {
  assert.deepEqual(toNested(ATTENTION.run.values[ATTENTION.program.find('scaled')]), [[1, 2, 0], [0, 1, 3]]);
});

test('scaling: forgotten, by the width, upwards, at the step itself and after it', () => {
  assert.equal(named(ATTENTION, 'scaled', [0, 1], 4), 'unscaled');
  assert.equal(named(ATTENTION, 'scaled', [0, 1], 1), 'scaled_by_width');
  assert.equal(named(ATTENTION, 'scaled', [1, 2], 12), 'scaled_up');
  // weights of query 0 without scaling: exp(2), exp(4), masked: 7.389 / 61.987 = 0.1192; right: 2.718 / 10.107 = 0.2689
  assert.equal(named(ATTENTION, 'weights', [0, 0], 0.1192), 'unscaled');
  // output[0, 1] is the weight of key 1: 0.8808 without scaling, 0.7311 with
  assert.equal(named(ATTENTION, 'output', [0, 1], 0.88), 'unscaled');
});

test('the mask: ignored, after the softmax, read the wrong way round', () => {
  // query 0 without mask: 2.718 / (2.718 + 7.389 + 1) = 0.2447; masked afterwards the same number stands there
  assert.equal(named(ATTENTION, 'weights', [0, 0], 0.2447), 'mask_after_softmax');
  assert.equal(named(ATTENTION, 'masked', [0, 2], 0), 'mask_ignored');
  // the forbidden key alone: all the weight on it
  assert.equal(named(ATTENTION, 'weights', [0, 2], 1), 'mask_opposite');
  // the forbidden key without mask: 1 / 11.107 = 0.0900
  assert.equal(named(ATTENTION, 'weights', [0, 2], 0.09), 'mask_ignored');
});

test('softmax: down the columns, exponential alone, without the exponential', () => {
  // column 0: 2.718 / (2.718 + 1) = 0.7311 is also weights[0, 1]; column 1: 2 against 1
  assert.equal(named(ATTENTION, 'weights', [1, 1], 0.2689), 'softmax_columns');
  assert.equal(named(ATTENTION, 'weights', [0, 0], 2.718), 'not_normalised');
  assert.equal(named(ATTENTION, 'weights', [0, 0], 0.3333), 'without_exp');
  assert.equal(named(ATTENTION, 'weights', [0, 0], 27), 'per_cent');
});

test('a softmax that a switch has turned round is not told to be what it is not', () => {
  const turned = sessionOf({ scores: matrix([1, 2], [0, 4]) }, [['weights', 'softmax', 'scores', { axis: -2 }]]);
  // column 0: e / (e + 1) = 0.7311; the row would give 1 / (1 + e) = 0.2689, which no one names here
  assert.notEqual(named(turned, 'weights', [0, 0], 0.269), 'softmax_columns');
});

test('a cell where a slip would pass for right is known', () => {
  const session = sessionOf({ scores: matrix([2, 0], [0.01, 3]) }, [['weights', 'softmax', 'scores', { axis: -1 }]]);
  const ambiguous = (index) => {
    const id = session.program.find('weights');
    const tensor = session.run.values[id];
    const explanation = explain('softmax', [session.run.values[0]], { axis: -1 }, tensor, index);
    const value = tensor.data[offset(tensor.shape, index)];
    return isAmbiguous(session, id, { index, value, explanation, tolerance: toleranceOf(explanation, value) });
  };
  assert.ok(ambiguous([0, 0])); // the row gives 0.8808, the column 0.8797
  assert.ok(!ambiguous([0, 1])); // the row gives 0.1192, the column 0.0474
});

test('a share of hardly anything has no digits to recognise', () => {
  const small = sessionOf({ scores: matrix([0, 6, 1]) }, [['weights', 'softmax', 'scores', { axis: -1 }]]);
  for (const answer of [0.5, 0.35, 0.72, -0.1]) assert.ok(!['per_cent', 'ten_times'].includes(named(small, 'weights', [0, 0], answer)), String(answer));
  assert.equal(named(small, 'weights', [0, 1], 99.1), 'per_cent');
});

test('a difference: the first number alone, or the wrong way round', () => {
  const difference = sessionOf({ a: matrix([1]), b: matrix([5]) }, [['c', 'subtract', 'a', 'b']]);
  assert.equal(named(difference, 'c', [0, 0], 1), 'subtrahend_forgotten');
  assert.equal(named(difference, 'c', [0, 0], 4), 'sign_swapped');
});

test('a product: turned factors, one term missing or with the wrong sign', () => {
  const session = sessionOf(
    { a: matrix([1, 2, 3], [4, 5, 6], [7, 8, 10]), b: matrix([2, 0, 1], [-3, 4, 5], [0.5, 6, 7]) },
    [['b_t', 'transpose', 'b'], ['p', 'matmul', 'a', 'b'], ['q', 'matmul', 'a', 'b_t']],
  );
  // p[0, 0] = 1·2 + 2·(−3) + 3·0.5 = −2.5
  assert.equal(named(session, 'p', [0, 0], 1 * 2 + 2 * 0 + 3 * 1), 'other_transposed');
  assert.equal(named(session, 'p', [0, 0], 1 * 2 + 4 * -3 + 7 * 0.5), 'first_transposed');
  assert.equal(named(session, 'p', [0, 0], -4.5), 'term_forgotten'); // without 1·2
  assert.equal(named(session, 'p', [0, 0], 9.5), 'term_sign'); // +6 for −6
  assert.equal(named(session, 'p', [0, 0], 2.5), 'opposite_sign');
  assert.equal(named(session, 'p', [0, 0], -0.25), 'ten_times');
  assert.equal(named(session, 'q', [0, 1], 1 * 0 + 2 * 4 + 3 * 6), 'not_transposed');
  assert.equal(named(session, 'p', [0, 0], 0.123), null);
});

test('layer norm: variance, root, gain and bias', () => {
  const session = sessionOf({ x: matrix([1, 3, 2, 6]), gain: vector(2, 1, 1, 1), bias: vector(0.5, 0, 0, 0) }, [
    ['normal', 'layer_norm', 'x', 'gain', 'bias'],
  ]);
  // mean 3, squares 4 + 0 + 1 + 9 = 14: variance 3.5, deviation 1.8708; (1 − 3) / 1.8708 = −1.0690; · 2 + 0.5 = −1.6381
  assert.ok(Math.abs(known(session, 'normal', [0, 0]).value + 1.6381) < 1e-3);
  assert.equal(named(session, 'normal', [0, 0], (-2 / Math.sqrt(14 / 3)) * 2 + 0.5), 'unbiased_variance');
  assert.equal(named(session, 'normal', [0, 0], (-2 / 3.5) * 2 + 0.5), 'variance_for_deviation');
  assert.equal(named(session, 'normal', [0, 0], -1.069), 'gain_forgotten');
  assert.equal(named(session, 'normal', [0, 0], -2.138), 'bias_forgotten');
  assert.equal(named(session, 'normal', [0, 0], -3.5), 'only_centred');
});

test('feed-forward parts: bias and activation', () => {
  const session = sessionOf({ x: matrix([1, -2]), w: matrix([1, 2], [3, 1]), b: vector(0.5, 1) }, [
    ['hidden', 'linear', 'x', 'w', 'b'],
    ['active', 'relu', 'hidden'],
  ]);
  // hidden = [1 − 6 + 0.5, 2 − 2 + 1] = [−4.5, 1]
  assert.equal(named(session, 'hidden', [0, 0], -5), 'bias_forgotten');
  assert.equal(named(session, 'active', [0, 0], -4.5), 'activation_forgotten');
  assert.equal(named(session, 'active', [0, 1], 0), 'bias_forgotten');
});

test('angles: sine and cosine exchanged, degrees', () => {
  const session = sessionOf({ x: matrix([0, 0, 0, 0], [0, 0, 0, 0]) }, [['table', 'sinusoids', 'x']]);
  assert.equal(named(session, 'table', [1, 0], Math.cos(1)), 'sine_for_cosine');
  assert.equal(named(session, 'table', [1, 0], 0.01745), 'degrees');
});

test('places: another cell of the row, of the column, with both exchanged, of another slice', () => {
  const data = [11, 12, 13, 24, 25, 26, 37, 38, 39, 51, 52, 53, 64, 65, 66, 77, 78, 79];
  const session = sessionOf({ x: tensor([2, 3, 3], data), one: tensor([], [1]) }, [
    ['y', 'multiply', 'x', 'one'],
  ]);
  assert.equal(named(session, 'y', [0, 0, 1], 24), 'transposed');
  assert.equal(named(session, 'y', [0, 0, 1], 52), 'other_head');
  assert.equal(named(session, 'y', [0, 0, 1], 11), 'other_column');
  assert.equal(named(session, 'y', [0, 0, 1], 38), 'other_row');
});

test('what the reader has edited counts: wrong answers follow the numbers on show', () => {
  ATTENTION.set('key', [0, 0], 6); // scores[0, 0] = 6, scaled 3
  assert.equal(named(ATTENTION, 'scaled', [0, 0], 6), 'unscaled');
  ATTENTION.reset();
  assert.equal(named(ATTENTION, 'scaled', [0, 0], 6), null);
});

for (const [op, cases] of Object.entries(CASES)) {
  test(`${op}: no wrong answer is right, each is a number, and each has its text`, () => {
    for (const [inputs, attributes = {}] of cases(1)) {
      const leaves = Object.fromEntries(inputs.map((x, i) => [`x${i}`, x]));
      // A leaf holds finite numbers only.
      if (inputs.some(({ data }) => !data.every(Number.isFinite))) continue;
      const session = sessionOf(leaves, [['y', op, ...Object.keys(leaves), attributes]]);
      const { shape, data } = session.run.values.at(-1);
      for (let i = 0; i < data.length; i += Math.ceil(data.length / 12)) {
        const { value, tolerance, found } = known(session, 'y', indexOf(shape, i));
        for (const wrong of found) {
          assert.ok(NAMES.includes(wrong.mistake), wrong.mistake);
          assert.ok(wrong.value === -Infinity || Number.isFinite(wrong.value), `${op} ${wrong.mistake}`);
          assert.ok(!(Math.abs(wrong.value - value) <= tolerance), `${op} ${wrong.mistake}: ${wrong.value}`);
        }
      }
    }
  });
}

test('a mistake has a text, and its text has the name of the result only', async () => {
  const source = await readFile(new URL('wrong_answers.js', import.meta.url), 'utf8');
  const mistakes = [...source.matchAll(/add\('(\w+)'/g)].map(([, name]) => name);
  assert.ok(mistakes.length > 10);
  for (const mistake of mistakes) assert.ok(NAMES.includes(mistake), mistake);
});
