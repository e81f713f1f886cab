/**
 * Three hints to a number, one further than the other: which cells it is made of, which arithmetic, and how far the
 * arithmetic comes before its last step. They follow from the explanation of the cell, and none tells the number, unless
 * the number is a copy. No page is needed here.
 *
 * @typedef {{name: (input: number) => string, labels: (input: number, index: number[]) => string[],
 *   value: (ref: {input: number, index: number[], value: number}) => string}} Say   how cells of the inputs are called
 */
import { evaluate, references } from '../explain.js';
import { sentence, variableName } from '../explain_text.js';
import { COMMA } from '../language.js';
import { SHOWN_TERMS, pieces } from '../player/explanation.js';
import { format } from '../tensor.js';
import { t } from './text.js';

const PLAIN = ['ref', 'num'];

/**
 * @param {{op: string, inputs: import('../tensor.js').Tensor[], explanation: import('../explain.js').Explanation,
 *   index: number[], value: number, tolerance: number}} cell
 * @param {Say} say
 * @returns {string[]} three hints
 */
export function hints(cell, say) {
  return [which(cell, say), arithmetic(cell, say), partial(cell, say)];
}

// ---- 1: which cells ------------------------------------------------------------------------------

function which({ op, inputs, explanation, index }, say) {
  const found = references(explanation);
  if (found.length === 0) return t('by_place');
  const isMatrix = inputs.slice(0, 2).every(({ shape }) => shape.length > 1);
  if (isMatrix && (op === 'matmul' || op === 'linear')) {
    const at = (input) => found.find((ref) => ref.input === input);
    const row = say.labels(0, at(0).index).at(-2);
    const column = say.labels(1, at(1).index).at(-1);
    const names = { a: say.name(0), b: say.name(1), row, column };
    return op === 'matmul' ? t('meet', names) : t('meet_and', { ...names, c: span(2, [at(2).index], say) });
  }
  const inputsUsed = [...new Set(found.map(({ input }) => input))];
  const cells = inputsUsed.map((input) => {
    const places = found.filter((ref) => ref.input === input).map((ref) => ref.index);
    return span(input, places, say);
  });
  return t('made_of', { cells: cells.join(COMMA) });
}

/** Some cells of an input in one expression, as scores[cat, I … fish], if they fill a box; otherwise their number. */
function span(input, places, say) {
  const name = say.name(input);
  if (places[0].length === 0) return name;
  const labels = places.map((place) => say.labels(input, place));
  const lengths = places[0].map((_, axis) => new Set(places.map((place) => place[axis])).size);
  if (lengths.reduce((a, b) => a * b, 1) !== places.length) return t('cells_of', { count: places.length, name });
  const told = lengths.map((length, axis) => {
    const [first, last] = [labels[0][axis], labels.at(-1)[axis]];
    return length === 1 ? first : t('from_to', { first, last });
  });
  return t('span', { name, place: told.join(COMMA) });
}

// ---- 2: which arithmetic -------------------------------------------------------------------------

/** The value behind a reason, or the result itself. */
const source = ({ result }) => (result.kind === 'choice' ? result.args[0] : result);

function arithmetic({ op, inputs, explanation }, say) {
  const from = source(explanation);
  const { lets, result } = explanation;
  const write = writer(inputs);
  if (result.kind === 'choice' && PLAIN.includes(from.kind)) return t('rule', { sentence: told(op, inputs, say) });
  if (from.kind === 'ref') return t('copy');
  if (from.kind === 'num') return t('count_it', { sentence: told(op, inputs, say) });
  if (lets.length === 0) return t('arithmetic', { arithmetic: write(from) });
  const steps = lets.map(({ name, expr }) => t('let', { name: variableName(name), arithmetic: write(expr) })).join('; ');
  return t('arithmetic_after', { steps, arithmetic: write(from) });
}

const told = (op, inputs, say) => sentence(op, { ...inputs.map((_, i) => say.name(i)) });

const writer = (inputs) => (expr) =>
  pieces(expr, { kinds: inputs.map(({ dtype }) => dtype), limit: SHOWN_TERMS })
    .map((piece) => piece.text ?? piece.variable ?? t('more', { count: piece.more }))
    .join('');

// ---- 3: how far it comes -------------------------------------------------------------------------

function partial(cell, say) {
  const { op, inputs, explanation, value, tolerance } = cell;
  const { lets, result } = explanation;
  const from = source(explanation);
  const write = writer(inputs);
  const worth = (expr) => evaluate({ lets, result: expr });
  if (op === 'causal_mask') return t('causal', { queries: inputs[0].shape.at(-2), keys: inputs[1].shape.at(-2) });
  if (result.kind === 'choice' && PLAIN.includes(from.kind)) {
    const deciding = result.because.slice(0, SHOWN_TERMS);
    const left = result.because.length - deciding.length;
    if (deciding.length === 0) return t('rule', { sentence: told(op, inputs, say) });
    const cells = deciding.map((ref) => t('decides', { cell: span(ref.input, [ref.index], say), value: say.value(ref) }));
    return t('deciding', { cells: [...cells, ...(left ? [t('more', { count: left })] : [])].join(COMMA) });
  }
  if (from.kind === 'ref') return t('copy');
  if (!Number.isFinite(value)) return t('one_infinite');
  // What happens to be as large as the number itself is left to the reader.
  const known = lets.filter(({ expr }) => !(Math.abs(worth(expr) - value) <= tolerance));
  if (known.length) {
    const parts = known.map(({ name, expr }) => t('known_item', { name: variableName(name), value: format(worth(expr)) }));
    return t('known', { known: parts.join(COMMA), arithmetic: write(from) });
  }
  return lastStep(from, { value, tolerance, write, worth });
}

/** The arithmetic but for its last step. Where that says nothing new, or would tell the number, only where it lies. */
function lastStep(expr, { value, tolerance, write, worth }) {
  const tells = (x) => Math.abs(x - value) <= tolerance;
  const { kind, args = [] } = expr;
  const terms = kind === 'sum' ? flat(expr) : [];
  if (terms.length > 1) {
    const values = terms.map(worth);
    const last = values.findLastIndex((x) => Math.abs(x) > 2 * tolerance);
    if (last < 0) return t('each_term');
    const rest = { kind: 'sum', args: terms.toSpliced(last, 1) };
    const sum = worth(rest);
    // Two cells that are added: the one is no step towards the sum.
    if (!PLAIN.includes(rest.args[0].kind) || rest.args.length > 1)
      return t('so_far', { arithmetic: write(rest), sum: format(sum), left: write(terms[last]) });
  } else if (terms.length === 1) return lastStep(terms[0], { value, tolerance, write, worth });
  const isNew = args.some((arg) => !PLAIN.includes(arg.kind));
  const values = args.map(worth);
  if (isNew && !values.some(tells)) {
    const shown = values.map((x) => format(x));
    if (kind === 'quotient') return t('divide_last', { above: shown[0], below: shown[1] });
    if (kind === 'product') return t('multiply_last', { factors: shown.join(COMMA) });
    if (kind === 'difference') return t('subtract_last', { left: shown[0], right: shown[1] });
    if (kind === 'call') return t('inside', { inside: shown.join(COMMA) });
  }
  const low = Number.isInteger(value) ? value - 1 : Math.floor(value);
  const high = Number.isInteger(value) ? value + 1 : low + 1;
  return t('between', { low: format(low, 0), high: format(high, 0) });
}

const flat = (expr) => (expr.kind === 'sum' ? expr.args.flatMap(flat) : [expr]);
