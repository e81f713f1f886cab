/** The state of a player as a text: what a link carries, and what it may carry. No page is needed here. */

const VERSION = 1;
/** So much a link may hold; browsers cut longer ones. */
export const MOST_LETTERS = 30_000;

/**
 * @typedef {{player: number, program: string, step: number, folded: string[], cell: [number|'output', number[]],
 *   comparing: boolean, edits: import('../player/session.js').Edit[], breaks: string[]}} SharedState
 *   `player`: which player of the page; `program`: the digest of its program; `cell`: the chosen one
 */

/** @param {SharedState} state  @returns {string} letters, digits, - and _ */
export function encode(state) {
  const bytes = new TextEncoder().encode(JSON.stringify({ version: VERSION, ...state }));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** @returns {SharedState|null}  null where the text is damaged or of another version */
export function decode(text) {
  try {
    if (text.length > MOST_LETTERS) return null;
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const state = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return fits(state) ? state : null;
  } catch {
    return null;
  }
}

const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isText = (value) => typeof value === 'string';
const listOf = (check) => (value) => Array.isArray(value) && value.every(check);
const isIndex = listOf(isCount);

function fits(state) {
  const { version, player, program, step, folded, cell, comparing, edits, breaks } = state ?? {};
  return (
    version === VERSION &&
    [player, step].every(isCount) &&
    isText(program) &&
    [folded, breaks].every(listOf(isText)) &&
    typeof comparing === 'boolean' &&
    Array.isArray(cell) &&
    (cell[0] === 'output' || isCount(cell[0])) &&
    isIndex(cell[1]) &&
    listOf((edit) => Array.isArray(edit) && isText(edit[0]) && isIndex(edit[1]) && ['number', 'boolean'].includes(typeof edit[2]))(edits)
  );
}

/** A short text that differs where two programs differ, in steps, numbers, words or known mistakes (FNV-1a). */
export function digest({ tensors, steps, breaks = [] }) {
  const numbers = (value) => value && [value.shape, ...value.data];
  const told = [
    tensors.map(({ name, axes, vocabulary, value }) => [name, axes, vocabulary, numbers(value)]),
    breaks.map(({ name, edits }) => [name, edits.map(({ value, ...edit }) => [edit, numbers(value)])]),
    steps.map(({ op, inputs, output, attributes }) => [op, inputs, output, attributes]),
  ];
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(JSON.stringify(told))) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(36);
}
