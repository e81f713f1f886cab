/**
 * A player on a projector: what stands on its stage fills the screen, as large as it fits, and each key press is one
 * step. The stage itself moves into a dialog and back, so there is one engine and one state.
 */
import { h, setAttribute, setText } from '../player/dom.js';
import { KEYS, t } from './text.js';
import style from './lecture.css';

/** So large things get, how much smaller each further try is, and the size at which the rest scrolls. */
const LARGEST = 4;
const SMALLEST = 0.7;
const SHRINK = 1.03;
/** Numbers that a narrow matrix sets smaller (see matrix.js), as lecture.css has them. */
const SIZES = { whole: 1, compact: 0.923, tight: 0.6875 };

export class Lecture {
  /**
   * @param {import('../player/player.js').Player} player
   * @param {() => void} left  called when it is over
   * @param {boolean} whole  whether to ask for the whole screen, not only the window
   */
  constructor(player, left, whole) {
    this.player = player;
    this.left = left;
    /** Whether results wait for a key, and whether that of the step on show still does. */
    this.predicting = false;
    this.veiled = false;
    this.typed = '';
    this.#build();
    this.#enter();
    if (whole) this.#fill();
  }

  isOf(player) {
    return this.player === player;
  }

  #build() {
    const { player } = this;
    const title = player.session.program.title || t('untitled');
    const button = (name, click, text = t(name), hint = t(name)) =>
      h('button.text', { type: 'button', 'aria-label': text === t(name) ? null : hint, title: hint, on: { click } }, text);
    this.room = h('div.room');
    this.position = h('span.position');
    this.hint = h('span.position', {}, t('hint'));
    this.list = h('table.all-keys', { hidden: true }, h('tbody', {}, ...KEYS.map(line)));
    this.layer = h(
      'div.lecture',
      { tabindex: -1, on: { fullscreenchange: () => this.#screen() } },
      this.room,
      this.list,
      h(
        'div.foot',
        {},
        h('b', {}, title),
        this.hint,
        h(
          'span.ways',
          {},
          this.position,
          button('previous', () => this.#back(), '←'),
          button('next', () => this.#forth(), '→'),
          button('keys', () => this.#list()),
          button('leave', () => this.leave(), t('leave'), t('leave_hint')),
        ),
      ),
    );
    // Capture: the player and its matrices have other meanings for the same keys.
    this.dialog = h('dialog.screen', { 'aria-label': t('lecture', { title }), on: { close: () => this.leave() } }, h('style', {}, style), this.layer);
    this.dialog.addEventListener('keydown', (event) => this.#key(event), true);
    this.dialog.addEventListener('mousedown', (event) => this.#press(event), true);
    this.changed = () => this.#show();
  }

  #enter() {
    const { player } = this;
    const { stage, element, voice, host } = player;
    player.pause();
    player.editor?.close(true, false);
    if (player.asking?.on) player.asking.leave();
    const root = element.getRootNode();
    const focus = root.activeElement;
    const scrolled = [document.scrollingElement.scrollLeft, document.scrollingElement.scrollTop];
    // Moving the stage in the page scrolls its boxes home.
    const places = new Map(player.equation.matrices.map(({ view, scroll, roving }) => [view.fullName, { scroll, roving }]));
    const style = stage.getAttribute('style');
    // What the page shows behind keeps its height, so that it comes back at the same place.
    const place = h('div.stage', { style: `block-size: ${stage.offsetHeight}px` });
    stage.replaceWith(place);
    const end = h('i', { hidden: true });
    voice.element.replaceWith(end);
    this.room.append(stage);
    this.layer.append(voice.element);
    element.append(this.dialog);
    this.dialog.showModal();
    this.layer.focus();
    const { step } = player;
    this.restore = () => {
      player.measures.scale = 1;
      setAttribute(stage, 'style', style);
      place.replaceWith(stage);
      end.replaceWith(voice.element);
      this.dialog.remove();
      player.remeasure();
      for (const matrix of player.equation.matrices)
        matrix.goOnFrom((player.step === step && places.get(matrix.view.fullName)) || matrix);
      document.scrollingElement.scrollTo({ left: scrolled[0], top: scrolled[1], behavior: 'instant' });
      if (focus?.isConnected && focus.checkVisibility()) focus.focus({ preventScroll: true });
      else player.matrix.focus();
    };
    host.addEventListener('stepformer:change', this.changed);
    this.#show();
    this.resizes = new ResizeObserver(() => this.#fit());
    this.resizes.observe(this.room);
    voice.say(t('hint'));
  }

  /** Back to the page, at the step that was reached. */
  leave() {
    if (this.over) return;
    this.over = true;
    this.resizes.disconnect();
    this.player.host.removeEventListener('stepformer:change', this.changed);
    this.dialog.close();
    this.restore();
    this.left();
  }

  /** Where the whole screen is refused, the window is filled. */
  #fill() {
    const filled = () => {
      this.wasWhole = true;
      if (this.over) document.exitFullscreen().catch(() => {});
    };
    this.layer.requestFullscreen?.().then(filled, () => {});
  }

  /** Leaving the whole screen, which the browser does by itself at Esc, leaves the lecture. */
  #screen() {
    const whole = this.dialog.getRootNode().fullscreenElement === this.layer;
    if (this.wasWhole && !whole) this.leave();
    this.wasWhole ||= whole;
  }

  // ---- what the lecturer does ----

  #key(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || key === 'Tab' || key === 'Shift') return;
    if (key === 'Escape') {
      event.stopPropagation();
      if (this.list.hidden) return;
      event.preventDefault();
      this.#list();
      return;
    }
    if (target.matches('button') && [' ', 'Enter'].includes(key)) return event.stopPropagation();
    if (target.matches('input, select') && ['ArrowUp', 'ArrowDown'].includes(key)) return event.stopPropagation();
    if (event.shiftKey && key.startsWith('Arrow')) {
      // The grid that has the focus moves; the first time the focus comes to it, and with it the key.
      if (this.player.matrix.hasFocus) return;
      this.player.matrix.focus();
      this.dialog.getRootNode().activeElement?.dispatchEvent(new KeyboardEvent('keydown', event));
    } else if (!this.layer.classList.contains('blank') || !this.#blank()) this.#act(key);
    event.preventDefault();
    event.stopPropagation();
    setAttribute(this.hint, 'hidden', true);
  }

  #act(key) {
    const forth = () => this.#forth();
    const back = () => this.#back();
    const { player } = this;
    if (/^\d$/.test(key)) return this.#type(key);
    const { typed } = this;
    this.#type(null);
    const act = {
      arrowright: forth,
      arrowdown: forth,
      pagedown: forth,
      ' ': forth,
      enter: typed ? () => this.#goto(Number(typed) - 1) : forth,
      arrowleft: back,
      arrowup: back,
      pageup: back,
      backspace: back,
      home: () => this.#goto(0),
      end: () => this.#goto(player.session.steps.length - 1),
      h: () => this.#predict(),
      e: () => this.#explain(),
      b: () => this.#blank(),
      '.': () => this.#blank(),
      i: () => this.#invert(),
      t: () => this.#list(),
    }[key.toLowerCase()];
    act?.();
  }

  /** One thing for each key press: the hidden result appears, or the next step. */
  #forth() {
    const { player } = this;
    if (this.veiled) {
      this.#veil(false);
      player.voice.say(t('revealed'));
      return;
    }
    const before = player.step;
    player.next();
    if (player.step !== before) this.#veil(this.predicting);
  }

  #back() {
    this.#veil(false);
    this.player.previous();
  }

  /** To a step, or to the folded block that it is in. */
  #goto(step) {
    const { player } = this;
    const { folded } = player;
    player.goto(step);
    player.fold(folded);
    this.#veil(this.predicting);
  }

