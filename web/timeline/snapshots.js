/** What the payload of a timeline holds, checked and read: `stepformer.timeline/1`, made by `stepformer.timeline`. */
import { needList, needObject, needText } from '../program.js';
import { t } from './text.js';

export const FORMAT = 'stepformer.timeline/1';
export const AVERAGE = 'average';

/** Refuses a payload in which something that is shown is missing. */
export function check(payload) {
  if (payload.format !== FORMAT) throw new Error(t('wrong_format', { format: String(payload.format) }));
  needText(payload.model, 'model');
  for (const name of ['sentences', 'snapshots', 'loss', 'losses']) needList(payload[name], name);
  const { sentences, snapshots } = payload;
  need(sentences.length > 0 && snapshots.length > 1, 'list of snapshots');
  need(payload.losses.length === snapshots.length && payload.losses.every((x) => x === null || isNumber(x)), 'loss');
  need(payload.loss.every((point) => Array.isArray(point) && point.length === 2 && point.every(isNumber)), 'loss');
  need(payload.loss.length > 1, 'loss');
  need(Number.isInteger(payload.start) && payload.start in sentences, 'start');
  for (const [i, sentence] of sentences.entries())
    for (const side of ['src', 'tgt']) needList(needObject(sentence, `sentence ${i}`)[side], `sentence ${i}: ${side}`).forEach((word) => needText(word, 'word'));
  const shape = (head) => `${head.length}×${new Set(head.map((row) => row.length)).size === 1 && head[0].length}`;
  for (const [k, snapshot] of snapshots.entries()) {
    const where = `snapshot ${k}`;
    need(isNumber(needObject(snapshot, where).step) && (k === 0 || snapshot.step > snapshots[k - 1].step), where);
    need(needList(snapshot.sentences, where).length === sentences.length, where);
    for (const [i, part] of snapshot.sentences.entries()) {
      const { src, tgt } = sentences[i];
      const layers = needList(needObject(part, where).attention, where);
      const heads = layers.flatMap((layer) => needList(layer, where));
      const first = snapshots[0].sentences[0].attention;
      need(layers.length === first.length && layers.every((layer) => layer.length === first[0].length), where);
      need(heads.length > 0 && heads.every((head) => isTable(head) && shape(head) === `${tgt.length}×${src.length}`), where);
      need(needList(part.next, where).length === tgt.length && part.next.every(isBars), where);
    }
  }
  return payload;
}

/** The weights of a sentence at a moment, from 0 to 1: of one layer and head, or their mean; a row for each target word. */
export function weights(payload, { snapshot, sentence, layer, head }) {
  const { attention } = payload.snapshots[snapshot].sentences[sentence];
  const tables = (layer === AVERAGE ? attention : [attention[layer]]).flatMap((heads) =>
    head === AVERAGE ? heads : [heads[head]],
  );
  return tables[0].map((row, i) =>
    row.map((_, j) => tables.reduce((sum, table) => sum + table[i][j], 0) / tables.length / 1000),
  );
}

/** Where a step lies between the first snapshot (0) and the last (1): the snapshots are evenly apart. */
export function place(payload, step) {
  const steps = payload.snapshots.map((one) => one.step);
  const after = Math.max(1, steps.findIndex((other) => other >= step));
  const within = (step - steps[after - 1]) / (steps[after] - steps[after - 1]);
  return (after - 1 + within) / (steps.length - 1);
}

function need(holds, part) {
  if (!holds) throw new Error(t('wrong_part', { part }));
}

const isNumber = (x) => typeof x === 'number' && Number.isFinite(x);
const isTable = (rows) => Array.isArray(rows) && rows.length > 0 && rows.every((row) => Array.isArray(row) && row.every(isNumber));
const isBars = (bars) =>
  Array.isArray(bars) && bars.length > 0 && bars.every((bar) => Array.isArray(bar) && typeof bar[0] === 'string' && isNumber(bar[1]));
