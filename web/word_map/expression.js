/** What a reader may ask for: a word, or a sum of words such as "king − man + woman". */
import { plain } from './spelling.js';

/** Signs stand after a space, so that a hyphen within a word is part of it. The minus signs are all of them. */
const SIGN = /(?:^|\s)([+\-−–—－＋])(?=\s|$|\p{L})/u;
const TWO_SIGNS = /([+\-−–—－＋])\s*([+\-−–—－＋])/u;
/** A hyphen between letters, in a word as `plain` writes it. */
const HYPHEN = /(?<=\p{L})-(?=\p{L})/u;

/**
 * @param {string} text
 * @returns {{word: string, sign: 1|-1}[]}  empty where nothing was typed
 */
export function readExpression(text) {
  // Without spaces around a sign, as in king−man+woman, it still is one; a hyphen only where it ends the word, as in king- man.
  const spaced = text.replace(/(\p{L})\s*([+−–—＋])\s*(?=\p{L})/gu, '$1 $2 ').replace(/(?<=\p{L})[-－](?=\s|$)/gu, ' $&');
  const terms = [];
  let sign = 1;
  for (const part of spaced.split(SIGN)) {
    if (/^[+＋]$/.test(part)) sign = 1;
    else if (/^[\-−–—－]$/.test(part)) sign = -1;
    else {
      // Words without a sign between them are added.
      for (const word of part.split(/[\s,，、]+/).map(plain).filter(Boolean)) {
        terms.push({ word, sign });
        sign = 1;
      }
    }
  }
  return terms;
}

/** The first two signs without a word between them, as "− −"; null where there are none. */
export function twoSigns(text) {
  const found = text.match(TWO_SIGNS);
  return found && found.slice(1).map((sign) => (/[+＋]/.test(sign) ? '+' : '−')).join(' ');
}

/** A term whose word has hyphens, read as a difference: well-known as well − known; null where it has none. */
export function asDifference({ word, sign }) {
  const [first, ...others] = word.split(HYPHEN);
  return others.length ? [{ word: first, sign }, ...others.map((other) => ({ word: other, sign: -1 }))] : null;
}

/** The same as text, with true minus signs. */
export function writeExpression(terms) {
  return terms
    .map(({ word, sign }, i) => (i ? (sign < 0 ? ' − ' : ' + ') : sign < 0 ? '−' : '') + word)
    .join('');
}
