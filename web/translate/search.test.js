import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logSoftmax } from './model.js';
import { beam, greedy, largest, lengthPenalty, wordsOf } from './search.js';
import { BOS, EOS } from './tokenizer.js';

const WORDS = 5;

/** A model whose next word depends on the last two; a word's number, mixed well, decides. */
function model(seed) {
  return (ids) => {
    const [a, b] = [ids.at(-2) ?? 9, ids.at(-1)];
    const logits = Float64Array.from({ length: WORDS }, (_, k) => 3 * Math.sin(seed * 12.9 + a * 78.2 + b * 37.7 + k * 4.1));
    const logs = logSoftmax(logits);
    logs[0] = logs[BOS] = -Infinity;
    return logs;
  };
}

/** Every sentence of at most maxLen words, with the logarithm of its probability: finished, or cut there. */
function everything(next, maxLen, alpha) {
  const found = [];
  const grow = (ids, score) => {
    if (ids.at(-1) === EOS || ids.length === maxLen) {
      const finished = ids.at(-1) === EOS;
      found.push({ ids: finished ? ids.slice(0, -1) : ids, score, finished, normalised: score / lengthPenalty(ids.length, alpha) });
      return;
    }
    const logs = next([BOS, ...ids]);
    for (let word = 2; word < WORDS; word++) grow([...ids, word], score + logs[word]);
  };
  grow([], 0);
  return found.sort((a, b) => b.finished - a.finished || b.normalised - a.normalised);
}

test('a beam that holds everything finds the best sentences there are', async () => {
  for (const seed of [1, 2, 3]) {
    for (const alpha of [0, 0.6, 2]) {
      const next = model(seed);
      const wanted = everything(next, 4, alpha).slice(0, 3);
      const { hypotheses } = await beam(next, { maxLen: 4, alpha, size: 200, nBest: 3 });
      assert.deepEqual(
        hypotheses.map(({ ids }) => ids),
        wanted.map(({ ids }) => ids),
      );
      hypotheses.forEach(({ normalised }, k) => assert.ok(Math.abs(normalised - wanted[k].normalised) < 1e-12));
    }
  }
});

test('a beam of one is greedy search, and what is written is told step by step', async () => {
  for (const seed of [4, 5, 6, 7]) {
    const told = [];
    const one = await greedy(model(seed), { maxLen: 9, written: (ids) => told.push([...ids]) });
    const { hypotheses } = await beam(model(seed), { maxLen: 9, size: 1 });
    assert.deepEqual(hypotheses[0].ids, one.hypotheses[0].ids);
    assert.ok(Math.abs(hypotheses[0].score - one.hypotheses[0].score) < 1e-12);
    assert.deepEqual(
      told.map(({ length }) => length),
      told.map((_, i) => i + 1),
    );
  }
});

test('the best are sorted, different, and not more than wanted; a small beam gives the same best for any number of them', async () => {
  for (const seed of [8, 9, 10, 11]) {
    const best = [];
    for (const nBest of [1, 2, 4]) {
      const { hypotheses } = await beam(model(seed), { maxLen: 12, size: 4, nBest });
      assert.ok(hypotheses.length <= nBest);
      assert.equal(new Set(hypotheses.map(({ ids }) => ids.join())).size, hypotheses.length);
      hypotheses.slice(1).forEach(({ normalised }, k) => assert.ok(normalised <= hypotheses[k].normalised));
      best.push(hypotheses[0].ids.join());
    }
    assert.equal(new Set(best).size, 1);
  }
});

test('a prefix is given: it is neither counted nor returned, and the search goes on from it', async () => {
  const next = model(3);
  const free = await greedy(next, { maxLen: 8 });
  const [first, ...rest] = free.hypotheses[0].ids;
  const { hypotheses } = await greedy(next, { maxLen: 7, prefix: [BOS, first] });
  assert.deepEqual(hypotheses[0].ids, rest);
  const [found] = (await beam(next, { maxLen: 7, prefix: [BOS, first], size: 1 })).hypotheses;
  assert.deepEqual(found.ids, rest);
});

test('a search that is cut says so', async () => {
  const never = () => Float64Array.of(-Infinity, -Infinity, -9, -0.1, -2);
  for (const find of [greedy, beam]) {
    const { hypotheses } = await find(never, { maxLen: 3, nBest: 1, size: 2, alpha: 0 });
    assert.deepEqual([hypotheses[0].ids, hypotheses[0].finished], [[3, 3, 3], false]);
  }
  // What is finished wins over what is cut, however improbable it is.
  const { hypotheses } = await beam(never, { maxLen: 3, nBest: 1, size: 3, alpha: 0 });
  assert.deepEqual([hypotheses[0].ids, hypotheses[0].finished], [[], true]);
});

test('the tree holds what was considered; what is kept at a step goes on from what was kept before', async () => {
  const { steps, hypotheses } = await beam(model(2), { maxLen: 6, size: 3 });
  steps.forEach((nodes, n) => {
    const kept = nodes.filter((node) => node.kept);
    assert.ok(kept.length <= 3 && kept.length > 0);
    nodes.slice(1).forEach(({ score }, k) => assert.ok(score <= nodes[k].score));
    if (n > 0) for (const node of nodes) assert.ok(steps[n - 1].includes(node.parent) && node.parent.kept);
  });
  for (const { ids, node, finished } of hypotheses) assert.deepEqual(wordsOf(node), finished ? [...ids, EOS] : ids);
});

test('of equal numbers the first is the largest', () => {
  assert.deepEqual(largest([1, 3, 3, -Infinity], 3), [1, 2, 0]);
});
