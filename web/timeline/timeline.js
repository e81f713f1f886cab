/**
 * The training timeline: a slider from the first snapshot of a training to the last, the attention of a sentence on the
 * left, the next words on the right. The snapshots were taken while the model was trained; here they are only shown.
 */
import { count } from '../language.js';
import { h, icon, keepKeys, setAttribute, setText } from '../player/dom.js';
import { Voice } from '../player/voice.js';
import { format } from '../tensor.js';
import shared from '../translate/style.css';
import { Choice, share, strength, svg } from '../translate/parts.js';
import { AVERAGE, check, place, weights } from './snapshots.js';
import style from './style.css';
import { t } from './text.js';

/** Milliseconds between two snapshots while it plays. */
const PACE = 1000;
const PLAY = 'M8 5v14l11-7z';
const PAUSE = 'M8 5v14M16 5v14';
const CURVE_HEIGHT = 40;

export class Timeline {
  snapshot = 0;
  position = 0;
  #timer = null;

  /**
   * @param {HTMLElement} host  carries data-snapshot, the position of the snapshot on show
   * @param {ShadowRoot} root
   * @param {Object} payload  `stepformer.timeline/1`
   */
  constructor(host, root, payload) {
    this.host = host;
    this.payload = check(payload);
    this.sentence = payload.start;
    const { attention } = payload.snapshots[0].sentences[0];
    /** The last layer, all heads: there it resembles an alignment most. */
    this.layer = attention.length - 1;
    this.head = AVERAGE;
    this.#build(root, attention.length, attention[0].length);
    this.choose(this.sentence);
    this.element.append(this.voice.element);
  }

  destroy() {
    this.pause();
    this.element.remove();
  }

  // ---- what the page's own scripts and the tests may call ----

  /** Shows a snapshot, by its position. */
  goto(snapshot) {
    this.snapshot = Math.max(0, Math.min(this.payload.snapshots.length - 1, snapshot));
    this.#show();
  }

  /** Shows another sentence, by its position, at its first word. */
  choose(sentence) {
    this.sentence = sentence;
    this.position = 0;
    this.#buildTable();
    this.#show();
    this.voice.say(t('spoken', this.told));
  }

  /** Shows what is expected in the place of a word of the translation. */
  look(position) {
    this.position = position;
    this.#show();
    this.voice.say(t('spoken', this.told));
  }

  /** Shows a layer and a head, each a number or "average". */
  of(layer, head) {
    Object.assign(this, { layer, head });
    this.#show();
    this.voice.say(t('spoken', this.told));
  }

  play() {
    if (this.#timer) return;
    if (this.snapshot === this.payload.snapshots.length - 1) this.goto(0);
    this.#timer = setInterval(() => {
      this.goto(this.snapshot + 1);
      if (this.snapshot === this.payload.snapshots.length - 1) this.pause();
      // A reader who listens hears a moment that was chosen or stopped at, not every one that goes by.
      if (!this.#timer) this.#tellMoment();
    }, PACE);
    this.#showPlaying();
  }

  pause() {
    clearInterval(this.#timer);
    this.#timer = null;
    this.#showPlaying();
  }

  /** What is on show: the step, the weights, and the next words at the chosen position with their probabilities. */
  values() {
    const { step, sentences } = this.payload.snapshots[this.snapshot];
    const next = sentences[this.sentence].next[this.position].map(([word, thousandths]) => [word, thousandths / 1000]);
    return { step, weights: weights(this.payload, this), next };
  }

  /** What is on show at the chosen word, in words. */
  get told() {
    const { next, weights: rows } = this.values();
    const { src, tgt } = this.payload.sentences[this.sentence];
    const row = rows[this.position];
    const most = row.indexOf(Math.max(...row));
    return { word: tgt[this.position], expected: next[0][0], share: share(next[0][1]), source: src[most], weight: share(row[most]) };
  }

  // ---- showing ----

  #press() {
    if (!this.#timer) return this.play();
    this.pause();
    return this.#tellMoment();
  }

  #tellMoment() {
    this.voice.say(t('spoken_moment', { moment: this.moment.textContent, said: t('spoken', this.told) }));
  }

