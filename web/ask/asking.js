/**
 * Question mode: a number of the result, or its row, is hidden, and the reader is asked for it. The scene hides the value
 * wherever it would stand (`scene.asked`), and the panel with the arithmetic is off the page until the question is answered.
 */
import { COMMA } from '../language.js';
import { h, setAttribute, setText } from '../player/dom.js';
import { placeOf, spokenValue } from '../player/speech.js';
import { format, offset } from '../tensor.js';
import { hints } from './hints.js';
import { isAskable, isRight, order, parseAnswer, rowOf, toleranceOf } from './question.js';
import style from './style.css';
import { t } from './text.js';
import { isAmbiguous, recognise, wrongAnswers } from './wrong_answers.js';

const HINTS = 3;
/** So many cells in a row may be passed over because a slip would pass for right there; then one is asked all the same. */
const MOST_SKIPS = 8;
/** No number needs more. */
const MOST_LETTERS = 40;
const SIGNS = { right: '✓', known: '✗', other: '✗', unreadable: '!' };
const MASKS = ['mask', 'mask_opposite', 'mask_transposed'];

export class Asking {
  /** @param {import('../player/player.js').Player} player */
  constructor(player) {
    this.player = player;
    /** Whether the mode is on; whether a row is asked for; whether the next step asks as well. */
    this.on = false;
    this.row = false;
    this.each = false;
    this.question = null;
    this.tally = { asked: 0, first: 0, hints: 0 };
    /** How far the order of cells has come, by name and shape of the matrix. */
    this.places = new Map();
    this.#build();
  }

