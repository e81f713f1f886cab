import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProgram } from '../program.js';
import { Blocks } from './blocks.js';
import { Scene } from './scene.js';
import { Session } from './session.js';

const SCOPES = ['', 'model.encoder', 'model.layers.0.inner', 'model.layers.0.inner', 'model.layers.0', 'model.layers.1', '', 'model'];
const blocks = () => new Blocks(SCOPES.map((scope) => ({ scope })));

/** x → seven copies of it, one after the other, in these scopes; the fourth also uses a weight, by adding it. */
function session(fold, start = 0) {
  const tensors = [
    { name: 'x', axes: ['a'], dtype: 'float', shape: [2], data: [1, 2] },
    { name: 'model.layers.0.inner.w.weight', axes: ['a'], dtype: 'float', shape: [2], data: [5, 5] },
  ];
  const steps = SCOPES.map((scope, i) => {
    const output = tensors.length;
    tensors.push({ name: `${scope && `${scope}.`}out_${i}`, axes: ['a'], dtype: 'float' });
    const before = i === 0 ? 0 : output - 1;
    return i === 3
      ? { op: 'add', inputs: [before, 1], output, scope, attributes: {} }
      : { op: 'copy', inputs: [before], output, scope, attributes: {} };
  });
  const program = { format: 'stepformer.trace/1', title: '', labels: {}, tensors, steps, breaks: [] };
  return new Session(parseProgram(program), start, fold);
}

/** The positions shown as the reader steps from one end to the other. */
function walk(s, forward = true) {
  const seen = [s.step];
  while (s.neighbour(forward) !== s.step) seen.push((s.step = s.neighbour(forward)));
  return seen;
}

test('steps in a row that share a scope are a block; a number belongs to the part before it', () => {
  const told = blocks().all.map(({ path, name, first, last, depth }) => [path, name, first, last, depth]);
  assert.deepEqual(told, [
    ['model', 'model', 1, 5, 0],
    ['model.encoder', 'encoder', 1, 1, 1],
    ['model.layers.0', 'layers.0', 2, 4, 1],
    ['model.layers.0.inner', 'inner', 2, 3, 2],
    ['model.layers.1', 'layers.1', 5, 5, 1],
    ['model', 'model', 7, 7, 0],
  ]);
});

test('nothing folded: every step is shown', () => {
  assert.deepEqual(walk(session([])), [0, 1, 2, 3, 4, 5, 6, 7]);
});

test('a folded block is stepped over as one and ends where it ends, in both directions', () => {
  assert.deepEqual(walk(session(['model.layers.0'])), [0, 1, 4, 5, 6, 7]);
  assert.deepEqual(walk(session(['model.layers.0'], 7), false), [7, 6, 5, 4, 1, 0]);
  assert.deepEqual(walk(session(['model', 'model.layers.0'])), [0, 5, 6, 7]);
});

test('a step inside a folded block is shown as the block, at the start and after folding', () => {
  const s = session(['model.layers.0'], 2);
  assert.deepEqual([s.step, s.block.path], [4, 'model.layers.0']);
  s.toggle('model.layers.0');
  assert.deepEqual([s.step, s.block], [2, null], 'unfolding shows the first step inside');
  s.toggle('model.layers.0');
  assert.deepEqual([s.step, s.block.path], [4, 'model.layers.0']);
});

test('unfolding a block shows the blocks inside it as they are: folded ones stay folded', () => {
  const s = session(['model', 'model.layers.0.inner'], 3);
  s.toggle('model');
  assert.deepEqual([s.step, s.block], [1, null]);
  assert.deepEqual(walk(s), [1, 3, 4, 5, 6, 7]);
});

test('a fold that is no list of scopes is refused and changes nothing', () => {
  const s = session(['model.encoder']);
  for (const fold of ['model', ['nothing'], [1], {}, 2, null]) {
    assert.throws(() => s.fold(fold), /not a scope/, JSON.stringify(fold));
    assert.throws(() => session(fold), /not a scope/);
  }
  assert.deepEqual([...s.blocks.folded], ['model.encoder']);
});

test('a folded block goes from what comes from outside to its last result; its weights are left out and counted', () => {
  const scene = new Scene(session(['model.layers.0'], 4));
  const { tensors } = scene.session.program;
  const { inputs, output, count, left } = scene.step;
  assert.deepEqual(
    [inputs.map((id) => tensors[id].name), tensors[output].name, count, left],
    [['model.encoder.out_1'], 'model.layers.0.out_4', 3, 1],
  );
  assert.equal(scene.chosenCell().block.path, 'model.layers.0');
});
