/** A program as it is now, with its edits and switches, as a Python program that needs NumPy alone. No page is needed. */
import source from './plain_numpy.py';

const MOST_IN_A_LINE = 12;
const KEYWORDS =
  'False None True and as assert async await break class continue def del elif else except finally for from global if in is lambda nonlocal not or pass raise return try while with yield np erf print import ' +
  // the built-in functions that plain_numpy.py and this program call
  'abs any bool divmod enumerate float int len max min range sum zip';

/** The functions of plain_numpy.py, by name. */
const FUNCTIONS = new Map(
  source
    .split(/\n\n\n(?=def )/)
    .slice(1)
    .map((text) => [text.match(/^def (\w+)/)[1], text.trim()]),
);

/**
 * @param {import('../player/session.js').Session} session
 * @returns {string} Python: the given values, then a line for each step
 */
export function numpyCode(session) {
  const { program, run, steps, step: shown } = session;
  const functions = [...new Set(steps.filter(({ overridden }) => !overridden).map(({ op }) => op))];
  const names = pythonNames(program.tensors.map(({ name }) => name), functions);
  const given = ({ id, axes, vocabulary, value: leaf }) => {
    const value = run.values[id];
    const words = vocabulary && Array.from(value.data, (token) => vocabulary[token]).join(' ');
    const notes = [words || axes.join(' × '), leaf ? '' : 'in place of its step'].filter(Boolean).join(', ');
    return `${names[id]} = ${array(value)}${notes && `  # ${comment(notes)}`}`;
  };
  const lines = steps.map(({ op, inputs, output, attributes, overridden }) => {
    if (overridden) return given(program.tensors[output]);
    const told = Object.entries(attributes).map(([name, value]) => `${name}=${literal(value)}`);
    return `${names[output]} = ${op}(${[...inputs.map((id) => names[id]), ...told].join(', ')})`;
  });
  const imports = functions.some((op) => FUNCTIONS.get(op).includes('erf')) ? 'from math import erf\n\n' : '';
  const result = names[steps[shown].output];
  return [
    `# ${comment(program.title || 'A computation')}\n${imports}import numpy as np`,
    ...functions.map((op) => `\n${FUNCTIONS.get(op)}`),
    `\n# ---- given\n${program.tensors.filter(({ value }) => value).map(given).join('\n')}`,
    `# ---- computed\n${lines.join('\n')}`,
    `print(${run.values[steps[shown].output].dtype === 'float' ? `np.round(${result}, 2)` : result})\n`,
  ].join('\n\n');
}

/** For each name of a tensor a name that Python takes, no two alike. */
function pythonNames(names, functions) {
  const taken = new Set([...KEYWORDS.split(' '), ...functions]);
  return names.map((name) => {
    let plain = name.normalize('NFKC').replace(/[^\p{L}\p{Nd}]+/gu, '_').replace(/^(?=\p{Nd}|$)/u, '_');
    while (taken.has(plain)) plain += '_';
    taken.add(plain);
    return plain;
  });
}

function array({ shape, data, dtype }) {
  let next = 0;
  const read = (axis, indent) => {
    if (axis === shape.length) return literal(dtype === 'bool' ? data[next++] === 1 : data[next++]);
    const items = Array.from({ length: shape[axis] }, () => read(axis + 1, `${indent} `));
    const inner = axis === shape.length - 1;
    const breaks = inner ? wrapped(items, indent) : items.join(`,\n${indent} `);
    return `[${breaks}]`;
  };
  const type = { float: 'float', int: 'int', bool: 'bool' }[dtype];
  const start = shape.length > 1 ? '\n    ' : '';
  const text = shape.includes(0) ? `np.zeros((${shape.join(', ')},)` : `np.array(${start}${read(0, '    ')}`;
  return `${text}, dtype=${type})`;
}

function wrapped(items, indent) {
  const lines = [];
  for (let i = 0; i < items.length; i += MOST_IN_A_LINE) lines.push(items.slice(i, i + MOST_IN_A_LINE).join(', '));
  return lines.join(`,\n${indent} `);
}

/** A number, a truth value or a text, as Python writes it. */
function literal(value) {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number' && !Number.isFinite(value)) return value > 0 ? 'np.inf' : value < 0 ? '-np.inf' : 'np.nan';
  return JSON.stringify(value);
}

/** Text that cannot end the comment it stands in. */
const comment = (text) => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').slice(0, 200);
