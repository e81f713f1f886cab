/** The interactive matrix player: one program, its steps, and everything a reader can do with them. */
import { explain, references } from '../explain.js';
import { parseProgram } from '../program.js';
import { offset } from '../tensor.js';
import { AxisPicker, BreakSwitches, Footer, StepList, Transport } from './controls.js';
import { h, setText } from './dom.js';
import { Editor } from './editor.js';
import { Equation } from './equation.js';
import { ExplanationPanel, arithmeticText } from './explanation.js';
import { formatApart } from './matrix.js';
import { lastPart, roleOf, roleOfAxis } from './roles.js';
import { Session } from './session.js';
import { t } from './text.js';

const STEP_MILLISECONDS = 1600;
const NONE = new Set();
/** Cells that a chosen input cell reaches are looked for only where that takes no noticeable time. */
const MOST_FED_TERMS = 4000;

export class Player {
  /**
   * @param {HTMLElement} host  carries data-step and data-steps, and sends `stepformer:change`
   * @param {ShadowRoot|HTMLElement} root  the player is built in here
   * @param {Object} payload  a program in the trace format, with an optional `start`
   */
  constructor(host, root, payload) {
    this.host = host;
    this.session = new Session(parseProgram(payload), payload.start);
    this.chosen = { slot: 'output', cell: [0, 0] };
    this.slices = new Map();
    this.timer = null;
    this.#build(root);
    this.#measure();
    this.#render();
    this.#reflect();
  }

