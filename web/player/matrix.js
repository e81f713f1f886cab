/**
 * One matrix on the page: an accessible grid that redraws only the cells that differ from what it shows.
 *
 * A vector is one row, a scalar one cell, and of a tensor with more axes the matrix at the leading indices is shown.
 * Large matrices draw only the cells near the visible part of their box.
 *
 * @typedef {{
 *   name: string, fullName: string, role: string|null, tensor: import('../tensor.js').Tensor, lead: number[],
 *   rowAxis: Axis|null, columnAxis: Axis|null, probabilities: boolean, words: string[]|null,
 *   before: import('../tensor.js').Tensor|null, lit: Set<number>, fed: Set<number>, chosen: [number, number]|null,
 *   replaced: boolean, digit: number, room: number, width: number
 * }} View   `before`: the unedited values; `lit` and `fed`: places in the data; `digit`: pixels a digit takes;
 *           `room`: pixels there are across; `width`: least width of a cell in digits
 * @typedef {{name: string, role: string|null, labels: string[]}} Axis
 */
import { format, formatCell } from '../tensor.js';
import { h, setAttribute, setText } from './dom.js';
import { t } from './text.js';

export const ROW_HEIGHT = 26;
const SHOWN_ROWS = 12;
const DRAW_ALL_BELOW = 640;
const LEVELS = 10;
const LONGEST_LABEL = 9;

export class Matrix {
  /** @param {{choose: Function, edit: Function, toggle: Function}} actions */
  constructor(actions) {
    this.actions = actions;
    this.roving = [0, 0];
    this.scroll = { top: 0, left: 0 };
    this.name = h('span.name');
    this.shape = h('span.shape');
    this.badge = h('span.badge', { hidden: true, title: t('replaced_hint') }, t('replaced'));
    this.axes = h('div.axes');
    this.head = h('div.row.head', { role: 'row' });
    this.body = h('div.body', { role: 'rowgroup' });
    this.box = h('div.box', {
      role: 'grid',
      on: {
        keydown: (event) => this.#key(event),
        mousedown: (event) => this.#press(event),
        click: (event) => this.#click(event),
        scroll: () => this.#scrolled(),
        focusin: (event) => this.#focused(event),
      },
    }, h('div', { role: 'rowgroup' }, this.head), this.body);
    this.low = h('span');
    this.high = h('span');
    this.scale = h('div.scale', { role: 'img' }, this.low, h('i'), this.high);
    this.element = h('figure.matrix', {},
      h('figcaption', {}, this.name, ' ', this.shape, ' ', this.badge, this.axes), this.box, this.scale);
    this.corner = h('span.corner', { role: 'presentation' });
    this.columns = [];
    this.rows = [];
  }

  /** @param {View} view */
  show(view) {
    const moved = view.fullName !== this.view?.fullName;
    this.view = view;
    const { shape } = view.tensor;
    this.rowCount = shape.length > 1 ? shape.at(-2) : 1;
    this.columnCount = shape.length > 0 ? shape.at(-1) : 1;
    this.base = view.lead.reduce((place, i, axis) => place * shape[axis] + i, 0) * this.rowCount * this.columnCount;
    this.windowed = this.rowCount * this.columnCount > DRAW_ALL_BELOW;
    if (moved) this.#scrollHome();
    if (view.chosen) this.roving = view.chosen;
    this.roving = [clamp(this.roving[0], this.rowCount), clamp(this.roving[1], this.columnCount)];
    this.#caption();
    this.#measure();
    this.#draw();
  }

