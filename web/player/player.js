/** The interactive matrix player: one program, its steps, and everything a reader can do with them. */
import { parseProgram } from '../program.js';
import { AxisPicker, BreakSwitches, Footer, StepList, Transport } from './controls.js';
import { h, keepKeys, setAttribute, setText } from './dom.js';
import { Editor } from './editor.js';
import { Equation } from './equation.js';
import { ExplanationPanel } from './explanation.js';
import { Measures } from './measures.js';
import { roleOf } from './roles.js';
import { Scene } from './scene.js';
import { Session } from './session.js';
import { placeOf, spokenCell, spokenEdit, spokenStep } from './speech.js';
import { t } from './text.js';

const STEP_MILLISECONDS = 1600;

export class Player {
  /**
   * @param {HTMLElement} host  carries data-step and data-steps, and sends `stepformer:change`
   * @param {ShadowRoot|HTMLElement} root  the player is built in here
   * @param {Object} payload  a program in the trace format, with an optional `start`
   */
  constructor(host, root, payload) {
    this.host = host;
    this.session = new Session(parseProgram(payload), payload.start);
    this.scene = new Scene(this.session);
    this.timer = null;
    this.#build(root);
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
    this.stepList = new StepList(
      this,
      steps,
      program.tensors.map(({ name }) => name),
    );
    this.picker = new AxisPicker((axis, i) => this.#slice(axis, i));
    this.equation = new Equation(actions);
    this.panel = new ExplanationPanel({
      follow: (ref) => this.#follow(ref),
      edit: () => this.#edit(),
      toggle: () => this.#toggle(),
      slide: (value) => this.#setChosen(value),
      light: (ref) => this.#light(ref),
    });
    this.switches = new BreakSwitches(this, program.breaks);
    this.footer = new Footer();
    this.notice = h('div.notice', { role: 'alert' });
    this.live = h('div.unseen', { 'aria-live': 'polite', role: 'status' });
    this.equation.words.append(this.picker.element);
    this.stage = h('div.stage', {}, this.equation.element, this.panel.element);
    this.element = h(
      'div.player',
      {
        role: 'group',
        'aria-label': program.title || t('untitled'),
        on: { keydown: (event) => this.#key(event) },
      },
      this.transport.element,
      this.notice,
      h('div.main', {}, this.stepList.element, this.stage),
      this.switches.element,
      this.footer.element,
      this.live,
    );
    root.append(this.element);
    this.measures = new Measures(this.stage);
    this.remeasure = () => this.measures.take() && this.#render();
    this.resizes = new ResizeObserver(this.remeasure);
    this.resizes.observe(this.stage);
    document.fonts.addEventListener('loadingdone', this.remeasure);
  }

  destroy() {
    clearInterval(this.timer);
    this.timer = null;
    this.resizes.disconnect();
    document.fonts.removeEventListener('loadingdone', this.remeasure);
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
    this.scene.chooseFirst();
    this.#render();
    setText(this.live, spokenStep(this.scene));
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
    if (!this.playing) return;
    clearInterval(this.timer);
    this.timer = null;
    this.#showControls();
  }

  /**
   * Sets a cell; false (and a message in the player) where the value does not fit or cannot be computed with.
   */
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

  /** How a cell is computed, as an Explanation (see explain.js); null where no step computes it. */
  explanation(name, index) {
    return this.scene.explanation(this.session.program.find(name), index);
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
    keepKeys(event);
    const typing = event.target.matches('select, input[type=text]');
    // AltGr, which some keyboards need for brackets, reports itself as Ctrl and Alt.
    const combined = (event.ctrlKey || event.altKey || event.metaKey) && !event.getModifierState('AltGraph');
    if (typing || combined) return;
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
    if (inMatrix && event.key !== '?') this.#chosenMatrix.focus();
  }

  get #chosenMatrix() {
    return this.equation.matrix(this.scene.chosen.slot);
  }

  #choose(slot, cell) {
    this.pause();
    this.scene.chosen = { slot, cell: [...cell] };
    this.scene.turnToSources();
    this.#render();
    for (const matrix of this.equation.matrices) if (matrix.slot !== slot) matrix.revealLit();
    setText(this.live, spokenCell(this.scene));
  }

