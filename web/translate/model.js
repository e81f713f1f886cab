/**
 * A trained model: a recorded program with the token leaves `src` and `tgt`. Translating is a loop around it, which puts
 * the chosen word at the end of `tgt` and runs it again; the engine computes again only what depends on `tgt`.
 */
import { parseProgram } from '../program.js';
import { tensor } from '../tensor.js';
import { BOS, EOS, PAD, Tokenizer } from './tokenizer.js';

export const FORMAT = 'stepformer.translation/1';

const WEIGHTS = '.attention.weights';
const MASK = '.mask_for_heads';

export class Model {
  /**
   * @param {{format: string, program: Object, src_tokenizer: Object, tgt_tokenizer: Object, max_len: number,
   *   fold: string[]}} data  `max_len`: the longest sequence, start or end mark included; `fold`: as for the player
   */
  constructor(data) {
    if (data?.format !== FORMAT) throw new Error(`the format is ${JSON.stringify(data?.format)}`);
    this.json = data.program;
    this.program = parseProgram(data.program);
    this.fold = data.fold;
    this.maxLen = data.max_len;
    this.src = new Tokenizer(data.src_tokenizer);
    this.tgt = new Tokenizer(data.tgt_tokenizer);
    const names = this.program.tensors.map(({ name }) => name);
    /** The paths of all attentions, in the order in which they are computed. */
    this.attentions = names.filter((name) => name.endsWith(WEIGHTS)).map((name) => name.slice(0, -WEIGHTS.length));
    this.crossAttentions = this.attentions.filter((path) => path.endsWith('.cross_attention'));
    this.ids = Object.fromEntries(['src', 'tgt', 'logits', 'probabilities'].map((name) => [name, this.program.find(name)]));
    /** Break name -> the attention and the head that it takes away; not those that take something else. */
    this.heads = new Map();
    for (const { name, edits } of this.program.breaks) {
      const gate = edits.find(({ value }) => value);
      const masked = this.program.tensors[edits[0].tensor].name;
      if (gate) this.heads.set(name, { path: masked.slice(0, -MASK.length), head: gate.value.data.indexOf(0) });
    }
    this.nHeads = Math.max(...Array.from(this.heads.values(), ({ head }) => head + 1));
  }

  /** The ids of a source as the model reads them: with <eos> at the end. */
  source(text) {
    return this.sourceOf(this.src.encode(text));
  }

  sourceOf(ids) {
    return tensor([ids.length + 1], [...ids, EOS], 'int');
  }

  /**
   * One run of the program.
   *
   * @param {import('../tensor.js').Tensor} source  the same object for the same source: what depends on it alone is kept
   * @param {number[]} target  beginning with <bos>
   * @param {string[]} without  names of breaks
   */
  run(source, target, without = []) {
    const overrides = new Map([
      [this.ids.src, source],
      [this.ids.tgt, tensor([target.length], target, 'int')],
      ...this.#gates(without),
    ]);
    return this.program.run({ overrides, breaks: without });
  }

  /** Several heads of one attention: each break would set the gate for itself, so here they are put together. */
  #gates(without) {
    const key = without.join();
    if (this.gatesKey !== key) {
      const gates = new Map();
      for (const { name, edits } of this.program.breaks) {
        if (!without.includes(name)) continue;
        for (const { tensor: id, value } of edits) {
          if (value) gates.set(id, gates.has(id) ? both(gates.get(id), value) : value);
        }
      }
      Object.assign(this, { gatesKey: key, gates });
    }
    return this.gates;
  }

  /** log P of every word as the next one, after the last word of the target; padding and begin marks are never written. */
  next(source, target, without) {
    const logs = logSoftmax(this.#row(this.run(source, target, without), 'logits', target.length - 1));
    return logs.fill(-Infinity, PAD, BOS + 1);
  }

  #row({ values }, name, i) {
    const { shape, data } = values[this.ids[name]];
    return data.subarray(i * shape[1], (i + 1) * shape[1]);
  }

  /**
   * What the model thinks while it writes a target: for each position the probabilities of the next word, and for each
   * cross-attention the weights, (heads, positions, words of the source).
   */
  view(source, target, without) {
    const run = this.run(source, target, without);
    return {
      probabilities: target.map((_, i) => this.#row(run, 'probabilities', i)),
      attention: this.crossAttentions.map((path) => run.values[this.program.find(path + WEIGHTS)]),
    };
  }

  /** The most words that may be written after a prefix, the end mark included: the rule of `Translator` in Python. */
  limit(source, prefix) {
    const read = source.data.length - 1;
    return Math.max(1, Math.min(this.maxLen, 2 * read + 10) - (prefix.length - 1));
  }

  /** The program at this point, as a player's payload: what is switched off here is a switch that can be turned there. */
  payload(source, target, without, title) {
    const data = { src: Array.from(source.data), tgt: [...target] };
    const tensors = this.json.tensors.map((one) =>
      data[one.name] ? { ...one, shape: [data[one.name].length], data: data[one.name] } : one,
    );
    return { ...this.json, title, tensors, breaks: this.#breaks(without), start: 'probabilities', fold: this.fold };
  }

  /** The breaks of a player's payload that stand for what is switched off here. */
  switchedOn({ breaks }, without) {
    return breaks.filter(({ name }) => without.includes(name));
  }

  /** Of the breaks those that are on; and those that take no head away, on or off. */
  #breaks(without) {
    return this.json.breaks.filter(({ name }) => without.includes(name) || !this.heads.has(name));
  }
}

function both(a, b) {
  return { ...a, data: a.data.map((value, i) => value && b.data[i]) };
}

/** x − log Σ exp(x) */
export function logSoftmax(row) {
  let max = -Infinity;
  for (const x of row) max = Math.max(max, x);
  let total = 0;
  for (const x of row) total += Math.exp(x - max);
  const log = Math.log(total);
  return row.map((x) => x - max - log);
}