  #caption() {
    const { name, fullName, role, tensor: { shape }, rowAxis, columnAxis, replaced } = this.view;
    this.rowAxis = rowAxis;
    const rows = this.rowCount;
    const columns = this.columnCount;
    setText(this.name, name);
    setAttribute(this.name, 'title', fullName);
    setAttribute(this.name, 'data-role', role);
    const sizes = { rows, columns, name, row_axis: rowAxis?.name, column_axis: columnAxis?.name };
    const shapeText = this.shapeText = t(['scalar_shape', 'vector_shape'][shape.length] ?? 'shape', sizes);
    setText(this.shape, shapeText);
    this.badge.hidden = !replaced;
    const label = t(['grid', 'vector_grid'][shape.length] ?? 'grid_with_axes', { ...sizes, shape: shapeText });
    setAttribute(this.box, 'aria-label', label);
    setAttribute(this.box, 'aria-rowcount', rows + 1);
    setAttribute(this.box, 'aria-colcount', columns + (rowAxis ? 1 : 0));
    const axes = [rowAxis, columnAxis].filter(Boolean);
    if (this.axes.textContent !== axes.map((axis) => axis.name).join(' × ')) {
      this.axes.replaceChildren(...axes.flatMap((axis, i) =>
        [i ? ' × ' : '', h('span', { 'data-role': axis.role }, axis.name)]));
    }
  }

  /** The largest magnitude (for the colours) and the widest text (for the cells). */
  #measure() {
    const { tensor: { data, dtype }, probabilities, words, rowAxis, columnAxis, digit } = this.view;
    let largest = 0;
    let smallest = 0;
    for (const x of data) {
      if (x > largest && x < Infinity) largest = x;
      else if (x < smallest && x > -Infinity) smallest = x;
    }
    this.sequential = probabilities && smallest === 0 && largest <= 1;
    this.reach = this.sequential ? 1 : Math.max(largest, -smallest);
    this.dtype = words ? 'word' : dtype;

    const numbers = dtype === 'float';
    const low = this.sequential ? '0' : format(-this.reach);
    const high = this.sequential ? '1' : format(this.reach);
    this.scale.hidden = !numbers || this.reach === 0;
    setText(this.low, low);
    setText(this.high, high);
    setAttribute(this.scale, 'data-scale', this.sequential ? 'probability' : 'number');
    setAttribute(this.scale, 'aria-label', t('scale', { low, high }));

    let digits = numbers ? (this.sequential ? 4 : format(-this.reach).length) : formatCell(largest, dtype).length;
    if (words) digits = Math.max(...words.map(textWidth));
    if (columnAxis) digits = Math.max(digits, ...columnAxis.labels.map(textWidth));
    digits = Math.max(3, this.view.width, Math.min(digits, LONGEST_LABEL));
    this.cellWidth = Math.ceil(digits * digit) + 8;
    const labelDigits = rowAxis ? Math.min(LONGEST_LABEL, Math.max(1, ...rowAxis.labels.map(textWidth))) : 0;
    this.headWidth = rowAxis ? Math.ceil(labelDigits * digit) + 10 : 0;
    this.digits = digits;
    this.element.style.setProperty('--cell', `${this.cellWidth}px`);
    this.element.style.setProperty('--cells', `${this.columnCount * this.cellWidth}px`);
  }

  /** Pixels across that the whole matrix wants, if there is room. */
  get wanted() {
    return Math.min(this.view.room, this.headWidth + this.columnCount * this.cellWidth);
  }

  #window() {
    if (!this.windowed) return { top: 0, left: 0, height: this.rowCount, width: this.columnCount };
    const across = Math.ceil(this.view.room / this.cellWidth) + 6;
    const top = Math.max(0, Math.floor(this.scroll.top / ROW_HEIGHT / 2) * 2 - 2);
    const left = Math.max(0, Math.floor(this.scroll.left / this.cellWidth / 2) * 2 - 2);
    return {
      top, left,
      height: Math.min(SHOWN_ROWS + 7, this.rowCount - top),
      width: Math.min(across, this.columnCount - left),
    };
  }

  #draw() {
    const { top, left, height, width } = this.window = this.#window();
    const { columnAxis, rowAxis } = this.view;
    this.#fit(height, width);
    this.body.style.paddingTop = `${top * ROW_HEIGHT}px`;
    this.body.style.paddingBottom = `${(this.rowCount - top - height) * ROW_HEIGHT}px`;
    this.body.style.setProperty('--left', `${left * this.cellWidth}px`);
    this.head.style.setProperty('--left', `${left * this.cellWidth}px`);
    // The words of a token vector are its labels already.
    this.head.parentElement.hidden = !columnAxis || this.dtype === 'word';
    this.corner.hidden = !rowAxis;
    if (columnAxis) {
      this.columns.forEach((column, j) => {
        setText(column, columnAxis.labels[left + j]);
        setAttribute(column, 'title', columnAxis.labels[left + j]);
        setAttribute(column, 'data-role', columnAxis.role);
        if (this.windowed) setAttribute(column, 'aria-colindex', left + j + (rowAxis ? 2 : 1));
      });
    }
    this.rows.forEach((row, i) => {
      row.head.hidden = !rowAxis;
      if (rowAxis) {
        setText(row.head, rowAxis.labels[top + i]);
        setAttribute(row.head, 'title', rowAxis.labels[top + i]);
        setAttribute(row.head, 'data-role', rowAxis.role);
      }
      if (this.windowed) setAttribute(row.element, 'aria-rowindex', top + i + 2);
      row.cells.forEach((cell, j) => this.#drawCell(cell, top + i, left + j));
    });
    this.#rove();
  }

  /** Makes as many rows, columns and cells as the window has. */
  #fit(height, width) {
    if (this.columns.length === width && this.rows.length === height) return;
    while (this.columns.length < width) this.columns.push(h('span.column', { role: 'columnheader' }));
    this.columns.length = width;
    this.head.replaceChildren(this.corner, ...this.columns);
    while (this.rows.length < height) {
      const head = h('span.rowhead', { role: 'rowheader' });
      this.rows.push({ head, cells: [], element: h('div.row', { role: 'row' }, head) });
    }
    this.rows.length = height;
    for (const row of this.rows) {
      while (row.cells.length < width) row.cells.push(h('span.cell', { role: 'gridcell', tabindex: -1 }, ''));
      row.cells.length = width;
      row.element.replaceChildren(row.head, ...row.cells);
    }
    this.body.replaceChildren(...this.rows.map((row) => row.element));
  }

  #drawCell(cell, row, column) {
    const { tensor: { data, dtype }, before, lit, fed, chosen, words } = this.view;
    const place = this.base + row * this.columnCount + column;
    const value = data[place];
    const changed = before !== null && !Object.is(before.data[place], value) && before.data[place] !== value;
    const text = words ? words[value] : formatCell(value, dtype);

    let look = this.#tone(value);
    if (changed) look += ' changed';
    if (lit.has(place)) look += ' lit';
    if (fed.has(place)) look += ' fed';
    if (chosen && chosen[0] === row && chosen[1] === column) look += ' chosen';

    cell.row = row;
    cell.column = column;
    const old = changed ? this.#spoken(before.data[place], value) : null;
    const key = `${text} ${look} ${old}`;
    if (cell.key === key && !this.windowed) return;
    cell.key = key;
    if (cell.shown !== text) cell.textContent = cell.shown = text;
    if (cell.look !== look) cell.className = `cell ${cell.look = look}`;
    const now = this.#spoken(value, changed ? before.data[place] : value);
    const spoken = changed ? t('changed_cell', { value: text, old, now }) : now;
    setAttribute(cell, 'aria-label', spoken === text ? null : spoken);
    setAttribute(cell, 'title', changed ? t('changed_title', { old, now }) : null);
    if (this.windowed) setAttribute(cell, 'aria-colindex', column + (this.view.rowAxis ? 2 : 1));
  }

  /** A value in words; as many decimals as it takes to tell it from another value. */
  #spoken(value, other) {
    const { words, tensor: { dtype } } = this.view;
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
    const strength = Math.max(1, Math.round(Math.abs(value) / this.reach * LEVELS));
    return `${this.sequential ? 'share' : value > 0 ? 'positive' : 'negative'} s${Math.min(strength, LEVELS)}`;
  }

  // ---- moving about ----

  /** The one cell of this grid that the Tab key reaches; the box itself while that cell is not drawn. */
  #rove() {
    const cell = this.#cellAt(this.roving);
    if (this.tabbed && this.tabbed !== cell) this.tabbed.tabIndex = -1;
    if (cell) cell.tabIndex = 0;
    setAttribute(this.box, 'tabindex', cell ? null : 0);
    this.tabbed = cell;
  }

  #cellAt([row, column]) {
    return this.rows[row - this.window.top]?.cells[column - this.window.left] ?? null;
  }

  /** Puts the keyboard focus on the roving cell, scrolled into the box. */
  focus() {
    this.#reveal();
    (this.#cellAt(this.roving) ?? this.box).focus({ preventScroll: this.windowed });
  }

  get hasFocus() {
    return this.box.contains(this.box.getRootNode().activeElement);
  }

  #reveal() {
    if (!this.windowed) return;
    const { box, headWidth, cellWidth } = this;
    const y = this.roving[0] * ROW_HEIGHT;
    const x = this.roving[1] * cellWidth;
    const high = box.clientHeight - ROW_HEIGHT * 2;
    const wide = box.clientWidth - headWidth - cellWidth;
    box.scrollTop = Math.min(y, Math.max(box.scrollTop, y - high));
    box.scrollLeft = Math.min(x, Math.max(box.scrollLeft, x - wide));
    this.#scrolled();
  }

  #scrollHome() {
    if (this.scroll.top || this.scroll.left) this.box.scrollTo(0, 0);
    this.scroll = { top: 0, left: 0 };
    this.roving = [0, 0];
  }

  #scrolled() {
    this.scroll = { top: this.box.scrollTop, left: this.box.scrollLeft };
    this.actions.scrolled?.();
    if (!this.windowed) return;
    const { top, left } = this.#window();
    if (top === this.window.top && left === this.window.left) return;
    const focused = this.hasFocus;
    this.#draw();
    // The drawn elements now stand for other cells: the focus follows the cell, not the element.
    if (focused) (this.#cellAt(this.roving) ?? this.box).focus({ preventScroll: true });
  }

  #isChosen({ row, column }) {
    const { chosen } = this.view;
    return chosen !== null && chosen[0] === row && chosen[1] === column;
  }

  /** Pressing a cell focuses and so chooses it; only a cell that was chosen before is changed by the click. */
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
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
      PageUp: [row - SHOWN_ROWS, column], PageDown: [row + SHOWN_ROWS, column],
      Home: [corner ? 0 : row, 0], End: [corner ? last[0] : row, last[1]],
    };
    if (moves[event.key]) {
      const [i, j] = moves[event.key];
      this.roving = [clamp(i, this.rowCount), clamp(j, this.columnCount)];
      this.#reveal();
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

  /** Where the roving cell lies within this figure, in pixels. */
  cellBox() {
    const cell = this.#cellAt(this.roving)?.getBoundingClientRect();
    const figure = this.element.getBoundingClientRect();
    return cell && { left: cell.left - figure.left, top: cell.top - figure.top, width: cell.width, height: cell.height };
  }
}

/** A number with two decimals, or with as many as tell it apart from another number. */
export function formatApart(value, other, dtype = 'float') {
  if (dtype !== 'float' || value === other) return formatCell(value, dtype);
  let decimals = 2;
  while (decimals < 8 && format(value, decimals) === format(other, decimals)) decimals++;
  return format(value, decimals);
}

/** Roughly how many digits wide a text is: Chinese, Japanese and Korean characters take two. */
export function textWidth(text) {
  let width = 0;
  for (const character of text) width += character > '\u2e7f' ? 1.8 : 1;
  return Math.ceil(width);
}

function clamp(i, length) {
  return Math.max(0, Math.min(length - 1, i));
}
