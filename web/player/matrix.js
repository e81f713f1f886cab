/**
 * One matrix on the page: an accessible grid that redraws only the cells that differ from what it shows.
 *
 * A vector is one row, a scalar one cell, and of a tensor with more axes the matrix at the leading indices is
 * shown. Large matrices draw only the cells near the visible part of their box.
 *
 * @typedef {{
 *   name: string, fullName: string, role: string|null, tensor: import('../tensor.js').Tensor, lead: number[],
 *   rowAxis: Axis|null, columnAxis: Axis|null, probabilities: boolean, words: string[]|null,
 *   before: import('../tensor.js').Tensor|null, asked: Set<number>|null, lit: Set<number>, fed: Set<number>,
 *   chosen: [number, number]|null, replaced: boolean, measures: import('./measures.js').Measures,
 *   beside?: import('../tensor.js').Tensor
 * }} View   `before`: the unedited values; `asked`: places whose values are hidden; `lit` and `fed`: places in the data; `beside`: what shares the colour scale
 * @typedef {{name: string, role: string|null, labels: string[]}} Axis
 */
import { agree, format, formatCell } from '../tensor.js';
import { h, setAttribute, setStyle, setText } from './dom.js';
import { LABEL_SIZE } from './measures.js';
import { t } from './text.js';

export const ROW_HEIGHT = 26;
/**
 * A matrix of more rows scrolls in a box that shows eight and a half: the half row tells that there are more.
 */
const MOST_ROWS = 12;
const SHOWN_ROWS = 8.5;
const PAGE = 8;
const DRAW_ALL_BELOW = 640;
/** So many rows and columns more than fit in the box are drawn, to be there when it scrolls. */
const AROUND = 4;
const LEVELS = 10;
/** Pixels: longer labels are cut, and shown in full as a tooltip. */
const MOST_LABEL = 72;

export class Matrix {
  /** @param {{choose: Function, edit: Function, toggle: Function, scrolled: Function}} actions */
  constructor(actions) {
    this.actions = actions;
    this.roving = [0, 0];
    this.scroll = { top: 0, left: 0 };
    this.name = h('span.name');
    this.shape = h('span.shape');
    this.badge = h('span.badge', { hidden: true, title: t('replaced_hint') }, t('replaced'));
    this.axes = h('div.axes');
    this.corner = h('span.corner', { role: 'presentation' });
    this.head = h('div.row.head', { role: 'row' }, this.corner);
    this.top = h('div.top', { role: 'rowgroup' }, this.head);
    this.body = h('div.body', { role: 'rowgroup' });
    this.box = h(
      'div.box',
      {
        role: 'grid',
        on: {
          keydown: (event) => this.#key(event),
          mousedown: (event) => this.#press(event),
          click: (event) => this.#click(event),
          scroll: () => this.#scrolled(),
          focusin: (event) => this.#focused(event),
        },
      },
      this.top,
      this.body,
    );
    this.low = h('span');
    this.high = h('span');
    this.scale = h('div.scale', { role: 'img' }, this.low, h('i'), this.high);
    this.caption = h('figcaption', {}, this.name, ' ', this.shape, ' ', this.badge, this.axes);
    /** Pixels kept for the row labels; the layout of the equation decides. */
    this.margin = 0;
    /** Where the field to change a cell is put, see the style sheet. */
    this.desk = h('div.desk');
    this.element = h('figure.matrix', {}, this.caption, this.box, this.scale, this.desk);
    this.columns = [];
    this.rows = [];
  }

  /**
   * Takes over what to show, and works out how wide its cells want to be (`cellWidth`, which may then be
   * raised); `draw` puts it on the page, with the `margin` it was given for its row labels.
   * @param {View} view
   */
  take(view) {
    const moved = view.fullName !== this.view?.fullName;
    this.view = view;
    const { shape } = view.tensor;
    this.rowCount = shape.length > 1 ? shape.at(-2) : 1;
    this.columnCount = shape.length > 0 ? shape.at(-1) : 1;
    this.base =
      view.lead.reduce((place, i, axis) => place * shape[axis] + i, 0) * this.rowCount * this.columnCount;
    this.windowed = this.rowCount * this.columnCount > DRAW_ALL_BELOW;
    if (moved) this.#scrollHome();
    if (view.chosen) this.roving = view.chosen;
    this.roving = [clamp(this.roving[0], this.rowCount), clamp(this.roving[1], this.columnCount)];
    this.#caption();
    this.#measure();
  }

