/**
 * What is on show: the step's matrices, the chosen cell, where it comes from and where it goes. No page is
 * needed here.
 *
 * @typedef {{id: number, index: number[], value: number, old: number|null, dtype: string, words: string[]|null,
 *   empty: boolean, producer: Object|null, ids: number[], block: import('./blocks.js').Block|null,
 *   explanation: import('../explain.js').Explanation|null}} Cell
 *   `producer`: the step that makes the cell's tensor; `ids`: that step's inputs; `old`: the unedited value,
 *   if it is another; `block`: the folded block that the cell is the result of, on show as one step
 *
 * @typedef {{id: number, before: Tensor, after: Tensor, count?: number, index?: number[], old?: number, now?: number}}
 *   Change   a result that differs from the unedited one: how many cells, and the one that moved most; without these
 *   where the shape is another
 * @typedef {import('../tensor.js').Tensor} Tensor
 */
import { contributions } from '../contributions.js';
import { explain, references, refersTo } from '../explain.js';
import { agree, indexOf, offset, sameShape } from '../tensor.js';
import { clamp, fits } from './matrix.js';
import { isParameter, lastPart, roleOf, roleOfAxis } from './roles.js';
import { t } from './text.js';

const NOTHING = new Set();
const NO_LABELS = new Map();
/** Cells that a chosen input cell reaches are looked for only where that takes no noticeable time. */
const MOST_FED_TERMS = 4000;
/** A folded block shows so many of its inputs, parameters last of all. */
const MOST_BLOCK_INPUTS = 4;

export class Scene {
  /** @param {import('./session.js').Session} session */
  constructor(session) {
    this.session = session;
    /** The place on show of each axis that is neither rows nor columns, by the name of the axis. */
    this.slices = new Map();
    /**
     * The cells that the reader is asked about: their values are on show nowhere; see web/ask/.
     * @type {{id: number, places: Set<number>, lit: boolean}|null}  `lit`: what makes the chosen one is marked
     */
    this.asked = null;
    this.chooseFirst();
  }

  /** The cell of the result with which a step begins: the first, or the one at the places shown so far. */
  chooseFirst() {
    const axes = this.session.axes(this.step.output);
    this.chosen = { slot: 'output', cell: [-2, -1].map((k) => this.slices.get(axes.at(k)) ?? 0) };
  }

  /** What `look` gives when another step is on show, as it is at first; what is on show stays. */
  ahead(step, look) {
    const { session, chosen } = this;
    const { step: now } = session;
    session.step = step;
    try {
      this.chooseFirst();
      this.settle();
      return look();
    } finally {
      session.step = now;
      this.chosen = chosen;
    }
  }

  /** The step on show; a folded block stands for its steps. */
  get step() {
    const { block, steps, step } = this.session;
    if (!block) return steps[step];
    if (this.whole?.block !== block || this.whole.steps !== steps) this.whole = this.#asOne(block, steps);
    return this.whole;
  }