  #build(root) {
    const { program, steps } = this.session;
    const actions = {
      choose: (matrix, cell) => this.#choose(matrix.slot, cell),
      edit: (matrix, cell, typed) => this.#edit(typed),
      toggle: () => this.#toggle(),
      scrolled: () => this.editor?.close(true, false),
    };
    this.transport = new Transport(this, program.title);
    this.stepList = new StepList(this, steps, program.tensors.map(({ name }) => name));
    this.picker = new AxisPicker((axis, i) => this.#slice(axis, i));
    this.equation = new Equation(actions);
    this.panel = new ExplanationPanel({
      follow: (ref) => this.#follow(ref),
      edit: () => this.#edit(),
      toggle: () => this.#toggle(),
      slide: (value) => this.#apply(() => this.session.set(...this.#chosenEdit(value))),
      light: (ref) => this.#light(ref),
    });
    this.switches = new BreakSwitches(this, program.breaks);
    this.footer = new Footer();
    this.notice = h('div.notice', { role: 'alert' });
    this.live = h('div.unseen', { 'aria-live': 'polite', role: 'status' });
    this.probe = h('span.probe', { 'aria-hidden': 'true' }, '0000000000');
    this.equation.words.append(this.picker.element);
    this.stage = h('div.stage', {}, this.equation.element, this.panel.element, this.probe);
    this.element = h('div.player', {
      role: 'group', 'aria-label': program.title || t('untitled'), on: { keydown: (event) => this.#key(event) },
    }, this.transport.element, this.notice, h('div.main', {}, this.stepList.element, this.stage),
    this.switches.element, this.footer.element, this.live);
    root.append(this.element);
    this.resizes = new ResizeObserver(() => this.#measure() && this.#render());
    this.resizes.observe(this.stage);
  }

  /** Takes the measures that the layout needs; true where they have changed. */
  #measure() {
    const room = this.stage.clientWidth || 520;
    const digit = this.probe.getBoundingClientRect().width / 10 || 7.5;
    if (room === this.room && digit === this.digit) return false;
    Object.assign(this, { room, digit });
    return true;
  }

  destroy() {
    clearInterval(this.timer);
    this.timer = null;
    this.resizes.disconnect();
    this.element.remove();
  }

  // ---- what others may ask and do ----

  get step() {
    return this.session.step;
  }

  get edits() {
    return this.session.edits.map(([name, index, value]) => [name, [...index], value]);
  }

  get breaks() {
    return [...this.session.breaks];
  }

  get playing() {
    return this.timer !== null;
  }

  next() {
    this.goto(this.step + 1);
  }

  previous() {
    this.goto(this.step - 1);
  }

  goto(step) {
    const wanted = this.session.clampStep(step);
    if (wanted === this.session.step) return;
    this.editor?.close(true, false);
    this.session.step = wanted;
    this.chosen = { slot: 'output', cell: [0, 0] };
    this.#render();
    this.#announceStep();
    this.#changed();
  }

  /** Steps on by itself until the last step; from the last step it starts over. */
  play() {
    if (this.playing) return;
    if (this.step === this.session.steps.length - 1) this.goto(0);
    this.timer = setInterval(() => {
      this.next();
      if (this.step === this.session.steps.length - 1) this.pause();
    }, STEP_MILLISECONDS);
    this.#showControls();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.#showControls();
  }

  /** Sets a cell; false (and a message in the player) where the value does not fit or cannot be computed with. */
  set(name, index, value) {
    return this.#apply(() => this.session.set(name, index, value));
  }

  break(name, on = true) {
    return this.#apply(() => this.session.setBreak(name, on), 'break_undone');
  }

  reset() {
    this.#apply(() => this.session.reset());
    setText(this.live, t('spoken_reset'));
  }

  values(name) {
    return this.session.nested(name);
  }

  /** Takes over edits, breaks and step from elsewhere, such as another view of the same widget. */
  restore({ edits = this.edits, breaks = this.breaks, step = this.step }) {
    return this.#apply(() => {
      this.session.restore(edits, breaks);
      this.session.step = this.session.clampStep(step);
    });
  }

  // ---- what the reader does ----

  #key(event) {
    const typing = event.target.matches('select, input[type=text]');
    if (typing || event.ctrlKey || event.altKey || event.metaKey) return;
    const act = {
      '[': () => this.previous(),
      ']': () => this.next(),
      p: () => (this.playing ? this.pause() : this.play()),
      r: () => this.reset(),
      '?': () => this.footer.toggleHelp(),
    }[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    const inMatrix = this.equation.matrices.some((matrix) => matrix.hasFocus);
    act();
    // The grid that had the focus may be gone or show another tensor: the focus goes to the chosen cell.
    if (inMatrix && event.key !== '?') this.equation.matrix(this.chosen.slot).focus();
  }

  #choose(slot, cell) {
    if (this.playing) this.pause();
    this.chosen = { slot, cell: [...cell] };
    this.#turnToSources();
    this.#render();
    setText(this.live, this.#spokenCell());
  }

  /** Where a chosen result comes from another head (or other leading index) than shown, shows that one. */
  #turnToSources() {
    if (this.chosen.slot !== 'output') return;
    const step = this.session.steps[this.step];
    const { explanation } = this.#chosenCell();
    if (!explanation) return;
    const kept = new Set(this.session.axes(step.output));
    for (const { input, index } of references(explanation)) {
      const axes = this.session.axes(step.inputs[input]).slice(0, -2);
      axes.forEach((axis, k) => {
        if (!kept.has(axis)) this.slices.set(axis, index[k]);
      });
    }
  }

  #slice(axis, i) {
    this.editor?.close(true, false);
    this.slices.set(axis, i);
    this.#render();
    setText(this.live, this.#spokenCell());
  }

  /** Goes to an input cell named in the arithmetic; if its matrix is not on show, to the step that makes it. */
  #follow({ input, index }) {
    const { producer, ids } = this.#chosenCell();
    const id = ids[input];
    const shown = this.#shownIds();
    let slot = shown.indexOf(id);
    if (this.chosen.slot === 'output') slot = input;
    else if (slot < 0 && producer) {
      this.goto(this.session.steps.indexOf(producer));
      slot = input;
    }
    if (slot < 0) return;
    this.session.axes(id).slice(0, -2).forEach((axis, k) => this.slices.set(axis, index[k]));
    this.#choose(slot, [index.at(-2) ?? 0, index.at(-1) ?? 0]);
    this.equation.matrix(slot).focus();
  }

  #light(ref) {
    const lit = ref && this.chosen.slot === 'output' ? this.equation.matrix(ref.input) : null;
    for (const matrix of this.equation.matrices) matrix.point(lit === matrix ? ref.index : null);
  }

  #chosenEdit(value) {
    const { id, index } = this.#chosenCell();
    return [this.session.program.tensors[id].name, index, value];
  }

  #toggle() {
    const { value } = this.#chosenCell();
    if (this.#apply(() => this.session.set(...this.#chosenEdit(!value)))) setText(this.live, this.#spokenEdit());
  }

  #edit(typed) {
    if (this.playing) this.pause();
    if (this.editor && !this.editor.close(true, false)) return;
    const matrix = this.equation.matrix(this.chosen.slot);
    const { id, value, dtype, words } = this.#chosenCell();
    if (dtype === 'bool') return;
    matrix.focus();
    const [name, index] = this.#chosenEdit(value);
    this.editor = new Editor({
      figure: matrix.element, box: matrix.cellBox(), value, dtype, words, typed, place: this.#spokenPlace(),
      commit: (next) => {
        if (this.#apply(() => this.session.set(name, index, next)) && this.#chosenCell().id === id) {
          setText(this.live, this.#spokenEdit());
        }
      },
      closed: (focusCell) => {
        this.editor = null;
        if (focusCell) matrix.focus();
      },
    });
  }

  /** Does something to the session; an error becomes a message, and the session is as it was. */
  #apply(act, message = 'edit_undone') {
    try {
      act();
    } catch (error) {
      this.#complain(t(message, { reason: error.message }));
      this.#render();
      return false;
    }
    this.#complain(null);
    this.#render();
    this.#changed();
    return true;
  }

  #complain(text) {
    if (text === null) {
      if (this.notice.firstChild) this.notice.replaceChildren();
      return;
    }
    this.notice.replaceChildren(h('p', {}, text), h('button.text', {
      type: 'button', on: { click: () => this.notice.replaceChildren() },
    }, t('dismiss')));
  }

  #changed() {
    this.#reflect();
    const detail = { step: this.step, edits: this.edits, breaks: this.breaks };
    this.host.dispatchEvent(new CustomEvent('stepformer:change', { detail, bubbles: true, composed: true }));
  }

  #reflect() {
    this.host.setAttribute('data-step', this.step);
    this.host.setAttribute('data-steps', this.session.steps.length);
  }

  // ---- drawing ----

  #shownIds() {
    return this.session.steps[this.step].inputs;
  }

  #render() {
    const step = this.session.steps[this.step];
    const ids = [...step.inputs, step.output];
    const slots = [...step.inputs.keys(), 'output'];
    const { rank, rows, columns } = this.#extent(slots.includes(this.chosen.slot) ? this.chosen.slot : 'output');
    const [row, column] = this.chosen.cell;
    this.chosen = {
      slot: slots.includes(this.chosen.slot) ? this.chosen.slot : 'output',
      cell: [rank > 1 ? Math.min(row, rows - 1) : 0, rank > 0 ? Math.min(column, columns - 1) : 0],
    };
    const cell = this.#chosenCell();
    const { lit, fed } = this.#connections(cell, ids);
    const views = ids.map((id, i) => this.#view(id, slots[i], lit[i], fed[i]));
    this.equation.show(step, views.slice(0, -1), views.at(-1));
    this.#showPicker(ids);
    this.#showPanel(cell);
    this.#showControls();
  }

  #showControls() {
    const { edits, breaks, changed, steps } = this.session;
    const state = {
      step: this.step, steps: steps.length, playing: this.playing, touched: edits.length + breaks.length > 0, breaks,
    };
    this.transport.show(state);
    this.stepList.show({ step: this.step, steps, changed });
    this.switches.show(state);
  }

  #extent(slot) {
    const step = this.session.steps[this.step];
    const { shape } = this.session.run.values[slot === 'output' ? step.output : step.inputs[slot]];
    return { rank: shape.length, rows: shape.at(-2), columns: shape.at(-1) };
  }

  /** The leading index at which a tensor is shown. */
  #lead(id) {
    const { shape } = this.session.run.values[id];
    return this.session.axes(id).slice(0, -2).map((axis, k) => Math.min(this.slices.get(axis) ?? 0, shape[k] - 1));
  }

  /** Everything about the chosen cell, its arithmetic included. */
  #chosenCell() {
    const { session, chosen } = this;
    const { values } = session.run;
    const step = session.steps[this.step];
    const id = chosen.slot === 'output' ? step.output : step.inputs[chosen.slot];
    const { shape, data, dtype } = values[id];
    const index = [...this.#lead(id), ...chosen.cell].slice(-shape.length || Infinity);
    const place = offset(shape, index);
    const producer = session.steps.find((item) => item.output === id) ?? null;
    const ids = producer?.inputs ?? [];
    const computed = producer && !producer.overridden && data.length > 0;
    const before = session.untouched.values[id];
    const comparable = session.changed.has(id) && String(before.shape) === String(shape);
    const old = comparable && before.data[place] !== data[place] ? before.data[place] : null;
    return {
      id, index, place, dtype, producer, ids, old,
      value: data[place],
      words: session.program.tensors[id].vocabulary ?? null,
      explanation: computed
        ? explain(producer.op, ids.map((input) => values[input]), producer.attributes, values[id], index)
        : null,
    };
  }

  /** For each matrix on show: the places that make the chosen cell, and the places it makes. */
  #connections(cell, ids) {
    const { values } = this.session.run;
    const lit = ids.map(() => NONE);
    const fed = ids.map(() => NONE);
    if (cell.explanation) {
      for (const { input, index } of references(cell.explanation)) {
        const place = offset(values[cell.ids[input]].shape, index);
        ids.forEach((id, i) => {
          const shown = this.chosen.slot === 'output' ? i === input : id === cell.ids[input];
          if (!shown) return;
          if (lit[i] === NONE) lit[i] = new Set();
          lit[i].add(place);
        });
      }
    }
    if (this.chosen.slot !== 'output') fed[ids.length - 1] = this.#fedBy(cell);
    return { lit, fed };
  }

  #fedBy({ index }) {
    const step = this.session.steps[this.step];
    const { values } = this.session.run;
    const output = values[step.output];
    const inputs = step.inputs.map((id) => values[id]);
    const [rows, columns] = [output.shape.at(-2) ?? 1, output.shape.at(-1) ?? 1];
    if (step.overridden || rows * columns * (inputs[0].shape.at(-1) ?? 1) > MOST_FED_TERMS) return NONE;
    const lead = this.#lead(step.output);
    const fed = new Set();
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        const cell = [...lead, i, j].slice(-output.shape.length || Infinity);
        const uses = references(explain(step.op, inputs, step.attributes, output, cell)).some((ref) =>
          ref.input === this.chosen.slot && String(ref.index) === String(index));
        if (uses) fed.add(offset(output.shape, cell));
      }
    }
    return fed;
  }

  #view(id, slot, lit, fed) {
    const { session } = this;
    const { name, vocabulary } = session.program.tensors[id];
    const tensor = session.run.values[id];
    const before = session.untouched.values[id];
    const axes = session.axes(id).map((axis, k) =>
      ({ name: axis, role: roleOfAxis(axis), labels: session.axisLabels(axis, tensor.shape[k]) }));
    const producer = session.steps.find((step) => step.output === id);
    const words = vocabulary ?? null;
    return {
      name: lastPart(name), fullName: name, role: roleOf(name), tensor, words, lit, fed,
      lead: this.#lead(id),
      rowAxis: axes.at(-2) ?? null,
      columnAxis: axes.at(-1) ?? null,
      probabilities: ['softmax', 'hardmax'].includes(producer?.op),
      before: session.changed.has(id) && String(before.shape) === String(tensor.shape) ? before : null,
      chosen: this.chosen.slot === slot ? this.chosen.cell : null,
      replaced: Boolean(producer?.overridden) && session.overrides.has(id),
      digit: this.digit, room: this.room, width: 0,
    };
  }

  #showPicker(ids) {
    const found = new Map();
    for (const id of ids) {
      const { shape } = this.session.run.values[id];
      this.session.axes(id).slice(0, -2).forEach((axis, k) => {
        if (shape[k] > 1) found.set(axis, Math.max(shape[k], found.get(axis) ?? 0));
      });
    }
    this.picker.show([...found].map(([axis, length]) => ({
      axis, labels: this.session.axisLabels(axis, length), chosen: Math.min(this.slices.get(axis) ?? 0, length - 1),
    })));
  }

  #showPanel(cell) {
    const { session } = this;
    const names = cell.ids.map((id) => lastPart(session.program.tensors[id].name));
    const { name } = session.program.tensors[cell.id];
    const note = cell.producer?.overridden ? t('overridden') : cell.producer ? null : t('given');
    this.panel.show({
      ...cell, note,
      key: `${cell.id} ${cell.index}`,
      name: lastPart(name), role: roleOf(name),
      labels: this.#indexLabels(cell.id, cell.index),
      spoken: this.#spokenPlace(cell),
      kinds: cell.ids.map((id) => session.run.values[id].dtype),
      roles: cell.ids.map((id) => roleOf(session.program.tensors[id].name)),
      refTitle: ({ input, index }) =>
        `${names[input]}[${this.#indexLabels(cell.ids[input], index).map(({ text }) => text).join(', ')}]`,
    });
  }

  #indexLabels(id, index) {
    const { shape } = this.session.run.values[id];
    return this.session.axes(id).map((axis, k) =>
      ({ text: this.session.axisLabels(axis, shape[k])[index[k]], role: roleOfAxis(axis), axis }));
  }

  // ---- what is said aloud ----

  #announceStep() {
    const { steps, program } = this.session;
    const { op, output } = steps[this.step];
    const name = lastPart(program.tensors[output].name);
    setText(this.live, t('spoken_step', { step: this.step + 1, steps: steps.length, name, op }));
  }

  #spokenPlace({ id, index } = this.#chosenCell()) {
    const labels = this.#indexLabels(id, index);
    const name = lastPart(this.session.program.tensors[id].name);
    const place = t(['place_scalar', 'place_vector'][labels.length] ?? 'place',
      { name, row: labels.at(-2)?.text, column: labels.at(-1)?.text });
    return labels.slice(0, -2).reduce((said, { axis, text }) => t('place_leading', { place: said, axis, label: text }), place);
  }

  #spokenValue({ value, dtype, words, old }) {
    if (words) return words[value];
    return dtype === 'bool' ? t(value ? 'allowed' : 'masked') : formatApart(value, old ?? value, dtype);
  }

  #spokenCell() {
    const cell = this.#chosenCell();
    const said = { place: this.#spokenPlace(cell), value: this.#spokenValue(cell) };
    if (!cell.explanation || cell.explanation.result.kind === 'choice') return t('spoken_cell', said);
    const kinds = cell.ids.map((id) => this.session.run.values[id].dtype);
    return t('spoken_cell_from', { ...said, arithmetic: arithmeticText(cell.explanation, kinds) });
  }

  #spokenEdit() {
    const cell = this.#chosenCell();
    const results = this.session.steps.filter(({ output }) => output !== cell.id && this.session.changed.has(output));
    return t('spoken_edit', { place: this.#spokenPlace(cell), value: this.#spokenValue(cell), count: results.length });
  }
}
