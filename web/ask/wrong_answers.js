/**
 * Wrong answers that people really give, computed by running the program again with a mistake in it: the step that is
 * asked about, or one before it, is done in another way, and what comes out at the asked cell is compared with the answer.
 * No page is needed here.
 *
 * @typedef {import('../tensor.js').Tensor} Tensor
 * @typedef {{mistake: string, name: string, value: number, factor: number}} WrongAnswer
 *   `mistake`: the key of what to say; `name`: the result that the mistake was made at;
 *   `factor`: how much larger than the right answer it was written, and so what a rounding became
 */
import { contributions } from '../contributions.js';
import { evaluate } from '../explain.js';
import { OPS } from '../ops.js';
import { at } from '../tensor.js';
import { LAST_BIT } from './question.js';

/** Mistakes are looked for so many steps before the one that is asked about. */
const STEPS_BACK = 6;
/** A sum of more terms is not searched for the one that is missing. */
const MOST_TERMS = 64;
/** A number has digits to recognise if it is so many times its tolerance. */
const DIGITS = 4;

const run = (op, inputs, attributes) => OPS[op].forward(inputs, attributes);
const map = (x, f) => ({ ...x, dtype: 'float', data: x.data.map(f) });
/** One input as it is: the step is left out. */
const left = ([x]) => x;
const turned = (x) => run('transpose', [x]);
const otherAxis = (op) => (inputs, { axis }) => run(op, inputs, { axis: axis === -2 || axis === 0 ? -1 : -2 });

/**
 * For each op: its mistakes, by the key of what to say; each takes the inputs, the attributes and `madeBy`, which gives the
 * op and the inputs of the step behind an input, and returns the whole wrong result. One that does not fit the shapes throws.
 */
const MISTAKES = {
  scale: {
    unscaled: left,
    scaled_by_width: ([x, query]) => map(x, (score) => score / query.shape.at(-1)),
    scaled_up: ([x, query]) => map(x, (score) => score * Math.sqrt(query.shape.at(-1))),
  },
  mask: {
    mask_ignored: left,
    mask_opposite: (inputs) => run('mask_opposite', inputs),
    mask_with_zero: (inputs) => run('mask_with_zero', inputs),
    mask_transposed: (inputs) => run('mask_transposed', inputs),
  },
  softmax: {
    mask_after_softmax(_, attributes, madeBy) {
      const { op, inputs } = madeBy(0);
      if (op !== 'mask') throw new Error('nothing is masked');
      return run('mask_with_zero', [run('softmax', [inputs[0]], attributes), inputs[1]]);
    },
    softmax_columns(inputs, { axis }) {
      if (axis !== -1) throw new Error('a switch has turned the softmax already');
      return run('softmax', inputs, { axis: -2 });
    },
  },
  linear: {
    bias_forgotten: ([x, weight]) => run('matmul', [x, weight]),
    other_transposed: ([x, weight, bias]) => run('linear', [x, turned(weight), bias]),
  },
  matmul: {
    not_transposed(inputs, _, madeBy) {
      const { op, inputs: [before] } = madeBy(1);
      if (op !== 'transpose') throw new Error('nothing is turned');
      return run('matmul', [inputs[0], before]);
    },
    other_transposed: ([a, b]) => run('matmul', [a, turned(b)]),
    first_transposed: ([a, b]) => run('matmul', [turned(a), b]),
  },
  relu: { activation_forgotten: left },
  gelu: { activation_forgotten: left, relu_for_gelu: (inputs) => run('relu', inputs) },
  tanh: { activation_forgotten: left },
  sigmoid: { activation_forgotten: left },
  exp: { activation_forgotten: left },
  scale_up: { factor_forgotten: left },
  mean: {
    total_for_mean: ([x], { axis }) => map(run('mean', [x], { axis }), (value) => value * x.shape.at(axis)),
    wrong_axis: otherAxis('mean'),
  },
  mean_square: {
    wrong_axis: otherAxis('mean_square'),
    correction: (inputs, { axis, correction = 0 }) => run('mean_square', inputs, { axis, correction: 1 - correction }),
  },
  total: { wrong_axis: otherAxis('total') },
  root: { root_forgotten: left },
  row_norm: { root_forgotten: (inputs) => map(run('row_norm', inputs), (value) => value ** 2) },
  subtract: { sign_swapped: ([a, b]) => run('subtract', [b, a]), subtrahend_forgotten: left },
  divide: { upside_down: ([a, b]) => run('divide', [b, a]) },
  add: { addend_forgotten: left, product_for_sum: (inputs) => run('multiply', inputs) },
  multiply: { sum_for_product: (inputs) => run('add', inputs) },
  cross_entropy: { probability_for_loss: (inputs) => map(run('cross_entropy', inputs), (loss) => Math.exp(-loss)) },
};
/** Another cell of the matrix may hold the same number by chance. */
const BY_CHANCE = ['transposed', 'other_head', 'other_column', 'other_row'];
/** Ops whose terms are products of two cells that meet. */
const PAIRS = ['matmul', 'linear', 'convolve_1d', 'convolve_2d'];
/** Mistakes before the asked step are looked for at these ops alone: others meet an answer by accident too often. */
const BEFORE = ['scale', 'mask', 'softmax', 'linear', 'relu', 'gelu', 'matmul'];