  #build(root, nLayers, nHeads) {
    const { sentences, snapshots, model } = this.payload;
    const title = t('title', { model });
    const options = sentences.map(({ src, tgt }, i) => h('option', { value: i }, `${src.join(' ')} → ${tgt.join(' ')}`));
    this.select = h('select', { on: { change: () => this.choose(Number(this.select.value)) } }, ...options);
    this.button = h('button.icon', { type: 'button', on: { click: () => this.#press() } });
    this.slider = h('input.tl-slider', {
      type: 'range',
      min: 0,
      max: snapshots.length - 1,
      step: 1,
      'aria-label': t('slider'),
      on: {
        input: () => {
          this.pause();
          this.goto(Number(this.slider.value));
          this.voice.later(t('spoken', this.told)); // the moment is the slider's own value
        },
      },
    });
    this.moment = h('b');
    this.loss = h('span.hint');
    this.voice = new Voice();
    const numbers = (n) => [...Array.from({ length: n }, (_, i) => [i, String(i)]), [AVERAGE, t('average')]];
    this.layers = new Choice(t('layer'), numbers(nLayers), (layer) => this.of(layer, this.head));
    this.heads = new Choice(t('head'), numbers(nHeads), (head) => this.of(this.layer, head));
    // Of one there is nothing to choose.
    for (const [choice, n] of [[this.layers, nLayers], [this.heads, nHeads]]) setAttribute(choice.element, 'hidden', n === 1);
    this.table = h('table.tr-matrix');
    this.heading = h('h2.section');
    this.hint = h('p.hint');
    this.bars = Array.from({ length: Math.max(...snapshots.flatMap((one) => one.sentences.flatMap(({ next }) => next.map((bars) => bars.length)))) }, bar);
    this.element = h(
      'div.exercise.tr.tl',
      { role: 'group', 'aria-label': title, on: { keydown: keepKeys } },
      h('style', {}, shared + style),
      h('p.title', {}, title),
      h('label.tl-sentence', {}, t('sentence'), this.select),
      h(
        'div.tl-time',
        {},
        this.button,
        h('div.tl-track', {}, this.#curve(), this.slider),
        h('p.tl-moment', {}, this.moment, ' ', this.loss),
      ),
      h('div.slices', {}, this.layers.element, this.heads.element),
      h(
        'div.tl-sides',
        {},
        h(
          'div',
          {},
          h('h2.section', {}, t('attention')),
          h('p.hint', {}, t('attention_hint')),
          h('div.tr-scroll', { tabindex: '0', role: 'group', 'aria-label': t('attention') }, this.table),
        ),
        h('div', {}, this.heading, this.hint, h('ol.tr-bars', {}, ...this.bars.map(({ item }) => item))),
      ),
    );
    root.append(this.element);
    this.#showPlaying();
  }

  /** The loss over the slider, so that the slider is its axis. */
  #curve() {
    const { loss } = this.payload;
    const most = Math.max(...loss.map(([, value]) => value)) || 1;
    const points = loss.map(([step, value]) => `${(100 * place(this.payload, step)).toFixed(2)},${(CURVE_HEIGHT * (1 - value / most)).toFixed(2)}`);
    this.marker = svg('line', { y1: 0, y2: CURVE_HEIGHT, class: 'tl-marker' });
    const label = t('curve', { first: format(loss[0][1]), last: format(loss.at(-1)[1]) });
    return svg(
      'svg',
      { class: 'tl-curve', viewBox: `0 0 100 ${CURVE_HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
      svg('polyline', { points: points.join(' ') }),
      this.marker,
    );
  }

  /** The table of a sentence, whose cells are then only written into. */
  #buildTable() {
    const { src, tgt } = this.payload.sentences[this.sentence];
    this.select.value = String(this.sentence);
    this.rows = tgt.map((word, i) => {
      const button = h('button.go', { type: 'button', lang: 'zh', 'aria-label': t('predicts', { word }), on: { click: () => this.look(i) } }, word);
      const cells = src.map(() => h('td', {}, '0'));
      return { button, cells, row: h('tr', {}, h('th', { scope: 'row' }, button), ...cells) };
    });
    this.table.replaceChildren(
      h('thead', {}, h('tr', {}, h('td'), ...src.map((word) => h('th', { scope: 'col' }, h('span', {}, word))))),
      h('tbody', {}, ...this.rows.map(({ row }) => row)),
    );
  }

  #show() {
    const { step, weights: rows, next } = this.values();
    const moment = step ? t('moment', { step: count(step) }) : t('before');
    const loss = this.payload.losses[this.snapshot];
    this.host.setAttribute('data-snapshot', this.snapshot);
    this.slider.value = String(this.snapshot);
    setAttribute(this.slider, 'aria-valuetext', moment);
    setText(this.moment, moment);
    setText(this.loss, loss === null ? t('no_loss') : t('loss', { loss: format(loss) }));
    const x = (100 * this.snapshot) / (this.payload.snapshots.length - 1);
    for (const end of ['x1', 'x2']) setAttribute(this.marker, end, x);
    this.layers.value = this.layer;
    this.heads.value = this.head;
    const best = rows.map((row) => row.indexOf(Math.max(...row)));
    this.rows.forEach(({ button, cells, row }, i) => {
      setAttribute(button, 'aria-pressed', String(i === this.position));
      setAttribute(row, 'class', i === this.position ? 'tr-now' : null);
      cells.forEach((cell, j) => {
        setText(cell, format(rows[i][j]));
        setAttribute(cell, 'class', `${strength(rows[i][j]).replaceAll('.', ' ')}${j === best[i] ? ' tl-most' : ''}`.trim() || null);
      });
    });
    this.#showNext(next);
    this.host.dispatchEvent(
      new CustomEvent('stepformer:change', { bubbles: true, composed: true, detail: { step, sentence: this.sentence, position: this.position } }),
    );
  }

  #showNext(next) {
    const { tgt } = this.payload.sentences[this.sentence];
    const word = tgt[this.position];
    const prefix = tgt.slice(0, this.position).join(' ');
    setText(this.heading, t('next', { word }));
    setText(this.hint, t(prefix ? 'next_hint' : 'next_hint_first', { prefix }));
    this.bars.forEach(({ item, mark, name, fill, number }, k) => {
      setAttribute(item, 'hidden', k >= next.length);
      if (k >= next.length) return;
      const [expected, probability] = next[k];
      const isRight = expected === word;
      setAttribute(item, 'class', isRight ? 'tr-bar tr-now' : 'tr-bar');
      setAttribute(mark, 'hidden', !isRight);
      setText(name, expected);
      fill.style.inlineSize = `${100 * probability}%`;
      setText(number, share(probability));
    });
  }

  #showPlaying() {
    const playing = this.#timer !== null;
    const name = t(playing ? 'pause' : 'play');
    this.button.replaceChildren(icon(playing ? PAUSE : PLAY));
    for (const attribute of ['aria-label', 'title']) setAttribute(this.button, attribute, name);
    setAttribute(this.host, 'data-playing', playing);
  }
}

/** One bar: its word, with a sign and a word for who listens where it is the right one, and its share. */
function bar() {
  const mark = h('span', {}, h('span', { 'aria-hidden': 'true' }, '✓ '), h('span.unseen', {}, t('right')));
  const name = h('span', { lang: 'zh' }, '');
  const fill = h('i.tr-fill');
  const number = h('span.tr-number');
  const item = h('li.tr-bar', {}, h('span.tr-name', {}, mark, name), h('span.tr-track', { 'aria-hidden': 'true' }, fill), number);
  return { item, mark, name, fill, number };
}
