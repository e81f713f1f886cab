/** Where the sentence is typed: the field, what may come next, the examples, and how the model reads it. */
import { COMMA } from '../language.js';
import { h, setAttribute } from '../player/dom.js';
import { suggestions } from '../word_map/spelling.js';
import { button } from './parts.js';
import { t } from './text.js';
import { BOS, steering, Tokenizer, UNK } from './tokenizer.js';

const MOST_CHIPS = 10;
const MOST_UNKNOWN = 5;
const MOST_LEFT_OUT = 10;
/** Longer words are shown shortened. */
const MOST_LETTERS = 24;
/** Longer texts are not cut into words while they are typed. */
export const MOST_CHARACTERS = 1000;

export class Entry {
  /**
   * @param {Object} payload  with `tokenizer`, `follow` and `examples`
   * @param {{submit: (text: string) => void}} actions
   */
  constructor({ tokenizer, follow, examples, megabytes }, actions) {
    this.tokenizer = new Tokenizer(tokenizer);
    this.follow = follow;
    this.actions = actions;
    this.input = h('input.wm-text', {
      type: 'text',
      lang: 'en',
      autocomplete: 'off',
      autocapitalize: 'sentences',
      spellcheck: 'false',
      'aria-describedby': 'near notice',
      on: { input: () => this.#typed() },
    });
    this.reading = h('p.tr-reading');
    this.near = h('div.tr-near', { id: 'near' });
    this.chips = h('div.tr-chips', { role: 'group' });
    const form = h(
      'form.wm-form',
      {
        on: {
          submit: (event) => {
            event.preventDefault();
            actions.submit(this.input.value);
          },
        },
      },
      h('label.wm-label', {}, h('b', {}, t('ask')), this.input),
      h('button.check', { type: 'submit' }, t('translate')),
    );
    this.size = h('p.hint', {}, t('size', { size: megabytes }));
    this.element = h(
      'div.tr-entry',
      {},
      form,
      this.chips,
      this.reading,
      this.near,
      this.size,
      h('p.hint', {}, t('examples')),
      h('ul.tr-examples', {}, ...examples.map(({ source }) => h('li', {}, button(source, () => this.set(source, true))))),
    );
    this.#typed();
  }

  /** Puts a text into the field, and translates it if that is wanted. */
  set(text, submit = false) {
    this.input.value = text;
    this.#typed();
    if (submit) this.actions.submit(text);
  }

  get tooLong() {
    return this.input.value.length > MOST_CHARACTERS;
  }

  #typed() {
    const words = this.tooLong ? [] : this.tokenizer.tokens(this.input.value);
    this.#showReading(words);
    this.#showChips(words);
  }

  #showReading(words) {
    const ids = words.map((word) => this.tokenizer.id(word));
    const count = this.tokenizer.vocabulary.length;
    setAttribute(this.reading, 'hidden', !words.length);
    this.reading.replaceChildren(
      h('span.hint', {}, t('reads')),
      ...words.flatMap((word, i) => {
        const text = shortened(word);
        const unknown = ids[i] === UNK;
        const known = this.tokenizer.vocabulary[ids[i]];
        return [' ', unknown ? h('mark.tr-unknown', { title: t('unknown_hint', { word: text, count }) }, text) : h('span.tr-word', {}, known)];
      }),
    );
    const unknown = [...new Set(words.filter((_, i) => ids[i] === UNK))].slice(0, MOST_UNKNOWN);
    const all = [...this.#leftOut(), ...unknown.map((word) => this.#nearest(word))];
    this.near.replaceChildren(...all.map(({ element }) => element));
    /** What was left out and the unknown words, in words. */
    this.told = all.map(({ said }) => said).join(' ');
  }

  /** What no model reads and nobody sees: it is named by its number. */
  #leftOut() {
    const signs = this.tooLong ? [] : steering(this.input.value).slice(0, MOST_LEFT_OUT);
    if (!signs.length) return [];
    const codes = signs.map((sign) => `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`);
    const said = t('left_out', { signs: codes.join(COMMA) });
    return [{ said, element: h('p', {}, said) }];
  }

  /** The known words that an unknown one may have meant. */
  #nearest(word) {
    const known = this.tokenizer.vocabulary.slice(UNK + 1);
    // A single letter or sign is nearly like every other.
    const found = word.length > MOST_LETTERS || !/[\p{L}\p{N}]{2}/u.test(word) ? [] : suggestions(word.toLowerCase(), known);
    const said = t(found.length ? 'spoken_near' : 'unknown_alone', { word: shortened(word), words: found.join(COMMA) });
    if (!found.length) return { said, element: h('p', {}, said) };
    const mend = (other) => button(other, () => this.#mend(word, other));
    const parts = found.flatMap((other) => [mend(other), ' ']);
    return { said, element: h('p', {}, t('near', { word: shortened(word) }), ' ', ...parts) };
  }

  /** Puts another word in the place of an unknown one, and leaves the rest as it was typed. */
  #mend(word, other) {
    const words = this.tokenizer.tokens(this.input.value).map((one) => (one === word ? other : one));
    this.set(this.tokenizer.join(words));
    this.input.focus();
  }

  #showChips(words) {
    const text = this.input.value;
    // After a letter the last word may go on; after a space or a sign a new one begins.
    const open = words.length > 0 && /[\p{L}\p{N}'-]$/u.test(text) && this.tokenizer.id(words.at(-1)) === UNK;
    const before = open ? words.slice(0, -1) : words;
    const start = open ? words.at(-1).toLowerCase() : '';
    const last = before.length ? this.tokenizer.id(before.at(-1)) : BOS;
    const { vocabulary } = this.tokenizer;
    const likely = this.follow[last] ?? [];
    const all = start ? [...likely, ...vocabulary.keys()] : likely;
    const fits = (id) => id > UNK && vocabulary[id].toLowerCase().startsWith(start);
    const chosen = [...new Set(all)].filter(fits).slice(0, MOST_CHIPS);
    setAttribute(this.chips, 'hidden', !chosen.length || this.tooLong);
    setAttribute(this.chips, 'aria-label', t(start ? 'completions' : 'next_words'));
    this.chips.replaceChildren(
      ...chosen.map((id) =>
        h(
          'button.tr-chip',
          { type: 'button', on: { click: () => this.#take([...before, vocabulary[id]]) } },
          vocabulary[id],
        ),
      ),
    );
  }

  #take(words) {
    this.set(this.tokenizer.join(words));
    // The chips are new ones now; the reader goes on where they stand.
    (this.chips.querySelector('button') ?? this.input).focus();
  }
}

function shortened(word) {
  const letters = Array.from(word);
  return letters.length > MOST_LETTERS ? `${letters.slice(0, MOST_LETTERS).join('')}…` : word;
}