/**
 * @param {{producer: (id: number) => Object|null, run: {values: Tensor[], steps: Object[]}}} session
 * @param {number} id  the tensor that is asked about
 * @param {{index: number[], value: number, tolerance: number, explanation: Object}} cell
 * @param {(id: number) => string} nameOf
 * @returns {WrongAnswer[]} those that differ from the right one, the most telling first
 */
export function wrongAnswers(session, id, cell, nameOf) {
  return outcomes(session, id, cell, nameOf).filter(({ value }) => isFar(value, cell));
}

/** Whether a mistake in a step gives nearly the right number at a cell: an answer there does not tell what was done. */
export function isAmbiguous(session, id, cell) {
  const near = ({ mistake, value }) => !BY_CHANCE.includes(mistake) && !isFar(value, cell) && Math.abs(value - cell.value) > LAST_BIT;
  return outcomes(session, id, cell, String).some(near);
}

/** The distance of two −∞ is no number, and so not far. */
const isFar = (wrong, { value, tolerance }) => Math.abs(wrong - value) > tolerance + LAST_BIT;

/** What comes of every mistake that can be made here. */
function outcomes(session, id, cell, nameOf) {
  const { index, value } = cell;
  const found = [];
  const add = (mistake, wrong, name = nameOf(id), factor = 1) => {
    if (Number.isFinite(wrong) || wrong === -Infinity) found.push({ mistake, name, value: wrong, factor });
  };
  const asked = session.producer(id);
  for (const step of [asked, ...before(session, asked)]) {
    const inputs = step.inputs.map((input) => session.run.values[input]);
    const madeBy = (k) => {
      const made = session.producer(step.inputs[k]);
      return { op: made?.op, inputs: made?.inputs.map((input) => session.run.values[input]) ?? [] };
    };
    for (const [mistake, wrongly] of Object.entries(MISTAKES[step.op] ?? {})) {
      const wrong = attempt(() => {
        const result = wrongly(inputs, step.attributes, madeBy);
        return String(result.shape) === String(session.run.values[step.output].shape) ? result : null;
      });
      const reached = wrong && attempt(() => rerun(session, step.output, wrong, id));
      if (reached && String(reached.shape) === String(session.run.values[id].shape))
        add(mistake, at(reached, index), nameOf(step.output));
    }
    if (step === asked) fromArithmetic(step, inputs, cell, add);
  }
  fromNumber(session.run.values[id], asked.op, cell, add);
  return found;
}

