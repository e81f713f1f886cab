/**
 * A program: a recorded computation that can be run again with other inputs or with a mistake switched on.
 *
 * `parseProgram` reads the trace format of the Python side and checks everything, so that a broken or
 * tampered file gives one readable ProgramError and nothing else.
 *
 * @typedef {import('./tensor.js').Tensor} Tensor
 * @typedef {{id: number, name: string, axes: string[], dtype: string, value: Tensor|null,
 *   vocabulary: string[]|null}} TensorEntry   `value` is null for results of steps
 * @typedef {{op: string, inputs: number[], output: number, scope: string,
 *   attributes: Object<string, number>}} Step
 * @typedef {{tensor: number, value?: Tensor, op?: string, inputs?: number[],
 *   attributes?: Object<string, number>}} Edit
 * @typedef {{name: string, edits: Edit[], symptom: string, caughtBy: string}} Break
 */

import { STORED_AS, decodeBase64 } from './base64.js';
import { OPS, OpError, checkInputCount, completeAttributes, findOp } from './ops.js';
import {
  MAX_CELLS,
  MAX_RANK,
  TensorError,
  checkValue,
  describe,
  formatShape,
  fromNested,
  readValue,
  same,
  size,
  tensor,
} from './tensor.js';

export const FORMAT = 'stepformer.trace/1';

export class ProgramError extends Error {
  name = 'ProgramError';
}

/**
 * @param {string|Object} source  the JSON text, or what JSON.parse made of it
 * @returns {Program}
 */
export function parseProgram(source) {
  const json = typeof source === 'string' ? parseJson(source) : source;
  needObject(json, 'the program');
  if (json.format !== FORMAT) {
    throw new ProgramError(
      `this player reads the format "${FORMAT}", but the program has the format ${describe(json.format)}`,
    );
  }
  const tensors = needList(json.tensors, 'tensors').map(readTensor);
  refuseDuplicates(
    tensors.map(({ name }) => name),
    'tensors',
    'name',
  );
  const fixed = readTable(json.fixed, 'fixed', (length, where) => needCount(length, where));
  const labels = readTable(json.labels, 'labels', needTexts);
  const steps = readSteps(json.steps, tensors);
  const program = new Program({ title: needText(json.title ?? '', 'title'), tensors, steps, fixed, labels });
  for (const { name, axes, value } of tensors)
    if (value) program.checkFixedAxes(`tensor "${name}"`, axes, value);
  program.run();
  program.breaks = readBreaks(json.breaks ?? [], program);
  return program;
}

export class Program {
  #plans = new Map();
  /** The last run, of which the next one takes over whatever its changes do not reach. */
  #last = null;

  constructor({ title, tensors, steps, fixed, labels }) {
    this.title = title;
    /** @type {TensorEntry[]} */ this.tensors = tensors;
    /** @type {Step[]} */ this.steps = steps;
    /** @type {Break[]} */ this.breaks = [];
    /** @type {Map<string, number>} */ this.fixed = fixed;
    /** @type {Map<string, string[]>} */ this.givenLabels = labels;
  }

  /** The id of a tensor, by its full name or by an ending that only one tensor has ("scores"). */
  find(name) {
    const exact = this.tensors.find((entry) => entry.name === name);
    if (exact) return exact.id;
    const found = this.tensors.filter((entry) => entry.name.endsWith(`.${name}`));
    if (found.length === 1) return found[0].id;
    if (found.length === 0) throw new ProgramError(`there is no tensor called ${describe(name)}`);
    const names = found.map((entry) => `"${entry.name}"`).join(', ');
    throw new ProgramError(`the name ${describe(name)} is ambiguous: it may be ${names}`);
  }