  #caption() {
    const {
      name,
      fullName,
      role,
      tensor: { shape },
      rowAxis,
      columnAxis,
      replaced,
    } = this.view;
    this.rowAxis = rowAxis;
    const rows = this.rowCount;
    const columns = this.columnCount;
    setText(this.name, name);
    setAttribute(this.name, 'title', fullName);
    setAttribute(this.name, 'data-role', role);
    const sizes = { rows, columns, name, row_axis: rowAxis?.name, column_axis: columnAxis?.name };
    this.shapeText = shape.slice(-2).join(' × ') || t('scalar_shape');
    setText(this.shape, this.shapeText);
    setAttribute(this.badge, 'hidden', !replaced);
    const label = ['grid', 'vector_grid'][shape.length] ?? 'grid_with_axes';
    setAttribute(this.box, 'aria-label', t(label, { ...sizes, shape: this.shapeText }));
    setAttribute(this.box, 'aria-rowcount', rows + 1);
    setAttribute(this.box, 'aria-colcount', columns + (rowAxis ? 1 : 0));
    this.element.classList.toggle('tall', rows > MOST_ROWS);
    const axes = [rowAxis, columnAxis].filter(Boolean);
    if (this.axes.textContent !== axes.map((axis) => axis.name).join(' × ')) {
      this.axes.replaceChildren(
        ...axes.flatMap((axis, i) => [i ? ' × ' : '', h('span', { 'data-role': axis.role }, axis.name)]),
      );
    }
  }

  /** The largest magnitude (for the colours) and the widest text (for the cells). */
  #measure() {
    const {
      tensor: { data, dtype },
      beside,
      probabilities,
      words,
      rowAxis,
      columnAxis,
    } = this.view;
    let largest = 0;
    let smallest = 0;
    for (const numbers of beside ? [data, beside.data] : [data]) {
      for (const x of numbers) {
        if (x > largest && x < Infinity) largest = x;
        else if (x < smallest && x > -Infinity) smallest = x;
      }
    }
    this.sequential = probabilities && smallest === 0 && largest <= 1;
    this.reach = this.sequential ? 1 : Math.max(largest, -smallest);
    this.dtype = words ? 'word' : dtype;
    /** What, besides its value, decides how a cell looks. */
    this.dress = [dtype, this.reach, this.sequential, words].join();

    const numbers = dtype === 'float';
    const low = this.sequential ? '0' : format(-this.reach);
    const high = this.sequential ? '1' : format(this.reach);
    setAttribute(this.scale, 'hidden', !numbers || this.reach === 0);
    setText(this.low, low);
    setText(this.high, high);
    setAttribute(this.scale, 'data-scale', this.sequential ? 'probability' : 'number');
    setAttribute(this.scale, 'aria-label', t('scale', { low, high }));

    const { measures } = this.view;
    const digits = numbers
      ? this.sequential
        ? 4
        : format(-this.reach).length
      : formatCell(largest, dtype).length;
    const content = words ? measures.widest(words, MOST_LABEL) : measures.digit * Math.max(3, digits);
    const label = columnAxis ? measures.widest(columnAxis.labels, MOST_LABEL) : 0;
    this.headWidth = rowAxis ? Math.ceil(measures.widest(rowAxis.labels, MOST_LABEL)) + 10 : 0;
    this.cellWidth = Math.ceil(Math.max(content + 7, label + 5));
    this.content = content;
    this.captionWidth = measures.label(this.view.name) * 1.25 + measures.digit * (this.shapeText.length + 2);
  }

  /**
   * Where that makes the whole matrix fit beside a margin of row labels, long labels are cut further, and numbers
   * are set smaller and closer, in two steps.
   */
  squeeze(margin) {
    const { room, smallest } = this.view.measures;
    const share = Math.floor((room - margin) / this.columnCount);
    const fits = (size, around) => this.content * size + around <= share;
    this.size = fits(1, 7) ? 'whole' : fits(LABEL_SIZE, 3) ? 'compact' : fits(smallest, 2) ? 'tight' : null;
    if (this.size) this.cellWidth = Math.min(this.cellWidth, share);
  }

  /** Pixels across that the whole matrix wants, if there is room. */
  get wanted() {
    return Math.min(this.view.measures.room, this.headWidth + this.columnCount * this.cellWidth);
  }

  #window() {
    if (!this.windowed) return { top: 0, left: 0, height: this.rowCount, width: this.columnCount };
    const across = (this.view.measures.room - this.headWidth) / this.cellWidth;
    const [top, height] = span(this.scroll.top / ROW_HEIGHT, SHOWN_ROWS, this.rowCount);
    const [left, width] = span(this.scroll.left / this.cellWidth, across, this.columnCount);
    return { top, left, height, width };
  }

  draw() {
    const { top, left, height, width } = (this.window = this.#window());
    const { columnAxis, rowAxis } = this.view;
    this.#fit(height, width);
    for (const size of ['compact', 'tight']) this.element.classList.toggle(size, this.size === size);
    // Widths stand on the few elements that decide them, the cells share the rest of their row: a property that all
    // cells inherit would make the browser look at each of them again.
    const whole = this.margin + this.columnCount * this.cellWidth;
    for (const element of [this.box, this.top, this.body]) setStyle(element, 'inline-size', whole);
    for (const element of [this.caption, this.scale]) setStyle(element, 'padding-inline-start', this.margin);
    setStyle(this.corner, 'inline-size', this.margin);
    setStyle(this.box, '--left', left * this.cellWidth);
    setStyle(this.box, '--right', (this.columnCount - left - width) * this.cellWidth);
    setStyle(this.body, 'padding-top', top * ROW_HEIGHT);
    setStyle(this.body, 'padding-bottom', (this.rowCount - top - height) * ROW_HEIGHT);
    // The words of a token vector are its labels already.
    setAttribute(this.head.parentElement, 'hidden', !columnAxis || this.dtype === 'word');
    const firstColumn = rowAxis ? 2 : 1;
    for (let j = 0; j < width; j++) {
      label(this.columns[j], columnAxis, left + j);
      place(this.columns[j], left + j + firstColumn);
    }
    for (let i = 0; i < height; i++) {
      const row = this.rows[i];
      label(row.head, rowAxis, top + i);
      setStyle(row.head, 'inline-size', this.margin);
      setAttribute(row.head, 'role', rowAxis ? 'rowheader' : 'presentation');
      setAttribute(row, 'aria-rowindex', top + i + 2);
      for (let j = 0; j < width; j++) {
        this.#drawCell(row.cells[j], top + i, left + j);
        place(row.cells[j], left + j + firstColumn);
      }
    }
    this.#rove();
  }

  /** As many rows, columns and cells as the window has. What is not needed now is kept for later. */
  #fit(height, width) {
    fit(this.head, this.columns, width, () => h('span.column', { role: 'columnheader' }));
    fit(this.body, this.rows, height, newRow);
    for (let i = 0; i < height; i++) fit(this.rows[i], this.rows[i].cells, width, newCell);
  }

  #drawCell(cell, row, column) {
    const {
      tensor: { data, dtype },
      before,
      asked,
      lit,
      fed,
      chosen,
      words,
    } = this.view;
    const place = this.base + row * this.columnCount + column;
    const value = data[place];
    const hidden = asked?.has(place);
    const old = hidden || before === null || agree(before.data[place], value) ? null : before.data[place];
    let marks = old === null ? '' : value < old && this.dtype === 'float' ? ' changed less' : ' changed';
    if (hidden) marks += ' asked';
    if (lit.has(place)) marks += ' lit';
    if (fed.has(place)) marks += ' fed';
    if (chosen && chosen[0] === row && chosen[1] === column) marks += ' chosen';
    cell.row = row;
    cell.column = column;
    // What a cell shows is written over in place: a new object for each cell and step would be cleared away later,
    // at a moment when the reader waits.
    const shown = (cell.shown ??= { labelled: false });
    if (Object.is(shown.value, value) && shown.old === old && shown.marks === marks && shown.dress === this.dress)
      return;
    Object.assign(shown, { value, old, marks, dress: this.dress });

    const text = hidden ? '?' : words ? words[value] : formatCell(value, dtype);
    const now = hidden ? t('hidden_cell') : this.#spoken(value, old ?? value);
    const then = old === null ? null : this.#spoken(old, value);
    setText(cell, text);
    const look = `cell ${hidden ? 'plain' : this.#tone(value)}${marks}`;
    if (shown.look !== look) cell.className = shown.look = look;
    if (then === null && now === text && !shown.labelled) return;
    shown.labelled = then !== null || now !== text;
    const by = then === null || this.dtype !== 'float' ? null : formatChange(value, old);
    const said = { value: text, old: then, now, by };
    const spoken = then === null ? now : t(by ? 'changed_cell_by' : 'changed_cell', said);
    setAttribute(cell, 'aria-label', spoken === text ? null : spoken);
    setAttribute(cell, 'title', then === null ? null : t(by ? 'changed_title_by' : 'changed_title', said));
  }

  /** A value in words; as many decimals as it takes to tell it from another value. */
  #spoken(value, other) {
    const {
      words,
      tensor: { dtype },
    } = this.view;
    if (words) return t('token_cell', { word: words[value], id: value });
    if (dtype === 'bool') return t(value ? 'allowed' : 'masked');
    return formatApart(value, other, dtype);
  }

  /** The class of a value's colour: a tone and one of ten strengths. */
  #tone(value) {
    if (this.dtype === 'word') return 'word';
    if (this.dtype === 'bool') return value ? 'yes' : 'no';
    if (value === -Infinity) return 'minus-infinity';
    if (this.dtype === 'int' || value === 0 || this.reach === 0 || !Number.isFinite(value)) return 'plain';
    const strength = Math.max(1, Math.round((Math.abs(value) / this.reach) * LEVELS));
    return `${this.sequential ? 'share' : value > 0 ? 'positive' : 'negative'} s${Math.min(strength, LEVELS)}`;
  }

  // ---- moving about ----

  /** The one cell of this grid that the Tab key reaches; the box itself while that cell is not drawn. */
  #rove() {
    const cell = this.#cellAt(this.roving);
    setAttribute(this.box, 'tabindex', cell ? null : 0);
    // Written only where it differs: for a cell with the focus the browser lays out the page, to know that it may keep it.
    if (this.tabbed === cell) return;
    if (this.tabbed) this.tabbed.tabIndex = -1;
    if (cell) cell.tabIndex = 0;
    this.tabbed = cell;
  }

  #cellAt([row, column]) {
    const { top, left, height, width } = this.window;
    const drawn = row >= top && row < top + height && column >= left && column < left + width;
    return drawn ? this.rows[row - top].cells[column - left] : null;
  }

  /**
   * Puts the keyboard focus on the roving cell, scrolled into the box.
   * @param {FocusOptions} [options]  of the browser: `preventScroll` leaves the page where it is
   */
  focus(options) {
    this.reveal();
    (this.#cellAt(this.roving) ?? this.box).focus(options);
  }

  get hasFocus() {
    return this.box.contains(this.box.getRootNode().activeElement);
  }

  /** Scrolls the box, not the page, as little as it takes to show the roving cell. */
  reveal() {
    this.#revealOne(this.#visible(), this.roving);
  }

  /** Scrolls the box to the first of the lit cells, unless one of them can be seen already. */
  revealLit() {
    const { lit } = this.view;
    if (lit.size === 0) return;
    const seen = this.#visible();
    const cells = [...lit]
      .map((place) => place - this.base)
      .filter((i) => i >= 0 && i < this.rowCount * this.columnCount)
      .map((i) => [Math.floor(i / this.columnCount), i % this.columnCount]);
    const inside = ([row, column]) =>
      row >= seen.top && row < seen.bottom && column >= seen.left && column < seen.right;
    if (cells.length && !cells.some(inside)) this.#revealOne(seen, cells[0]);
  }

  /** The rows and columns that can be seen in full. */
  #visible() {
    const { scrollTop, scrollLeft, clientHeight, clientWidth } = this.box;
    return {
      top: Math.ceil(scrollTop / ROW_HEIGHT),
      bottom: Math.floor((scrollTop + clientHeight) / ROW_HEIGHT) - 1,
      left: Math.ceil(scrollLeft / this.cellWidth),
      right: Math.floor((scrollLeft + clientWidth - this.margin) / this.cellWidth),
    };
  }

  #revealOne({ top, bottom, left, right }, [row, column]) {
    if (row < top) this.box.scrollTop = row * ROW_HEIGHT;
    else if (row >= bottom) this.box.scrollTop = (row + 1 - (bottom - top)) * ROW_HEIGHT;
    if (column < left) this.box.scrollLeft = column * this.cellWidth;
    else if (column >= right) this.box.scrollLeft = (column + 1 - Math.max(1, right - left)) * this.cellWidth;
    this.#scrolled();
  }

  /** Goes on where another matrix, or this one, showed the same tensor: scrolled as far, with the same cell for Tab. */
  goOnFrom({ scroll: { top, left }, roving }) {
    if (!this.view.chosen) {
      this.roving = roving;
      this.#rove();
    }
    // Whether the box itself is scrolled, only a layout can tell: asked where it may be.
    if (!this.windowed && !top && !left && !this.scroll.top && !this.scroll.left) return;
    this.box.scrollTo(left, top);
    this.#scrolled();
  }

  #scrollHome() {
    if (this.scroll.top || this.scroll.left) this.box.scrollTo(0, 0);
    this.scroll = { top: 0, left: 0 };
    this.roving = [0, 0];
  }

  #scrolled() {
    this.scroll = { top: this.box.scrollTop, left: this.box.scrollLeft };
    this.actions.scrolled(this);
    if (!this.windowed) return;
    const { top, left } = this.#window();
    if (top === this.window.top && left === this.window.left) return;
    const focused = this.hasFocus;
    this.draw();
    // The drawn elements now stand for other cells: the focus follows the cell, not the element.
    if (focused) (this.#cellAt(this.roving) ?? this.box).focus({ preventScroll: true });
  }

  #isChosen({ row, column }) {
    const { chosen } = this.view;
    return chosen !== null && chosen[0] === row && chosen[1] === column;
  }

  /**
   * Pressing a cell focuses and so chooses it; only a cell that was chosen before is changed by the click.
   */
  #press(event) {
    const cell = event.target.closest('.cell');
    this.pressedAgain = cell !== null && this.#isChosen(cell);
  }

  #click(event) {
    const cell = event.target.closest('.cell');
    if (!cell) return;
    if (this.pressedAgain) this.#change();
    else {
      this.#choose(cell);
      this.focus();
    }
    this.pressedAgain = false;
  }

  /** Reaching a grid with Tab chooses its cell. */
  #focused(event) {
    if (event.target.row !== undefined) this.#choose(event.target);
  }

  #choose(cell) {
    if (this.#isChosen(cell)) return;
    this.roving = [cell.row, cell.column];
    this.actions.choose(this, this.roving);
  }

  #change(typed) {
    if (this.dtype === 'bool') this.actions.toggle(this, this.roving);
    else this.actions.edit(this, this.roving, typed);
  }

  #key(event) {
    if (event.altKey || event.metaKey) return;
    const last = [this.rowCount - 1, this.columnCount - 1];
    const [row, column] = this.roving;
    const corner = event.ctrlKey;
    const moves = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      PageUp: [row - PAGE, column],
      PageDown: [row + PAGE, column],
      Home: [corner ? 0 : row, 0],
      End: [corner ? last[0] : row, last[1]],
    };
    if (moves[event.key]) {
      const [i, j] = moves[event.key];
      this.roving = [clamp(i, this.rowCount), clamp(j, this.columnCount)];
      this.reveal();
      this.actions.choose(this, this.roving);
      this.focus();
    } else if (corner) return;
    else if (event.key === 'Enter') this.#change();
    else if (event.key === ' ') {
      if (this.dtype === 'bool') this.#change();
    } else if (/^[-−+.,\d]$/.test(event.key) && this.dtype !== 'bool') {
      this.#change(this.dtype === 'word' ? undefined : event.key);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Points at one cell (while the reader points at its number in the arithmetic), or at none. */
  point(index) {
    this.pointed?.classList.remove('pointed');
    this.pointed = index && this.#cellAt([index.at(-2) ?? 0, index.at(-1) ?? 0]);
    this.pointed?.classList.add('pointed');
  }

  /** Where the roving cell lies, in pixels from the desk. */
  cellBox() {
    const cell = this.#cellAt(this.roving)?.getBoundingClientRect();
    const desk = this.desk.getBoundingClientRect();
    return (
      cell && {
        left: cell.left - desk.left,
        top: cell.top - desk.top,
        width: cell.width,
        height: cell.height,
      }
    );
  }
}

