/**
 * What a number is made of, read off its explanation: the terms of the sum that it is, and the cells in each.
 *
 * One rule for every op. The arithmetic of a cell is multiplied out as far as it is a sum: over sums, differences,
 * and products or quotients with constants. Each part that is left is a term, and the terms add up to the number.
 * So a matrix product has one term for each pair of numbers that meet, and a mean one for each number; what is no
 * sum, such as a softmax or the normalised part of a layer norm, is one term with all of its cells. Within a term
 * the cell comes first that moves the term most when it changes a little. Cells that only decide (a mask, a token
 * that picks a row) belong to no term.
 *
 * @typedef {{input: number, index: number[], value: number}} Cell
 * @typedef {{value: number, cells: Cell[], product: boolean}} Term   `product`: the cells times a constant, if any
 */
import { evaluate } from './explain.js';

/**
 * @param {import('./explain.js').Explanation} explanation
 * @returns {{terms: Term[], deciding: Cell[]}}  the terms from the largest to the smallest
 */
export function contributions({ lets, result }) {
  const known = new Map(lets.map(({ name, expr }) => [name, expr]));
  const worth = (expr) => evaluate({ lets, result: expr });
  const deciding = new Map();
  const terms = [];

  /** The mentions of each cell in an expression, by cell. */
  function mentions(expr, found = new Map()) {
    if (expr.kind === 'var') mentions(known.get(expr.name), found);
    if (expr.kind === 'ref') note(found, expr);
    for (const ref of expr.because ?? []) note(deciding, ref);
    for (const arg of expr.args ?? []) mentions(arg, found);
    return found;
  }

  function spread(expr, factor) {
    const { kind, args } = expr;
    if (kind === 'choice') return spread(args[0], factor);
    if (kind === 'var') return spread(known.get(expr.name), factor);
    if (kind === 'sum') return args.forEach((arg) => spread(arg, factor));
    if (kind === 'difference') return args.forEach((arg, i) => spread(arg, i ? -factor : factor));
    if (kind === 'product' || kind === 'quotient') {
      const varying = args.filter((arg) => mentions(arg).size);
      const times = (by, arg) => (arg === varying[0] ? by : kind === 'product' ? by * worth(arg) : by / worth(arg));
      if (varying.length === 1 && (kind === 'product' || varying[0] === args[0]))
        return spread(varying[0], args.reduce(times, factor));
    }
    const found = [...mentions(expr).values()];
    const product = kind === 'ref' || (kind === 'product' && args.every((arg) => arg.kind === 'ref'));
    if (!product && found.length > 1) order(found, expr);
    terms.push({ value: factor * worth(expr), cells: found.map(([ref]) => ref), product });
  }

  /** Sorts cells by how far an expression moves with each. */
  function order(found, expr) {
    const moves = new Map(
      found.map((refs) => {
        const [{ value }] = refs;
        const small = 1e-5 * Math.max(1, Math.abs(value));
        const at = (x) => {
          for (const ref of refs) ref.value = x;
          return worth(expr);
        };
        // Minus infinity does not move: both ends are the same, or no number.
        const move = Math.abs(at(value + small) - at(value - small)) / small || 0;
        at(value);
        return [refs, move];
      }),
    );
    found.sort((a, b) => moves.get(b) - moves.get(a));
  }

  mentions(result);
  spread(result, 1);
  const used = new Set(terms.flatMap(({ cells }) => cells.map(keyOf)));
  return {
    terms: terms.sort((a, b) => Math.abs(b.value) - Math.abs(a.value)),
    deciding: [...deciding].filter(([key]) => !used.has(key)).map(([, [ref]]) => ref),
  };
}

const keyOf = ({ input, index }) => `${input}:${index}`;

function note(found, ref) {
  const key = keyOf(ref);
  if (!found.has(key)) found.set(key, []);
  found.get(key).push(ref);
}
