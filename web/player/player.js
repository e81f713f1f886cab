/** The interactive matrix player: one program, its steps, and everything a reader can do with them. */
import { parseProgram } from '../program.js';
import { ChangeList } from './changes.js';
import { BreakSwitches, Footer, StepList, Transport } from './controls.js';
import { h, keepKeys, setAttribute } from './dom.js';
import { Editor } from './editor.js';
import { ExplanationPanel } from './explanation.js';
import { Help } from './help.js';
import { Measures } from './measures.js';
import { roleOf } from './roles.js';
import { Scene } from './scene.js';
import { Session } from './session.js';
import { placeOf, spokenBreak, spokenCell, spokenEdit, spokenStep, spokenValue } from './speech.js';
import { t } from './text.js';
import { Turns } from './turns.js';
import { Voice } from './voice.js';

const STEP_MILLISECONDS = 1600;

export class Player {
  /**
   * The host's way to what most readers never open: a promise of the module behind a name, such as `share`.
   * @type {(name: string) => Promise<Object>}
   */
  static part = null;

  /**
   * @param {HTMLElement} host  carries data-step and data-steps, and sends `stepformer:change`
   * @param {ShadowRoot|HTMLElement} root  the player is built in here
   * @param {Object} payload  a program in the trace format, with an optional `start` and `fold`
   */
  constructor(host, root, payload) {
    this.host = host;
    this.session = new Session(parseProgram(payload), payload.start, payload.fold);
    this.scene = new Scene(this.session);
    this.timer = null;
    /** The cells of a walk back, from where it began to the chosen one; and whether its list is open. */
    this.trail = [];
    this.walking = false;
    /** Whether the result before and after the edits is on show, in place of what makes it. */
    this.comparing = false;
    /** The question mode, once it was used. @type {import('../ask/asking.js').Asking|null} */
    this.asking = null;
    this.#build(root);
    this.#render();
    this.#reflect();
  }

  #build(root) {
    const { program } = this.session;
    const actions = {
      choose: (matrix, cell) => this.#choose(matrix.slot, cell),
      edit: (matrix, cell, typed) => this.#edit(typed),
      toggle: () => this.#toggle(),
      scrolled: (matrix) => this.equation.matrices.includes(matrix) && this.editor?.close(true, false),
      slice: (axis, i) => this.#slice(axis, i),
    };
    this.transport = new Transport(this, program.title);
    this.stepList = new StepList(
      this,
      this.session,
      program.tensors.map(({ name }) => name),
    );
    this.turns = new Turns(actions);
    this.panel = new ExplanationPanel({
      follow: (ref) => this.#follow(ref),
      edit: () => this.#edit(),
      toggle: () => this.#toggle(),
      slide: (value) => this.#setChosen(value, `slide ${this.panel.cell.key}`),
      light: (ref) => this.#light(ref),
      unfold: () => this.toggle(this.session.block.path),
      walk: (cell) => this.#walk(cell),
      back: (i) => this.#return(i),
      openWalk: (open) => this.#openWalk(open),
      ask: () => this.ask(),
    });
    this.switches = new BreakSwitches(this, program.breaks);
    this.help = new Help();
    this.footer = new Footer(async (name) => (await Player.part(name)).menu(this), () => this.help.open());
    this.notice = h('div.notice', { role: 'alert' });
    this.voice = new Voice();
    this.changes = new ChangeList((change) => this.#showChange(change));
    this.stage = h('div.stage', {}, this.equation.element, this.changes.element, this.panel.element);
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
      this.help.element,
      this.voice.element,
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
    this.#stopAhead();
    this.resizes.disconnect();
    document.fonts.removeEventListener('loadingdone', this.remeasure);
    this.element.remove();
  }

  // ---- what others may ask and do ----

  get step() {
    return this.session.step;
  }