  /**
   * Computes every tensor. A replaced tensor, leaf or result, cuts its inputs off: its step is not computed.
   * The inputs of the program are shared with the result: treat all values as read-only.
   *
   * @param {{overrides?: Map<number, Tensor>, breaks?: string[]}} options
   *   several breaks are applied in the order of `program.breaks`; overrides win over breaks
   * @returns {{values: Tensor[], steps: (Step & {edited: boolean, overridden: boolean})[]}}
   *   `edited`: changed by a break; `overridden`: replaced by a given value
   */
  run({ overrides = new Map(), breaks = [] } = {}) {
    const plan = this.#plan(breaks);
    const last = this.#last?.plan === plan ? this.#last : null;
    for (const [id, value] of overrides) this.#checkOverride(id, value);
    const replaced = (id) => overrides.get(id) ?? plan.values.get(id);

    const values = this.tensors.map(({ id, value }) => replaced(id) ?? value);
    const steps = plan.steps.map((step, k) => {
      const overridden = replaced(step.output) !== undefined;
      if (last && !last.steps[k].overridden && step.inputs.every((id) => values[id] === last.values[id])) {
        values[step.output] = replaced(step.output) ?? last.values[step.output];
      } else if (!overridden) {
        const inputs = step.inputs.map((id) => values[id]);
        const result = readable(this.tensors[step.output].name, () => OPS[step.op].forward(inputs, step.attributes));
        this.#checkResult(step.output, result);
        // A result that comes out as before stays the one it was: then what follows from it alone is not computed again.
        const old = last?.values[step.output];
        values[step.output] = old && same(old, result) ? old : result;
      }
      const before = last?.steps[k];
      return before?.overridden === overridden ? before : { ...step, overridden };
    });
    this.#last = { plan, values, steps };
    return this.#last;
  }

  /** The label of each position of every axis, by the name of the axis, for the values of a run. */
  labels(values) {
    const words = new Map();
    for (const { id, axes, vocabulary } of this.tensors) {
      if (vocabulary)
        words.set(
          axes[0],
          Array.from(values[id].data, (token) => vocabulary[token] ?? String(token)),
        );
    }
    const result = new Map();
    for (const { id, axes } of this.tensors) {
      axes.forEach((axis, k) => {
        const length = values[id].shape[k] ?? 0;
        const given = words.get(axis) ?? this.givenLabels.get(axis);
        if (given?.length === length) result.set(axis, given);
        else if (!result.has(axis)) result.set(axis, positions(length));
      });
    }
    return result;
  }

  /** An error where a tensor gives another length to an axis whose length the program fixes. */
  checkFixedAxes(where, axes, { shape }) {
    axes.forEach((axis, k) => {
      if (this.fixed.has(axis) && shape[k] !== this.fixed.get(axis)) {
        throw new ProgramError(
          `${where}: the axis "${axis}" has the fixed length ${this.fixed.get(axis)} ` +
            `in this program, but ${shape[k]} was given`,
        );
      }
    });
  }

  /** An error where a value cannot replace a tensor: its lengths may differ, the number of axes may not. */
  checkReplacement(where, { axes, dtype, value, vocabulary }, replacement) {
    if (replacement.dtype !== dtype) {
      throw new ProgramError(
        `${where}: ${dtype} values are needed, but ${replacement.dtype} values were given`,
      );
    }
    if (replacement.shape.length !== axes.length) {
      throw new ProgramError(
        `${where}: ${axes.length} axes are needed, but the shape ${formatShape(replacement.shape)} was given`,
      );
    }
    const isLeaf = value !== null;
    if (!replacement.data.every((x) => Number.isFinite(x) || (x === -Infinity && !isLeaf))) {
      throw new ProgramError(`${where}: every number must be finite (only a masked score may be −∞)`);
    }
    if (vocabulary) checkTokens(where, replacement, vocabulary);
    this.checkFixedAxes(where, axes, replacement);
  }

