import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluate, explain, references } from '../explain.js';
import { OPS } from '../ops.js';
import { CASES } from '../test/cases.js';
import { format, formatCell, fromNested, indexOf } from '../tensor.js';
import { hints } from './hints.js';
import { toleranceOf } from './question.js';

const NAMES = ['query', 'key', 'bias'];
const MOST_CELLS = 40;

/** The three hints to a cell of an op. */
function hintsTo(op, inputs, attributes, index) {
  const output = OPS[op].forward(inputs, attributes);
  const explanation = explain(op, inputs, attributes, output, index);
  const value = evaluate(explanation);
  const say = {
    name: (input) => NAMES[input] ?? `x${input}`,
    labels: (input, place) => place.map((i) => `i${i}`),
    value: ({ input, value: shown }) => formatCell(shown, inputs[input].dtype),
  };
  const tolerance = output.dtype === 'float' ? toleranceOf(explanation, value) : 0;
  return { explanation, value, output, texts: hints({ op, inputs, explanation, index, value, tolerance }, say) };
}

/** The numbers with two decimals in a text. */
const numbersIn = (text) => text.match(/(?<![\d.])−?\d+\.\d\d(?!\d)/g) ?? [];

for (const [op, cases] of Object.entries(CASES)) {
  test(`${op}: three hints to every cell, of which none works the number out`, () => {
    for (const [inputs, attributes = {}] of cases(1)) {
      const { data, shape } = OPS[op].forward(inputs, attributes);
      const every = Math.ceil(data.length / MOST_CELLS);
      for (let i = 0; i < data.length; i += every) {
        const { explanation, value, output, texts } = hintsTo(op, inputs, attributes, indexOf(shape, i));
        const where = `${op} ${i}: ${texts.join(' | ')}`;
        assert.equal(texts.length, 3, where);
        for (const text of texts) {
          assert.ok(text.length > 5, where);
          assert.doesNotMatch(text, /[{}]|undefined|NaN|object/, where);
        }
        if (output.dtype !== 'float') continue;
        // A number that goes in may look like the one that comes out, in the arithmetic and in its parts.
        const given = new Set(numbersIn(texts[1]));
        for (const { input, index } of references(explanation)) given.add(format(at(inputs[input], index)));
        const told = [...numbersIn(texts[0]), ...numbersIn(texts[2])].filter((number) => !given.has(number));
        assert.ok(!told.includes(format(value)), where);
        if (explanation.result.kind === 'ref') assert.deepEqual(numbersIn(texts.join(' ')), [], `a copy is not told: ${where}`);
      }
    }
  });
}

const at = ({ shape, data }, index) => data[index.reduce((flat, i, axis) => flat * shape[axis] + i, 0)];

test('a product of matrices: row and column, the products, all but the last term', () => {
  const inputs = [fromNested([[0.5, 1], [2, -1]]), fromNested([[1, 3], [0.2, 4]])];
  // 0.5 · 1 + 1 · 0.2 = 0.7; the first term is 0.5
  assert.deepEqual(hintsTo('matmul', inputs, {}, [0, 0]).texts, [
    'Row i0 of query meets column i0 of key. Both are marked in the matrices.',
    'Work this out: 0.50 · 1.00 + 1.00 · 0.20',
    '0.50 · 1.00 = 0.50 so far; one term is left: 1.00 · 0.20',
  ]);
});

test('a last term of zero is not the one that is left: the sum so far would be the number', () => {
  const inputs = [fromNested([[2, 3, 0]]), fromNested([[1], [4], [5]])];
  // 2 + 12 + 0 = 14
  const [, , third] = hintsTo('matmul', inputs, {}, [0, 0]).texts;
  assert.equal(third, '2.00 · 1.00 + 0.00 · 5.00 = 2.00 so far; one term is left: 3.00 · 4.00');
  assert.ok(!third.includes('14.00'));
});

test('softmax: the largest, the total, and what is left', () => {
  // exp(0) + exp(-1) + exp(-2) = 1 + 0.3679 + 0.1353 = 1.5032
  const [which, , third] = hintsTo('softmax', [fromNested([[1, 3, 2]])], { axis: -1 }, [0, 2]).texts;
  assert.equal(which, 'It is made of query[i0, i0 … i2]. What is on show of it is marked in the matrices.');
  assert.equal(third, 'You have max = 3.00, total = 1.50; what is left is exp(2.00 − max) / total');
});

test('layer norm: mean and variance', () => {
  const inputs = [fromNested([[1, 3, 2]]), fromNested([1, 1, 1]), fromNested([0, 0, 0])];
  const [, , third] = hintsTo('layer_norm', inputs, { eps: 1e-5 }, [0, 0]).texts;
  assert.match(third, /^You have mean = 2\.00, variance = 0\.67; what is left is /);
});

test('a mean: the sum, and by what it is divided', () => {
  const [, , third] = hintsTo('mean', [fromNested([[1, 3, 2, 4]])], { axis: -1 }, [0, 0]).texts;
  assert.equal(third, 'Above the line stands 10.00, below it 4.00. The division is left.');
});

test('a masked score: the rule, then what decides, never the outcome', () => {
  const inputs = [fromNested([[5, 6]]), fromNested([[true, false]], 'bool')];
  for (const index of [[0, 0], [0, 1]]) {
    const { texts } = hintsTo('mask', inputs, {}, index);
    assert.equal(texts[1], 'Keep query where key allows it; put −∞ everywhere else.');
    assert.equal(texts[2], `This decides it: key[i0, i${index[1]}] is ${index[1] ? '·' : '✓'}.`);
  }
});
