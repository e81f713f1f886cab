/** The most probable next words at a position, as bars; each is a button that writes it there. */
import { COMMA } from '../language.js';
import { h, setText } from '../player/dom.js';
import { section, share } from './parts.js';
import { largest } from './search.js';
import { t } from './text.js';
import { UNK, EOS } from './tokenizer.js';

const MOST = 6;
const SPOKEN = 2;

export class NextWordView {
  /** @param {(word: number) => void} write */
  constructor(write) {
    this.write = write;
    this.hint = h('p.hint');
    this.list = h('ol.tr-bars');
    this.element = section('', '', this.hint, this.list);
    this.heading = this.element.querySelector('h2');
  }

  /** @param {{row: Float64Array, words: string[], prefix: string, position: number, chosen: number}} view */
  show({ row, words, prefix, position, chosen }) {
    const title = t('next_word', { number: position + 1 });
    setText(this.heading, title);
    setText(this.hint, t('next_hint', { prefix }));
    const best = largest(row, MOST);
    const likely = best.slice(0, SPOKEN).map((word) => t('spoken_share', { word: word === EOS ? t('end') : words[word], share: share(row[word]) }));
    /** The most probable words, as a sentence. */
    this.told = t('spoken_next', { prefix, words: likely.join(COMMA) });
    if (!best.includes(chosen)) best.splice(-1, 1, chosen);
    const rest = row.reduce((sum, x, word) => sum + (best.includes(word) ? 0 : x), 0);
    this.list.replaceChildren(
      ...best.map((word) => this.#item(word, row[word], words, word === chosen)),
      h('li.tr-bar', {}, h('span.tr-name.hint', {}, t('others', { count: row.length - best.length })), ...bar(rest)),
    );
  }

  #item(word, probability, words, isChosen) {
    const name = word === EOS ? t('end') : words[word];
    const label = t('write', { word: name, probability: share(probability) });
    // What the model cannot read as a word can hardly be gone on from.
    const write = h(
      'button.tr-name.go',
      { type: 'button', lang: word > UNK ? 'zh' : null, 'aria-label': label, 'aria-pressed': String(isChosen), on: { click: () => this.write(word) } },
      name,
    );
    return h(`li.tr-bar${isChosen ? '.tr-now' : ''}`, {}, write, ...bar(probability));
  }
}

function bar(probability) {
  const fill = h('i.tr-fill');
  fill.style.inlineSize = `${100 * probability}%`;
  return [h('span.tr-track', { 'aria-hidden': 'true' }, fill), h('span.tr-number', {}, share(probability))];
}
