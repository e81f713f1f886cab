/** Counts and amounts as the ledger writes and reads them. No page is needed here. */
import { GROUP, POINT, count } from '../language.js';
import { narrow } from '../player/number.js';
import { format } from '../tensor.js';

/** A count in groups of three digits; above 10^15 with a power of ten. The twin of `write_number` in Python. */
export function writeNumber(value) {
  return value < 1e15 ? count(Math.floor(value + 0.5)) : format(value);
}

/** A result in the unit that its name ends with, if it does. The twin of `write_result` in Python. */
export function writeResult(name, value, allUnits) {
  const units = allUnits[name.split('.').at(-1)];
  if (!units) return writeNumber(value);
  const [unit, size] = units.find(([, size]) => value >= size) ?? units.at(-1);
  return `${format(value / size)} ${unit}`;
}

/** What was typed as a number: 37,000 and 37 000 are as good as 37000, as the page writes it. NaN where it is none. */
export function readNumber(text) {
  const plain = narrow(text)
    .replace(/[\s_]/g, '')
    .split(GROUP)
    .join('')
    .replace(POINT, '.');
  return /^[+-]?\d+(\.\d+)?(e\d+)?$/i.test(plain) ? Number(plain) : NaN;
}
