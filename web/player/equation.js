/**
 * One step as an equation of matrices. A product of small matrices is laid out so that each cell of the
 * result stands where its row and its column meet; everything else reads from left to right, line by line.
 */
import { OPS } from '../ops.js';
import { AxisPicker } from './axis_picker.js';
import { h, setAttribute, setStyle, setText } from './dom.js';
import { Matrix } from './matrix.js';
import { t } from './text.js';

const SIGNS = { matmul: '·', add: '+', subtract: '−', add_pairs: '+', multiply: '⊙', divide: '/', both: '∧' };
const CROSSING = ['matmul', 'linear'];
const MOST_CROSSING_ROWS = 10;
/**
 * Pixels: between the columns of a crossing, for a sign between two matrices, in place of row labels left
 * out.
 */
const GAP = 16;
const SIGN = 36;
const NO_LABELS = 4;
/** Pixels: the least margin of several lines, for the sign of a line. */
const MARGIN = 24;

export class Equation {
  /** @param {{choose: Function, edit: Function, toggle: Function, scrolled: Function, slice: Function}} actions */
  constructor(actions) {
    this.actions = actions;
    this.picker = new AxisPicker(actions.slice);
    this.formula = h('p.formula');
    this.sentence = h('p.sentence');
    this.words = h('div.words', {}, this.formula, this.sentence, this.picker.element);
    this.result = new Term(actions, 'output');
    /**
     * Terms are kept for later steps, hidden where a step has fewer inputs: making their cells is what takes
     * time.
     */
    this.pool = [];
    this.element = h('div.equation', {}, this.words, this.result.lineBreak, this.result.element);
    this.output = this.result.matrix;
    this.inputs = [];
  }

  get matrices() {
    return [...this.inputs, this.output];
  }

  matrix(slot) {
    return slot === 'output' ? this.output : this.inputs[slot];
  }

  /**
   * @param {{op: string, attributes: Object}|{sign: string, said: string}} step  or a sum that needs no op to be told
   * @param {import('./matrix.js').View[]} views  the inputs, then the result
   * @param {Object[]} axes  those that are neither rows nor columns, see axis_picker.js
   */
  show(step, views, axes) {
    const inputs = views.slice(0, -1);
    this.#fit(step, inputs.length);
    this.matrices.forEach((matrix, i) => matrix.take(views[i]));
    const margin = Math.max(MARGIN, ...this.matrices.map((matrix) => matrix.headWidth));
    for (const matrix of this.matrices) matrix.squeeze(margin);
    if (!this.#cross(step.op)) this.#lines(views);
    for (const matrix of this.matrices) matrix.draw();
    this.#write(step, inputs, views.at(-1));
    this.picker.show(axes);
  }

  /** As many terms as the step has inputs, and one for its result. */
  #fit({ op, sign = SIGNS[op] ?? '' }, count) {
    while (this.pool.length < count) {
      const term = new Term(this.actions, this.pool.length);
      this.pool.push(term);
      this.result.lineBreak.before(term.lineBreak, term.element);
    }
    this.pool.forEach((term, i) => term.show(i < count, i > 0 ? sign : null));
    this.result.show(true, '→');
    this.terms = [...this.pool.slice(0, count), this.result];
    this.inputs = this.pool.slice(0, count).map((term) => term.matrix);
  }

  /**
   * Second factor at the top right, first factor at the bottom left, result where they meet; false if it
   * won't fit.
   */
  #cross(op) {
    const [first, ...stacked] = this.matrices;
    const above = stacked.slice(0, -1);
    const small =
      CROSSING.includes(op) &&
      first.rowAxis &&
      above[0].rowAxis &&
      this.matrices.every((matrix) => matrix.rowCount <= MOST_CROSSING_ROWS && !matrix.windowed);
    if (!small) return false;
    const labels = Math.max(...above.map((matrix) => matrix.headWidth));
    const cell = Math.max(...stacked.map((matrix) => matrix.cellWidth));
    const { room } = this.output.view.measures;
    const left = first.headWidth + Math.max(first.columnCount * first.cellWidth, first.captionWidth) + GAP;
    if (left + labels + cell * this.output.columnCount > room) return false;

    widen(stacked);
    setAttribute(this.element, 'data-layout', 'crossing');
    // Lines one below the other: the words and the second factor, what is added to the product, the first factor
    // and the result. The style sheet has their order.
    setStyle(this.words, 'flex-basis', left);
    this.terms.forEach((term, i) => {
      const added = i > 1 && term !== this.result;
      setAttribute(term.lineBreak, 'hidden', i > 0 && !added);
      setStyle(term.element, 'flex-basis', i ? null : left);
      setStyle(term.element, 'margin-inline-start', added ? left : null);
      setStyle(term.element, 'max-inline-size', i ? room - left : null);
    });
    this.#labels(this.terms[0], first.headWidth, true);
    this.terms.slice(1).forEach((term) => this.#labels(term, labels, term.matrix !== this.output));
    return true;
  }