  /** An error where a result is not what the program says it is. */
  #checkResult(id, { shape, dtype }) {
    const entry = this.tensors[id];
    if (dtype !== entry.dtype) {
      throw new ProgramError(
        `tensor "${entry.name}": the program calls it ${entry.dtype}, but it is computed as ${dtype}`,
      );
    }
    if (shape.length !== entry.axes.length) {
      throw new ProgramError(
        `tensor "${entry.name}": it has ${entry.axes.length} axis names, ` +
          `but it is computed with the shape ${formatShape(shape)}`,
      );
    }
  }

  #checkOverride(id, value) {
    const entry = this.tensors[id];
    if (!entry) throw new ProgramError(`there is no tensor number ${describe(id)}`);
    this.checkReplacement(`tensor "${entry.name}"`, entry, value);
  }

  /** The steps and replaced values with some breaks on; made once for each choice of breaks. */
  #plan(names) {
    const unknown = names.find((name) => !this.breaks.some((known) => known.name === name));
    if (unknown !== undefined) throw new ProgramError(`there is no break called ${describe(unknown)}`);
    const active = this.breaks.filter(({ name }) => names.includes(name));
    const key = JSON.stringify(active.map(({ name }) => name));
    if (!this.#plans.has(key)) this.#plans.set(key, applyBreaks(this, active));
    return this.#plans.get(key);
  }
}

const positions = (length) => Array.from({ length }, (_, i) => String(i));

// ---- Breaks -------------------------------------------------------------------------------------

/**
 * The steps of a program after the edits of some breaks, and the values that replace whole tensors. Each edit
 * changes the step as it was recorded: of several that edit one tensor, the last one counts. Two values of one leaf
 * both count where only one of them changes a cell.
 */
function applyBreaks(program, breaks) {
  const edited = new Map();
  for (const { name, edits } of breaks)
    for (const edit of edits) {
      const earlier = edited.get(edit.tensor)?.edit;
      edited.set(edit.tensor, { name, edit: together(program.tensors[edit.tensor].value, earlier, edit) });
    }
  const steps = program.steps.map((step) => {
    const { name, edit } = edited.get(step.output) ?? {};
    if (!edit || edit.value) return { ...step, edited: false };
    return readable(`break "${name}"`, () => editStep(step, edit));
  });
  const given = [...edited.values()].filter(({ edit }) => edit.value);
  return { steps, values: new Map(given.map(({ edit }) => [edit.tensor, edit.value])) };
}

/** What counts of two edits of one tensor: the later one, with the cells of a leaf that only the earlier one changes. */
function together(recorded, earlier, later) {
  const shapes = [recorded, earlier?.value, later.value].map((x) => x && formatShape(x.shape));
  if (!recorded || !earlier?.value || new Set(shapes).size > 1) return later;
  const pick = (value, i) => (value === recorded.data[i] ? earlier.value.data[i] : value);
  return { ...later, value: { ...later.value, data: later.value.data.map(pick) } };
}

/** One step after one edit. Old attributes stay where the op knows them; old inputs it does not take go. */
function editStep(step, edit) {
  const op = edit.op ?? step.op;
  const known = Object.entries(step.attributes).filter(([name]) =>
    Object.hasOwn(findOp(op).attributes, name),
  );
  const inputs = edit.inputs ?? step.inputs.slice(0, findOp(op).maxInputs);
  checkInputCount(op, inputs.length);
  const attributes = completeAttributes(op, { ...Object.fromEntries(known), ...edit.attributes });
  return { ...step, op, inputs, attributes, edited: true };
}

function readBreaks(json, program) {
  const breaks = needList(json, 'breaks').map((item, i) => {
    needObject(item, `break ${i}`);
    const name = needName(item.name, `the name of break ${i}`);
    const where = `break "${name}"`;
    const edits = needList(item.edits, `${where}: edits`);
    if (edits.length === 0) throw new ProgramError(`${where}: it has no edits`);
    return {
      name,
      edits: edits.map((edit, k) => readEdit(edit, `${where}, edit ${k}`, program)),
      symptom: needText(item.symptom, `${where}: symptom`),
      caughtBy: needText(item.caught_by, `${where}: caught_by`),
    };
  });
  refuseDuplicates(
    breaks.map(({ name }) => name),
    'breaks',
    'name',
  );
  for (const one of breaks) applyBreaks(program, [one]);
  return breaks;
}

