import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeBase64, halfToNumber } from '../base64.js';

const encode = (array) => Buffer.from(array.buffer).toString('base64');

test('each storage type is read little-endian', () => {
  assert.deepEqual(
    [...decodeBase64(encode(Float64Array.of(1.5, -0.1, 1e300)), 'float64', 3)],
    [1.5, -0.1, 1e300],
  );
  assert.deepEqual(
    [...decodeBase64(encode(Int32Array.of(1, -2, 2 ** 31 - 1)), 'int32', 3)],
    [1, -2, 2 ** 31 - 1],
  );
  assert.deepEqual([...decodeBase64(encode(Uint8Array.of(0, 1, 1)), 'uint8', 3)], [0, 1, 1]);
  assert.deepEqual([...decodeBase64('ADwAwA==', 'float16', 2)], [1, -2], 'bytes 00 3c, 00 c0');
  assert.deepEqual([...decodeBase64('', 'float64', 0)], []);
});

test('half precision: a table of known values', () => {
  const table = [
    [0x0000, 0],
    [0x8000, -0],
    [0x0001, 2 ** -24],
    [0x03ff, 1023 * 2 ** -24],
    [0x8001, -(2 ** -24)],
    [0x0400, 2 ** -14],
    [0x3555, 0.333251953125],
    [0x3bff, 0.99951171875],
    [0x3c00, 1],
    [0x3c01, 1.0009765625],
    [0xc000, -2],
    [0x7bff, 65504],
    [0xfbff, -65504],
    [0x7c00, Infinity],
    [0xfc00, -Infinity],
    [0x7e00, NaN],
  ];
  for (const [bits, number] of table) assert.ok(Object.is(halfToNumber(bits), number), bits.toString(16));
});

test('half precision: all finite values are in order', () => {
  for (let bits = 1; bits < 0x7c00; bits++)
    assert.ok(halfToNumber(bits) > halfToNumber(bits - 1), bits.toString(16));
});

test('damaged data is refused', () => {
  assert.throws(
    () => decodeBase64('ADwAwA==', 'float16', 3),
    /3 float16 numbers take 6 bytes, but there are 4/,
  );
  assert.throws(() => decodeBase64('ADwAw!==', 'float16', 2), /not valid base64/);
});
