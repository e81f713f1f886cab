import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseProgram } from '../program.js';
import { tensor } from '../tensor.js';
import { parseNumber } from './number.js';
import { differs, Session } from './session.js';
import { TEXT } from './text.js';

/** total = a + b, half = total / two, with a token leaf, a mask, and a switch that multiplies instead. */
const PROGRAM = {
  format: 'stepformer.trace/1',
  title: 'sums',
  labels: {},
  tensors: [
    { name: 'a', axes: ['row', 'column'], dtype: 'float', shape: [2, 3], data: [1, 2, 3, 4, 5, 6] },
    { name: 'b', axes: ['column'], dtype: 'float', shape: [3], data: [10, 20, 30] },
    { name: 'two', axes: [], dtype: 'float', shape: [], data: [2] },
    { name: 'sums.total', axes: ['row', 'column'], dtype: 'float' },
    { name: 'sums.half', axes: ['row', 'column'], dtype: 'float' },
    {
      name: 'words',
      axes: ['column'],
      dtype: 'int',
      shape: [3],
      data: [1, 2, 1],
      vocabulary: ['<pad>', 'Tom', 'Jerry'],
      token_rule: 'space',
    },
    {
      name: 'allowed',
      axes: ['row', 'column'],
      dtype: 'bool',
      shape: [2, 3],
      data: [true, true, false, true, true, true],
    },
    { name: 'sums.kept', axes: ['row', 'column'], dtype: 'float' },
  ],
  steps: [
    { op: 'add', inputs: [0, 1], output: 3, scope: 'sums', attributes: {} },
    { op: 'divide', inputs: [3, 2], output: 4, scope: 'sums', attributes: {} },
    { op: 'mask', inputs: [4, 6], output: 7, scope: 'sums', attributes: {} },
  ],
  breaks: [
    {
      name: 'multiply',
      edits: [{ tensor: 'total', op: 'multiply' }],
      symptom: 'too large',
      caught_by: 'test_sums',
    },
  ],
};
const session = (start) => new Session(parseProgram(PROGRAM), start);

test('an edit of a leaf reaches everything after it, and only that', () => {
  const s = session();
  s.set('a', [1, 2], 0);
  assert.deepEqual(s.nested('total'), [
    [11, 22, 33],
    [14, 25, 30],
  ]);
  assert.equal(s.nested('half')[1][2], 15);
  assert.deepEqual(
    [...s.changed].map((id) => s.program.tensors[id].name),
    ['a', 'sums.total', 'sums.half', 'sums.kept'],
  );
  assert.equal(s.program.tensors[0].value.data[5], 6, 'the program itself is not changed');
});

test('an edited result no longer follows its inputs', () => {
  const s = session();
  s.set('half', [0, 0], 100);
  s.set('a', [0, 1], -20);
  assert.deepEqual(s.nested('half')[0], [100, 11, 16.5]);
  assert.equal(s.nested('total')[0][1], 0);
});

test('the values follow from the list of edits and the breaks alone, in whatever order the reader went', () => {
  const one = session();
  one.set('half', [0, 0], 100);
  one.set('a', [0, 1], 7);
  one.setBreak('multiply', true);
  const other = session();
  other.setBreak('multiply', true);
  other.restore(one.edits, one.breaks);
  assert.deepEqual(other.nested('kept'), one.nested('kept'));
  assert.deepEqual(one.nested('half'), [
    [100, 20, 45],
    [20, 50, 90],
  ]);
});

test('changing the same cell again replaces the last edit', () => {
  const s = session();
  for (const value of [1, 2, 3]) s.set('b', [0], value);
  assert.deepEqual(s.edits, [['b', [0], 3]]);
  s.set('b', [1], 0);
  s.set('b', [0], 4);
  assert.deepEqual(s.edits, [['b', [1], 0], ['b', [0], 4]]);
});

test('an edit is kept where a later edit of a result rests on it', () => {
  const s = session();
  s.set('b', [0], 20);
  s.set('total', [0, 1], 0); // fixes total as it is with 20
  s.set('b', [0], 30);
  assert.deepEqual(s.edits.map(([, , value]) => value), [20, 0, 30]);
  const again = session();
  again.restore(s.edits, []);
  assert.deepEqual(again.nested('total'), s.nested('total'));
  assert.equal(s.nested('total')[0][0], 21);
});

test('undo and redo go through the states one by one, and a new edit ends what could be redone', () => {
  const s = session();
  const seen = [s.nested('kept')];
  const acts = [
    () => s.set('a', [0, 0], 5),
    () => s.set('a', [0, 0], 6),
    () => s.setBreak('multiply', true),
    () => s.set('half', [1, 1], 0),
    () => s.reset(),
  ];
  for (const act of acts) seen.push((act(), s.nested('kept')));
  for (let i = acts.length - 1; i >= 0; i--) {
    assert.equal(s.undo(), true);
    assert.deepEqual(s.nested('kept'), seen[i]);
  }
  assert.equal(s.undo(), false);
  assert.deepEqual([s.edits, s.breaks, s.changed.size], [[], [], 0]);
  for (let i = 1; i < seen.length; i++) {
    assert.equal(s.redo(), true);
    assert.deepEqual(s.nested('kept'), seen[i]);
  }
  assert.equal(s.redo(), false);
  s.undo();
  s.set('b', [0], 1);
  assert.equal(s.redo(), false);
});

