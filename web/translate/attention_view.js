/** Cross-attention, drawn as lines between the written words and those of the source, and as a table. */
import { h, setAttribute } from '../player/dom.js';
import { format } from '../tensor.js';
import { Choice, section, share, strength, svg } from './parts.js';
import { t } from './text.js';

const ROW = 28;
const AVERAGE = 'average';
/** Fainter lines are not drawn. */
const FAINTEST = 0.02;

export class AttentionView {
  /**
   * @param {{nLayers: number, nHeads: number}} sizes
   * @param {{choose: (position: number) => void, say: (text: string) => void}} actions
   */
  constructor({ nLayers, nHeads }, { choose, say }) {
    this.choose = choose;
    /** The last layer, all heads: there it resembles an alignment most. */
    this.layer = nLayers - 1;
    this.head = AVERAGE;
    const numbers = (n) => Array.from({ length: n }, (_, i) => [i, String(i)]);
    const options = (n) => [...numbers(n), [AVERAGE, t('average')]];
    const pick = (what) => (value) => {
      this[what] = value;
      this.#draw();
      say(this.told);
    };
    this.layers = new Choice(t('layer'), options(nLayers), pick('layer'));
    this.heads = new Choice(t('head'), options(nHeads), pick('head'));
    this.source = h('ol.tr-words.tr-from');
    this.target = h('ol.tr-words.tr-to', { lang: 'zh' });
    this.lines = svg('svg', { preserveAspectRatio: 'none', class: 'tr-lines' });
    this.figure = h('div.tr-figure', { role: 'img' }, this.source, this.lines, this.target);
    this.head_ = h('thead');
    this.body = h('tbody');
    this.box = h(
      'div.tr-scroll',
      { tabindex: '0', role: 'group', 'aria-label': t('weights') },
      h('table.tr-matrix', {}, this.head_, this.body),
    );
    this.element = section(
      t('attention'),
      t('attention_hint'),
      h('div.slices', {}, this.layers.element, this.heads.element),
      h('div.tr-sides', {}, this.figure, this.box),
    );
  }

  /**
   * @param {{source: string[], target: string[], attention: import('../tensor.js').Tensor[], position: number}} view
   *   `attention`: for each layer (heads, positions, words of the source)
   */
  show(view) {
    this.view = view;
    this.#draw();
  }

  /** The weights of the chosen layer and head, or their mean: a row for each written word. */
  weights() {
    const { attention, source, target } = this.view;
    const layers = this.layer === AVERAGE ? attention : [attention[this.layer]];
    return target.map((_, i) =>
      source.map((_, j) => {
        const cells = layers.flatMap(({ shape: [heads, rows, columns], data }) =>
          Array.from({ length: heads }, (_, head) => head)
            .filter((head) => this.head === AVERAGE || head === this.head)
            .map((head) => data[(head * rows + i) * columns + j]),
        );
        return cells.reduce((sum, x) => sum + x, 0) / cells.length;
      }),
    );
  }

  /** What the chosen word looks at most, as a sentence. */
  get told() {
    const { source, target, position } = this.view;
    const row = this.weights()[position];
    const most = row.indexOf(Math.max(...row));
    return t('spoken_link', { target: target[position], source: source[most], weight: share(row[most]) });
  }

  #draw() {
    const { source, target, position } = this.view;
    this.layers.value = this.layer;
    this.heads.value = this.head;
    const weights = this.weights();
    this.source.replaceChildren(...source.map((word, j) => h(`li${weights[position][j] > 0.1 ? '.tr-now' : ''}`, {}, word)));
    this.target.replaceChildren(
      ...target.map((word, i) =>
        // The buttons of the translation and of the table do the same for the keyboard.
        h(`li${i === position ? '.tr-now' : ''}`, { on: { click: () => this.choose(i) } }, word),
      ),
    );
    this.#drawLines(weights);
    this.#drawTable(weights);
    const links = target.map((word, i) => {
      const most = weights[i].reduce((best, x, j) => (x > weights[i][best] ? j : best), 0);
      return weights[i][most] > 0 ? t('link', { target: word, source: source[most] }) : '';
    });
    setAttribute(this.figure, 'aria-label', t('lines', { links: links.join(' ') }));
  }

  #drawLines(weights) {
    const { source, target, position } = this.view;
    const height = ROW * Math.max(source.length, target.length);
    this.lines.setAttribute('viewBox', `0 0 100 ${height}`);
    this.lines.style.blockSize = `${height}px`;
    const line = (i, j) =>
      svg('line', {
        x1: 0,
        y1: ROW * (j + 0.5),
        x2: 100,
        y2: ROW * (i + 0.5),
        class: i === position ? 'tr-line tr-now' : 'tr-line',
        'stroke-opacity': Math.max(0.08, weights[i][j]).toFixed(3),
        'stroke-width': (1 + 3 * weights[i][j]).toFixed(2),
      });
    const order = [...target.keys()].sort((a, b) => (a === position) - (b === position));
    this.lines.replaceChildren(
      ...order.flatMap((i) => weights[i].flatMap((x, j) => (x > FAINTEST ? [line(i, j)] : []))),
    );
  }

  #drawTable(weights) {
    const { source, target, position } = this.view;
    this.head_.replaceChildren(h('tr', {}, h('td'), ...source.map((word) => h('th', { scope: 'col' }, h('span', {}, word)))));
    this.body.replaceChildren(
      ...target.map((word, i) =>
        h(
          `tr${i === position ? '.tr-now' : ''}`,
          {},
          h('th', { scope: 'row', lang: 'zh' }, word),
          ...weights[i].map((x) => h(`td${strength(x)}`, {}, format(x))),
        ),
      ),
    );
  }
}
