/** The matrix with the chosen cell as a table for other programs: CSV (RFC 4180), with labels and all decimals. */

/**
 * @param {import('../player/matrix.js').Matrix} matrix
 * @returns {string}
 */
export function csv({ view, base, rowCount, columnCount }) {
  const { tensor, words, rowAxis, columnAxis } = view;
  // A number that the reader is asked for is not in the view.
  const shown = (value) => (Number.isNaN(value) ? '?' : words ? words[value] : tensor.dtype === 'bool' ? value === 1 : value);
  const head = [...(rowAxis ? [`${rowAxis.name} × ${columnAxis.name}`] : []), ...(columnAxis?.labels ?? ['value'])];
  const rows = Array.from({ length: rowCount }, (_, i) => [
    ...(rowAxis ? [rowAxis.labels[i]] : []),
    ...Array.from({ length: columnCount }, (_, j) => shown(tensor.data[base + i * columnCount + j])),
  ]);
  return [head, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

/** A text is quoted; one that a spreadsheet would take for a formula gets an apostrophe in front of it. */
function field(value) {
  if (typeof value !== 'string') return typeof value === 'boolean' ? String(value).toUpperCase() : String(value);
  const plain = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return `"${plain.replaceAll('"', '""')}"`;
}
