import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MOST_LETTERS, decode, digest, encode } from './state.js';

const STATE = {
  player: 1,
  program: 'x1',
  step: 3,
  folded: ['encoder.layers.0'],
  cell: ['output', [1, 2]],
  comparing: false,
  edits: [
    ['query', [0, 1], -0.1],
    ['掩码', [0], true],
  ],
  breaks: ['no 缩放'],
};

test('what is encoded is decoded, in letters that an address may hold', () => {
  const text = encode(STATE);
  assert.match(text, /^[\w-]+$/);
  assert.deepEqual(decode(text), { version: 1, ...STATE });
});

test('whatever is damaged, of another version or of another form gives null', () => {
  const text = encode(STATE);
  for (let i = 0; i < text.length; i += 7) assert.equal(decode(text.slice(0, i)), null, `cut at ${i}`);
  const spoiled = [
    { version: 2 },
    { player: -1 },
    { step: 1.5 },
    { folded: 'encoder' },
    { cell: ['input', [0]] },
    { cell: ['output', 'x'] },
    { comparing: 1 },
    { edits: [['query', [0]]] },
    { edits: [['query', [-1], 2]] },
    { edits: [['query', [0], '<b>']] },
    { breaks: [1] },
  ];
  for (const one of spoiled) assert.equal(decode(encode({ ...STATE, ...one })), null, JSON.stringify(one));
  for (const strange of ['', '!', 'bnVsbA', 'W10', 'A'.repeat(MOST_LETTERS + 1)]) assert.equal(decode(strange), null);
});

test('the digest tells programs apart by numbers, names and steps', () => {
  const leaf = (data) => ({ name: 'a', axes: ['n'], value: { shape: [2], data: Float64Array.from(data) } });
  const steps = [{ op: 'copy', inputs: [0], output: 1, attributes: {} }];
  const program = { tensors: [leaf([1, 2])], steps };
  const others = [
    { tensors: [leaf([1, 3])], steps },
    { tensors: [{ ...leaf([1, 2]), name: 'b' }], steps },
    { tensors: [leaf([1, 2])], steps: [{ ...steps[0], op: 'relu' }] },
  ];
  assert.equal(digest(program), digest(structuredClone(program)));
  const words = { ...leaf([1, 2]), vocabulary: ['a', 'b', 'c'] };
  const mistake = (value) => ({ name: 'm', edits: [{ tensor: 0, value: { shape: [2], data: Float64Array.from(value) } }] });
  others.push(
    { tensors: [words], steps },
    { tensors: [{ ...words, vocabulary: ['a', 'b', 'd'] }], steps },
    { ...program, breaks: [mistake([1, 2])] },
    { ...program, breaks: [mistake([1, 3])] },
    { ...program, breaks: [{ ...mistake([1, 2]), name: 'n' }] },
  );
  assert.equal(new Set(others.map(digest)).size, others.length);
  for (const other of others) assert.notEqual(digest(other), digest(program));
});