const newCell = () => h('span.cell', { role: 'gridcell', tabindex: -1 });

function newRow() {
  const head = h('span.rowhead');
  return Object.assign(h('div.row', { role: 'row' }, head), { head, cells: [] });
}

/** Where what is drawn of rows or columns begins, and how many: half of AROUND before what is seen, half after. */
function span(scrolled, shown, count) {
  const first = Math.floor(scrolled / 2) * 2 - AROUND / 2;
  const start = Math.max(0, first);
  return [start, Math.min(first + Math.ceil(shown) + AROUND, count) - start];
}

/** Keeps the first `count` of some elements as the last in their parent; makes those that are missing. */
function fit(parent, kept, count, make) {
  let shown = kept.findLastIndex((element) => element.parentNode) + 1;
  for (; shown < count; shown++) parent.append((kept[shown] ??= make()));
  while (shown > count) kept[--shown].remove();
}

/** Writes the label of a row or column. */
function label(element, axis, i) {
  const text = axis?.labels[i] ?? '';
  const key = `${axis?.role} ${text}`;
  if (element.key === key) return;
  element.key = key;
  setText(element, text);
  setAttribute(element, 'title', text || null);
  setAttribute(element, 'data-role', axis?.role);
}

/** Says in which column of the whole matrix a cell is. */
function place(cell, column) {
  if (cell.place !== column) setAttribute(cell, 'aria-colindex', (cell.place = column));
}

