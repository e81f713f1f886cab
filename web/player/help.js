/** The keys of a player, in a dialog over the page: what a reader opens with ? or in the footer. */
import { h } from './dom.js';
import { KEYS, t } from './text.js';

export class Help {
  constructor() {
    /** The browser gives the focus back to where it was. */
    const close = () => this.element.close();
    this.button = h('button.text', { type: 'button', on: { click: close } }, t('close_help'));
    this.element = h('dialog', {
      'aria-label': t('help'),
      on: {
        // All that lies within the dialog is inside of its one child.
        click: (event) => event.target === this.element && close(),
        keydown: (event) => {
          // The player behind must not act on keys that the reader tries out.
          event.stopPropagation();
          if (event.key === '?') close();
        },
      },
    });
  }

  open() {
    if (!this.element.firstChild) this.element.append(this.#sheet());
    this.element.showModal();
  }

  #sheet() {
    const groups = Object.entries(KEYS).map(([group, keys]) =>
      h('table', {}, h('caption.section', {}, t(group)), h('tbody', {}, ...keys.map(line))),
    );
    return h('div.sheet', {}, h('div.bar', {}, h('b.title', {}, t('help')), this.button), h('div.keys', {}, ...groups));
  }
}

function line(key) {
  const [keys, action = ''] = t(key).split(' | ');
  return h('tr', {}, h('th', { scope: 'row' }, h('kbd', {}, keys)), h('td', {}, action));
}