  #build() {
    const button = (kind, click, title = null) => h(kind, { type: 'button', title, on: { click } });
    this.words = h('span.answer');
    this.rows = button('button.text', () => this.ask({ row: !this.row, cell: this.question?.index }));
    this.another = button('button.text', () => this.ask({ another: true }));
    this.leaving = button('button.text', () => this.leave(), t('leave_hint'));
    this.form = h('form.ask-form', { on: { submit: (event) => this.#submit(event) } });
    this.tolerance = h('p.hint');
    this.feedback = h('div.feedback', { role: 'status' });
    this.hint = button('button.text', () => this.#hint());
    this.show = button('button.text', () => this.#show());
    this.list = h('ol.ask-hints', { 'aria-label': t('hints'), 'aria-live': 'polite' });
    this.eachStep = h('input', { type: 'checkbox', on: { change: () => (this.each = this.eachStep.checked) } });
    this.count = h('span');
    setText(this.another, t('another'));
    setText(this.leaving, t('leave'));
    setText(this.show, t('show'));
    this.element = h(
      'div.panel.ask',
      { role: 'group', 'aria-label': t('group'), on: { keydown: (event) => this.#key(event) } },
      h('style', {}, style),
      h('div.cell-line', {}, this.words, h('span.tools', {}, this.rows, this.another, this.leaving)),
      this.form,
      this.tolerance,
      this.feedback,
      h('div.tools', {}, this.hint, this.show),
      this.list,
      h('div.ask-foot', {}, h('label', {}, this.eachStep, h('span', {}, t('each'))), this.count),
    );
  }

  // ---- what others may ask and do ----

  /** Whether a number is hidden now. */
  get open() {
    return this.question !== null && this.question.answered === null;
  }

  /** The question in the words of the element's API. */
  get told() {
    if (!this.question) return null;
    const { id, index, row, taken, answered } = this.question;
    return { cell: [this.player.session.program.tensors[id].name, [...index]], row, hints: taken, answered: answered !== null };
  }

  /**
   * Asks for the chosen cell of the result.
   * @param {{cell?: number[], row?: boolean, each?: boolean, another?: boolean}} [options]  `cell`: for this cell; `row`: for
   *   its whole row; `each`: at every step from now on; `another`: for the next cell of the order
   */
  ask({ cell, row = this.row, each = this.each, another = false } = {}) {
    const { player } = this;
    const { scene, session } = player;
    player.pause();
    if (player.comparing) player.compare(false);
    if (session.block) player.goto(session.step);
    Object.assign(this, { row, each });
    const chosen = scene.chosen.slot === 'output' ? scene.chosenCell().index : null;
    const wanted = another ? this.#next() : (cell ?? chosen ?? this.#next());
    const reason = this.#begin(wanted);
    if (reason) {
      this.#close();
      player.redraw();
      return player.notify(t(reason));
    }
    player.look(this.question.index);
    this.focus();
  }

  focus() {
    (this.fields[0]?.field ?? this.leaving).focus();
  }

  /** Leaves the mode; the number stands there again. */
  leave() {
    const inside = this.element.contains(this.element.getRootNode().activeElement);
    this.#close();
    this.player.redraw();
    if (inside) this.player.matrix.focus();
  }

  /** While a number is hidden, what a reader types on a cell goes into the field: nothing is edited. True if so. */
  takes(typed) {
    if (!this.open) return false;
    const { field } = this.fields[0];
    if (typed !== undefined && field.matches('input')) field.value = typed;
    field.focus();
    return true;
  }

  /** Says why something has to wait while a number is hidden. True if so. */
  refuses() {
    if (this.open) this.#say('unreadable', t('answer_first'));
    return this.open;
  }

  /** What is on show may have changed: called by the player before it draws. */
  follow() {
    if (!this.on) return;
    const { session, scene } = this.player;
    const { question } = this;
    const same = this.run === session.run;
    if (same && this.step === session.step && !session.block) {
      if (!question || scene.chosen.slot !== 'output') return;
      scene.settle();
      const { index } = scene.chosenCell();
      if (question.cells.some((cell) => String(cell.index) === String(index))) return;
      if (this.#begin(index)) this.#close();
    } else if (same && this.each) {
      this.question = scene.asked = null;
      Object.assign(this, { run: session.run, step: session.step });
      const reason = session.block ? 'nothing_to_ask' : this.#begin(this.#next());
      if (reason) this.#rest(reason);
      else {
        const { index } = this.question;
        scene.turnTo(this.question.id, index);
        scene.chosen = { slot: 'output', cell: [index.at(-2) ?? 0, index.at(-1) ?? 0] };
      }
    } else this.#close();
  }

  // ---- one question ----

  /** Begins a question for a cell of the result; or gives the reason why there is none. */
  #begin(index) {
    const { scene, session } = this.player;
    const id = scene.step.output;
    const tensor = scene.value(id);
    if (session.producer(id).overridden) return 'set_by_hand';
    const inside = (length, axis) => Number.isInteger(index[axis]) && index[axis] >= 0 && index[axis] < length;
    if (!Array.isArray(index) || index.length !== tensor.shape.length || !tensor.shape.every(inside)) return 'nothing_to_ask';
    const all = this.row ? rowOf(tensor.shape, index) : null;
    const words = session.program.tensors[id].vocabulary;
    const exact = tensor.dtype !== 'float' || words;
    const cells = (all ?? [index]).map((place) => {
      const value = tensor.data[offset(tensor.shape, place)];
      const explanation = scene.explanation(id, place);
      return { index: place, value, explanation, tolerance: exact ? 0 : toleranceOf(explanation, value) };
    });
    if (!cells.every(({ value }) => isAskable(value))) return 'nothing_to_ask';
    Object.assign(this, { on: true, run: session.run, step: session.step });
    this.question = { id, index, row: all !== null, cells, words, dtype: tensor.dtype, tries: 0, taken: 0, answered: null, counted: false };
    scene.asked = { id, places: new Set(cells.map((cell) => offset(tensor.shape, cell.index))), lit: false };
    this.#draw();
    return null;
  }

  /** The next cell of the matrix on show in the order of questions, or undefined. */
  #next(skips = MOST_SKIPS) {
    const { scene, session } = this.player;
    const id = scene.step.output;
    const { name } = session.program.tensors[id];
    const tensor = scene.value(id);
    const lead = scene.lead(id);
    const cells = order({ name, tensor, lead });
    const key = `${name} ${lead}`;
    const place = this.places.get(key) ?? 0;
    this.places.set(key, place + 1);
    const next = cells[place % cells.length];
    if (skips && tensor.dtype === 'float' && this.#isAmbiguous(id, next)) return this.#next(skips - 1);
    const here = this.question?.index ?? scene.chosenCell().index;
    // Asked for another cell, a reader gets another one.
    return String(next) === String(here) && cells.length > 1 && scene.chosen.slot === 'output' ? this.#next(skips) : next;
  }

  /** Whether a well-known slip would pass for right at a cell. */
  #isAmbiguous(id, index) {
    const { scene, session } = this.player;
    const explanation = scene.explanation(id, index);
    if (!index || !explanation) return false;
    const value = scene.value(id).data[offset(scene.value(id).shape, index)];
    return isAmbiguous(session, id, { index, value, explanation, tolerance: toleranceOf(explanation, value) });
  }

  #place(index) {
    const { scene } = this.player;
    const labels = scene.indexLabels(this.question.id, index).slice(0, index.length).map(({ text }) => text);
    return labels.length ? `${scene.name(this.question.id)}[${labels.join(COMMA)}]` : scene.name(this.question.id);
  }

  #draw() {
    const { question } = this;
    const { scene } = this.player;
    const { id, cells, row, index } = question;
    const shown = row ? this.#place(index.slice(0, -1)) : this.#place(index);
    this.words.replaceChildren(h('b', {}, t(row ? 'ask_row' : 'ask_cell', { place: shown })));
    this.fields = cells.map((cell) => this.#field(cell));
    this.button = h('button.check', { type: 'submit' }, t('check'));
    this.form.classList.toggle('ask-many', row);
    const labels = scene.indexLabels(id, index);
    this.form.replaceChildren(
      ...this.fields.flatMap(({ field, infinity }, j) => {
        const label = row ? scene.indexLabels(id, cells[j].index).at(-1).text : '';
        return [row ? h('label', {}, h('span', { 'aria-hidden': 'true' }, label), field) : field, ...(infinity ? [infinity] : [])];
      }),
      this.button,
    );
    const tolerance = Math.max(...cells.map((cell) => cell.tolerance));
    setText(this.tolerance, question.dtype === 'float' ? t('tolerance', { tolerance: format(tolerance, tolerance < 0.01 ? 3 : 2) }) : t('whole_number'));
    setAttribute(this.tolerance, 'hidden', question.words !== null || question.dtype === 'bool');
    this.feedback.replaceChildren();
    this.list.replaceChildren();
    setText(this.rows, t(row ? 'one_cell' : 'whole_row'));
    setAttribute(this.rows, 'hidden', !row && (labels.length === 0 || rowOf(scene.value(id).shape, index) === null));
    setText(this.another, t('another'));
    this.#controls();
    const { panel } = this.player;
    if (!this.element.parentNode) panel.element.before(this.element);
    panel.element.remove();
  }

  #field(cell) {
    const { question } = this;
    const place = placeOf(this.player.scene, { id: question.id, index: cell.index });
    const label = { 'aria-label': t('answer_at', { place }) };
    const choices = question.words ?? (question.dtype === 'bool' ? [t('masked'), t('may')] : null);
    if (choices) {
      const options = [t('choose'), ...choices].map((text, i) => h('option', { value: i - 1 }, text));
      return { field: h('select.ask-field', label, ...options) };
    }
    const field = h('input.ask-field', { type: 'text', maxlength: MOST_LETTERS, autocomplete: 'off', spellcheck: 'false', ...label });
    if (!this.#mayBeInfinite()) return { field };
    const write = () => {
      field.value = t('minus_infinity');
      field.focus();
    };
    const infinity = h(
      'button.ask-infinity',
      { type: 'button', 'aria-label': t('minus_infinity_hint', { place }), on: { click: write } },
      t('minus_infinity'),
    );
    return { field, infinity };
  }

  /** Whether −∞ may stand in the result: it has to be seen from the step, not from the answer. */
  #mayBeInfinite() {
    const { scene } = this.player;
    const { step } = scene;
    return MASKS.includes(step.op) || (step.op === 'scale' && scene.value(step.inputs[0]).data.includes(-Infinity));
  }

  #controls() {
    const { question, tally } = this;
    const done = !this.open;
    setText(this.hint, t('hint_button', { next: Math.min((question?.taken ?? 0) + 1, HINTS) }));
    setAttribute(this.hint, 'hidden', done || question.taken === HINTS);
    setAttribute(this.show, 'hidden', done);
    setText(this.count, t('tally', tally));
    setAttribute(this.count, 'hidden', tally.asked === 0);
    this.eachStep.checked = this.each;
    if (done && this.button) setText(this.button, t('next'));
  }

  // ---- answers ----

  #submit(event) {
    event.preventDefault();
    if (!this.question) return;
    if (this.open) this.#check();
    else this.ask({ another: true });
  }

  #check() {
    const { question } = this;
    const answers = this.fields.map(({ field }) => this.#read(field));
    const unread = answers.findIndex(({ problem }) => problem);
    if (unread >= 0) {
      this.fields[unread].field.focus();
      return this.#say('unreadable', answers[unread].problem);
    }
    this.#begun();
    question.tries += 1;
    const given = answers.map(({ answer }) => answer);
    const right = question.cells.map((cell, i) => isRight(cell, given[i]));
    this.fields.forEach(({ field }, i) => {
      setAttribute(field, 'aria-invalid', right[i] ? null : 'true');
      field.classList.toggle('ask-right', right[i]);
    });
    question.right = right;
    if (right.every(Boolean)) return this.#answered();
    const wrong = right.flatMap((one, i) => (one ? [] : [i]));
    const { verdict, message } = this.#explain(wrong, given);
    const count = right.length - wrong.length;
    this.#say(verdict, count ? t('some_right', { right: count, all: right.length, message }) : message);
    this.fields[wrong[0]].field.focus();
  }

  #read(field) {
    if (field.matches('select')) return field.selectedIndex ? { answer: field.selectedIndex - 1 } : { problem: t('choose_first') };
    const text = field.value;
    const answer = parseAnswer(text);
    if (!text.trim()) return { problem: t('missing') };
    return answer === null ? { problem: t('unreadable', { text }) } : { answer };
  }