  #slice(axis, i) {
    this.editor?.close(true, false);
    this.scene.slices.set(axis, i);
    this.#render();
    setText(this.live, spokenCell(this.scene));
  }

  /** Goes to a cell named in the arithmetic; where its matrix is not on show, to the step that uses it. */
  #follow({ input, index }) {
    const { producer, ids } = this.scene.chosenCell();
    const shown = this.scene.chosen.slot === 'output' ? input : this.scene.step.inputs.indexOf(ids[input]);
    if (shown < 0) this.goto(this.session.steps.indexOf(producer));
    this.scene.turnTo(ids[input], index);
    this.#choose(shown < 0 ? input : shown, [index.at(-2) ?? 0, index.at(-1) ?? 0]);
    this.#chosenMatrix.focus();
  }

  /** Points at the cell whose number in the arithmetic the reader points at. */
  #light(ref) {
    const lit = ref && this.scene.chosen.slot === 'output' ? this.equation.matrix(ref.input) : null;
    for (const matrix of this.equation.matrices) matrix.point(lit === matrix ? ref.index : null);
  }

  #setChosen(value) {
    const { id, index } = this.scene.chosenCell();
    return this.set(this.session.program.tensors[id].name, index, value);
  }

  #toggle() {
    if (this.#setChosen(!this.scene.chosenCell().value)) setText(this.live, spokenEdit(this.scene));
  }

  #edit(typed) {
    this.pause();
    if (this.editor && !this.editor.close(true, false)) return;
    const cell = this.scene.chosenCell();
    if (cell.dtype === 'bool' || cell.empty) return;
    const matrix = this.#chosenMatrix;
    matrix.focus();
    const { value, dtype, words } = cell;
    this.editor = new Editor({
      figure: matrix.element,
      column: this.stage,
      box: matrix.cellBox(),
      value,
      dtype,
      words,
      typed,
      place: placeOf(this.scene, cell),
      commit: (next) => {
        const done = this.set(this.session.program.tensors[cell.id].name, cell.index, next);
        if (done && this.scene.chosenId === cell.id) setText(this.live, spokenEdit(this.scene));
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
    this.notice.replaceChildren(
      h('p', {}, text),
      h(
        'button.text',
        {
          type: 'button',
          on: { click: () => this.notice.replaceChildren() },
        },
        t('dismiss'),
      ),
    );
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

  #render() {
    const { scene } = this;
    scene.settle();
    const cell = scene.chosenCell();
    const views = scene.views(cell, this.measures);
    this.equation.show(scene.step, views.slice(0, -1), views.at(-1));
    this.picker.show(scene.leadingAxes());
    this.#showPanel(cell);
    this.#showControls();
  }

  #showControls() {
    const { edits, breaks, changed, steps } = this.session;
    const touched = edits.length + breaks.length > 0;
    this.transport.show({ step: this.step, steps: steps.length, playing: this.playing, touched });
    this.stepList.show({ step: this.step, steps, changed });
    this.switches.show({ breaks });
  }

  #showPanel(cell) {
    setAttribute(this.panel.element, 'hidden', cell.empty);
    if (cell.empty) return;
    const { scene, session } = this;
    const role = (id) => roleOf(session.program.tensors[id].name);
    const place = (id, index) =>
      scene
        .indexLabels(id, index)
        .map(({ text }) => text)
        .join(', ');
    this.panel.show({
      ...cell,
      key: `${cell.id} ${cell.index}`,
      name: scene.name(cell.id),
      role: role(cell.id),
      labels: scene.indexLabels(cell.id, cell.index),
      spoken: placeOf(scene, cell),
      note: this.#note(cell),
      kinds: cell.ids.map((id) => scene.value(id).dtype),
      roles: cell.ids.map(role),
      refTitle: ({ input, index }) => `${scene.name(cell.ids[input])}[${place(cell.ids[input], index)}]`,
    });
  }

  /** What to say of a cell that no arithmetic makes. */
  #note({ id, producer }) {
    if (!producer) return t('given');
    if (!producer.overridden) return null;
    return t(this.session.overrides.has(id) ? 'overridden' : 'overridden_by_break');
  }
}
