/** A beam search as a tree: a column for each word, the most probable beginnings at the top. */
import { h, setAttribute } from '../player/dom.js';
import { format } from '../tensor.js';
import { section, svg } from './parts.js';
import { t } from './text.js';
import { EOS } from './tokenizer.js';

const [WIDTH, HEIGHT, GAP] = [92, 40, 36];
const LEAST_COLUMNS = 1;

export class TreeView {
  /** @param {{text: (ids: number[]) => string, word: (id: number) => string}} tokens */
  constructor({ text, word }) {
    Object.assign(this, { text, word });
    this.all = h('input', { type: 'checkbox', on: { change: () => this.#draw() } });
    this.picture = svg('svg', { class: 'tr-tree', role: 'img' });
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
    if (found) this.#draw();
  }

  #draw() {
    const { steps, hypotheses } = this.found;
    const columns = steps.map((nodes) => nodes.filter(({ kept }) => kept || this.all.checked));
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
      words.push(
        svg(
          'g',
          { transform: `translate(${x} ${y})`, class: `tr-node${kind}${node.finished ? ' tr-done' : ''}` },
          svg('rect', { x: 0.5, y: 3, width: WIDTH - 1, height: HEIGHT - 6, rx: 2 }),
          svg('text', { x: 7, y: 24 }, name.length > 5 ? `${name.slice(0, 5)}…` : name),
          svg('text', { x: WIDTH - 7, y: 24, 'text-anchor': 'end', class: 'tr-score' }, format(node.score)),
        ),
      );
    }
    const width = Math.max(LEAST_COLUMNS, columns.length) * (WIDTH + GAP) - GAP;
    const height = Math.max(1, ...columns.map(({ length }) => length)) * HEIGHT;
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }))
      this.picture.setAttribute(name, value);
    this.picture.setAttribute('aria-label', t('tree_label', { count: places.size }));
    this.picture.replaceChildren(...lines, ...words);
    this.list.replaceChildren(
      ...hypotheses.map(({ ids, score, normalised, finished }) =>
        h('li', {}, t(finished ? 'best_item' : 'best_item_cut', { text: this.text(ids), score: format(score), normalised: format(normalised) })),
      ),
    );
  }
}