/** A number with two decimals, or with as many as tell it apart from another number. */
export function formatApart(value, other, dtype = 'float') {
  if (dtype !== 'float' || value === other) return formatCell(value, dtype);
  return format(value, decimalsApart(value, other));
}

function decimalsApart(value, other) {
  let decimals = 2;
  while (decimals < 8 && format(value, decimals) === format(other, decimals)) decimals++;
  return decimals;
}

/**
 * By how much a number has changed, with its sign, as +0.25; null where that is no number. From 8.046 to 0.341 it is
 * −7.705: with two decimals, −7.70 would not fit the 8.05 and 0.34 beside it.
 */
export function formatChange(value, old) {
  const change = value - old;
  if (!Number.isFinite(change)) return null;
  const decimals = Math.max(decimalsApart(value, old), decimalsApart(change, 0));
  return `${change > 0 ? '+' : ''}${format(change, decimals + (fits(value, old, decimals) ? 0 : 1))}`;
}

/** Whether two numbers and their difference, each rounded by itself, are still what subtraction gives. */
export function fits(value, old, decimals = 2) {
  const rounded = (x) => Math.sign(x) * Math.floor(Math.abs(x) * 10 ** decimals + 0.5 + 1e-7);
  return !Number.isFinite(value - old) || rounded(value) - rounded(old) === rounded(value - old);
}

/** The position of an axis that is nearest to i. */
export function clamp(i, length) {
  return Math.max(0, Math.min(length - 1, i));
}