  /** What to say to wrong answers: the one mistake behind all of them, or that behind the first. */
  #explain(wrong, given) {
    const { question } = this;
    const { session, scene, step } = this.player;
    const { op, attributes } = session.steps[step];
    if (question.words || question.dtype === 'bool') return { verdict: 'other', message: t('wrong_choice') };
    const found = wrong.map((i) => this.#mistake(question.cells[i], given[i]));
    const [first] = found;
    const place = placeOf(scene, { id: question.id, index: question.cells[wrong[0]].index });
    const located = (message) => (question.row ? t('at', { place, message }) : message);
    if (first && found.every((one) => one?.mistake === first.mistake)) return { verdict: 'known', message: first.message };
    const sum = given.reduce((a, b) => a + b, 0);
    if (question.row && op === 'softmax' && attributes.axis === -1 && Math.abs(sum - 1) > 0.05)
      return { verdict: 'known', message: t('weights_add_up', { sum: format(sum) }) };
    if (first) return { verdict: 'known', message: located(first.message) };
    return { verdict: 'other', message: located(t('not_yet')) };
  }

  #mistake(cell, answer) {
    const { scene, session } = this.player;
    const { value, tolerance } = cell;
    if (answer === -Infinity) return { mistake: 'infinite', message: t(this.#mayBeInfinite() ? 'infinite' : 'infinite_elsewhere') };
    cell.known ??= wrongAnswers(session, this.question.id, cell, (id) => scene.name(id));
    const known = recognise(cell.known, answer, tolerance);
    if (known) return { mistake: known.mistake, message: t(known.mistake, { name: known.name }) };
    if (value === -Infinity) return { mistake: 'not_infinite', message: t('not_infinite') };
    const near = Math.max(3 * tolerance, 0.03 * Math.abs(value));
    if (this.question.dtype !== 'float' || Math.abs(answer - value) > near) return null;
    return { mistake: 'close', message: t('close', { tolerance: format(tolerance, tolerance < 0.01 ? 3 : 2) }) };
  }

  #answered() {
    const { question, tally } = this;
    const atOnce = question.tries === 1 && question.taken === 0;
    if (atOnce) tally.first += 1;
    this.#reveal('right');
    const message = t(atOnce ? 'right_first' : question.taken ? 'right_after_hints' : 'right');
    const isTelling = question.row || question.dtype !== 'float' || !this.#isAmbiguous(question.id, question.index);
    this.#say('right', isTelling ? message : t('right_but', { message }));
  }