function attempt(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

/** The steps that lead to a step, the nearest first. */
function before(session, asked) {
  const steps = new Set();
  let edge = [asked];
  for (let back = 0; back < STEPS_BACK && edge.length; back++) {
    edge = edge.flatMap(({ inputs }) => inputs.map((input) => session.producer(input))).filter((step) => step && !step.overridden);
    for (const step of edge) if (BEFORE.includes(step.op)) steps.add(step);
  }
  steps.delete(asked);
  return [...steps];
}

/** What a tensor becomes where another one is replaced; only the steps between are done again. */
function rerun({ run: { values, steps } }, replaced, wrong, wanted) {
  const changed = new Map([[replaced, wrong]]);
  for (const { op, inputs, attributes, output, overridden } of steps) {
    if (changed.has(wanted)) break;
    if (overridden || changed.has(output) || !inputs.some((input) => changed.has(input))) continue;
    changed.set(output, run(op, inputs.map((input) => changed.get(input) ?? values[input]), attributes));
  }
  return changed.get(wanted) ?? null;
}

// ---- Mistakes in the arithmetic of the cell ------------------------------------------------------

const num = (value) => ({ kind: 'num', value });

/** The explanation with what a name stands for changed. */
const withLet = ({ lets, result }, name, change) => ({
  lets: lets.map((one) => (one.name === name ? { name, expr: change(one.expr) } : one)),
  result,
});

function fromArithmetic({ op }, inputs, { index, value, explanation }, add) {
  const { lets, result } = explanation;
  const worth = (expr) => evaluate({ lets, result: expr });
  if (op === 'softmax' && result.kind === 'quotient') {
    const [x] = inputs;
    const scores = lets.find(({ name }) => name === 'max').expr.args.map((ref) => ref.value);
    const own = at(x, index);
    add('not_normalised', Math.exp(own));
    add('not_normalised', worth(result.args[0]));
    add('without_exp', own / scores.filter(Number.isFinite).reduce((a, b) => a + b, 0));
  }
  if (op === 'layer_norm') {
    const n = inputs[0].shape.at(-1);
    const mean = worth({ kind: 'var', name: 'mean' });
    if (n > 1)
      add('unbiased_variance', evaluate(withLet(explanation, 'variance', (expr) => ({ kind: 'product', args: [expr, num(n / (n - 1))] }))));
    add('variance_for_deviation', evaluate(withLet(explanation, 'variance', (expr) => ({ kind: 'call', fn: 'square', args: [expr] }))));
    const [gain, normal] = result.args[0].args;
    add('gain_forgotten', worth(normal));
    add('bias_forgotten', worth(result.args[0]));
    add('only_centred', worth(gain) * (at(inputs[0], index) - mean) + worth(result.args[1]));
  }
  const angle = lets.find(({ name }) => name === 'angle');
  if (angle) {
    const swapped = (expr) => ({
      ...expr,
      ...(expr.kind === 'call' && { fn: { sin: 'cos', cos: 'sin' }[expr.fn] ?? expr.fn }),
      ...(expr.args && { args: expr.args.map(swapped) }),
    });
    add('sine_for_cosine', evaluate({ lets, result: swapped(result) }));
    add('degrees', evaluate(withLet(explanation, 'angle', (expr) => ({ kind: 'product', args: [expr, num(Math.PI / 180)] }))));
  }
  if (op === 'add') add('addend_forgotten', worth(result.args[1]));
  if (!Number.isFinite(value)) return;
  const { terms } = contributions(explanation);
  if (terms.length < 3 || terms.length > MOST_TERMS) return;
  const forgotten = PAIRS.includes(op) ? 'term_forgotten' : 'part_forgotten';
  for (const term of terms) add(forgotten, value - term.value);
  for (const term of terms) add('term_sign', value - 2 * term.value);
}

// ---- Mistakes in reading and writing -------------------------------------------------------------

function fromNumber(tensor, op, { index, value, tolerance }, add) {
  const { shape, dtype } = tensor;
  if (dtype !== 'float') return;
  add('opposite_sign', -value);
  // Of a number that is hardly more than its rounding, no digits can be told again.
  if (Math.abs(value) > DIGITS * tolerance) {
    if (op === 'softmax' || op === 'sigmoid') add('per_cent', 100 * value, undefined, 100);
    for (const factor of [10, 0.1, 100, 0.01]) add('ten_times', factor * value, undefined, factor);
  }
  const rank = shape.length;
  const [row, column] = index.slice(-2);
  if (rank > 1 && row < shape[rank - 1] && column < shape[rank - 2] && row !== column)
    add('transposed', at(tensor, [...index.slice(0, -2), column, row]));
  for (let axis = rank - 3; axis >= 0; axis--) others(axis, 'other_head');
  if (rank > 0) others(rank - 1, 'other_column');
  if (rank > 1) others(rank - 2, 'other_row');

  function others(axis, mistake) {
    for (let i = 0; i < Math.min(shape[axis], MOST_TERMS); i++) if (i !== index[axis]) add(mistake, at(tensor, index.with(axis, i)));
  }
}

/**
 * The mistake behind a wrong answer, or null.
 * @param {WrongAnswer[]} known
 * @param {number} answer
 * @param {number} tolerance
 */
export function recognise(known, answer, tolerance) {
  const distance = ({ value, factor }) => (value === answer ? 0 : Math.abs(value - answer) / factor);
  const fitting = known.filter((one) => distance(one) <= tolerance + LAST_BIT);
  const telling = fitting.filter(({ mistake }) => !BY_CHANCE.includes(mistake));
  // Of several that fit, the nearest; of equally near ones, the first.
  return telling.reduce((best, one) => (best && distance(best) <= distance(one) + LAST_BIT ? best : one), null) ?? fitting[0] ?? null;
}
