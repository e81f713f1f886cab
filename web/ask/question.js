/**
 * What is asked, which answers are right, and in which order cells are asked about. No page is needed here.
 *
 * @typedef {{index: number[], value: number, tolerance: number,
 *   explanation: import('../explain.js').Explanation}} AskedCell   `tolerance` is 0 where the answer is a choice or a count
 */
import { evaluate } from '../explain.js';
import { parseGrouped, parseNumber } from '../player/number.js';
import { indexOf, offset } from '../tensor.js';

/** How far an answer may be from the number; a few steps only, so that none tells how large the number is. */
const TOLERANCES = [0.005, 0.01, 0.02, 0.05];
/** Never more than this share of the number. */
const MOST_SHARE = 0.05;
/** The last bit of a number must not decide: an answer exactly at the tolerance still counts. */
export const LAST_BIT = 1e-9;
/** So many fields a row may have. */
export const MOST_FIELDS = 12;
/** Larger numbers are shown with an exponent: nobody works them out by hand. */
const LARGEST = 1e6;

const rounded = (x) => (Number.isFinite(x) ? (Math.sign(x) * Math.floor(Math.abs(x) * 100 + 0.5 + 1e-7)) / 100 : x);

/** An expression with its cells as they are shown, with two decimals. */
function asShown(expr) {
  if (expr.kind === 'ref') return { ...expr, value: rounded(expr.value) };
  return expr.args ? { ...expr, args: expr.args.map(asShown) } : expr;
}

/**
 * How far an answer may be from a number: half a unit of the last shown decimal, and as much more as the number moves for
 * a reader who works it out from the cells as they are shown, with or without rounding on the way; but at most 5 % of it.
 * @param {import('../explain.js').Explanation} explanation
 * @param {number} value
 */
export function toleranceOf(explanation, value) {
  if (!Number.isFinite(value)) return TOLERANCES[0];
  const moved = Math.max(...workedOut(explanation).map((one) => Math.abs(one - value)), 0);
  const most = Math.max(TOLERANCES[0], MOST_SHARE * Math.abs(value));
  const allowed = TOLERANCES.filter((step) => step <= most + LAST_BIT);
  return allowed.find((step) => step >= moved + TOLERANCES[0] - LAST_BIT) ?? allowed.at(-1);
}

/**
 * What a reader gets who works a number out from the cells as they are shown: exactly, with what has a name rounded, and with
 * each part of the last line rounded.
 * @param {import('../explain.js').Explanation} explanation
 * @returns {number[]}
 */
export function workedOut({ lets, result }) {
  const cells = { lets: lets.map(({ name, expr }) => ({ name, expr: asShown(expr) })), result: asShown(result) };
  const onTheWay = [];
  for (const { name, expr } of cells.lets)
    onTheWay.push({ name, expr: { kind: 'num', value: rounded(evaluate({ lets: onTheWay, result: expr })) } });
  const noted = { lets: onTheWay, result: cells.result };
  const parts = noted.result.args?.map((arg) => ({ kind: 'num', value: rounded(evaluate({ lets: onTheWay, result: arg })) }));
  const ways = [cells, noted, ...(parts ? [{ lets: [], result: { ...noted.result, args: parts, mean: false } }] : [])];
  return ways.map((way) => evaluate(way)).filter(Number.isFinite);
}

/**
 * A number as a reader types it, −∞ and 27% among them, or null.
 * @param {string} text
 */
export function parseAnswer(text) {
  if (/^\s*[-−–－]\s*(inf(inity)?|∞)\s*$/i.test(text)) return -Infinity;
  const [, share, sign] = /^(.*?)\s*([%％])?\s*$/s.exec(text);
  const value = parseGrouped(share) ?? parseNumber(share);
  return sign && value !== null ? value / 100 : value;
}

/** Whether an answer is right: near the number, or what comes out of the cells as they are shown. */
export function isRight({ value, tolerance, explanation }, answer) {
  if (answer === value || Math.abs(answer - value) <= tolerance + LAST_BIT) return true;
  const asShown = explanation && tolerance && Number.isFinite(value) ? workedOut(explanation) : [];
  return asShown.some((one) => Math.abs(answer - one) <= TOLERANCES[0] + LAST_BIT);
}

/** Whether a value can be asked for at all. */
export const isAskable = (value) => value === -Infinity || Math.abs(value) < LARGEST;

/**
 * The cells of the matrix on show (at the leading index `lead`) in the order in which they are asked about. It follows
 * from the name and the shape alone, so that everyone who opens the page is asked the same. Cells that tell nothing, such
 * as 0, 1 and −∞, come last.
 * @param {{name: string, tensor: import('../tensor.js').Tensor, lead: number[]}} matrix
 * @returns {number[][]}
 */
export function order({ name, tensor: { shape, data, dtype }, lead }) {
  const inner = shape.slice(lead.length);
  const count = inner.reduce((a, b) => a * b, 1);
  const cells = Array.from({ length: Math.min(count, 4096) }, (_, i) => [...lead, ...indexOf(inner, i)]);
  const next = generator(`${name} ${shape}`);
  for (let i = cells.length - 1; i > 0; i--) {
    const j = next() % (i + 1);
    [cells[i], cells[j]] = [cells[j], cells[i]];
  }
  const telling = (index) => {
    const value = data[offset(shape, index)];
    return dtype !== 'float' || (Number.isFinite(value) && ![0, 1].includes(Math.abs(value)));
  };
  const askable = cells.filter((index) => isAskable(data[offset(shape, index)]));
  return [...askable.filter(telling), ...askable.filter((index) => !telling(index))];
}

/** Repeatable whole numbers from a text (FNV-1a, then xorshift). */
function generator(text) {
  let state = 0x811c9dc5;
  for (const letter of text) state = Math.imul(state ^ letter.codePointAt(0), 0x01000193) >>> 0;
  state ||= 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>>= 0);
  };
}

/** The cells of the row of a cell, or null where it has one cell only, or too many for fields. */
export function rowOf(shape, index) {
  const width = shape.at(-1) ?? 1;
  if (width < 2 || width > MOST_FIELDS) return null;
  return Array.from({ length: width }, (_, j) => index.with(-1, j));
}

