/**
 * Checking an answer: the accepted answers, the known wrong ones and what to say to each. No page is needed
 * here. The Python side (`stepformer.exercises`) makes the keys and judges in the same way.
 *
 * @typedef {{accept: number[][], tolerance: number, right: string,
 *   wrong: {match: number[], message: string}[], near: string}} NumberKey
 *   any of the lists in `accept` is right, each number within `tolerance`; `near` answers every other number
 * @typedef {{accept: {index: number}, right: string, wrong: {index: number, message: string}[],
 *   near: string}} ChoiceKey
 * @typedef {{right: boolean, verdict: 'right'|'known'|'other'|'unreadable', message: string}} Verdict
 */
import { parseGrouped, parseNumber } from '../player/number.js';
import { t } from '../player/text.js';

/** The last bit of a number must not decide: an answer exactly at the tolerance still counts. */
const LAST_BIT = 1e-9;

/**
 * The key of an exercise: base64 of JSON, each byte XORed with the bytes of the id in turn. It keeps no
 * secret.
 */
export function decodeKey(id, key) {
  const mask = new TextEncoder().encode(id);
  const bytes = Uint8Array.from(atob(key), (letter, i) => letter.charCodeAt(0) ^ mask[i % mask.length]);
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
}

/** The inverse of `decodeKey`, for tests. */
export function encodeKey(id, key) {
  const mask = new TextEncoder().encode(id);
  const bytes = new TextEncoder().encode(JSON.stringify(key));
  return btoa(String.fromCharCode(...bytes.map((byte, i) => byte ^ mask[i % mask.length])));
}

/**
 * @param {'number'|'choice'} kind
 * @param {NumberKey|ChoiceKey} key
 * @param {(string|number)[]} values  what the reader typed, or the place of the chosen answer
 * @returns {Verdict}
 */
export function check(kind, key, values) {
  return kind === 'choice' ? checkChoice(key, values) : checkNumbers(key, values);
}

function checkChoice(key, [chosen]) {
  if (chosen === null || chosen === undefined || chosen === '') return unreadable('choose_first');
  const place = Number(chosen);
  return verdict(
    key,
    place === key.accept.index,
    key.wrong.find(({ index }) => index === place),
  );
}

const read = (text) => parseNumber(text) ?? parseGrouped(text);

/** Whether what stands in a field is a number. */
export const isReadable = (value) => read(String(value ?? '')) !== null;

function checkNumbers(key, values) {
  // A comma may part decimals or thousands: 32,768 is right where either reading is.
  const decimals = [];
  const thousands = [];
  for (const value of values) {
    const text = String(value ?? '');
    if (!text.trim()) return unreadable('missing_number');
    const decimal = read(text);
    if (decimal === null) return unreadable('not_a_number', { text });
    decimals.push(decimal);
    thousands.push(parseGrouped(text) ?? decimal);
  }
  const fits = (answer) =>
    [decimals, thousands].some(
      (numbers) =>
        numbers.length === answer.length &&
        numbers.every((x, i) => Math.abs(x - answer[i]) <= key.tolerance + LAST_BIT),
    );
  return verdict(
    key,
    key.accept.some(fits),
    key.wrong.find(({ match }) => fits(match)),
  );
}

function verdict(key, right, mistake) {
  if (right) return { right, verdict: 'right', message: key.right || t('right') };
  if (mistake) return { right, verdict: 'known', message: mistake.message };
  return { right, verdict: 'other', message: key.near || t('not_yet') };
}

function unreadable(text, values) {
  return { right: false, verdict: 'unreadable', message: t(text, values) };
}

/** Throws a readable error where a payload is not an exercise; returns its decoded key. */
export function readExercise(payload) {
  const { format, id, kind, question, key } = payload;
  const list = kind === 'choice' ? 'choices' : 'fields';
  const texts = payload[list];
  const isText = (value) => typeof value === 'string';
  const need = (condition, part) => {
    if (!condition) throw new Error(t('exercise_problem', { part }));
  };
  need(format === 'stepformer.exercise/1', 'format');
  need(isText(id) && id, 'id');
  need(isText(question) && question, 'question');
  need(kind === 'choice' || kind === 'number', 'kind');
  need(Array.isArray(texts) && texts.length > 0 && texts.every(isText), list);
  const decoded = readable(() => decodeKey(id, key));
  need(
    readable(() => isKey(kind, decoded, texts.length)),
    'key',
  );
  return decoded;
}

/** What a function gives, or null where the data it reads is damaged. */
function readable(read) {
  try {
    return read();
  } catch {
    return null;
  }
}

function isKey(kind, key, count) {
  if (!key || !Array.isArray(key.wrong) || !key.wrong.every(({ message }) => typeof message === 'string'))
    return false;
  if (kind === 'choice') {
    return [key.accept, ...key.wrong].every(
      ({ index }) => Number.isInteger(index) && index >= 0 && index < count,
    );
  }
  const numbers = (answer) =>
    Array.isArray(answer) && answer.length === count && answer.every(Number.isFinite);
  return (
    Number.isFinite(key.tolerance) &&
    Array.isArray(key.accept) &&
    key.accept.length > 0 &&
    [...key.accept, ...key.wrong.map(({ match }) => match)].every(numbers)
  );
}
