/**
 * Greedy search and beam search for one sentence: the twins of `stepformer.decode`. A model is known by one function,
 * from the ids written so far to the log-probabilities of the next word.
 *
 * @typedef {{ids: number[], score: number, normalised: number, finished: boolean}} Hypothesis
 *   `ids`: what was written after the prefix, without the end mark; `normalised`: divided by the length penalty
 * @typedef {{word: number, score: number, parent: Node|null, stayed: boolean, kept: boolean, finished: boolean}} Node
 */
import { BOS, EOS } from './tokenizer.js';

export const ALPHA = 0.6;
export const BEAM_SIZE = 4;

/** What the score of a hypothesis of n written words is divided by (Wu et al. 2016, eq. 14). */
export const lengthPenalty = (n, alpha = ALPHA) => ((5 + n) / 6) ** alpha;

/**
 * The most probable word at every step, of equal ones the first.
 *
 * @param {(ids: number[]) => Float64Array} next
 * @param {{maxLen: number, prefix?: number[], alpha?: number, written?: (ids: number[]) => Promise<void>|void}} options
 *   `maxLen`: the most words to write, the end mark included; `written`: is told after each word
 * @returns {Promise<{hypotheses: Hypothesis[]}>}
 */
export async function greedy(next, { maxLen, prefix = [BOS], alpha = ALPHA, written }) {
  const ids = [];
  let score = 0;
  while (ids.length < maxLen && ids.at(-1) !== EOS) {
    const logs = next([...prefix, ...ids]);
    const best = logs.reduce((best, log, word) => (log > logs[best] ? word : best), 0);
    ids.push(best);
    score += logs[best];
    await written?.(ids);
  }
  return { hypotheses: [hypothesis(ids, score, alpha)] };
}

function hypothesis(written, score, alpha) {
  const finished = written.at(-1) === EOS;
  return {
    ids: finished ? written.slice(0, -1) : written,
    score,
    normalised: score / lengthPenalty(written.length, alpha),
    finished,
  };
}

/**
 * At every step the most probable beginnings are kept. A finished one stays as it is while it is among them, and is never
 * forgotten; the search ends when no open one can still beat the last of the best finished ones.
 *
 * @returns {Promise<{hypotheses: Hypothesis[], steps: Node[][]}>}
 *   `steps`: of each step what was considered, the most probable first; `kept` tells which of it went on
 */
export async function beam(
  next,
  { maxLen, prefix = [BOS], alpha = ALPHA, size = BEAM_SIZE, nBest = size, written },
) {
  let places = [{ word: prefix.at(-1), score: 0, parent: null, finished: false, stayed: false }];
  const [steps, ended, cut] = [[], [], []];
  for (let n = 1; n <= maxLen; n++) {
    const candidates = [];
    for (const place of places) {
      if (place.finished) candidates.push({ ...place, parent: place, word: EOS, stayed: true });
      else {
        const logs = next([...prefix, ...wordsOf(place)]);
        for (const word of largest(logs, size)) {
          const score = place.score + logs[word];
          candidates.push({ word, score, parent: place, finished: word === EOS, stayed: false });
        }
      }
    }
    // Sorting keeps the order of equal ones.
    candidates.sort((a, b) => b.score - a.score);
    candidates.forEach((node, k) => (node.kept = k < size));
    places = candidates.slice(0, size);
    steps.push(candidates);
    for (const node of places) if (node.finished && !node.stayed) ended.push(result(node, n));
    const open = places.filter(({ finished }) => !finished);
    if (n === maxLen) cut.push(...open.map((node) => result(node, n)));
    await written?.(wordsOf(places[0]));
    if (!open.length || !couldWin(open[0].score, n)) break;
  }
  // Of equal ones the one that was found first.
  const hypotheses = [ended, cut].flatMap((group) => group.sort((a, b) => b.normalised - a.normalised));
  return { hypotheses: hypotheses.slice(0, nBest), steps };

  function result(node, n) {
    return { ...hypothesis(wordsOf(node), node.score, alpha), node, n };
  }

  /** Scores only fall, and they are negative: the largest divisor to come makes the most of them. */
  function couldWin(score, n) {
    if (ended.length < nBest || n === maxLen) return true;
    const worst = ended.map(({ normalised }) => normalised).sort((a, b) => b - a)[nBest - 1];
    return score / lengthPenalty(maxLen, alpha) > worst;
  }
}

/** The words of a node from the first to its own, without the prefix; a finished one that stayed adds none. */
export function wordsOf(node) {
  const words = [];
  for (let at = node; at.parent; at = at.parent) if (!at.stayed) words.unshift(at.word);
  return words;
}

/** The places of the n largest numbers, the largest first, of equal ones the first. */
export function largest(row, n) {
  return Array.from(row.keys())
    .sort((i, j) => row[j] - row[i] || i - j)
    .slice(0, n);
}