  #predict() {
    this.predicting = !this.predicting;
    this.#veil(this.predicting);
    this.player.voice.say(t(this.predicting ? 'predict_on' : 'predict_off'));
  }

  #veil(on) {
    this.veiled = on;
    // A cell that had the focus is hidden now or belongs to another step, and keys on it would go nowhere.
    this.layer.focus({ preventScroll: true });
    this.layer.classList.toggle('veiled', on);
    setAttribute(this.position, 'data-veiled', on);
    if (on) this.player.voice.say(t('veiled'));
    this.#fit();
  }

  #explain(on = !this.layer.classList.contains('explained')) {
    this.layer.classList.toggle('explained', on);
    this.#fit();
  }

  #blank() {
    if (this.layer.classList.toggle('blank')) this.player.voice.say(t('blanked'));
    return true;
  }

  /** The other way round than the room's light asks for, whatever the page is. */
  #invert() {
    const paper = getComputedStyle(this.layer).backgroundColor.match(/[\d.]+/g).slice(0, 3).map(Number);
    const dark = Math.max(...paper) < 128;
    this.layer.dataset.light = dark ? 'on' : 'off';
  }

  #list() {
    setAttribute(this.list, 'hidden', !this.list.hidden);
  }

  #type(digit) {
    this.typed = digit === null ? '' : `${this.typed}${digit}`.slice(-4);
    this.#place();
  }

  /** A click chooses a cell and shows its arithmetic; a second click edits nothing here. */
  #press(event) {
    const cell = event.target.closest?.('.cell');
    if (!cell || this.veiled) return;
    event.preventDefault();
    event.stopPropagation();
    // Pressed: where the layout changes, the cell may be elsewhere when the button is let go.
    cell.focus({ preventScroll: true });
    this.#explain(true);
  }

  // ---- drawing ----

  #show() {
    this.#place();
    this.#fit();
    // The cell or control that had the focus may be gone, and with it the keys.
    if (!this.dialog.contains(this.dialog.getRootNode().activeElement)) this.layer.focus();
  }

  #place() {
    setText(this.position, this.typed ? t('typed', { step: this.typed }) : this.player.transport.position.textContent);
  }

  /** The scale at which the numbers are largest while all of the step is in sight. */
  #fit() {
    if (this.over) return;
    let best = { scale: 1, size: 0 };
    for (let scale = LARGEST; scale >= SMALLEST && scale > best.size; scale /= SHRINK) {
      this.#scale(scale);
      const size = scale * this.#fits(scale);
      if (size > best.size) best = { scale, size };
    }
    this.#scale(best.scale);
  }

  #scale(scale) {
    const { stage, measures } = this.player;
    stage.style.inlineSize = `${Math.floor(this.room.clientWidth / scale)}px`;
    stage.style.transform = `scale(${scale})`;
    measures.scale = scale;
    this.player.remeasure();
  }

  /** How large the smallest numbers are at a scale, as a share of it; 0 where something would be out of sight. */
  #fits(scale) {
    const { stage, equation } = this.player;
    // What hangs out of the stage, such as names of axes, counts as well.
    const tooTall = stage.offsetHeight * scale > this.room.clientHeight || this.room.scrollHeight > this.room.clientHeight;
    if (tooTall || stage.scrollWidth > stage.clientWidth) return 0;
    if (equation.matrices.some(({ box }) => box.scrollWidth > box.clientWidth + 1)) return 0;
    return Math.min(...equation.matrices.map(({ size }) => SIZES[size] ?? 0));
  }
}

function line(key) {
  const [keys, action = ''] = t(key).split(' | ');
  return h('tr', {}, h('th', { scope: 'row' }, h('kbd', {}, keys)), h('td', {}, action));
}
