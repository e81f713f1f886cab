/**
 * The small field that opens over a cell to take another value. Only a value that can be read is ever handed
 * on.
 */
import { POINT } from '../language.js';
import { h } from './dom.js';
import { parseGrouped, parseNumber } from './number.js';
import { t } from './text.js';

export class Editor {
  /**
   * @param {{desk: HTMLElement, column: HTMLElement, box: Object, value: number, dtype: string,
   *   words: string[]|null, place: string,
   *   typed: string|undefined, commit: (value: number) => void, closed: (focusCell: boolean) => void}} options
   *   `desk`: what holds the field, as wide as the figure; `box`: where the cell lies, seen from the desk; `typed`: what the reader has typed already
   */
  constructor(options) {
    this.options = options;
    const { desk, box, words, place, value } = options;
    this.start = value;
    this.field = words ? this.#wordField() : this.#numberField();
    this.field.setAttribute('aria-label', t(words ? 'editor_words' : 'editor', { place }));
    this.error = h('p.field-error', { role: 'alert', hidden: true });
    this.element = h('div.editor', { on: { keydown: (event) => this.#key(event) } }, this.field, this.error);
    this.element.style.top = `${box.top}px`;
    const width = Math.max(box.width, 88);
    this.element.style.left = `${Math.max(0, Math.min(box.left, desk.clientWidth - width))}px`;
    this.element.style.width = `${width}px`;
    desk.append(this.element);
    this.field.focus({ preventScroll: true });
    this.field.addEventListener('blur', () => this.close(true, false));
  }

  #numberField() {
    const { value, typed } = this.options;
    const shown = Number.isFinite(value) ? String(Number(value.toPrecision(6))).replace('-', '−').replace('.', POINT) : '';
    this.shown = shown;
    const field = h('input.field', {
      type: 'text',
      autocomplete: 'off',
      spellcheck: 'false',
      on: { input: () => this.#complain(null) },
    });
    field.value = typed ?? shown;
    if (typed === undefined) queueMicrotask(() => field.select());
    return field;
  }

  #wordField() {
    const { words, value } = this.options;
    const field = h(
      'select.field',
      { on: { change: () => this.#commit(field.selectedIndex) } },
      ...words.map((word) => h('option', {}, word)),
    );
    field.selectedIndex = value;
    return field;
  }

  #key(event) {
    event.stopPropagation();
    if (event.key === 'Enter') this.close(true, true);
    else if (event.key === 'Escape') {
      if (this.options.words) this.#commit(this.start);
      this.close(false, true);
    } else return;
    event.preventDefault();
  }

  #commit(value) {
    if (value === this.options.value) return;
    this.options.value = value;
    this.options.commit(value);
  }

  /**
   * Takes the value over if asked to; a text that is no number keeps the field open and says what is
   * accepted.
   */
  close(take, focusCell) {
    if (this.gone) return true;
    if (take && !this.options.words && this.field.value !== this.shown) {
      // 1,234 is what the page itself would write for a thousand and more.
      const value = parseGrouped(this.field.value) ?? parseNumber(this.field.value);
      const ids = this.options.dtype === 'int';
      if (value === null || (ids && !(Number.isInteger(value) && value >= 0))) {
        this.#complain(ids ? 'accepted_id' : 'accepted_number');
        return false;
      }
      this.gone = true;
      this.#commit(value);
    }
    this.gone = true;
    // To focus the cell makes the browser lay out the page, and so does taking away a field that has the focus: in this
    // order it is done once.
    this.options.closed(focusCell);
    this.element.remove();
    return true;
  }

  #complain(key) {
    this.error.hidden = key === null;
    this.error.textContent = key === null ? '' : t(key);
    if (key) this.#keepInside();
    this.field.setAttribute('aria-invalid', key !== null);
  }

  /** Moves the message to the left where it would stick out of the page's column. */
  #keepInside() {
    this.error.style.marginInlineStart = '0';
    const over = this.error.getBoundingClientRect().right - this.options.column.getBoundingClientRect().right;
    if (over > 0) this.error.style.marginInlineStart = `${-over}px`;
  }
}
