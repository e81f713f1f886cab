import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AVERAGE, check, place, weights } from './snapshots.js';

/** Two snapshots of one sentence of two words, translated by three; two layers of two heads. */
function payload() {
  const table = (x) => [[x, 1000 - x], [0, 500], [250, 250]];
  const attention = (x) => [[table(x), table(x + 100)], [table(x + 200), table(x + 400)]];
  const next = [[['追逐', 600], ['。', 100]], [['了', 5]], [['。', 990]]];
  const snapshot = (step, x) => ({ step, sentences: [{ attention: attention(x), next }] });
  return {
    format: 'stepformer.timeline/1',
    model: 'small',
    sentences: [{ src: ['Tom', 'sang'], tgt: ['汤姆', '唱歌', '了'] }],
    snapshots: [snapshot(0, 0), snapshot(100, 100), snapshot(500, 200)],
    loss: [[1, 5], [500, 1]],
    losses: [null, 3, 1],
    start: 0,
  };
}

test('a head, the mean of the heads of a layer, of one head in all layers, of all', () => {
  const at = (layer, head, snapshot = 0) => weights(payload(), { snapshot, sentence: 0, layer, head })[0];
  assert.deepEqual(at(0, 0), [0, 1]);
  assert.deepEqual(at(0, 1), [0.1, 0.9]);
  assert.deepEqual(at(1, AVERAGE), [0.3, 0.7]);
  assert.deepEqual(at(AVERAGE, 0), [0.1, 0.9]);
  assert.deepEqual(at(AVERAGE, AVERAGE), [0.175, 0.825]);
  assert.deepEqual(at(0, 0, 2), [0.2, 0.8]);
});

test('snapshots are evenly apart, and steps lie between them', () => {
  const places = [0, 1, 50, 100, 300, 500].map((step) => place(payload(), step));
  assert.deepEqual(places, [0, 0.005, 0.25, 0.5, 0.75, 1]);
});

test('what is as it should be passes', () => {
  const good = payload();
  assert.equal(check(good), good);
});

const BROKEN = {
  'another format': (p) => (p.format = 'stepformer.timeline/2'),
  'no sentences': (p) => (p.sentences = []),
  'no list': (p) => (p.snapshots = {}),
  'one snapshot': (p) => (p.snapshots.length = 1),
  'steps out of order': (p) => (p.snapshots[2].step = 100),
  'a start that is no sentence': (p) => (p.start = 1),
  'a start that is no number': (p) => (p.start = 'length'),
  'a word that is none': (p) => (p.sentences[0].src[0] = 7),
  'a row less': (p) => p.snapshots[1].sentences[0].attention[0][0].pop(),
  'a column less': (p) => p.snapshots[1].sentences[0].attention[0][0][0].pop(),
  'a column less everywhere': (p) => p.snapshots[1].sentences[0].attention[0][0].forEach((row) => row.pop()),
  'a head less': (p) => p.snapshots[1].sentences[0].attention[1].pop(),
  'a layer less': (p) => p.snapshots[1].sentences[0].attention.pop(),
  'no heads': (p) => (p.snapshots[0].sentences[0].attention = [[], []]),
  'no layers': (p) => (p.snapshots[0].sentences[0].attention = []),
  'a text for a number': (p) => (p.snapshots[1].sentences[0].attention[0][0][0][0] = '1'),
  'a position less': (p) => p.snapshots[1].sentences[0].next.pop(),
  'no bars': (p) => (p.snapshots[1].sentences[0].next[0] = []),
  'a bar without a word': (p) => (p.snapshots[1].sentences[0].next[0] = [[3, 4]]),
  'a moment without a loss': (p) => p.losses.pop(),
  'no curve': (p) => (p.loss = []),
  'a point that is none': (p) => (p.loss[0] = 3),
};

for (const [name, damage] of Object.entries(BROKEN)) {
  test(`refused: ${name}`, () => {
    const broken = payload();
    damage(broken);
    // A sentence for the reader, not an error of the language.
    assert.throws(() => check(broken), (error) => !(error instanceof TypeError) && error.message.length > 10);
  });
}
