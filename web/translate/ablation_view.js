/** Switches that take single heads, or the positions, away: the breaks of the program. */
import { h, setAttribute } from '../player/dom.js';
import { button, folded } from './parts.js';
import { t } from './text.js';

export class AblationView {
  /**
   * @param {import('./model.js').Model} model
   * @param {() => void} changed
   */
  constructor(model, changed) {
    this.boxes = new Map();
    const box = (name, label) => {
      const input = h('input', { type: 'checkbox', checked: true, 'aria-label': label, on: { change: changed } });
      this.boxes.set(name, input);
      return input;
    };
    const heads = Array.from({ length: model.nHeads }, (_, head) => head);
    const breaks = [...model.heads];
    const rows = model.attentions.map((path) => {
      const cells = heads.map((head) => {
        const [name] = breaks.find(([, one]) => one.path === path && one.head === head);
        return h('td', {}, h('label.tr-box', {}, box(name, t('ablate_head', { path: readable(path), head }))));
      });
      return h('tr', {}, h('th', { scope: 'row' }, readable(path)), ...cells);
    });
    const others = model.program.breaks.filter(({ name }) => !model.heads.has(name));
    this.others = others.map(({ name }) => h('label', {}, box(name, t('ablate_positions')), t('ablate_positions')));
    this.told = h('p');
    const useAll = () => {
      for (const input of this.boxes.values()) input.checked = true;
      changed();
    };
    this.again = h('div', {}, button(t('ablate_all'), useAll));
    this.element = folded(
      t('ablate'),
      t('ablate_hint'),
      h(
        'div.tr-scroll',
        { tabindex: '0', role: 'group', 'aria-label': t('ablate_table') },
        h(
          'table.lg-table.tr-heads',
          {},
          h('thead', {}, h('tr', {}, h('td'), ...heads.map((head) => h('th', { scope: 'col' }, t('head_number', { head }))))),
          h('tbody', {}, ...rows),
        ),
      ),
      ...this.others,
      this.again,
      this.told,
    );
  }

  /** The names of the breaks that are on. */
  get without() {
    return [...this.boxes].filter(([, { checked }]) => !checked).map(([name]) => name);
  }

  /** @param {string} told  what the switches did */
  show(told) {
    this.told.replaceChildren(told);
    setAttribute(this.again, 'hidden', !this.without.length);
  }
}

/** encoder.layers.0.self_attention as words. */
function readable(path) {
  const [, side, layer, kind] = /^(\w+)\.layers\.(\d+)\.(\w+)_attention$/.exec(path);
  return t('ablate_path', { side, layer, kind });
}
