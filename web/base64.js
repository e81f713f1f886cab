/** Numbers stored as base64: little-endian, one of the types below. */

const READERS = {
  float64: { bytes: 8, read: (view, at) => view.getFloat64(at, true) },
  float16: { bytes: 2, read: (view, at) => halfToNumber(view.getUint16(at, true)) },
  int32: { bytes: 4, read: (view, at) => view.getInt32(at, true) },
  uint8: { bytes: 1, read: (view, at) => view.getUint8(at) },
};

/** The storage types, and the dtype of the tensors each may be used for. */
export const STORED_AS = { float64: 'float', float16: 'float', int32: 'int', uint8: 'bool' };

/**
 * @param {string} text  base64
 * @param {'float64'|'float16'|'int32'|'uint8'} type
 * @param {number} count  how many numbers it must hold
 * @returns {Float64Array}
 */
export function decodeBase64(text, type, count) {
  const { bytes, read } = READERS[type];
  let binary;
  try {
    binary = atob(text);
  } catch {
    throw new RangeError('it is not valid base64');
  }
  if (binary.length !== count * bytes) {
    throw new RangeError(
      `${count} ${type} numbers take ${count * bytes} bytes, but there are ${binary.length}`,
    );
  }
  const view = new DataView(new ArrayBuffer(binary.length));
  for (let i = 0; i < binary.length; i++) view.setUint8(i, binary.charCodeAt(i));
  const numbers = new Float64Array(count);
  for (let i = 0; i < count; i++) numbers[i] = read(view, i * bytes);
  return numbers;
}

/** The number of 16 bits: 1 sign bit, 5 exponent bits, 10 fraction bits (IEEE 754 half precision). */
export function halfToNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
