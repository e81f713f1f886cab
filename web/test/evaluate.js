/**
 * Lets the Python tests use the JS engine: reads one JSON document from standard input and writes one to
 * standard output.
 *
 * Input:
 *   {"cases":    [{"op", "inputs": [{"shape", "data", "dtype"}], "attributes"}],
 *    "programs": [{"program": {…}, "overrides": {name: {"shape", "data", "dtype"}}, "breaks": [names]}],
 *    "numbers":  [[x, decimals]]}
 * Output:
 *   {"cases":    [{"shape", "data", "dtype", "explained": [one number per cell]} or {"error": message}],
 *    "programs": [{name: {"shape", "data", "dtype"}} or {"error": message}],
 *    "numbers":  [text]}
 *
 * Numbers that JSON cannot hold are written as "-Infinity", "Infinity" and "NaN"; the data of a mask is
 * true and false.
 */
import { pathToFileURL } from 'node:url';
import { evaluate, explain } from '../explain.js';
import { OPS, findOp } from '../ops.js';
import { parseProgram } from '../program.js';
import { checkValue, format, indexOf, tensor } from '../tensor.js';

const NOT_IN_JSON = new Map([
  ['-Infinity', -Infinity],
  ['Infinity', Infinity],
  ['NaN', NaN],
]);

const readNumber = (value) => NOT_IN_JSON.get(value) ?? value;
const writeNumber = (value) => (Number.isFinite(value) ? value : String(value));

function readTensor({ shape, data, dtype }) {
  return tensor(
    shape,
    data.map((value) => (NOT_IN_JSON.has(value) ? NOT_IN_JSON.get(value) : checkValue(value, dtype))),
    dtype,
  );
}

function writeTensor({ shape, data, dtype }) {
  return {
    shape,
    data: Array.from(data, (value) => (dtype === 'bool' ? value === 1 : writeNumber(value))),
    dtype,
  };
}

function runCase({ op, inputs: given, attributes = {} }) {
  const inputs = given.map(readTensor);
  findOp(op);
  const output = OPS[op].forward(inputs, attributes);
  const explained = Array.from(output.data, (_, flat) =>
    writeNumber(evaluate(explain(op, inputs, attributes, output, indexOf(output.shape, flat)))),
  );
  return { ...writeTensor(output), explained };
}

function runProgram({ program: source, overrides = {}, breaks = [] }) {
  const program = parseProgram(source);
  const replaced = new Map(
    Object.entries(overrides).map(([name, value]) => [program.find(name), readTensor(value)]),
  );
  const { values } = program.run({ overrides: replaced, breaks });
  return Object.fromEntries(program.tensors.map(({ id, name }) => [name, writeTensor(values[id])]));
}

/** Runs `work`; an expected error becomes its message, anything else is a bug and ends the program. */
function orMessage(work) {
  try {
    return work();
  } catch (error) {
    if (['OpError', 'TensorError', 'ProgramError'].includes(error.name)) return { error: error.message };
    throw error;
  }
}

export function answer({ cases = [], programs = [], numbers = [] }) {
  return {
    cases: cases.map((one) => orMessage(() => runCase(one))),
    programs: programs.map((one) => orMessage(() => runProgram(one))),
    numbers: numbers.map(([x, decimals]) => format(readNumber(x), decimals)),
  };
}

async function main() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  process.stdout.write(JSON.stringify(answer(JSON.parse(Buffer.concat(chunks).toString('utf8')))));
}

// `node --test` runs every file of this directory, also this one, which then has no document to read.
const calledDirectly = import.meta.url === pathToFileURL(process.argv[1]).href;
if (calledDirectly && !process.env.NODE_TEST_CONTEXT) await main();