  /**
   * As many matrices side by side as there is room; a matrix beside one with the same rows leaves out their
   * labels.
   */
  #lines(views) {
    setAttribute(this.element, 'data-layout', 'lines');
    const {
      measures: { room },
      columnAxis,
    } = views.at(-1);
    const alike = (view) => view.columnAxis && view.columnAxis.name === columnAxis?.name;
    widen(this.matrices.filter((_, i) => alike(views[i])));
    const starts = [];
    let used = Infinity;
    this.terms.forEach((term, i) => {
      const { matrix } = term;
      const before = this.terms[i - 1]?.matrix;
      term.labelled = !(before && matrix.rowAxis && sameRows(matrix, before));
      const body = Math.max(matrix.wanted - matrix.headWidth, matrix.captionWidth);
      const wide = SIGN + (term.labelled ? matrix.headWidth : NO_LABELS) + body;
      term.starts = used + wide > room;
      used = term.starts ? matrix.headWidth + body : used + wide;
      if (term.starts) starts.push(term);
    });
    // Lines begin flush: the widest row labels set the margin, which also holds the sign of a later line.
    const margin = Math.max(starts.length > 1 ? MARGIN : 0, ...starts.map(({ matrix }) => matrix.headWidth));
    setStyle(this.words, 'flex-basis', null);
    for (const term of this.terms) {
      for (const name of ['flex-basis', 'margin-inline-start', 'max-inline-size'])
        setStyle(term.element, name, null);
      setAttribute(term.lineBreak, 'hidden', !term.starts || term === this.terms[0]);
      setAttribute(term.element, 'data-starts', term.starts);
      const labelled = term.starts || term.labelled;
      this.#labels(term, term.starts ? margin : labelled ? term.matrix.headWidth : NO_LABELS, labelled);
    }
  }

  /** The width kept for the row labels of a term; without `shown` they are only read aloud. */
  #labels(term, width, shown) {
    setAttribute(term.element, 'data-labels', shown ? null : 'off');
    term.matrix.margin = width;
  }

  /** The formula with each name in its colour, and the op in words. */
  #write(step, inputs, output) {
    const names = inputs.map((view) => view.name);
    setText(this.sentence, sentenceOf(step, names));
    const key = [output.name, formulaOf(step, names), ...[output, ...inputs].map((view) => view.fullName)].join();
    if (this.written === key) return;
    this.written = key;
    // Marks stand for the names while the op writes its formula, so that any name can be found again in it.
    const marks = inputs.map((_, i) => String.fromCharCode(0xe000 + i));
    const name = (view) => h('b', { 'data-role': view.role, title: view.fullName }, view.name);
    const parts = formulaOf(step, marks)
      .split(/([\ue000-\uf8ff])/)
      .map((part, i) => (i % 2 ? name(inputs[part.charCodeAt(0) - 0xe000]) : part));
    this.formula.replaceChildren(name(output), ' = ', ...parts);
  }
}

export function formulaOf({ op, attributes, block, sign }, names) {
  if (op) return OPS[op].symbol(names, attributes);
  return block ? `${block.name}(${names.join(', ')})` : names.join(` ${sign} `);
}

export function sentenceOf({ op, block, count, left, said }, names) {
  if (said) return said;
  if (op) return OPS[op].sentence(names);
  return t(left ? 'block_sentence_left' : 'block_sentence', { scope: block.name, count, left });
}

/** A sign and a matrix. */
class Term {
  constructor(actions, slot) {
    this.matrix = new Matrix(actions);
    this.matrix.slot = slot;
    this.sign = h('span.sign', { 'aria-hidden': 'true' });
    this.lineBreak = h('i.line-break');
    this.element = h('div.term', {}, this.sign, this.matrix.element);
  }

  show(visible, sign) {
    setAttribute(this.element, 'hidden', !visible);
    if (!visible) setAttribute(this.lineBreak, 'hidden', true);
    setAttribute(this.sign, 'hidden', sign === null);
    setText(this.sign, sign ?? '');
  }
}

/** Gives matrices the cell width of the widest among them, so that their columns line up. */
function widen(matrices) {
  const width = Math.max(...matrices.map((matrix) => matrix.cellWidth));
  for (const matrix of matrices) matrix.cellWidth = width;
}

function sameRows(a, b) {
  return a.rowAxis?.name === b.rowAxis?.name && a.rowCount === b.rowCount && !a.windowed && !b.windowed;
}
