/**
 * What a reader has done to a program, and the values that follow from it. No page is needed here.
 *
 * The values depend on nothing but the list of edits and the set of breaks that are on. An edit of a result
 * replaces the result as it was at that place in the list, and cuts its inputs off. So two views given the
 * same list and set always show the same numbers.
 */
import { agree, replaceCell, same, sameShape, toNested } from '../tensor.js';
import { Blocks } from './blocks.js';
import { History } from './history.js';
import { t } from './text.js';

/** @typedef {[string, number[], number|boolean]} Edit   tensor name, index, new value */

export class Session {
  /**
   * @param {import('../program.js').Program} program
   * @param {number|string} [start]  the step to begin at
   * @param {string[]} [fold]  the scopes that are folded at the start
   */
  constructor(program, start = 0, fold = []) {
    this.program = program;
    this.untouched = program.run();
    if (this.untouched.steps.length === 0) throw new Error(t('empty_program'));
    /** Where each result is computed: the position of its step, by the tensor's id. */
    this.positions = new Map(program.steps.map(({ output }, i) => [output, i]));
    this.history = new History();
    this.#adopt([], [], new Map(), this.untouched);
    this.labelsBefore = this.labels;
    this.blocks = new Blocks(program.steps);
    this.step = this.#startStep(start);
    this.fold(fold);
  }

  get steps() {
    return this.run.steps;
  }

  /** Whether anything is edited or switched on. */
  get touched() {
    return this.edits.length + this.breaks.length > 0;
  }

