import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check, decodeKey, encodeKey, readExercise } from './check.js';

const NUMBER_KEY = {
  accept: [[0.5, -2]],
  tolerance: 0.01,
  right: 'Yes: 追逐.',
  wrong: [{ match: [5, -2], message: 'You forgot to scale.' }],
  near: 'Look at the row again.',
};
const CHOICE_KEY = {
  accept: { index: 1 },
  right: 'Yes.',
  wrong: [{ index: 0, message: 'That is the key.' }],
  near: '',
};

const number = (...values) => check('number', NUMBER_KEY, values);

test('the right numbers are right, within the tolerance and in any spelling', () => {
  for (const values of [
    [0.5, -2],
    ['1/2', '−2'],
    ['0,5', '-2.0'],
    ['.51', ' -1.99 '],
    ['5e-1', '-2'],
  ]) {
    assert.deepEqual(
      number(...values),
      { right: true, verdict: 'right', message: 'Yes: 追逐.' },
      String(values),
    );
  }
});

test('thousands may be parted as the book parts them; a decimal comma stays one', () => {
  const key = { ...NUMBER_KEY, accept: [[32768, 0.5]], wrong: [{ match: [1.25, 0.5], message: 'Known.' }] };
  for (const text of ['32768', '32,768', '32 768', '３２，７６８', '32,768.00'])
    assert.equal(check('number', key, [text, '0,5']).verdict, 'right', text);
  assert.equal(check('number', key, ['1,250', '0,5']).message, 'Known.', '1,250 is 1.25 as well');
  assert.equal(check('number', key, ['32,76', '0,5']).verdict, 'other');
  for (const text of ['32,7680,1', '3276,8,0', '1 2', '0,327,680'])
    assert.equal(check('number', key, [text, '0,5']).verdict, 'unreadable', text);
});

test('a number outside the tolerance is not right', () => {
  assert.equal(number(0.52, -2).verdict, 'other');
  assert.equal(number(0.5, -2.02).message, 'Look at the row again.');
});

test('a known wrong answer is named', () => {
  assert.deepEqual(number('5', '-2'), { right: false, verdict: 'known', message: 'You forgot to scale.' });
});

test('what is not a number is told so, and never taken for a number', () => {
  for (const text of ['half', '1..5', '1,5,0', '1/0', '0x10', '1/2/3', 'NaN', 'Infinity', '--1']) {
    const verdict = number(text, '-2');
    assert.equal(verdict.verdict, 'unreadable', text);
    assert.ok(verdict.message.includes(text), text);
  }
  assert.equal(number('', '-2').verdict, 'unreadable');
  assert.equal(check('number', NUMBER_KEY, ['0.5']).right, false);
});

test('choices', () => {
  const choose = (value) => check('choice', CHOICE_KEY, [value]);
  assert.equal(choose('1').right, true);
  assert.equal(choose(0).message, 'That is the key.');
  assert.equal(choose(2).verdict, 'other');
  assert.equal(choose(undefined).verdict, 'unreadable');
});

test('the key is read back as it was written, and as Python writes it', () => {
  assert.deepEqual(decodeKey('attention.score', encodeKey('attention.score', NUMBER_KEY)), NUMBER_KEY);
  // base64(bytes(b ^ pad[i % len(pad)] for …)) of {"a":"é"} with the pad b"é1".
  const pad = Buffer.from('é1');
  const raw = Buffer.from('{"a":"é"}').map((byte, i) => byte ^ pad[i % pad.length]);
  assert.deepEqual(decodeKey('é1', Buffer.from(raw).toString('base64')), { a: 'é' });
});

test('a payload that is no exercise is refused with a readable error', () => {
  const good = {
    format: 'stepformer.exercise/1',
    id: 'a.b',
    kind: 'number',
    question: 'How much?',
    fields: ['x', 'y'],
    hint: '',
    key: encodeKey('a.b', NUMBER_KEY),
  };
  assert.deepEqual(readExercise(good), NUMBER_KEY);
  const bad = {
    format: 'stepformer.exercise/2',
    id: '',
    kind: 'essay',
    question: null,
    fields: [1, 2],
    key: 'not base64!',
  };
  for (const [name, value] of Object.entries(bad)) {
    assert.throws(() => readExercise({ ...good, [name]: value }), /its data is not valid/, name);
  }
  assert.throws(() => readExercise({ ...good, fields: ['x'] }), /damaged/);
  assert.throws(() => readExercise({ ...good, kind: 'choice', choices: ['a', 'b'] }), /damaged/);
  assert.throws(() => readExercise({ ...good, key: encodeKey('a.b', null) }), /damaged/);
});
