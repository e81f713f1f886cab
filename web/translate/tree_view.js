/** A beam search as a tree: a column for each word, the most probable beginnings at the top. */
import { h, setAttribute } from '../player/dom.js';
import { format } from '../tensor.js';
import { button, section, svg } from './parts.js';
import { wordsOf } from './search.js';
import { t } from './text.js';
import { EOS } from './tokenizer.js';

const [WIDTH, HEIGHT, GAP] = [92, 40, 36];
const LEAST_COLUMNS = 1;

export class TreeView {
  /**
   * @param {{text: (ids: number[]) => string, word: (id: number) => string, look: (node: Object) => void}} parts
   *   `look`: is told of the beginning that the reader chooses, a node of the search
   */
  constructor({ text, word, look }) {
    Object.assign(this, { text, word, look });
    this.all = h('input', { type: 'checkbox', on: { change: () => this.#draw() } });
    this.picture = svg('svg', { class: 'tr-tree', role: 'group' });
    this.picture.addEventListener('keydown', (event) => this.#walk(event));
    this.list = h('ol.tr-best', { lang: 'zh' });
    const box = h('div.tr-scroll', { tabindex: '0', role: 'group', 'aria-label': t('tree') }, this.picture);
    this.element = section(
      t('tree'),
      t('tree_hint'),
      h('label.hint', {}, this.all, t('tree_dropped')),
      box,
      h('p.hint', {}, t('best')),
      this.list,
    );
  }

  /** @param {{steps: Object[][], hypotheses: Object[]}|null} found */
  show(found) {
    setAttribute(this.element, 'hidden', !found);
    this.found = found;
    if (!found) return;
    this.chosen = found.hypotheses[0].node;
    this.#draw();
  }

  /** Marks the beginning that is on show. */
  mark(node) {
    this.chosen = node;
    this.#showChosen();
  }

  #showChosen() {
    const first = this.groups.keys().next().value;
    const reached = this.groups.has(this.chosen) ? this.chosen : first;
    for (const [node, group] of this.groups) {
      group.setAttribute('aria-pressed', String(node === this.chosen));
      group.setAttribute('tabindex', node === reached ? '0' : '-1');
    }
    for (const [node, one] of this.items) setAttribute(one, 'aria-pressed', String(node === this.chosen));
  }

  /** The arrow keys go from a beginning to the one before it, to the best that follows it, and up and down a column. */
  #walk(event) {
    const group = event.target.closest('g');
    const node = [...this.groups.keys()].find((one) => this.groups.get(one) === group);
    if (!node) return;
    const column = this.columns.find((nodes) => nodes.includes(node));
    const to = {
      ArrowLeft: () => node.parent,
      ArrowRight: () => this.columns.flat().find(({ parent }) => parent === node),
      ArrowUp: () => column[column.indexOf(node) - 1],
      ArrowDown: () => column[column.indexOf(node) + 1],
    }[event.key];
    if (to) this.groups.get(to())?.focus();
    else if (event.key === 'Enter' || event.key === ' ') this.look(node);
    else return;
    event.preventDefault();
  }

  #draw() {
    const { steps, hypotheses } = this.found;
    const columns = steps.map((nodes) => nodes.filter(({ kept }) => kept || this.all.checked));
    this.columns = columns;
    this.groups = new Map();
    this.items = new Map();
    const places = new Map();
    columns.forEach((nodes, n) => nodes.forEach((node, k) => places.set(node, [n * (WIDTH + GAP), k * HEIGHT])));
    const best = new Set();
    for (let node = hypotheses[0]?.node; node; node = node.parent) best.add(node);
    const lines = [];
    const words = [];
    for (const [node, [x, y]] of places) {
      const from = places.get(node.parent);
      const kind = best.has(node) ? ' tr-now' : node.kept ? '' : ' tr-lost';
      if (from) {
        const [x1, y1] = [from[0] + WIDTH, from[1] + HEIGHT / 2];
        const y2 = y + HEIGHT / 2;
        const middle = (x1 + x) / 2;
        lines.push(svg('path', { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x} ${y2}`, class: `tr-line${kind}` }));
      }
      const name = node.word === EOS ? t('end') : this.word(node.word);
      const group = svg(
        'g',
        {
          transform: `translate(${x} ${y})`,
          class: `tr-node${kind}${node.finished ? ' tr-done' : ''}`,
          role: 'button',
          'aria-description': this.#written(node),
        },
        svg('rect', { x: 0.5, y: 3, width: WIDTH - 1, height: HEIGHT - 6, rx: 2 }),
        svg('text', { x: 7, y: 24 }, name.length > 5 ? `${name.slice(0, 5)}…` : name),
        svg('text', { x: WIDTH - 7, y: 24, 'text-anchor': 'end', class: 'tr-score' }, format(node.score)),
      );
      group.addEventListener('click', () => this.look(node));
      this.groups.set(node, group);
      words.push(group);
    }
    const width = Math.max(LEAST_COLUMNS, columns.length) * (WIDTH + GAP) - GAP;
    const height = Math.max(1, ...columns.map(({ length }) => length)) * HEIGHT;
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
      this.picture.setAttribute(name, value);
    this.picture.setAttribute('aria-label', t('tree_label', { count: places.size }));
    this.picture.replaceChildren(...lines, ...words);
    this.list.replaceChildren(
      ...hypotheses.map(({ ids, score, normalised, finished, node }) => {
        const item = t(finished ? 'best_item' : 'best_item_cut', { text: this.text(ids), score: format(score), normalised: format(normalised) });
        this.items.set(node, button(item, () => this.look(node)));
        return h('li', {}, this.items.get(node));
      }),
    );
    this.#showChosen();
  }

  /** A beginning as text, with its end if it has one. */
  #written(node) {
    const ids = wordsOf(node);
    const text = this.text(ids.filter((id) => id !== EOS));
    return node.finished ? `${text} ${t('end')}`.trim() : text;
  }
}