  /** A step number is brought into range; a name means the step that makes that result. */
  #startStep(start) {
    if (Number.isInteger(start)) return this.clampStep(start);
    const output = typeof start === 'string' ? this.program.find(start) : -1;
    const step = this.positions.get(output) ?? -1;
    if (step < 0) throw new Error(t('bad_start', { start: JSON.stringify(start) ?? 'undefined' }));
    return step;
  }

  /** Folds these scopes and unfolds all others; what is no list of scopes is an error and changes nothing. */
  fold(paths) {
    const { blocks } = this;
    const unknown = Array.isArray(paths)
      ? paths.find((path) => !blocks.all.some((block) => block.path === path))
      : paths;
    if (unknown !== undefined) throw new Error(t('bad_fold', { fold: JSON.stringify(unknown) }));
    blocks.folded = new Set(paths);
    this.step = blocks.shown(this.step);
  }

  /** The step that computes a tensor, as it is after the breaks that are on; null for a leaf. */
  producer(id) {
    return this.steps[this.positions.get(id)] ?? null;
  }

  /** The folded block on show in place of its steps, or null. */
  get block() {
    return this.blocks.hiding(this.step);
  }

  /** Folds or unfolds a block; where that hides or opens what is on show, the block or its first step is shown. */
  toggle(path) {
    const { blocks, block } = this;
    if (!blocks.folded.delete(path)) blocks.folded.add(path);
    else if (block?.path === path) this.step = block.first;
    this.step = blocks.shown(this.step);
  }

  /** The position shown after, or before, what is on show: a folded block is one step. The same at the ends. */
  neighbour(forward) {
    const { first, last } = this.block ?? { first: this.step, last: this.step };
    const next = forward ? last + 1 : first - 1;
    return next in this.steps ? this.blocks.shown(next) : this.step;
  }

  clampStep(step) {
    return Math.max(0, Math.min(this.steps.length - 1, Math.trunc(step) || 0));
  }

  /** The values of a tensor as nested lists. */
  nested(name) {
    return toNested(this.run.values[this.program.find(name)]);
  }

  /** The edits and breaks that all values follow from. */
  get state() {
    return { edits: this.edits, breaks: this.breaks };
  }

  /**
   * Sets one cell; a value that cannot be set or computed is an error and changes nothing. Neither does the value that
   * the cell of a leaf or of an edited result has already.
   * @param {string} [gesture]  see History.leave
   */
  set(name, index, value, gesture) {
    const id = this.program.find(name);
    const now = this.run.values[id];
    const { edit, replaced } = this.#replace(id, now, index, value);
    // A break may have given the value as it is now: then it is none of the reader's.
    const own = this.overrides.get(id) ?? this.program.tensors[id].value;
    if (own && same(own, now) && same(own, replaced)) return;
    const overrides = new Map(this.overrides).set(id, replaced);
    const run = this.program.run({ overrides, breaks: this.breaks });
    this.history.leave(this.state, gesture);
    this.#adopt([...this.#without(edit), edit], this.breaks, overrides, run);
  }

  /**
   * The edits but for the last one of the same cell, if nothing is left of it: it came last, or it and all that came
   * after it are of given values. (What an edited result was before its edit may follow from an edit before that.)
   */
  #without([name, index]) {
    const { edits, program } = this;
    const i = edits.findLastIndex((one) => one[0] === name && String(one[1]) === String(index));
    const given = (edit) => !this.positions.has(program.find(edit[0]));
    const gone = i >= 0 && (i === edits.length - 1 || edits.slice(i).every(given));
    return gone ? edits.toSpliced(i, 1) : edits;
  }

  setBreak(name, on) {
    this.restore(this.edits, on ? [...this.breaks, name] : this.breaks.filter((item) => item !== name));
  }

  reset() {
    this.restore([], []);
  }

  /** Goes to the state that follows from a list of edits and a set of breaks; the way back to this one is kept. */
  restore(edits, breaks) {
    const { state } = this;
    this.#replay(edits, breaks);
    if (JSON.stringify(state) !== JSON.stringify(this.state)) this.history.leave(state);
  }

  /** Takes the last change back; false where there is none. */
  undo() {
    return this.#travel(this.history.back(this.state));
  }

  /** Does again what was taken back last; false where there is nothing. */
  redo() {
    return this.#travel(this.history.forward(this.state));
  }

  #travel(state) {
    if (state) this.#replay(state.edits, state.breaks);
    return state !== null;
  }

  #replay(edits, breaks) {
    const overrides = new Map();
    const checked = [];
    let run = null;
    const now = () => (run ??= this.program.run({ overrides, breaks }));
    for (const [name, index, value] of edits) {
      const id = this.program.find(name);
      const { edit, replaced } = this.#replace(id, overrides.get(id) ?? now().values[id], index, value);
      overrides.set(id, replaced);
      run = null;
      checked.push(edit);
    }
    const known = this.program.breaks.map((item) => item.name);
    this.#adopt(checked, known.filter((name) => breaks.includes(name)), overrides, now());
  }

  #adopt(edits, breaks, overrides, run) {
    this.edits = edits;
    this.breaks = breaks;
    this.overrides = overrides;
    this.run = run;
    this.labels = this.program.labels(run.values);
    this.changed = new Set();
    run.values.forEach((value, id) => {
      if (differs(value, this.untouched.values[id])) this.changed.add(id);
    });
  }

  /** A tensor with one other cell, and the edit in its stored form: full name, a word as its token id. */
  #replace(id, now, index, value) {
    const { name: fullName, vocabulary } = this.program.tensors[id];
    const word = vocabulary ? vocabulary.indexOf(value) : -1;
    const stored = word < 0 ? value : word;
    const replaced = replaceCell(now, index, stored);
    const edit = [fullName, [...index], replaced.dtype === 'bool' ? Boolean(stored) : stored];
    return { edit, replaced };
  }

  /** Axis names of a tensor as it is now; a break may have given it more axes than the program declares. */
  axes(id, rank = this.run.values[id].shape.length) {
    const declared = this.program.tensors[id].axes ?? [];
    return Array.from(
      { length: rank },
      (_, axis) => declared[axis - rank + declared.length] ?? `axis ${axis}`,
    );
  }

  /** One label per position of an axis. */
  axisLabels(axis, length, from = this.labels) {
    const labels = from.get(axis);
    return labels && labels.length === length ? labels : Array.from({ length }, (_, i) => String(i));
  }
}

/** Whether two runs gave a tensor other values (or another shape). */
export function differs(a, b) {
  if (a === b || a.data === b.data) return false;
  if (!sameShape(a, b)) return true;
  for (let i = 0; i < a.data.length; i++) if (!agree(a.data[i], b.data[i])) return true;
  return false;
}
