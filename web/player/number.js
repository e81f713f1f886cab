/** Numbers as readers type them. */

const DECIMAL = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i;

/**
 * The number a text stands for, or null. Accepted: 1.5, 1,5 (a decimal comma), −2 (any minus sign), 3e-2, and
 * fractions of these, as 1/3.
 * @param {string} text
 */
export function parseNumber(text) {
  const plain = text
    .trim()
    .replace(/[−–]/g, '-')
    .replace(/\s*\/\s*/, '/');
  const parts = plain.split('/');
  if (parts.length > 2 || !parts.every((part) => DECIMAL.test(part))) return null;
  const [above, below = 1] = parts.map((part) => Number(part.replace(',', '.')));
  const value = above / below;
  return Number.isFinite(value) ? value : null;
}
