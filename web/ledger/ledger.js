/**
 * The ledger: a form for settings, and what a model or its training costs with them. The program in the payload counts;
 * here its settings are read, checked by the rules that came with them, and its results are written down.
 */
import forms from '../forms.css';
import { fill } from '../language.js';
import { h, keepKeys, setAttribute, setText } from '../player/dom.js';
import { needList, needObject, needText, parseProgram } from '../program.js';
import { Voice } from '../player/voice.js';
import { fromNested } from '../tensor.js';
import { readNumber, writeNumber, writeResult } from './amounts.js';
import style from './style.css';
import { t } from './text.js';

export const FORMAT = 'stepformer.ledger/1';

export class Ledger {
  /** Field name -> what is wrong with it. */
  problems = {};

  constructor(host, root, payload) {
    if (payload.format !== FORMAT) throw new Error(t('format', { format: String(payload.format) }));
    for (const name of ['fields', 'tables']) needList(payload[name], name);
    for (const name of ['presets', 'rules', 'units']) needObject(payload[name], name);
    for (const name of ['divisible', 'one_vocabulary']) needText(payload.rules[name], `rules.${name}`);
    for (const name of ['title', 'sentence']) needText(payload[name], name);
    this.host = host;
    this.payload = payload;
    this.program = parseProgram(payload.program);
    this.#build(root);
    this.preset(Object.keys(payload.presets)[0]);
    this.element.append(this.voice.element);
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
      else input.value = value == null ? '' : writeNumber(value);
    }
    this.#count();
    this.voice.say(this.told);
  }

  /** Sets a field as if its text had been typed, or a switch. */
  set(name, value) {
    const { field, input } = this.inputs.find((entry) => entry.field.name === name);
    if (isSwitch(field)) input.checked = Boolean(value);
    else input.value = String(value);
    this.#count();
  }

  /** The problems, if there are any, and the result in one sentence. */
  get told() {
    return [...Object.values(this.problems).map((problem) => t('said', { problem })), this.sum.textContent].join(' ');
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
        this.problems[field.name] = t('problem', { name: field.name, value: `“${value}”`, rule: field.rule });
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
    for (const [name, result, text] of this.payload.limits ?? [])
      if (run.values[this.program.find(result)].data[0] < 1) this.problems[name] = fill(text, all);
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
    const main = this.inputs.filter(({ field }) => field.main);
    const more = this.inputs.filter((entry) => !main.includes(entry));
    const presets = Object.keys(this.payload.presets).map((name) =>
      h('button.text', { type: 'button', on: { click: () => this.preset(name) } }, name),
    );
    const typed = () => {
      this.#count();
      this.voice.later(this.told);
    };
    this.more = h(
      'details',
      {},
      h('summary', {}, t('more')),
      h('div.lg-fields', {}, ...more.map(({ label }) => label)),
    );
    this.sum = h('p');
    this.voice = new Voice();
    this.cells = [];
    this.tables = this.payload.tables.map((table) => this.#table(table));
    this.element = h(
      'div.exercise',
      { role: 'group', 'aria-label': this.payload.title, on: { keydown: keepKeys, input: typed } },
      h('style', {}, forms + style),
      h('div.wm-tools', { role: 'group', 'aria-labelledby': 'presets' }, h('span', { id: 'presets' }, t('presets')), ...presets),
      h('div.lg-fields', {}, ...main.map(({ label }) => label)),
      this.more,
      this.sum,
      ...this.tables,
    );
    root.append(this.element);
  }

  #field(field) {
    const kind = isSwitch(field) ? { type: 'checkbox' } : { type: 'text', inputmode: 'numeric', autocomplete: 'off' };
    const [name, meaning, wrong] = ['name', 'meaning', 'problem'].map((part) => `${field.name}-${part}`);
    const input = h('input', { ...kind, 'aria-labelledby': name, 'aria-describedby': `${meaning} ${wrong}` });
    const problem = h('span.notice', { id: wrong });
    const label = h('label', {}, h('b', { id: name }, field.name), input, h('span', { id: meaning }, field.meaning), problem);
    return { field, input, label, problem };
  }

  #table({ heads, rows }) {
    const head = heads.map((text) => h('th', { scope: 'col' }, text));
    const body = rows.map(([text, ...results]) => {
      const cells = results.map(() => h('td'));
      results.forEach((name, k) => this.cells.push([name, cells[k]]));
      return h('tr', {}, h('th', { scope: 'row' }, text), ...cells);
    });
    return h('table.lg-table', {}, h('thead', {}, h('tr', {}, ...head)), h('tbody', {}, ...body));
  }

  /** A result as text, none before the first count; what the program does not count is 0. */
  #write(name) {
    if (!this.run) return '';
    return name ? writeResult(name, this.value(name), this.payload.units) : '0';
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
    for (const table of this.tables) table.classList.toggle('lg-kept', wrong.length > 0);
    const sentence = this.payload.sentence.replace(/\{(.+?)\}/g, (_, name) => this.#write(name));
    setText(this.sum, wrong.length && this.run ? t('kept') : this.run ? sentence : '');
    for (const [name, cell] of this.cells) setText(cell, this.#write(name));
  }
}

const isSwitch = ({ most }) => most === 1;