test('what cannot be computed leaves no step back, and neither does what changes nothing', () => {
  const s = session();
  assert.throws(() => s.set('two', [], 0));
  s.reset();
  s.restore([], []);
  s.set('b', [0], 10);
  s.set('words', [1], 'Jerry');
  s.set('allowed', [0, 2], false);
  assert.deepEqual([s.history.past.length, s.edits], [0, []]);
  for (let i = 0; i < 2; i++) s.set('total', [0, 0], 11); // the first cuts the inputs off
  assert.deepEqual([s.history.past.length, s.edits.length], [1, 1]);
  s.undo();
  s.set('b', [0], 10);
  assert.equal(s.redo(), true);
});

test('the value that a break gives may be set, and then stays without the break', () => {
  const withValue = {
    ...PROGRAM,
    breaks: [{ name: 'other', edits: [{ tensor: 'b', value: [7, 20, 30] }], symptom: 's', caught_by: 'c' }],
  };
  const s = new Session(parseProgram(withValue));
  s.setBreak('other', true);
  s.set('b', [0], 7);
  s.setBreak('other', false);
  assert.deepEqual(s.nested('b'), [7, 20, 30]);
});

test('the pulls of one slider are one step back; another edit between them parts them', () => {
  const s = session();
  for (const value of [1, 2, 3]) s.set('b', [0], value, 'slide b');
  s.set('a', [0, 0], 9);
  for (const value of [4, 5]) s.set('b', [0], value, 'slide b');
  const values = [];
  do values.push(s.nested('b')[0]);
  while (s.undo());
  assert.deepEqual(values, [5, 3, 3, 10]);
});

test('a hundred steps back are kept', () => {
  const s = session();
  for (let i = 0; i < 250; i++) s.set('b', [0], i);
  let count = 0;
  while (s.undo()) count++;
  assert.equal(count, 100);
  assert.equal(s.nested('b')[0], 149);
});

test('reset gives back the values of the program', () => {
  const s = session();
  const before = s.nested('kept');
  s.set('allowed', [0, 2], true);
  s.setBreak('multiply', true);
  assert.notDeepEqual(s.nested('kept'), before);
  s.reset();
  assert.deepEqual(s.nested('kept'), before);
  assert.deepEqual([s.edits, s.breaks, s.changed.size], [[], [], 0]);
});

test('words and masks', () => {
  const s = session();
  s.set('words', [0], 'Jerry');
  s.set('allowed', [1, 0], 0);
  assert.deepEqual(s.edits, [
    ['words', [0], 2],
    ['allowed', [1, 0], false],
  ]);
  assert.deepEqual(s.axisLabels('column', 3), ['Jerry', 'Jerry', 'Tom']);
  assert.equal(s.nested('kept')[1][0], -Infinity);
});

test('what cannot be set or computed is an error and changes nothing', () => {
  const s = session();
  s.set('a', [0, 0], 5);
  const before = JSON.stringify([s.edits, s.breaks, s.nested('kept')]);
  const attempts = [
    ['nothing', [0], 1],
    ['a', [2, 0], 1],
    ['a', [0], 1],
    ['a', [0, 0.5], 1],
    ['a', [-1, 0], 1],
    ['a', '00', 1],
    ['a', [0, 0], NaN],
    ['a', [0, 0], Infinity],
    ['a', [0, 0], '1'],
    ['a', [0, 0], null],
    ['words', [0], 3],
    ['words', [0], -1],
    ['words', [0], 0.5],
    ['words', [0], 'Spike'],
    ['allowed', [0, 0], 0.5],
    ['two', [], 0],
  ];
  for (const [name, index, value] of attempts) {
    assert.throws(() => s.set(name, index, value), Error, `${name} ${index} ${value}`);
  }
  assert.throws(() => s.setBreak('nothing', true), /no break called "nothing"/);
  assert.equal(JSON.stringify([s.edits, s.breaks, s.nested('kept')]), before);
});

test('the start is a step number or the name of a result', () => {
  assert.equal(session(2).step, 2);
  assert.equal(session(99).step, 2);
  assert.equal(session('half').step, 1);
  for (const start of ['a', 'nothing', null, 1.5]) assert.throws(() => session(start), Error, String(start));
});

test('numbers as readers type them', () => {
  const read = {
    1.5: 1.5,
    '1,5': 1.5,
    ' −2 ': -2,
    '-.5': -0.5,
    '3e-2': 0.03,
    '1/4': 0.25,
    '-1 / 4': -0.25,
    '+7': 7,
    '2.': 2,
    '－０．５': -0.5,
  };
  for (const [text, value] of Object.entries(read)) assert.equal(parseNumber(text), value, text);
  for (const text of [
    '',
    ' ',
    'x',
    '1 2',
    '1,2,3',
    '1.000,5',
    '1/0',
    '0/0',
    '1e999',
    '2²',
    '½',
    '0x1',
    'NaN',
    '-',
    '.',
    '1/2/3',
  ]) {
    assert.equal(parseNumber(text), null, text);
  }
});

test('every text is one complete template: all its places have names', () => {
  for (const [key, text] of Object.entries(TEXT)) {
    assert.equal(typeof text, 'string', key);
    assert.equal(text.replace(/\{[a-z]\w*\}/g, '').search(/[{}]/), -1, key);
  }
});

test('rounding noise is no change, a change in the tenth decimal is one', () => {
  const [a, b] = [0.1 + 0.2, 0.3].map((value) => tensor([1], [value]));
  assert.notEqual(a.data[0], b.data[0]);
  assert.equal(differs(a, b), false);
  assert.equal(differs(b, tensor([1], [0.3 + 1e-10])), true);
  assert.equal(differs(tensor([1], [-Infinity]), tensor([1], [-Infinity])), false);
  assert.equal(differs(tensor([1], [-Infinity]), tensor([1], [0])), true);
});