function readEdit(json, where, program) {
  needObject(json, where);
  const id = program.find(needName(json.tensor, `${where}: tensor`));
  const entry = program.tensors[id];
  const edit = { tensor: id };
  const recast = ['op', 'inputs', 'attributes'].some((part) => json[part] !== undefined);
  if (json.value !== undefined) {
    if (recast) {
      throw new ProgramError(
        `${where}: an edit gives either a value or another op, inputs or attributes, not both`,
      );
    }
    edit.value = readable(where, () => fromNested(json.value, entry.dtype));
    program.checkReplacement(where, entry, edit.value);
    return edit;
  }
  if (!recast) {
    throw new ProgramError(`${where}: it changes nothing: a value, op, inputs or attributes must be given`);
  }
  if (entry.value)
    throw new ProgramError(
      `${where}: "${entry.name}" is not computed by a step, so only its value can be edited`,
    );
  if (json.op !== undefined) edit.op = needOp(json.op, where);
  if (json.attributes !== undefined) edit.attributes = needObject(json.attributes, `${where}: attributes`);
  if (json.inputs !== undefined) {
    const names = needTexts(json.inputs, `${where}: inputs`);
    edit.inputs = names.map((name) => program.find(name));
    checkOrder(edit.inputs, id, where, program);
  }
  return edit;
}

/** An edited step may use leaves and the results of earlier steps only. */
function checkOrder(inputs, output, where, { steps, tensors }) {
  const place = (id) => steps.findIndex((step) => step.output === id);
  for (const id of inputs) {
    if (place(id) >= place(output)) {
      throw new ProgramError(
        `${where}: "${tensors[id].name}" is not computed before "${tensors[output].name}"`,
      );
    }
  }
}

// ---- Tensors and steps --------------------------------------------------------------------------

function readTensor(json, id) {
  needObject(json, `tensor ${id}`);
  const name = needName(json.name, `the name of tensor ${id}`);
  const where = `tensor "${name}"`;
  if (!['float', 'int', 'bool'].includes(json.dtype)) {
    throw new ProgramError(`${where}: dtype must be "float", "int" or "bool", not ${describe(json.dtype)}`);
  }
  const entry = {
    id,
    name,
    axes: needTexts(json.axes, `${where}: axes`),
    dtype: json.dtype,
    value: null,
    vocabulary: null,
  };
  if (json.data !== undefined) {
    entry.value = readLeaf(json, where);
    if (entry.axes.length !== entry.value.shape.length) {
      throw new ProgramError(
        `${where}: it has ${entry.axes.length} axis names, but the shape ${formatShape(entry.value.shape)}`,
      );
    }
  }
  if (json.vocabulary !== undefined) entry.vocabulary = readVocabulary(json.vocabulary, entry, where);
  return entry;
}

function readLeaf(json, where) {
  const shape = needList(json.shape, `${where}: shape`).map((length, k) =>
    needCount(length, `${where}: length of axis ${k}`),
  );
  if (shape.length > MAX_RANK || size(shape) > MAX_CELLS) {
    throw new ProgramError(
      `${where}: the shape ${formatShape(shape)} is too large: ` +
        `at most ${MAX_RANK} axes and ${MAX_CELLS} values are allowed`,
    );
  }
  return readable(where, () =>
    tensor(shape, readData(json.data, json.dtype, size(shape), where), json.dtype),
  );
}

function readData(json, dtype, count, where) {
  if (Array.isArray(json)) return json.map((value) => readValue(value, dtype));
  needObject(json, `${where}: data`);
  const text = needText(json.base64, `${where}: base64`);
  if (!Object.hasOwn(STORED_AS, json.type) || STORED_AS[json.type] !== dtype) {
    throw new ProgramError(`${where}: ${dtype} values cannot be stored as ${describe(json.type)}`);
  }
  try {
    return decodeBase64(text, json.type, count).map((value) => checkValue(value, dtype));
  } catch (error) {
    if (error instanceof RangeError)
      throw new ProgramError(`${where}: the base64 data is damaged: ${error.message}`);
    throw error;
  }
}

