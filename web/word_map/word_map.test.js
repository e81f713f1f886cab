import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asDifference, readExpression, twoSigns, writeExpression } from './expression.js';
import { placeLabels } from './labels.js';
import { distance, plain, suggestions } from './spelling.js';

const terms = (text) => readExpression(text).map(({ word, sign }) => (sign < 0 ? '-' : '+') + word);

test('a word, several words, and sums with every kind of sign', () => {
  assert.deepEqual(terms('king'), ['+king']);
  assert.deepEqual(terms('king - man + woman'), ['+king', '-man', '+woman']);
  for (const text of ['king − man + woman', 'king−man+woman', 'King  –  MAN ＋ woman', 'king －man ＋woman ', 'king—man+woman', 'king- man+woman'])
    assert.deepEqual(terms(text), ['+king', '-man', '+woman'], text);
  for (const text of ['- man + king', '−man + king', '-man +king']) assert.deepEqual(terms(text), ['-man', '+king'], text);
  assert.deepEqual(terms('cat, dog mouse'), ['+cat', '+dog', '+mouse']);
  assert.deepEqual(terms('cat，dog、mouse'), ['+cat', '+dog', '+mouse']);
});

test('a hyphen between letters belongs to the word, which may be meant as a difference', () => {
  assert.deepEqual(terms('well-known'), ['+well-known']);
  assert.deepEqual(terms('king - man-in-law+woman'), ['+king', '-man-in-law', '+woman']);
  assert.deepEqual(terms('Well－Known, covid-19'), ['+well-known', '+covid-19']);
  const difference = (word, sign) => writeExpression(asDifference({ word, sign }));
  assert.equal(difference('king-man', 1), 'king − man');
  assert.equal(difference('king-man-dog', -1), '−king − man − dog');
  for (const word of ['king', 'covid-19', '-', 'king-', '-man']) assert.equal(asDifference({ word, sign: 1 }), null, word);
});

test('two signs without a word between them are named', () => {
  const cases = [['king -- man', '− −'], ['king - - man', '− −'], ['king +－ man', '+ −'], ['king —＋man', '− +'], ['--man', '− −'], ['+ + + cat', '+ +']];
  for (const [text, signs] of cases) assert.equal(twoSigns(text), signs, text);
  for (const text of ['king - man + woman', '- man', 'well-known', 'king -', '']) assert.equal(twoSigns(text), null, text);
});

test('nothing to ask for', () => {
  for (const text of ['', '   ', '+', '- -']) assert.deepEqual(terms(text), [], JSON.stringify(text));
});

test('full-width letters and capitals are plain words', () => {
  assert.deepEqual(terms('Ｋｉｎｇ'), ['+king']);
  assert.equal(plain(' ＱＵＥＥＮ'), 'queen');
  assert.equal(plain('\u202eking\u200f\0'), 'king', 'marks that nobody sees');
  assert.deepEqual(readExpression('\u202e'), []);
});

test('a sum is written as it is read', () => {
  for (const text of ['king − man + woman', '−man + king', 'cat']) {
    assert.equal(writeExpression(readExpression(text)), text);
  }
});

test('distance counts slips, a swap as one', () => {
  const cases = [['', '', 0], ['', 'abc', 3], ['king', 'ring', 1], ['qeuen', 'queen', 1], ['kitten', 'sitting', 3], ['abcd', 'badc', 2]];
  for (const [a, b, slips] of cases) {
    assert.equal(distance(a, b), slips);
    assert.equal(distance(b, a), slips);
  }
});

test('suggestions: one slip for each three letters, the nearest and then the earliest first', () => {
  const words = ['ring', 'sing', 'king', 'kind', 'queen'];
  assert.deepEqual(suggestions('kinh', words), ['king', 'kind']);
  assert.deepEqual(suggestions('qeuen', words), ['queen']);
  assert.deepEqual(suggestions('汤姆', words), []);
  assert.deepEqual(suggestions('ming', words, 2), ['ring', 'sing']);
});

test('labels run neither into one another nor out of the picture', () => {
  const points = Array.from({ length: 60 }, (_, i) => ({
    x: 10 + ((i * 97) % 280),
    y: 10 + ((i * 61) % 180),
    word: 'word'.repeat(1 + (i % 3)),
  }));
  const places = placeLabels(points, 5, 300, 200);
  const boxes = places
    .map((place, i) => place && { ...place, length: points[i].word.length * 6.6 })
    .filter(Boolean)
    .map(({ anchor, x, y, length }) => {
      const left = anchor === 'start' ? x : anchor === 'end' ? x - length : x - length / 2;
      return { left, right: left + length, top: y - 10, bottom: y + 2 };
    });
  assert.ok(boxes.length > 10);
  for (const [i, a] of boxes.entries()) {
    assert.ok(a.left >= -1e-9 && a.right <= 300 + 1e-9 && a.top >= 0 && a.bottom <= 200);
    for (const b of boxes.slice(i + 1))
      assert.ok(
        a.right <= b.left + 1e-9 || a.left >= b.right - 1e-9 || a.bottom <= b.top || a.top >= b.bottom,
        `${JSON.stringify(a)} ${JSON.stringify(b)}`,
      );
  }
});

test('what matters most gets its label first', () => {
  const crowd = Array.from({ length: 4 }, (_, i) => ({ x: 50 + i, y: 50, word: 'together' }));
  assert.ok(placeLabels(crowd, 1, 200, 100)[0]);
  assert.ok(placeLabels(crowd, 0, 200, 100).some((place) => place === null));
});
