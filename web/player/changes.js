/** What the reader's edits and switches have changed: the results in the order of the steps, as links to them. */
import { formatShape } from '../tensor.js';
import { h, setAttribute } from './dom.js';
import { formatChange } from './matrix.js';
import { t } from './text.js';

const SHOWN = 8;

export class ChangeList {
  /** @param {(change: import('./scene.js').Change) => void} follow  goes to a changed result */
  constructor(follow) {
    this.follow = follow;
    this.limit = SHOWN;
    this.list = h('ol.terms');
    this.element = h('div.changes', { role: 'group', 'aria-label': t('changes'), tabindex: -1 }, h('p.section', {}, t('changes')), this.list);
  }

  /**
   * @param {import('./scene.js').Change[]|null} changes  null hides the list
   * @param {(change: Object) => {name: string, role: string|null, place: string, old: string, now: string}} describe
   */
  show(changes, describe) {
    setAttribute(this.element, 'hidden', !changes?.length);
    if (!changes || this.shown === changes) return;
    this.shown = changes;
    const items = changes.slice(0, this.limit).map((change) => this.#item(change, describe(change)));
    const left = changes.length - this.limit;
    const all = () => {
      this.limit = Infinity;
      this.shown = null;
      this.show(changes, describe);
      this.element.focus({ preventScroll: true });
    };
    if (left > 0) items.push(h('li', {}, h('button.more', { type: 'button', on: { click: all } }, t('changes_more', { count: left }))));
    this.list.replaceChildren(...items);
  }

  #item(change, { name, role, place, old, now, numbers }) {
    const { before, after, count } = change;
    const link = h('button.go', { type: 'button', on: { click: () => this.follow(change) } }, h('b', { 'data-role': role }, name));
    if (count === undefined) {
      const shapes = { old: formatShape(before.shape), now: formatShape(after.shape) };
      return h('li', {}, h('span', {}, link, ' ', t('changes_shape', shapes)));
    }
    const by = numbers ? formatChange(change.now, change.old) : null;
    const told = t(by ? 'changes_most_by' : 'changes_most', { place, old, now, by });
    return h('li', {}, h('span', {}, link, ' ', t('changes_count', { count, size: after.data.length }), ', ', told));
  }
}
