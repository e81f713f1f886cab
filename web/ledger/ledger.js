/**
 * The ledger: a form for the settings of a Transformer, and what it costs, block by block. The program in the payload
 * counts; here its settings are read, checked by the rules that came with them, and its results are written down.
 */
import { h, keepKeys, setAttribute, setText } from '../player/dom.js';
import { narrow } from '../player/number.js';
import { t } from '../player/text.js';
import { fill } from '../explain_text.js';
import { needList, needObject, needText, parseProgram } from '../program.js';
import { format, fromNested } from '../tensor.js';

export const FORMAT = 'stepformer.ledger/1';

/** A count in groups of three digits; above 10^15 with a power of ten. The twin of `write_number` in Python. */
export function writeNumber(value) {
  return value < 1e15 ? Math.floor(value + 0.5).toLocaleString('en') : format(value);
}

/** What was typed as a number: 37,000 and 37 000 are as good as 37000. NaN where it is none. */
export function readNumber(text) {
  const plain = narrow(text).replace(/[\s,_]/g, '');
  return /^[+-]?\d+(\.\d+)?(e\d+)?$/i.test(plain) ? Number(plain) : NaN;
}

export class Ledger {
  /** Field name -> what is wrong with it. */
  problems = {};

  constructor(host, root, payload) {
    if (payload.format !== FORMAT) throw new Error(t('wm_format', { format: String(payload.format) }));
    for (const name of ['fields', 'blocks']) needList(payload[name], name);
    for (const name of ['presets', 'rules']) needObject(payload[name], name);
    for (const name of ['divisible', 'one_vocabulary']) needText(payload.rules[name], `rules.${name}`);
    this.host = host;
    this.payload = payload;
    this.program = parseProgram(payload.program);
    this.#build(root);
    this.preset(Object.keys(payload.presets)[0]);
  }

  destroy() {
    this.element.remove();
  }

  // ---- what the page's own scripts and the tests may call ----

  /** Fills the form with one of the named configurations. */
  preset(name) {
    for (const { field, input } of this.inputs) {
      const value = this.payload.presets[name][field.name];
      if (isSwitch(field)) input.checked = value === 1;
      else input.value = value === undefined ? '' : writeNumber(value);
    }
    this.#count();
  }

  /** Sets a field as if its text had been typed, or a switch. */
  set(name, value) {
    const { field, input } = this.inputs.find((entry) => entry.field.name === name);
    if (isSwitch(field)) input.checked = Boolean(value);
    else input.value = String(value);
    this.#count();
  }

  /** A result of the last configuration that is possible. */
  value(name) {
    return this.run.values[this.program.find(name)].data[0];
  }

  // ---- counting ----

  /** Reads the form and counts; what can not be counted is said, and the counts before it stay. */
  #count() {
    const typed = this.inputs.map(({ field, input }) => [field, isSwitch(field) ? Number(input.checked) : input.value]);
    this.problems = {};
    const given = {};
    for (const [field, value] of typed) {
      if (field.derived && !value.trim()) continue;
      const number = typeof value === 'string' ? readNumber(value) : value;
      given[field.name] = number;
      if (!Number.isInteger(number) || number < field.least || number > field.most)
        this.problems[field.name] = t('lg_problem', { name: field.name, value: `“${value}”`, rule: field.rule });
    }
    if (!Object.keys(this.problems).length) this.#run(given);
    this.#show();
  }

  #run(given) {
    const overrides = Object.entries(given).map(([name, x]) => [this.program.find(name), fromNested(x)]);
    const run = this.program.run({ overrides: new Map(overrides) });
    const all = Object.fromEntries(
      this.inputs.map(({ field: { name } }) => [name, run.values[this.program.find(name)].data[0]]),
    );
    const { divisible, one_vocabulary: oneVocabulary } = this.payload.rules;
    for (const name of ['d_v', 'd_k'])
      if (!Number.isInteger(all[name])) this.problems.n_heads = fill(divisible, { ...all, name });
    if (all.share_embeddings && all.src_vocab_size !== all.tgt_vocab_size)
      this.problems.tgt_vocab_size = fill(oneVocabulary, all);
    if (!Object.keys(this.problems).length) this.run = run;
  }

  // ---- showing ----

  #build(root) {
    this.inputs = this.payload.fields.map((field) => this.#field(field));
    const main = this.inputs.filter(({ field }) => !field.derived && field.least > 0);
    const more = this.inputs.filter((entry) => !main.includes(entry));
    const presets = Object.keys(this.payload.presets).map((name) =>
      h('button.text', { type: 'button', on: { click: () => this.preset(name) } }, name),
    );
    this.more = h(
      'details',
      {},
      h('summary', {}, t('lg_more')),
      h('div.lg-fields', {}, ...more.map(({ label }) => label)),
    );
    this.sum = h('p', { role: 'status' });
    this.rows = this.payload.blocks.map((block) => [block, this.#row(block.replace('.', ': ').replaceAll('_', ' '))]);
    this.rows.push(['', this.#row(t('lg_total'))]);
    const head = ['lg_block', 'lg_parameters', 'lg_flops'].map((key) => h('th', { scope: 'col' }, t(key)));
    this.table = h(
      'table.lg-table',
      {},
      h('thead', {}, h('tr', {}, ...head)),
      h('tbody', {}, ...this.rows.map(([, { row }]) => row)),
    );
    this.element = h(
      'div.exercise',
      { role: 'group', 'aria-label': t('lg_title'), on: { keydown: keepKeys, input: () => this.#count() } },
      h('div.wm-tools', {}, t('lg_presets'), ...presets),
      h('div.lg-fields', {}, ...main.map(({ label }) => label)),
      this.more,
      this.sum,
      this.table,
    );
    root.append(this.element);
  }

  #field(field) {
    const kind = isSwitch(field) ? { type: 'checkbox' } : { type: 'text', inputmode: 'numeric', autocomplete: 'off' };
    const input = h('input', kind);
    const problem = h('span.notice', {});
    const label = h('label', {}, h('b', {}, field.name), input, h('span', {}, field.meaning), problem);
    return { field, input, label, problem };
  }

  #row(name) {
    const cells = [h('td'), h('td')];
    return { row: h('tr', {}, h('th', { scope: 'row' }, name), ...cells), cells };
  }

  #show() {
    const wrong = Object.keys(this.problems);
    for (const { field, input, problem } of this.inputs) {
      problem.replaceChildren(this.problems[field.name] ?? '');
      setAttribute(input, 'aria-invalid', wrong.includes(field.name) && 'true');
      if (field.derived && this.run) input.placeholder = writeNumber(this.value(field.name));
      if (wrong.includes(field.name) && this.more.contains(input)) this.more.open = true;
    }
    setAttribute(this.host, 'data-invalid', wrong.join(' ') || null);
    this.table.classList.toggle('lg-kept', wrong.length > 0);
    const [parameters, flops] = ['parameters', 'flops_per_token'].map((name) => writeNumber(this.value(name)));
    setText(this.sum, wrong.length ? t('lg_kept') : t('lg_sum', { parameters, flops }));
    for (const [block, { cells }] of this.rows) {
      ['parameters', 'flops_per_token'].forEach((part, k) => {
        const name = block ? `${block}.${part}` : part;
        const known = this.program.tensors.some((entry) => entry.name === name);
        setText(cells[k], writeNumber(known ? this.value(name) : 0));
      });
    }
  }
}

const isSwitch = ({ most }) => most === 1;
