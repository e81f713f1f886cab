import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { contributions } from '../contributions.js';
import { explain } from '../explain.js';
import { OPS } from '../ops.js';
import { Scene } from '../player/scene.js';
import { Session } from '../player/session.js';
import { parseProgram } from '../program.js';
import { fromNested, indexOf, offset, replaceCell } from '../tensor.js';

/** The contributions of a cell: each term's value with its cells, as [value, 'input:index', …]. */
function of(op, inputs, attributes, index) {
  const tensors = inputs.map((input) => (input.shape ? input : fromNested(input)));
  const output = OPS[op].forward(tensors, attributes);
  const found = contributions(explain(op, tensors, attributes, output, index));
  const key = ({ input, index: place }) => `${input}:${place}`;
  return {
    terms: found.terms.map(({ value, cells }) => [Number(value.toFixed(9)), ...cells.map(key)]),
    deciding: found.deciding.map(key),
  };
}

test('a matrix product has a term for each pair, the largest first', () => {
  const { terms, deciding } = of('linear', [[[1, 2, 3]], [[5], [-10], [1]], [0.5]], {}, [0, 0]);
  assert.deepEqual(terms, [
    [-20, '0:0,1', '1:1,0'],
    [5, '0:0,0', '1:0,0'],
    [3, '0:0,2', '1:2,0'],
    [0.5, '2:0'],
  ]);
  assert.deepEqual(deciding, []);
});

test('constants are multiplied out: a mean has a term for each number, a scaled score has one', () => {
  const query = [[1, 1, 1, 1]];
  assert.deepEqual(of('scale', [[[6]], query], {}, [0, 0]).terms, [[3, '0:0,0']]);
  assert.deepEqual(of('subtract', [[[1]], [[3]]], {}, [0, 0]).terms, [
    [-3, '1:0,0'],
    [1, '0:0,0'],
  ]);
});

test('a softmax is one term; of its scores its own moves it most, then the one with the largest weight', () => {
  const { terms } = of('softmax', [[[0, 3, 1, 2]]], { axis: -1 }, [0, 0]);
  assert.equal(terms.length, 1);
  assert.deepEqual(terms[0].slice(1), ['0:0,0', '0:0,1', '0:0,3', '0:0,2']);
});

test('a layer norm is the normalised part and the bias; the whole row is in the first, ordered by derivative', () => {
  const { terms } = of('layer_norm', [[[1, 2, 4]], [2, 2, 2], [0.25, 0, 0]], { eps: 1e-5 }, [0, 0]);
  assert.equal(terms.length, 2);
  // d y₀ / d xⱼ = 2 (δ₀ⱼ − 1/3 − z₀zⱼ/3) / σ with z = (−1.07, −0.27, 1.34), σ = 1.25: 0.46, −0.69, 0.23; gain: −1.07
  assert.deepEqual(terms[0].slice(1), ['1:0', '0:0,1', '0:0,0', '0:0,2']);
  assert.deepEqual(terms[1], [0.25, '2:0']);
});

test('what only decides is named apart: the token of an embedding, the mask of a score', () => {
  const table = fromNested([
    [1, 2],
    [3, 4],
  ]);
  const embedded = of('embed', [fromNested([1], 'int'), table], {}, [0, 1]);
  assert.deepEqual(embedded, { terms: [[4, '1:1,1']], deciding: ['0:0'] });
  const refused = of('mask', [[[7]], fromNested([[false]], 'bool')], {}, [0, 0]);
  assert.deepEqual(refused, { terms: [[-Infinity]], deciding: ['1:0,0'] });
});

// ---- all the way back, through every program of the book -----------------------------------------------------------

const GOLDEN = new URL('../../tests/golden/', import.meta.url);
const PROGRAMS = readdirSync(GOLDEN)
  .filter((name) => name.endsWith('.json'))
  .map((name) => [name, JSON.parse(readFileSync(new URL(name, GOLDEN), 'utf8')).program]);

/** Every cell that a walk back from a cell can reach, as 'id:place in the data'. */
function reached(scene, id, index) {
  const seen = new Set();
  const open = [{ id, index }];
  while (open.length) {
    const cell = open.pop();
    const key = `${cell.id}:${offset(scene.value(cell.id).shape, cell.index)}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const found = scene.contributions(cell.id, cell.index);
    if (!found) continue;
    const value = scene.value(cell.id).data[offset(scene.value(cell.id).shape, cell.index)];
    const total = found.terms.reduce((sum, term) => sum + term.value, 0);
    const scale = found.terms.reduce((sum, term) => sum + Math.abs(term.value), 1);
    assert.ok(total === value || Math.abs(total - value) <= 1e-12 * scale, `${key}: ${total}, not ${value}`);
    open.push(...found.terms.flatMap(({ cells }) => cells), ...found.deciding);
  }
  return seen;
}

test('there are programs to walk through', () => assert.ok(PROGRAMS.length > 10));

for (const [name, source] of PROGRAMS) {
  test(`${name}: a walk back from cells of its last result reaches every given number that moves them`, () => {
    const program = parseProgram(source);
    const scene = new Scene(new Session(program));
    // What only picks a winner does not move when a number moves a little.
    const { output: last } = program.steps.findLast(({ op }) => op !== 'hardmax');
    const { shape, data } = program.run().values[last];
    const places = [0, 0.3, 0.7, 1].map((share) => Math.round(share * (data.length - 1)));
    const seen = new Map(places.map((place) => [place, reached(scene, last, indexOf(shape, place))]));
    let moved = 0;
    for (const { id, value, dtype, name: leaf } of program.tensors) {
      if (!value || dtype !== 'float') continue;
      for (let i = 0; i < value.data.length; i++) {
        const nudged = replaceCell(value, indexOf(value.shape, i), value.data[i] + 1e-3);
        const after = program.run({ overrides: new Map([[id, nudged]]) }).values[last].data;
        for (const [place, keys] of seen) {
          if (!(Math.abs(after[place] - data[place]) > 1e-9)) continue;
          moved += 1;
          assert.ok(keys.has(`${id}:${i}`), `${leaf}, cell ${i}, moves cell ${place} of the result`);
        }
      }
    }
    // A program of tokens and masks alone has no number that could move a little.
    const numbers = program.tensors.some(({ value, dtype }) => value && dtype === 'float');
    assert.ok(moved > 0 || !numbers, 'nothing moves');
    for (const keys of seen.values())
      assert.ok([...keys].some((key) => program.tensors[key.split(':')[0]].value), 'the walk ends at given values');
  });
}