  /** The matrices on show. @type {import('./equation.js').Equation} */
  get equation() {
    return this.turns.shown;
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

  /** The scopes that are folded. */
  get folded() {
    return [...this.session.blocks.folded];
  }

  /** Steps on; a folded block is stepped over as one. */
  next() {
    this.#move(true);
  }

  previous() {
    this.#move(false);
  }

  /** Shows a step; what it is folded in unfolds. */
  goto(step) {
    const wanted = this.session.clampStep(step);
    this.#refold(() => {
      this.session.blocks.reveal(wanted);
      this.session.step = wanted;
    });
  }

  #move(forward) {
    const step = this.session.neighbour(forward);
    this.#refold(() => {
      this.session.step = step;
    }, forward);
  }

  /** The chosen cell: in which matrix on show (the position of an input, or "output"), and where in its tensor. */
  get cell() {
    return [this.scene.chosen.slot, this.scene.chosenCell().index];
  }

  /** Chooses a cell of a matrix on show, of the result if none is named, and scrolls its matrix to it. */
  look(index, slot = 'output') {
    const id = this.scene.ids.at(slot === 'output' ? -1 : slot);
    if (id === undefined || index.length !== this.scene.value(id).shape.length) return;
    this.#show({ slot, id, index }, []);
    this.#chosenMatrix.reveal();
  }

  /** The matrix with the chosen cell. */
  get matrix() {
    return this.#chosenMatrix;
  }

  /**
   * Asks the reader for the chosen number of the result, or as the options say (web/ask/asking.js); resolves when the question
   * stands there.
   * @param {{cell?: number[], row?: boolean, each?: boolean, another?: boolean}} [options]
   */
  async ask(options) {
    const part = await this.#part('ask');
    // In a lecture the keys step, so there is nothing to answer with.
    if (!part || this.stage.closest('dialog')) return;
    this.asking ??= new part.Asking(this);
    this.#stopAhead();
    this.turns.forget();
    this.asking.ask(options);
  }

  /** The question that is open or was answered last: its tensor and cell, whether for the whole row, and how far it is; or null. */
  get question() {
    return this.asking?.told ?? null;
  }

  /** Draws anew what has not changed: after something else than the session decides what is on show. */
  redraw() {
    this.#render();
  }

  /** Says something to the reader, above the steps, until it is closed or something else is done. */
  notify(text) {
    this.#complain(text);
  }

  /** Folds the scopes of a list and unfolds all others; an unknown one is an error. */
  fold(scopes) {
    this.#refold(() => this.session.fold(scopes));
  }

  /** Folds or unfolds a scope. */
  toggle(path) {
    this.#refold(() => this.session.toggle(path));
  }

  /** Shows a block as one step. */
  showBlock({ path, last }) {
    this.#refold(() => {
      const { session } = this;
      if (!session.blocks.folded.has(path)) session.toggle(path);
      session.step = session.blocks.shown(last);
    });
  }

  /**
   * Does something after which another step, or a step in another form, is on show; `forward`: where the reader is
   * expected to go from there.
   */
  #refold(act, forward = true) {
    const { step, block } = this.session;
    act();
    if (step !== this.step || block !== this.session.block) {
      this.editor?.close(true, false);
      this.trail = [];
      this.scene.chooseFirst();
      this.#turn();
      this.voice.say(spokenStep(this.scene));
      this.#changed();
      this.#drawAhead(forward);
    } else this.#showControls();
  }

  /** Shows another step. The focus stays where it was: among the cells, or at the choice of an axis. */
  #turn() {
    // A field that holds what is no number stays open, and on show.
    if (this.editor) return this.#render();
    const { picker, matrices } = this.equation;
    const axis = picker.focused;
    const inMatrix = matrices.some((matrix) => matrix.hasFocus);
    this.#render((...step) => this.turns.turn(...step));
    // While a player plays, its reader may be somewhere else on the page, or in another window.
    if ((axis === null && !inMatrix) || !document.hasFocus()) return;
    const still = { preventScroll: true };
    if (axis === null || !this.equation.picker.focus(axis, still)) this.#chosenMatrix.focus(still);
  }

  /** Prepares the step that comes next if the reader goes on like this, when the one on show has been painted. */
  #drawAhead(forward) {
    this.#stopAhead();
    const draw = () => {
      const next = this.session.neighbour(forward);
      // A question hides numbers: none is held ready then.
      if (next === this.step || this.asking?.on) return;
      this.scene.ahead(next, () => this.turns.prepare(...this.#look()));
    };
    this.frame = requestAnimationFrame(() => {
      this.ahead = setTimeout(draw);
    });
  }

  #stopAhead() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.ahead);
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
  set(name, index, value, gesture) {
    return this.#apply(() => this.session.set(name, index, value, gesture));
  }

  break(name, on = true) {
    const done = this.#apply(() => this.session.setBreak(name, on), 'break_undone');
    const known = this.session.program.breaks.find((one) => one.name === name);
    if (done) this.voice.say(spokenBreak(this.session, known));
    return done;
  }

  reset() {
    this.#apply(() => this.session.reset());
    this.voice.say(t('spoken_reset'));
  }

  /** Takes the last edit or switch back. */
  undo() {
    this.#travel('undo');
  }

  /** Does again what was taken back last. */
  redo() {
    this.#travel('redo');
  }

  #travel(way) {
    this.editor?.close(false, true);
    let done = false;
    this.#apply(() => {
      done = this.session[way]();
    });
    const { edits, breaks } = this;
    this.voice.say(t(`${done ? 'spoken' : 'nothing_to'}_${way}`, { edits: edits.length, breaks: breaks.length }));
  }

  /** Shows the result before and after the edits and switches, or again how it is made. */
  compare(on = true) {
    if (on && this.asking?.refuses()) return;
    this.editor?.close(true, false);
    this.comparing = on;
    this.#render();
    this.voice.say(on === this.comparing ? spokenStep(this.scene, on) : t('nothing_to_compare'));
  }

  /** A part that is loaded on first use; without a way to it, nothing and a message. */
  async #part(name) {
    try {
      return await Player.part(name);
    } catch ({ message }) {
      this.notify(t('load_failed', { reason: message }));
    }
  }

  /** Fills the screen for a lecture, one step for each key press; or ends that. */
  async present(on = true) {
    (await this.#part('classroom'))?.present(this, on);
  }

  /** Prints the steps on paper: `blank` to fill in, `filled`, or `both`. */
  async handout(kind) {
    (await this.#part('classroom'))?.handout(this, kind);
  }

  values(name) {
    return this.session.nested(name);
  }

  /**
   * What makes a cell: one item for each term, from the largest to the smallest. `term` is its value, and the terms
   * add up to the cell; `tensor`, `index` and `value` name the cell it is made of, `with` other cells in it (and
   * null a constant). What only decides, such as a mask, comes last with the term 0. Empty for a given cell.
   */
  contributions(name, index) {
    const { program } = this.session;
    const found = this.scene.contributions(program.find(name), index);
    const named = ({ id, ...cell }) => ({ ...cell, tensor: program.tensors[id].name });
    const item = (term, [cell, ...others]) => ({
      ...(cell ? named(cell) : { tensor: null, index: null, value: null }),
      term,
      with: others.map(named),
    });
    if (!found) return [];
    return [
      ...found.terms.map(({ value, cells }) => item(value, cells)),
      ...found.deciding.map((cell) => item(0, [cell])),
    ];
  }

  /** How a cell is computed, as an Explanation (see explain.js); null where no step computes it. */
  explanation(name, index) {
    return this.scene.explanation(this.session.program.find(name), index);
  }

  /** Takes over edits, breaks and step from elsewhere, such as another view of the same widget. */
  restore({ edits = this.edits, breaks = this.breaks, step = this.step }) {
    return this.#apply(() => {
      this.session.restore(edits, breaks);
      const wanted = this.session.clampStep(step);
      // A folded block may stay folded where another view is at one of the steps inside.
      if (this.session.blocks.shown(wanted) === this.step) return;
      this.session.blocks.reveal(wanted);
      this.session.step = wanted;
    });
  }

  // ---- what the reader does ----

  #key(event) {
    keepKeys(event);
    const typing = event.target.matches('select, textarea, input[type=text]');
    // AltGr, which some keyboards need for brackets, reports itself as Ctrl and Alt.
    const combined = (event.ctrlKey || event.altKey || event.metaKey) && !event.getModifierState('AltGraph');
    if (typing) return;
    if (combined) {
      const way = event.altKey ? null : { z: event.shiftKey ? 'redo' : 'undo', y: 'redo' }[event.key.toLowerCase()];
      if (!way) return;
      event.preventDefault();
      event.stopPropagation();
      this.#travel(way);
      return;
    }
    const act = {
      '[': () => this.previous(),
      ']': () => this.next(),
      p: () => (this.playing ? this.pause() : this.play()),
      r: () => this.reset(),
      c: () => this.compare(!this.comparing),
      w: () => this.#openWalk(true),
      q: () => this.ask({ another: Boolean(this.asking?.on) }),
      ...(this.asking?.on && { escape: () => this.asking.leave() }),
      s: () => this.footer.openShare(),
      l: () => this.present(),
      '?': () => this.help.open(),
    }[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    const inMatrix = this.equation.matrices.some((matrix) => matrix.hasFocus);
    act();
    // The grid that had the focus may be gone or show another tensor: the focus goes to the chosen cell.
    if (inMatrix && !'?wWsSqQlL'.includes(event.key)) this.#chosenMatrix.focus();
  }

  get #chosenMatrix() {
    return this.equation.matrix(this.scene.chosen.slot);
  }

  #choose(slot, cell, trail = []) {
    this.pause();
    // Whichever of the matrices that are compared the reader points into, the cell is one of the result.
    if (this.comparing) slot = 'output';
    this.trail = trail;
    this.scene.chosen = { slot, cell: [...cell] };
    this.scene.turnToSources();
    this.#render();
    for (const matrix of this.equation.matrices) {
      if (this.comparing) matrix.reveal();
      else if (matrix.slot !== slot) matrix.revealLit();
    }
    this.voice.say(spokenCell(this.scene));
  }

  #slice(axis, i) {
    this.editor?.close(true, false);
    this.scene.slices.set(axis, i);
    this.#render();
    this.voice.say(spokenCell(this.scene));
  }

  /** Goes to a cell named in the arithmetic; where its matrix is not on show, to the step that uses it. */
  #follow({ input, index }) {
    const { producer, ids } = this.scene.chosenCell();
    const shown = this.scene.chosen.slot === 'output' ? input : this.scene.step.inputs.indexOf(ids[input]);
    if (shown < 0) this.goto(this.session.positions.get(producer.output));
    this.#show({ slot: shown < 0 ? input : shown, id: ids[input], index }, []);
    this.#chosenMatrix.focus();
  }

  #openWalk(open) {
    if (this.asking?.refuses()) return;
    this.walking = open;
    this.#render();
    if (open) this.panel.walk.focus();
  }

  /**
   * Walks back to a cell that makes the chosen one: to the step that computes it, or, where it is given, to the step
   * that uses it.
   */
  #walk({ id, index }) {
    const here = this.#here();
    const trail = this.trail.length ? this.trail : [here];
    const { positions } = this.session;
    const made = positions.get(id);
    this.goto(made ?? positions.get(here.id));
    const slot = made === undefined ? this.scene.step.inputs.indexOf(id) : 'output';
    this.#show({ slot, id, index }, trail);
    this.trail = [...trail, this.#here()];
    this.#render();
    this.panel.walk.focus();
  }

  /** Goes back to a cell of the trail, with the same blocks folded as then. */
  #return(i) {
    const place = this.trail[i];
    const trail = this.trail.slice(0, i + 1);
    this.#refold(() => {
      this.session.blocks.folded = new Set(place.folded);
      this.session.step = place.step;
    });
    this.#show(place, i ? trail : []);
    this.panel.walk.focus();
  }

  #here() {
    const { id, index } = this.scene.chosenCell();
    return { step: this.step, folded: this.folded, slot: this.scene.chosen.slot, id, index };
  }

  #show({ slot, id, index }, trail) {
    this.comparing &&= slot === 'output';
    this.scene.turnTo(id, index);
    this.#choose(slot, [index.at(-2) ?? 0, index.at(-1) ?? 0], trail);
  }

  #showChange({ id, index }) {
    this.goto(this.session.positions.get(id));
    this.#show({ slot: 'output', id, index: index ?? [] }, []);
    this.#chosenMatrix.focus();
  }

  /** Points at the cell whose number in the arithmetic the reader points at. */
  #light(ref) {
    const lit = ref && !this.comparing && this.scene.chosen.slot === 'output' ? this.equation.matrix(ref.input) : null;
    for (const matrix of this.equation.matrices) matrix.point(lit === matrix ? ref.index : null);
  }

  #setChosen(value, gesture) {
    const { id, index } = this.scene.chosenCell();
    return this.set(this.session.program.tensors[id].name, index, value, gesture);
  }

  #toggle() {
    if (this.asking?.takes()) return;
    if (this.#setChosen(!this.scene.chosenCell().value)) this.voice.say(spokenEdit(this.scene));
  }

  #edit(typed) {
    this.pause();
    if (this.asking?.takes(typed)) return;
    if (this.editor && !this.editor.close(true, false)) return;
    const cell = this.scene.chosenCell();
    if (cell.dtype === 'bool' || cell.empty) return;
    const matrix = this.#chosenMatrix;
    matrix.focus();
    const { value, dtype, words } = cell;
    this.editor = new Editor({
      desk: matrix.desk,
      column: this.stage,
      box: matrix.cellBox(),
      value,
      dtype,
      words,
      typed,
      place: placeOf(this.scene, cell),
      commit: (next) => {
        const done = this.set(this.session.program.tensors[cell.id].name, cell.index, next);
        if (done && this.scene.chosenId === cell.id) this.voice.say(spokenEdit(this.scene));
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

  /** @param {(...step: any[]) => void} show  puts the step on the page; as a rule where the last one stands */
  #render(show = (...step) => this.equation.show(...step)) {
    const { scene } = this;
    this.asking?.follow();
    this.comparing &&= this.session.touched;
    if (this.comparing) scene.chosen.slot = 'output';
    scene.settle();
    const cell = scene.chosenCell();
    show(...this.#look(cell));
    this.changes.show(this.comparing ? scene.changes() : null, (change) => this.#describeChange(change));
    this.#showPanel(cell);
    this.#showControls();
  }

  /** What an equation has to show, see Equation.show. */
  #look(cell = this.scene.chosenCell()) {
    const { scene, measures } = this;
    const { step, views } = this.comparing
      ? scene.comparison(measures)
      : { step: scene.step, views: scene.views(cell, measures) };
    return [step, views, scene.leadingAxes()];
  }

  #showControls() {
    const { breaks, changed, steps, block, blocks, positions, touched, history } = this.session;
    const { step, playing, comparing } = this;
    const ways = { past: history.past.length, future: history.future.length };
    this.transport.show({ first: block?.first ?? step, step, steps: steps.length, playing, touched, comparing, ...ways });
    this.stepList.show({ step, steps, block, folded: blocks.folded, changed, positions });
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
    const key = `${cell.id} ${cell.index}`;
    this.panel.walk.show({
      open: this.walking,
      key,
      value: spokenValue(cell),
      trail: this.trail,
      found: this.walking && scene.contributions(cell.id, cell.index),
      describe: ({ id, index, value }) => ({
        name: scene.name(id),
        role: role(id),
        place: index.length ? `[${place(id, index)}]` : '',
        value: spokenValue({ ...scene.value(id), value, words: session.program.tensors[id].vocabulary, old: null }),
      }),
    });
    this.panel.show({
      ...cell,
      key,
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

  #describeChange({ id, index, old, now }) {
    const { scene } = this;
    const { name, vocabulary: words } = this.session.program.tensors[id];
    const { dtype } = scene.value(id);
    const spoken = (value, other) => spokenValue({ value, old: other, dtype, words });
    const place = index && scene.indexLabels(id, index).map(({ text }) => text).join(', ');
    const numbers = dtype === 'float';
    return { name: scene.name(id), role: roleOf(name), place, old: spoken(old, now), now: spoken(now, old), numbers };
  }

  /** What to say of a cell that no arithmetic makes. */
  #note({ id, producer }) {
    if (!producer) return t('given');
    if (!producer.overridden) return null;
    return t(this.session.overrides.has(id) ? 'overridden' : 'overridden_by_break');
  }
}