function readVocabulary(json, { axes, dtype, value }, where) {
  const words = needTexts(json, `${where}: vocabulary`);
  if (dtype !== 'int' || axes.length !== 1 || !value) {
    throw new ProgramError(`${where}: only a leaf of token ids with one axis has a vocabulary`);
  }
  checkTokens(where, value, words);
  return words;
}

function checkTokens(where, { data }, vocabulary) {
  const unknown = data.find((token) => token < 0 || token >= vocabulary.length);
  if (unknown !== undefined) {
    throw new ProgramError(
      `${where}: the token id ${unknown} is not in its vocabulary of ${vocabulary.length} words`,
    );
  }
}

function readSteps(json, tensors) {
  const computed = new Set(tensors.filter(({ value }) => value).map(({ id }) => id));
  const steps = needList(json, 'steps').map((item, k) => {
    const where = `step ${k}`;
    needObject(item, where);
    const op = needOp(item.op, where);
    const inputs = needList(item.inputs, `${where}: inputs`).map((id) =>
      needTensor(id, tensors, `${where} (${op})`),
    );
    for (const id of inputs) {
      if (!computed.has(id))
        throw new ProgramError(`${where} (${op}): its input "${tensors[id].name}" is not computed yet`);
    }
    const output = needTensor(item.output, tensors, `${where} (${op})`);
    if (computed.has(output))
      throw new ProgramError(`${where} (${op}): its output "${tensors[output].name}" has a value already`);
    computed.add(output);
    const attributes = readable(where, () => {
      checkInputCount(op, inputs.length);
      return completeAttributes(op, needObject(item.attributes ?? {}, `${where}: attributes`));
    });
    return { op, inputs, output, scope: needText(item.scope ?? '', `${where}: scope`), attributes };
  });
  const lost = tensors.find(({ id }) => !computed.has(id));
  if (lost) throw new ProgramError(`tensor "${lost.name}" has no data, and no step computes it`);
  return steps;
}

// ---- Checks of JSON values ----------------------------------------------------------------------

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ProgramError(`the program is not valid JSON: ${error.message}`);
  }
}

/** Runs `work`; an error about an op or a tensor becomes a ProgramError that says where it happened. */
function readable(where, work) {
  try {
    return work();
  } catch (error) {
    if (error instanceof OpError || error instanceof TensorError) {
      throw new ProgramError(`${where}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}

export function needObject(value, where) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new ProgramError(`${where} must be an object, not ${describe(value)}`);
  }
  return value;
}

export function needList(value, where) {
  if (!Array.isArray(value)) throw new ProgramError(`${where} must be a list, not ${describe(value)}`);
  return value;
}

export function needText(value, where) {
  if (typeof value !== 'string') throw new ProgramError(`${where} must be text, not ${describe(value)}`);
  return value;
}

function needTexts(value, where) {
  return needList(value, where).map((item, i) => needText(item, `${where}, item ${i}`));
}

function needName(value, where) {
  if (needText(value, where) === '') throw new ProgramError(`${where} must not be empty`);
  return value;
}

function needCount(value, where) {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new ProgramError(`${where} must be a whole number of at least 0, not ${describe(value)}`);
  }
  return value;
}

function needTensor(id, tensors, where) {
  if (!Number.isInteger(id) || id < 0 || id >= tensors.length) {
    throw new ProgramError(`${where}: there is no tensor number ${describe(id)}`);
  }
  return id;
}

function needOp(name, where) {
  needText(name, `${where}: op`);
  return readable(where, () => findOp(name)) && name;
}

function refuseDuplicates(names, where, what) {
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated !== undefined)
    throw new ProgramError(`${where}: the ${what} ${describe(repeated)} is used twice`);
}

/** An optional object as a Map from its keys to checked values. */
function readTable(json, where, check) {
  return new Map(
    Object.entries(needObject(json ?? {}, where)).map(([key, value]) => [
      key,
      check(value, `${where} of "${key}"`),
    ]),
  );
}
