/** Numbers stored as base64: little-endian, one of the types below. */

/** The arrays that read them; every browser runs on a little-endian machine. A float16 is read as its 16 bits. */
const ARRAYS = { float64: Float64Array, float16: Uint16Array, int32: Int32Array, uint8: Uint8Array };

/** The storage types, and the dtype of the tensors each may be used for. */
export const STORED_AS = { float64: 'float', float16: 'float', int32: 'int', uint8: 'bool' };

/**
 * @param {string} text  base64
 * @param {'float64'|'float16'|'int32'|'uint8'} type
 * @param {number} count  how many numbers it must hold
 * @returns {Float64Array}
 */
export function decodeBase64(text, type, count) {
  let binary;
  try {
    binary = atob(text);
  } catch {
    throw new RangeError('it is not valid base64');
  }
  const bytes = count * ARRAYS[type].BYTES_PER_ELEMENT;
  if (binary.length !== bytes) {
    throw new RangeError(`${count} ${type} numbers take ${bytes} bytes, but there are ${binary.length}`);
  }
  const { buffer } = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  const stored = new ARRAYS[type](buffer);
  return Float64Array.from(stored, type === 'float16' ? halfToNumber : undefined);
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