  #show() {
    this.#begun();
    const { question } = this;
    this.fields.forEach(({ field }, i) => {
      setAttribute(field, 'aria-invalid', null);
      const { value } = question.cells[i];
      if (field.matches('select')) field.selectedIndex = value + 1;
      else field.value = spokenValue({ value, dtype: question.dtype, words: null, old: null });
    });
    this.#reveal('shown');
    this.#say('unreadable', t('shown'));
    this.button.focus();
  }

  #reveal(how) {
    this.question.answered = how;
    this.player.scene.asked = null;
    for (const { field, infinity } of this.fields) {
      if (field.matches('select')) setAttribute(field, 'aria-disabled', 'true');
      else field.readOnly = true;
      infinity?.remove();
    }
    this.element.after(this.player.panel.element);
    this.player.redraw();
    this.#controls();
  }

  #hint() {
    const { question, player } = this;
    const { scene, session } = player;
    this.#begun();
    // Of a row: for the first cell that is wrong, or the chosen one.
    const chosen = question.cells.findIndex(({ index }) => String(index) === String(question.index));
    const cell = question.cells[question.right?.indexOf(false) ?? chosen];
    const { op, inputs: ids } = session.producer(question.id);
    const say = {
      name: (input) => scene.name(ids[input]),
      labels: (input, index) => scene.indexLabels(ids[input], index).map(({ text }) => text),
      value: ({ input, value }) => {
        const { dtype } = scene.value(ids[input]);
        return spokenValue({ value, dtype, words: session.program.tensors[ids[input]].vocabulary, old: null });
      },
    };
    const texts = hints({ ...cell, op, inputs: ids.map((id) => scene.value(id)) }, say);
    this.list.append(h('li', {}, texts[question.taken]));
    question.taken += 1;
    this.tally.hints += 1;
    scene.asked.lit = true;
    player.look(cell.index);
    this.#controls();
    if (question.taken === HINTS) this.focus();
  }

  /** A question counts once the reader has done something about it. */
  #begun() {
    const { question, tally } = this;
    if (!question.counted) tally.asked += 1;
    question.counted = true;
  }

  #say(verdict, message) {
    this.feedback.dataset.verdict = verdict;
    this.feedback.replaceChildren(h('b', { 'aria-hidden': 'true' }, SIGNS[verdict]), h('p', {}, message));
  }

  #key(event) {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    this.leave();
  }

  /** Between two questions, at a step that has none. */
  #rest(reason) {
    this.words.replaceChildren(t(reason));
    this.fields = [];
    this.button = null;
    for (const part of [this.form, this.feedback, this.list]) part.replaceChildren();
    for (const part of [this.rows, this.tolerance]) setAttribute(part, 'hidden', true);
    this.#controls();
    this.element.after(this.player.panel.element);
  }

  #close() {
    this.on = false;
    this.question = this.player.scene.asked = null;
    if (this.element.parentNode) this.element.replaceWith(this.player.panel.element);
  }
}
