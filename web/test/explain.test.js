import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contributions } from '../contributions.js';
import { EXPLAINED_OPS, evaluate, explain, references, refersTo } from '../explain.js';
import { REASONS } from '../explain_text.js';
import { fill } from '../language.js';
import { OPS } from '../ops.js';
import { fromNested, indexOf, offset } from '../tensor.js';
import { CASES } from './cases.js';

const NO = -Infinity;

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
        const explanation = explain(op, inputs, attributes, output, indexOf(output.shape, flat));
        const cells = references(explanation).map(({ input, index }) => `${input}:${offset(inputs[input].shape, index)}`);
        inputs.forEach((x, k) =>
          x.data.forEach((_value, place) => {
            const refers = refersTo(explanation, k, indexOf(x.shape, place));
            assert.equal(refers, cells.includes(`${k}:${place}`), `${op}: ${flat} of the output, ${place} of input ${k}`);
          }),
        );
        return new Set(cells);
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
