/** Numbers as readers type them. */
import { GROUP, POINT } from '../language.js';

const DECIMAL = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i;

/** Full-width forms, as Chinese keyboards write them, made ordinary. (NFKC would also read 2² as 22.) */
export function narrow(text) {
  return text.replace(/[！-～]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0xfee0));
}

/**
 * The number a text stands for, or null. Accepted: 1.5, 1,5 (a decimal comma), −2 (any minus sign), 3e-2, and
 * fractions of these, as 1/3.
 * @param {string} text
 */
export function parseNumber(text) {
  const plain = narrow(text)
    .trim()
    .replace(/[−–]/g, '-')
    .replace(/\s*\/\s*/, '/');
  const parts = plain.split('/');
  if (parts.length > 2 || !parts.every((part) => DECIMAL.test(part))) return null;
  const [above, below = 1] = parts.map((part) => Number(part.replace(',', '.')));
  const value = above / below;
  return Number.isFinite(value) ? value : null;
}

const GROUPED = new RegExp(`^[+-]?[1-9]\\d{0,2}([${GROUP} \u00a0\u202f]\\d{3})+([${POINT}]\\d+)?$`);

/**
 * The number a text stands for if its commas or spaces part thousands, as the book prints 32,768; or null. On a page
 * whose language parts them by a point, 32.768 is read so.
 */
export function parseGrouped(text) {
  const plain = narrow(text).trim().replace(/[−–]/g, '-');
  if (!GROUPED.test(plain)) return null;
  return Number(plain.replaceAll(GROUP, '').replace(/[ \u00a0\u202f]/g, '').replace(POINT, '.'));
}
