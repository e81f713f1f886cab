/** Where the chosen number comes from: its terms as links to the cells in them, and the trail of the way so far. */
import { format } from '../tensor.js';
import { h, setAttribute } from './dom.js';
import { t } from './text.js';

const SHOWN = 6;

export class WalkBack {
  /** @param {{walk: Function, back: Function, openWalk: Function}} actions */
  constructor(actions) {
    this.actions = actions;
    const open = () => actions.openWalk(this.element.hidden);
    this.button = h('button.text', { type: 'button', on: { click: open } }, t('walk'));
    this.element = h('div.walk', { role: 'group', 'aria-label': t('terms'), tabindex: -1, hidden: true });
  }

  /**
   * @param {{open: boolean, key: string, value: string, trail: Object[], found: Object|null,
   *   describe: (cell: Object) => {name: string, place: string, role: string|null, value: string}}} view
   *   `found`: what Scene.contributions gives; `trail`: the cells that led here, and this one
   */
  show(view) {
    setAttribute(this.button, 'aria-expanded', String(view.open));
    setAttribute(this.element, 'hidden', !view.open);
    if (!view.open) return;
    if (this.view?.key !== view.key) this.limit = SHOWN;
    this.view = view;
    const { found, value } = view;
    this.element.replaceChildren(
      ...this.#trail(),
      h('p.hint', {}, t(!found ? 'walk_end' : isSum(found) ? 'terms_add_up' : 'one_term', { value })),
      ...(found ? this.#terms(found) : []),
    );
  }

  /** Puts the focus where the walk goes on: on the first cell, or at the end on the way back. */
  focus() {
    (this.element.querySelector('.terms .go') ?? this.element.querySelector('.trail li:last-child .go') ?? this.element).focus();
  }

  #trail() {
    const { trail } = this.view;
    if (trail.length < 2) return [];
    const items = trail.slice(0, -1).map((cell, i) => h('li', {}, this.#button(cell, () => this.actions.back(i))));
    return [h('ol.trail', { 'aria-label': t('trail') }, ...items)];
  }

  #terms({ terms, deciding }) {
    const largest = Math.max(1e-300, ...terms.map(({ value }) => Math.abs(value)).filter(Number.isFinite));
    const items = terms.slice(0, this.limit).map(({ value, cells, product }) => {
      const bar = h(`i.part.${value < 0 ? 'negative' : 'positive'}.s10`);
      bar.style.inlineSize = `${Math.min(1, Math.abs(value) / largest) * 3}rem`;
      const parts = cells.length ? this.#cells(cells, product ? ' · ' : ', ') : [t('constant')];
      return h('li', {}, h('span.amount', {}, bar, h('b', {}, format(value))), h('span', {}, ...parts));
    });
    if (terms.length > this.limit) items.push(h('li', {}, this.#more(terms.length - this.limit)));
    const list = h('ol.terms', {}, ...items);
    if (!deciding.length) return [list];
    return [list, h('p.hint', {}, t('terms_deciding')), h('p.terms', {}, ...this.#cells(deciding, ', '))];
  }

  #cells(cells, sign) {
    const parts = cells
      .slice(0, this.limit)
      .flatMap((cell, i) => [i ? sign : '', this.#button(cell, () => this.actions.walk(cell), true)]);
    const left = cells.length - this.limit;
    return left > 0 ? [...parts, sign, this.#more(left)] : parts;
  }

  /** A cell as a link: its name, its place and, if asked for, its value. */
  #button(cell, click, valued) {
    const { name, place, role, value } = this.view.describe(cell);
    const label = [h('b', { 'data-role': role }, name), place, valued ? ` ${value}` : ''];
    return h('button.go', { type: 'button', on: { click } }, ...label);
  }

  #more(count) {
    const all = () => {
      this.limit = Infinity;
      this.show(this.view);
      this.element.focus({ preventScroll: true });
    };
    return h('button.more', { type: 'button', on: { click: all } }, t('more_terms', { count }));
  }
}

const isSum = ({ terms }) => terms.length > 1 || terms[0].cells.length < 2 || terms[0].product;
