/**
 * A map of word vectors that the reader asks: type words, or a sum of words, and see where they lie and what is
 * nearest. Everything is computed by the program in the payload; here it is only asked, sorted and drawn.
 */
import forms from '../forms.css';
import { COMMA, count } from '../language.js';
import { h, keepKeys, setAttribute, setText } from '../player/dom.js';
import { Voice } from '../player/voice.js';
import { needText, parseProgram } from '../program.js';
import { format, fromNested } from '../tensor.js';
import { asDifference, readExpression, twoSigns, writeExpression } from './expression.js';
import { placeLabels } from './labels.js';
import { suggestions } from './spelling.js';
import style from './style.css';
import { t } from './text.js';

export const FORMAT = 'stepformer.word_map/1';
const SVG = 'http://www.w3.org/2000/svg';
const NEAREST = 8;
const DRAWN_NEAREST = 3;
const SPOKEN_NEAREST = 3;
const MARGIN = 16;
/** Letters of an unknown word that a message repeats. */
const REPEATED = 60;

export class WordMap {
  #asked = [];
  #allow = false;
  /** The words that the reader asked for, newest first: they stay on the map. */
  #kept = [];
  #width = 0;
  nearest = [];

  /**
   * @param {HTMLElement} host
   * @param {ShadowRoot} root
   * @param {{format: string, program: Object, start: string, total: number}} payload  total: words of the whole table
   * @param {(name: string) => Promise<Object>} loadData
   */
  constructor(host, root, payload, loadData) {
    if (payload.format !== FORMAT) throw new Error(t('format', { format: String(payload.format) }));
    needText(payload.start, 'start');
    this.host = host;
    this.payload = payload;
    this.loadData = loadData;
    this.#take(parseProgram(payload.program));
    this.first = this.words;
    this.#build(root);
    this.observer = new ResizeObserver(() => this.#draw());
    this.observer.observe(this.figure);
    this.ask(payload.start);
    this.element.append(this.voice.element);
  }

  destroy() {
    this.observer.disconnect();
    this.element.remove();
  }

  // ---- what the page's own scripts and the tests may call ----

  /** Asks for a word or a sum of words. What is not known is said, and all that was there stays. */
  ask(text) {
    const terms = readExpression(text);
    if (!terms.length) return this.#say(t('empty'));
    const signs = twoSigns(text);
    if (signs) return this.#say(t('two_signs', { signs }));
    const unknown = [...new Set(terms.map(({ word }) => word))].filter((word) => !this.ids.has(word));
    if (unknown.length) return this.#unknown(text, unknown);
    if (cancelsOut(terms)) return this.#say(t('zero', { query: writeExpression(terms) }));
    this.#run(terms);
    this.#asked = terms;
    this.input.value = writeExpression(terms);
    const typed = terms.map(({ word }) => word);
    this.#kept = [...new Set([...typed, ...this.#kept])];
    this.#keepingFocus(() => {
      this.#write();
      this.#show();
    });
    this.#tell();
    return this.nearest;
  }

  /** May the words that were typed be answers themselves? */
  allow(on = true) {
    this.#allow = on;
    this.box.checked = on;
    this.#run(this.#asked);
    this.#keepingFocus(() => this.#show());
    this.#tell();
  }

  /** Loads the whole table, then asks again what could not be answered. */
  async load(pending = this.input.value) {
    if (this.words.length === this.payload.total) return;
    // A button that is disabled loses the focus, and with it the reader their place.
    if (this.loader.hasAttribute('aria-disabled')) return;
    setAttribute(this.loader, 'aria-disabled', 'true');
    setText(this.loader, t('loading'));
    this.voice.say(t('loading'));
    try {
      this.#take(parseProgram(withTable(this.payload.program, await this.loadData('vectors'))));
      this.#run(this.#asked);
      this.#keepingFocus(() => {
        this.loader.hidden = true;
        this.#show();
      });
      if (pending.trim()) this.ask(pending);
      else this.#tell();
    } catch (error) {
      this.#say(t('load_failed', { reason: error.message }));
    }
    setAttribute(this.loader, 'aria-disabled', null);
    setText(this.loader, t('load', { count: count(this.payload.total) }));
  }

  /** Takes the reader's words off the map. */
  clear() {
    this.#kept = [];
    this.ask(this.payload.start);
    this.input.focus();
  }

  /** The value of a tensor of the program, as nested lists. */
  values(name) {
    const { shape, data } = this.run.values[this.program.find(name)];
    return Array.from({ length: shape[0] }, (_, i) => [...data.slice(i * shape[1], (i + 1) * shape[1])]);
  }

  // ---- computing ----

  #take(program) {
    this.program = program;
    const tokens = program.tensors[program.find('words')];
    this.words = tokens.vocabulary;
    this.ids = new Map(this.words.map((word, i) => [word, i]));
    this.run = program.run();
    this.host.setAttribute('data-words', this.words.length);
  }

  #run(terms) {
    if (!terms.length) return; // nothing was asked yet that could be answered
    const { program } = this;
    const ids = terms.map(({ word }) => this.ids.get(word));
    const allowed = this.words.map((_, i) => this.#allow || !ids.includes(i));
    const overrides = new Map([
      [program.find('words'), fromNested(ids, 'int')],
      [program.find('signs'), fromNested([terms.map(({ sign }) => sign)])],
      [program.find('allowed'), fromNested([allowed], 'bool')],
    ]);
    this.run = program.run({ overrides });
    const cosines = this.#data('candidates');
    this.nearest = this.words
      .map((word, i) => [word, cosines[i]])
      .filter(([, cosine]) => cosine > -Infinity)
      .sort(([, a], [, b]) => b - a)
      .slice(0, NEAREST);
  }

  #data(name) {
    return this.run.values[this.program.find(name)].data;
  }

  // ---- showing ----

  #build(root) {
    this.input = h('input.wm-text', {
      type: 'text',
      autocomplete: 'off',
      autocapitalize: 'none',
      spellcheck: 'false',
      'aria-describedby': 'notice',
    });
    this.box = h('input', { type: 'checkbox', on: { change: () => this.allow(this.box.checked) } });
    this.notice = h('div.notice', { id: 'notice' });
    this.voice = new Voice();
    this.loader = h('button.text', { type: 'button', on: { click: () => this.load() } });
    setText(this.loader, t('load', { count: count(this.payload.total) }));
    const clear = h('button.text', { type: 'button', on: { click: () => this.clear() } }, t('clear'));
    this.svg = document.createElementNS(SVG, 'svg');
    this.svg.setAttribute('role', 'img');
    this.figure = h('div.wm-figure', {}, this.svg);
    this.heading = h('p.section', {});
    this.list = h('ol.wm-list', {});
    this.table = h('tbody', {});
    const head = h('tr', {}, ...['word', 'right', 'up'].map((key) => h('th', { scope: 'col' }, t(key))));
    const form = h(
      'form.wm-form',
      {
        on: {
          submit: (event) => {
            event.preventDefault();
            this.ask(this.input.value);
          },
        },
      },
      h('label.wm-label', {}, t('ask'), this.input),
      h('button.check', { type: 'submit' }, t('show')),
      h('label.wm-allow', {}, this.box, t('allow')),
    );
    this.element = h(
      'div.exercise.word-map',
      { role: 'group', 'aria-label': t('title'), on: { keydown: keepKeys } },
      h('style', {}, forms + style),
      form,
      this.notice,
      h('div.wm-main', {}, this.figure, h('div.wm-near', {}, this.heading, this.list)),
      h('div.wm-tools', {}, this.loader, clear),
      h(
        'details',
        {},
        h('summary', {}, t('table')),
        h('div.wm-scroll', { tabindex: '0', role: 'region', 'aria-label': t('table') }, h('table', {}, h('thead', {}, head), this.table)),
      ),
    );
    root.append(this.element);
  }

  /** Writes a message, or none, above the map. */
  #write(...parts) {
    this.notice.replaceChildren(...parts);
    setAttribute(this.input, 'aria-invalid', parts.length > 0 && 'true');
  }

  /** Says what is wrong. Nothing else changes. */
  #say(text, ...parts) {
    this.#keepingFocus(() => this.#write(...(parts.length ? parts : [text])));
    this.voice.say(text);
    return null;
  }

  /** Tells who does not see the list what begins it. */
  #tell() {
    const nearest = this.nearest.slice(0, SPOKEN_NEAREST).map(([word, cosine]) => t('spoken_near', { word, cosine: format(cosine) }));
    this.voice.say(t('spoken', { query: writeExpression(this.#asked), words: nearest.join(COMMA) }));
  }

  /** Does something that may take away the button with the focus; the same word in the same place has it then, or the first. */
  #keepingFocus(act) {
    const root = this.element.getRootNode();
    const at = root.activeElement;
    const place = at?.closest('tbody') ?? this.list;
    act();
    if (!at || at.checkVisibility()) return;
    const buttons = [...place.querySelectorAll('button')];
    (buttons.find((one) => one.textContent === at.textContent) ?? buttons[0] ?? this.input).focus();
  }

  /** Says which words are unknown, what was meant instead, and that there are more. Nothing else changes. */
  #unknown(text, unknown) {
    this.input.value = text;
    const terms = readExpression(text);
    const mended = (word, mend) => writeExpression(terms.flatMap((term) => (term.word === word ? mend(term) : term)));
    const said = [];
    const parts = unknown.map((word) => {
      const long = word.length > REPEATED;
      const words = { word: long ? `${word.slice(0, REPEATED)}…` : word, count: count(this.words.length) };
      const found = suggestions(word, this.words);
      const difference = long ? null : asDifference({ word, sign: 1 });
      said.push(t('unknown', words), found.length ? t('spoken_spelt', { words: found.join(COMMA) }) : '');
      const near = found.map((other) => this.#button(other, mended(word, (term) => ({ ...term, word: other }))));
      const line = [t('unknown', words), ...(near.length ? [t('near'), ...near] : [])];
      if (difference) {
        const sum = writeExpression(difference);
        said.push(t('spoken_spaces', { sum }));
        line.push(t('spaces'), this.#button(sum, mended(word, asDifference)));
      }
      return h('p', {}, ...line);
    });
    if (!this.loader.hidden) {
      const load = { type: 'button', on: { click: () => this.load(text) } };
      parts.push(h('button.text', load, t('load', { count: count(this.payload.total) })));
    }
    return this.#say(said.join('').trim(), h('div', {}, ...parts));
  }

  #button(word, text = word) {
    return h('button.text', { type: 'button', on: { click: () => this.ask(text) } }, word);
  }

  #show() {
    const query = writeExpression(this.#asked);
    this.host.setAttribute('data-query', query);
    setText(this.heading, t('nearest', { query }));
    this.list.replaceChildren(
      ...this.nearest.map(([word, cosine]) => h('li', {}, this.#button(word), h('span', {}, format(cosine)))),
    );
    this.#width = 0;
    this.#draw();
    this.host.dispatchEvent(
      new CustomEvent('stepformer:change', { bubbles: true, composed: true, detail: { query } }),
    );
  }

  /** The points of the map, the most important first: the sum, what was asked, its neighbours, the others. */
  #points() {
    const coordinates = this.#data('coordinates');
    const point = (word, kind) => {
      const i = this.ids.get(word);
      return { word, kind, at: [coordinates[2 * i], coordinates[2 * i + 1]] };
    };
    const kinds = new Map(this.nearest.slice(0, DRAWN_NEAREST).map(([word]) => [word, 'near']));
    for (const word of this.first) if (!kinds.has(word)) kinds.set(word, 'first');
    for (const word of this.#kept) kinds.set(word, 'kept');
    for (const { word } of this.#asked) kinds.set(word, 'asked');
    const order = ['asked', 'near', 'kept', 'first'];
    const points = [...kinds]
      .map(([word, kind]) => point(word, kind))
      .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
    if (this.#asked.length < 2) return points;
    const sum = { word: t('sum'), kind: 'sum', at: [...this.#data('query.place')] };
    return [sum, ...points];
  }

  #draw() {
    const width = Math.floor(this.figure.clientWidth);
    if (!width || width === this.#width) return;
    this.#width = width;
    const height = Math.round(Math.min(460, Math.max(300, width * 0.75)));
    const points = this.#points();
    const [x, y] = [0, 1].map((k) => scale(points.map(({ at }) => at[k]), k ? height : width, k === 1));
    for (const one of points) Object.assign(one, { x: x(one.at[0]), y: y(one.at[1]) });
    const main = points.filter(({ kind }) => kind !== 'first').length;
    const places = placeLabels(points, main, width, height);
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.svg.setAttribute('height', height);
    this.svg.setAttribute('aria-label', this.#description(points));
    // The important ones are drawn last, on top.
    const marks = points.map((one, i) => this.#mark(one, places[i])).reverse();
    this.svg.replaceChildren(...this.#arrows(points), ...marks);
    this.table.replaceChildren(
      ...points.map(({ word, kind, at }) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, kind === 'sum' ? word : this.#button(word)),
          ...at.map((value) => h('td', {}, format(value))),
        ),
      ),
    );
  }

  #mark({ x, y, word, kind }, place) {
    const group = svg('g', { class: `wm-point wm-${kind}` }, svg('title', {}, word));
    group.append(svg('circle', { cx: x, cy: y, r: 12, class: 'wm-reach' }), svg('circle', { cx: x, cy: y, r: kind === 'first' ? 3 : 4.5, class: 'wm-dot' }));
    if (place) group.append(svg('text', { x: place.x, y: place.y, 'text-anchor': place.anchor }, word));
    // With the keyboard, the buttons of the list and of the table do the same.
    if (kind !== 'sum') group.addEventListener('click', () => this.ask(word));
    return group;
  }

  /** For a − b + c: from b to a, and the same way from c to the sum. */
  #arrows(points) {
    if (this.#asked.map(({ sign }) => sign).join() !== '1,-1,1') return [];
    const find = (name) => points.find(({ word }) => word === name);
    const [a, b, c] = this.#asked.map(({ word }) => find(word));
    return [
      [b, a],
      [c, points[0]],
    ].map(([from, to]) => svg('line', { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: 'wm-arrow' }));
  }

  #description(points) {
    const [[word]] = this.nearest.length ? this.nearest : [['']];
    return t('description', { count: points.length, query: writeExpression(this.#asked), word });
  }
}

/** Is every word taken away as often as it is added? Then nothing is left that could point anywhere. */
function cancelsOut(terms) {
  const count = new Map();
  for (const { word, sign } of terms) count.set(word, (count.get(word) ?? 0) + sign);
  return [...count.values()].every((times) => times === 0);
}

/** The program with the whole table in the place of the first words. */
function withTable(program, { words, shape, data }) {
  const vocabulary = words.split(' ');
  const changes = {
    words: { shape: [1], data: [0], vocabulary },
    signs: { shape: [1, 1], data: [1] },
    table: { shape, data },
    allowed: { shape: [1, vocabulary.length], data: vocabulary.map(() => true) },
  };
  const tensors = program.tensors.map((one) => ({ ...one, ...changes[one.name] }));
  return { ...program, labels: {}, tensors };
}

/** Spreads numbers over so many pixels; upside down for the vertical axis, which counts from the top. */
function scale(values, pixels, upsideDown) {
  const low = Math.min(...values);
  const range = Math.max(...values) - low || 1;
  return (value) => {
    const share = (value - low) / range;
    return MARGIN + (upsideDown ? 1 - share : share) * (pixels - 2 * MARGIN);
  };
}

function svg(tag, attributes, text = '') {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(text);
  return element;
}