  /** A folded block in the form of a step without an op: from the tensors that come from outside to its last one. */
  #asOne(block, steps) {
    const inside = steps.slice(block.first, block.last + 1);
    const made = new Set(inside.map(({ output }) => output));
    const used = inside.filter(({ overridden }) => !overridden).flatMap(({ inputs }) => inputs);
    const outside = [...new Set(used)].filter((id) => !made.has(id));
    const given = outside.filter((id) => !isParameter(this.session.program.tensors[id].name));
    const inputs = (given.length ? given : outside).slice(0, MOST_BLOCK_INPUTS);
    const { output, overridden } = inside.at(-1);
    return { block, steps, inputs, output, overridden, count: inside.length, left: outside.length - inputs.length };
  }

  /** The tensors on show: the inputs, then the output. */
  get ids() {
    return [...this.step.inputs, this.step.output];
  }

  get chosenId() {
    const { slot } = this.chosen;
    return slot === 'output' ? this.step.output : this.step.inputs[slot];
  }

  value(id) {
    return this.session.run.values[id];
  }

  /** Whether the reader is asked about a cell. */
  hides(id, index) {
    return this.asked?.id === id && this.asked.places.has(offset(this.value(id).shape, index));
  }

  /** What a tensor is called: the last part of its name, or more of it where another on show ends like it. */
  name(id) {
    const { tensors } = this.session.program;
    const { name } = tensors[id];
    const others = this.ids.filter((other) => other !== id).map((other) => tensors[other].name);
    let short = lastPart(name);
    const isOpen = () => /^\d+\./.test(short) || others.some((other) => `.${other}`.endsWith(`.${short}`));
    while (short !== name && isOpen())
      short = name.slice(name.lastIndexOf('.', name.length - short.length - 2) + 1);
    return short;
  }

  /** Chooses a cell that exists: another run may have made the matrix smaller. */
  settle() {
    if (this.chosenId === undefined) this.chooseFirst();
    const { shape } = this.value(this.chosenId);
    const [row, column] = this.chosen.cell;
    this.chosen.cell = [clamp(row, shape.at(-2) ?? 1), clamp(column, shape.at(-1) ?? 1)];
  }

  /** The leading index at which a tensor is shown. */
  lead(id, { shape } = this.value(id)) {
    return this.session
      .axes(id, shape.length)
      .slice(0, -2)
      .map((axis, k) => clamp(this.slices.get(axis) ?? 0, shape[k]));
  }

  /** Shows the matrix in which a cell lies. */
  turnTo(id, index, except = []) {
    this.session
      .axes(id)
      .slice(0, -2)
      .forEach((axis, k) => {
        if (!except.includes(axis)) this.slices.set(axis, index[k]);
      });
  }

  /**
   * Where the chosen result comes from another head (or other leading index) than is shown, shows that one.
   */
  turnToSources() {
    if (this.chosen.slot !== 'output') return;
    const { explanation, ids } = this.chosenCell();
    if (!explanation) return;
    const kept = this.session.axes(this.step.output).slice(0, -2);
    for (const { input, index } of references(explanation)) this.turnTo(ids[input], index, kept);
  }

  /** @returns {Cell} */
  chosenCell() {
    const { session } = this;
    const id = this.chosenId;
    const { shape, data, dtype } = this.value(id);
    const index = fullIndex(shape, this.lead(id), this.chosen.cell);
    const place = offset(shape, index);
    const producer = session.producer(id);
    const ids = producer?.inputs ?? [];
    const empty = data.length === 0;
    const before = this.#before(id);
    return {
      id,
      index,
      dtype,
      producer,
      ids,
      empty,
      block: this.chosen.slot === 'output' ? session.block : null,
      value: data[place],
      old: before && before.data[place] !== data[place] ? before.data[place] : null,
      words: session.program.tensors[id].vocabulary,
      explanation: empty ? null : this.explanation(id, index),
    };
  }

  /** The arithmetic that makes a cell, or null where no step computes it. */
  explanation(id, index) {
    const step = this.session.producer(id);
    if (!step || step.overridden) return null;
    const inputs = step.inputs.map((input) => this.value(input));
    return explain(step.op, inputs, step.attributes, this.value(id), index);
  }

  /**
   * What makes a cell (see contributions.js), with the cells named by tensor; null where no step computes it. Of
   * factors the one that was computed itself comes first: the walk back goes on there.
   */
  contributions(id, index) {
    const explanation = this.explanation(id, index);
    if (!explanation) return null;
    const { inputs } = this.session.producer(id);
    const named = ({ input, index: place, value }) => ({ id: inputs[input], index: place, value });
    const given = (cell) => !this.session.producer(cell.id);
    const { terms, deciding } = contributions(explanation);
    return {
      terms: terms.map(({ value, cells, product }) => {
        const all = cells.map(named);
        return { value, product, cells: product ? all.sort((a, b) => given(a) - given(b)) : all };
      }),
      deciding: deciding.map(named),
    };
  }

  /** The unedited value of a tensor that differs from it in some cell, or null. */
  #before(id) {
    const before = this.session.untouched.values[id];
    return this.session.changed.has(id) && sameShape(before, this.value(id)) ? before : null;
  }

  /**
   * The views of the matrices on show, inputs first; see matrix.js.
   * @param {Cell} cell  the chosen one
   * @param {import('./measures.js').Measures} measures
   */
  views(cell, measures) {
    const { ids } = this;
    const lit = this.#lit(cell);
    const fed = this.chosen.slot === 'output' ? NOTHING : this.#fed(cell);
    return ids.map((id, i) => {
      const isOutput = i === ids.length - 1;
      return {
        ...this.#view(id),
        measures,
        lit: lit[i],
        fed: isOutput ? fed : NOTHING,
        chosen: this.chosen.slot === (isOutput ? 'output' : i) ? this.chosen.cell : null,
      };
    });
  }

  /** The step on show as its result before and after what the reader did, with the change between them where they are numbers. */
  comparison(measures) {
    const { session } = this;
    const id = this.step.output;
    const now = this.value(id);
    const old = session.untouched.values[id];
    const { cell } = this.chosen;
    const shared = { measures, lit: NOTHING, fed: NOTHING, chosen: cell, replaced: false };
    // Side by side, the same colour must mean the same number.
    const named = (view, key, beside) => ({ ...view, ...shared, beside, name: t(key, { name: view.name }), fullName: t(key, { name: view.fullName }) });
    const views = [named({ ...this.#view(id, old, session.labelsBefore), before: null }, 'before', now)];
    if (now.dtype === 'float' && sameShape(old, now)) {
      const data = now.data.map((x, i) => (x === old.data[i] ? 0 : x - old.data[i]));
      const change = { ...this.#view(id, { ...now, data }), before: null, probabilities: false };
      views.push({ ...change, ...shared, name: t('change'), fullName: `${change.fullName} ${t('change')}` });
    }
    views.push(named(this.#view(id), 'after', old));
    // Each number is rounded by itself: where the three of a cell do not fit, that is said.
    const rough = views.length > 2 && now.data.some((x, i) => !fits(x, old.data[i]));
    const said = t(!session.changed.has(id) ? 'compare_same' : rough ? 'compare_rounded' : 'compare_sentence');
    return { step: { sign: '+', said }, views };
  }

  /** @returns {Change[]} what differs from the unedited computation, in the order of the steps */
  changes() {
    const { run } = this.session;
    if (this.known?.run !== run) this.known = { run, changes: this.#findChanges() };
    return this.known.changes;
  }

  #findChanges() {
    const { changed, steps, untouched } = this.session;
    return steps
      .map(({ output }) => output)
      .filter((id) => changed.has(id))
      .map((id) => {
        const [before, after] = [untouched.values[id], this.value(id)];
        if (!sameShape(before, after)) return { id, before, after };
        let count = 0;
        let most = 0;
        let place = 0;
        after.data.forEach((now, i) => {
          const old = before.data[i];
          if (agree(now, old)) return;
          count++;
          if (Math.abs(now - old) > most) [most, place] = [Math.abs(now - old), i];
        });
        const cell = { index: indexOf(after.shape, place), old: before.data[place], now: after.data[place] };
        return { id, before, after, count, ...cell };
      });
  }

  #view(id, tensor = this.value(id), labels = this.session.labels) {
    const { session } = this;
    const { name, vocabulary } = session.program.tensors[id];
    const asked = this.asked?.id === id ? this.asked.places : null;
    // Neither widths nor colours may tell a hidden value: the view does not hold it. Nor may words as their own labels.
    if (asked) tensor = { ...tensor, data: tensor.data.map((x, i) => (asked.has(i) ? NaN : x)) };
    const axes = session.axes(id, tensor.shape.length).map((axis, k) => ({
      name: axis,
      role: roleOfAxis(axis),
      labels: session.axisLabels(axis, tensor.shape[k], asked && vocabulary ? NO_LABELS : labels),
    }));
    const producer = session.producer(id);
    return {
      name: this.name(id),
      fullName: name,
      role: roleOf(name),
      tensor,
      asked,
      words: vocabulary,
      lead: this.lead(id, tensor),
      rowAxis: axes.at(-2) ?? null,
      columnAxis: axes.at(-1) ?? null,
      probabilities: ['softmax', 'softmax_averaged', 'hardmax', 'sigmoid'].includes(producer?.op),
      before: this.#before(id),
      replaced: Boolean(producer) && session.overrides.has(id),
    };
  }

  /** For each matrix on show: the places that make the chosen cell. */
  #lit(cell) {
    const lit = this.ids.map(() => NOTHING);
    if (!cell.explanation || cell.block || this.asked?.lit === false) return lit;
    for (const { input, index } of references(cell.explanation)) {
      const place = offset(this.value(cell.ids[input]).shape, index);
      this.ids.forEach((id, i) => {
        // The same tensor may be two inputs of a step: the slot counts then, not the tensor.
        const shown = this.chosen.slot === 'output' ? i === input : id === cell.ids[input];
        if (!shown) return;
        if (lit[i] === NOTHING) lit[i] = new Set();
        lit[i].add(place);
      });
    }
    return lit;
  }

  /** The places of the output that the chosen input cell goes into. */
  #fed({ index }) {
    const { op, attributes, overridden, output: id } = this.step;
    if (!op) return NOTHING;
    const output = this.value(id);
    const inputs = this.step.inputs.map((input) => this.value(input));
    const [rows, columns] = [output.shape.at(-2) ?? 1, output.shape.at(-1) ?? 1];
    if (overridden || rows * columns * (inputs[0].shape.at(-1) ?? 1) > MOST_FED_TERMS) return NOTHING;
    const fed = new Set();
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        const cell = fullIndex(output.shape, this.lead(id), [i, j]);
        const made = explain(op, inputs, attributes, output, cell);
        if (refersTo(made, this.chosen.slot, index)) fed.add(offset(output.shape, cell));
      }
    }
    return fed;
  }

  /** The axes of the matrices on show that are neither rows nor columns, with the place that is shown. */
  leadingAxes() {
    const lengths = new Map();
    for (const id of this.ids) {
      const { shape } = this.value(id);
      this.session
        .axes(id)
        .slice(0, -2)
        .forEach((axis, k) => {
          if (shape[k] > 1) lengths.set(axis, Math.max(shape[k], lengths.get(axis) ?? 0));
        });
    }
    return [...lengths].map(([axis, length]) => ({
      axis,
      labels: this.session.axisLabels(axis, length),
      chosen: clamp(this.slices.get(axis) ?? 0, length),
    }));
  }

  /** What the place of a cell is called, axis by axis. */
  indexLabels(id, index) {
    const { shape } = this.value(id);
    // The words of a token vector would name its positions by what they hold.
    const holdsWords = Boolean(this.session.program.tensors[id].vocabulary);
    return this.session.axes(id).map((axis, k) => ({
      axis,
      role: roleOfAxis(axis),
      text: holdsWords ? String(index[k]) : this.session.axisLabels(axis, shape[k])[index[k]],
    }));
  }
}

/** The index of a cell of a matrix, vector or scalar, from its leading index, row and column. */
function fullIndex(shape, lead, [row, column]) {
  const rank = shape.length;
  return rank > 1 ? [...lead, row, column] : rank === 1 ? [column] : [];
}
