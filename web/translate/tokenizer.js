/**
 * From text to token ids and back: the twin of `stepformer.data.text` and of `WordTokenizer` in Python. The classes of
 * characters are spelt out, because `\w` and `\s` mean other characters here than there.
 */

const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0]/gu;
const APOSTROPHES = /(?<=[A-Za-z\u00c0-\u024f])[\u2018\u2019\u02bc\uff07](?=[A-Za-z\u00c0-\u024f])/g;
const FULL_WIDTH = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]/g;

const STEERING = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** What a text holds that does something instead of being read, each once: control characters and marks of direction. */
export function steering(text) {
  return [...new Set(text.replace(SPACES, '').match(STEERING))];
}

/** A sentence as the tokenizers read it. */
export function normalise(text) {
  return text
    .replace(SPACES, ' ')
    .replace(UNSEEN, '')
    .replace(FULL_WIDTH, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .normalize('NFC')
    .replace(APOSTROPHES, "'")
    .replace(SPACES, ' ')
    .replace(/^ | $/g, '');
}

const PIECES = new RegExp(
  [
    String.raw`\p{Nd}+(?:[.,:]\p{Nd}+)+`, // a number with its separators
    String.raw`(?:[\p{L}\p{Nl}\p{No}]\.){2,}`, // e.g. or P.E.
    String.raw`[\p{L}\p{N}_\u0300-\u036f]+(?:[-'][\p{L}\p{N}_\u0300-\u036f]+)*`,
    String.raw`'(?:s|re|ve|ll|d|m)(?![\p{L}\p{N}_])`,
    '[^ ]',
  ].join('|'),
  'giu',
);
const CLITIC = /^(.+?)(n't|'(?:s|re|ve|ll|d|m))$/iu;
const CLITICS = new Set(["n't", "'s", "'re", "'ve", "'ll", "'d", "'m", "'"]);
const CLOSING = new Set('.,?!;:%)]}…”’—。，？！；：、）】》');
const OPENING = new Set('([{$£€“‘（【《—');

/** Normalised English as words and signs: `Tom's` is `Tom 's`, `doesn't` is `does n't`. */
function cutEnglish(text) {
  return (text.match(PIECES) ?? []).flatMap((piece) => CLITIC.exec(piece)?.slice(1) ?? [piece]);
}

function joinEnglish(words) {
  let text = '';
  let glued = true;
  let quoted = false;
  for (const word of words) {
    const closes = CLOSING.has(word) || CLITICS.has(word.toLowerCase()) || (word === '"' && quoted);
    text += glued || closes ? word : ` ${word}`;
    if (word === '"') quoted = !quoted;
    glued = OPENING.has(word) || (word === '"' && quoted);
  }
  return text;
}

const LATIN = 'A-Za-z0-9\u00c0-\u024f';
const BETWEEN_LATIN = new RegExp(`[${LATIN}]$`);
const BEGINS_LATIN = new RegExp(`^[${LATIN}]`);

/** A sign that is typed in the other width means the same. */
const WIDTHS = new Map();
for (const [narrow, wide] of Array.from(',.?!:;()’‘“”~%', (sign, i) => [sign, '，。？！：；（）\'\'""～％'[i]])) {
  WIDTHS.set(narrow, wide);
}
for (const [narrow, wide] of [...WIDTHS]) if (!'\'"'.includes(wide)) WIDTHS.set(wide, narrow);

/** The first ids of every vocabulary. */
export const [PAD, BOS, EOS, UNK] = [0, 1, 2, 3];

export class Tokenizer {
  /** @param {{kind: string, language: string, lower: boolean, vocabulary: string[]}} stored */
  constructor({ kind, language, lower, vocabulary }) {
    if (kind !== 'word') throw new Error(`a tokenizer of the kind ${JSON.stringify(kind)} is not known here`);
    Object.assign(this, { language, lower, vocabulary });
    this.known = new Map();
    /** The lengths of the words that begin with a character, the longest first. */
    this.lengths = new Map();
    vocabulary.forEach((word, id) => {
      if (id <= UNK) return;
      this.known.set(word, id);
      const [first, ...rest] = word;
      this.lengths.set(first, new Set([...(this.lengths.get(first) ?? []), rest.length + 1]));
    });
    for (const [first, lengths] of this.lengths) this.lengths.set(first, [...lengths].sort((a, b) => b - a));
  }

  /** The words and signs of a text, known or not, as the text writes them. */
  tokens(text) {
    const plain = normalise(text);
    const written = this.lower ? normalise(plain.toLowerCase()) : plain;
    return this.language === 'en' ? cutEnglish(written) : this.#longestMatches(written);
  }

  /** The longest word of the vocabulary that the rest begins with; where there is none, one character. */
  #longestMatches(text) {
    const run = new RegExp(`[${LATIN}]+(?:[-'.,:][${LATIN}]+)*`, 'y');
    const characters = Array.from(text);
    const words = [];
    let place = 0; // in UTF-16 units, for the regular expression
    for (let i = 0; i < characters.length; ) {
      const first = characters[i];
      let word = first;
      run.lastIndex = place;
      const foreign = first < '\u0250' ? run.exec(text) : null;
      if (foreign) [word] = foreign;
      else {
        const pieces = (this.lengths.get(first) ?? []).map((n) => characters.slice(i, i + n).join(''));
        word = pieces.find((piece) => this.known.has(piece)) ?? first;
      }
      if (first !== ' ') words.push(word);
      place += word.length;
      i += foreign ? word.length : Array.from(word).length;
    }
    return words;
  }

  /** The id of a word: as written, else in small letters, else with a capital, else of the other width. */
  id(word) {
    const lower = word.toLowerCase();
    const [first = '', ...rest] = lower;
    const spellings = [word, lower, first.toUpperCase() + rest.join(''), WIDTHS.get(word)];
    return this.known.get(spellings.find((spelling) => this.known.has(spelling))) ?? UNK;
  }

  encode(text) {
    return this.tokens(text).map((word) => this.id(word));
  }

  /** The words of some ids: up to the first <eos>, without <pad> and <bos>. */
  words(ids) {
    const end = ids.indexOf(EOS);
    return ids.slice(0, end < 0 ? ids.length : end).flatMap((id) => (id === PAD || id === BOS ? [] : [this.vocabulary[id]]));
  }

  join(words) {
    if (this.language === 'en') return joinEnglish(words);
    return words.reduce((text, word) => text + (BETWEEN_LATIN.test(text) && BEGINS_LATIN.test(word) ? ' ' : '') + word, '');
  }

  decode(ids) {
    return this.join(this.words(ids));
  }
}
