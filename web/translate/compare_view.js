/** Teacher forcing beside free running: what is predicted after the right words, and after the model's own. */
import { h } from '../player/dom.js';
import { format } from '../tensor.js';
import { folded, share } from './parts.js';
import { t } from './text.js';
import { BOS, EOS, UNK } from './tokenizer.js';

export class CompareView {
  /**
   * @param {{model: import('./model.js').Model, compute: (target: number[]) => Float64Array[], say: (text: string) => void}} parts
   *   `compute`: the probabilities of the next word at each position of a target
   */
  constructor({ model, compute, say }) {
    Object.assign(this, { model, compute });
    this.input = h('input.wm-text', {
      type: 'text',
      lang: 'zh',
      autocomplete: 'off',
      maxlength: 200,
      on: {
        input: () => {
          this.#draw();
          say(this.sum.textContent);
        },
      },
    });
    this.sum = h('p');
    this.body = h('tbody');
    this.table = h(
      'div.tr-scroll',
      { tabindex: '0', role: 'group', 'aria-label': t('compare_table') },
      h(
        'table.lg-table.tr-compare',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            ...['compare_given', 'compare_predicts', 'compare_own', 'compare_predicts'].map((key) => h('th', { scope: 'col' }, t(key))),
          ),
        ),
        this.body,
      ),
    );
    this.element = folded(
      t('compare'),
      t('compare_hint'),
      h('label.wm-label', {}, t('compare_ask'), this.input),
      this.sum,
      this.table,
    );
    this.element.addEventListener('toggle', () => this.#draw());
  }

  /**
   * @param {{target: number[], rows: Float64Array[], reference: string|null}} view
   *   the target with <bos>; `reference`: a right translation, null to keep what is typed
   */
  show({ target, rows, reference }) {
    this.own = { target, rows };
    if (reference !== null) this.input.value = reference;
    this.#draw();
  }

  /** What the reader sees, as numbers: the words of both sides, and the logarithm of the probability of the right one. */
  result() {
    const { tgt } = this.model;
    const right = tgt.encode(this.input.value);
    const unknown = tgt.tokens(this.input.value).filter((_, i) => right[i] === UNK);
    if (!right.length || unknown.length || right.length >= this.model.maxLen) return { right, unknown };
    const given = [BOS, ...right];
    const rows = this.compute(given);
    const wanted = [...right, EOS];
    const predicted = rows.map(best);
    const score = wanted.reduce((sum, word, i) => sum + Math.log(rows[i][word]), 0);
    return { right, unknown, given, rows, wanted, predicted, score };
  }

  #draw() {
    if (!this.element.open || !this.own) return;
    const { unknown, given, rows, wanted, predicted, score } = this.result();
    this.table.hidden = !given;
    if (!given) {
      this.sum.replaceChildren(
        unknown.length ? t('compare_unknown', { words: unknown.slice(0, 5).join(', ') }) : t('compare_empty'),
      );
      return;
    }
    const hits = predicted.filter((word, i) => word === wanted[i]).length;
    this.sum.replaceChildren(t('compare_sum', { right: hits, count: wanted.length, score: format(score) }));
    const { target: own, rows: ownRows } = this.own;
    const length = Math.max(given.length, ownRows.length);
    this.body.replaceChildren(
      ...Array.from({ length }, (_, i) => {
        const teacher = i < rows.length ? [given[i], predicted[i], rows[i][predicted[i]], predicted[i] === wanted[i]] : null;
        const word = i < ownRows.length ? best(ownRows[i]) : null;
        const free = word === null ? null : [own[i], word, ownRows[i][word], true];
        return h('tr', {}, ...this.#cells(teacher), ...this.#cells(free));
      }),
    );
  }

  #cells(side) {
    if (!side) return [h('td'), h('td')];
    const [given, word, probability, right] = side;
    return [
      h('td', { lang: given === BOS ? null : 'zh' }, this.#name(given)),
      h('td', {}, h(right ? 'b' : 'mark.tr-unknown', { lang: word === EOS ? null : 'zh' }, this.#name(word)), ' ', share(probability)),
    ];
  }

  #name(id) {
    if (id === BOS) return t('begin');
    return id === EOS ? t('end') : this.model.tgt.vocabulary[id];
  }
}

function best(row) {
  return row.reduce((most, x, word) => (x > row[most] ? word : most), 0);
}
