/**
 * A page that translates: the reader types a sentence, the model is loaded on the first click, and every run of it is the
 * recorded program, run by the same engine as the player's.
 */
import forms from '../forms.css';
import { h, keepKeys, setAttribute, setText } from '../player/dom.js';
import { Voice } from '../player/voice.js';
import { needList, needObject, needText } from '../program.js';
import { format } from '../tensor.js';
import { AblationView } from './ablation_view.js';
import { AttentionView } from './attention_view.js';
import { CompareView } from './compare_view.js';
import { Entry, MOST_CHARACTERS } from './entry.js';
import { Model } from './model.js';
import { NextWordView } from './next_word_view.js';
import { button, Choice } from './parts.js';
import { ALPHA, BEAM_SIZE, beam, greedy, lengthPenalty, wordsOf } from './search.js';
import style from './style.css';
import { t } from './text.js';
import { BOS, EOS } from './tokenizer.js';
import { TreeView } from './tree_view.js';

export const FORMAT = 'stepformer.translator/1';
const MOST_BEAMS = 8;
const MOST_ALPHA = 5;

/** Lets the page draw and answer; a timer would wait for some milliseconds each time. */
function pause() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** A probability from its logarithm: three decimals, and what is too small for them is not said to be zero. */
function likely(log) {
  const probability = Math.exp(log);
  return probability < 0.0005 ? '< 0.001' : format(probability, 3);
}

/** Thrown inside of a translation that a newer one has taken the place of. */
class Superseded extends Error {}

export class Translator {
  /** @type {Model|null} */ model = null;
  /** What is on show: text, source, target, hypotheses … */
  result = null;
  #turn = 0;
  #settings = { search: 'greedy', size: BEAM_SIZE, alpha: ALPHA };

  /**
   * @param {HTMLElement} host  carries data-model when the model is there, and data-busy while it works
   * @param {ShadowRoot} root
   * @param {Object} payload  `stepformer.translator/1`
   * @param {(name: string) => Promise<Object>} loadData
   */
  constructor(host, root, payload, loadData) {
    if (payload.format !== FORMAT) throw new Error(t('wrong_format', { format: String(payload.format) }));
    needText(payload.data, 'data');
    for (const name of ['examples', 'follow']) needList(payload[name], name);
    needObject(payload.tokenizer, 'tokenizer');
    Object.assign(this, { host, payload, loadData });
    this.#build(root);
  }

  destroy() {
    this.#turn += 1;
    this.element.remove();
  }

  // ---- what the page's own scripts and the tests may call ----

  /** Loads the model once; every later call gets the same one. */
  async load() {
    if (this.model) return this.model;
    this.#say(t('loading'));
    this.voice.say(t('loading'));
    const data = await this.loadData(this.payload.data).catch(({ message }) => {
      throw new Error(t('load_failed', { reason: message }));
    });
    if (!this.model) {
      this.model = new Model(data);
      this.host.setAttribute('data-model', '');
      this.entry.size.hidden = true;
      this.#buildViews();
    }
    this.#say('');
    return this.model;
  }

  /** Translates a sentence; null where that cannot be done, and then a notice says why. */
  translate(text = this.entry.input.value) {
    return this.#guard(async (stop) => {
      const problem = this.#problem(text);
      if (problem) throw new Error(problem);
      const model = await this.load();
      stop();
      const words = model.src.tokens(text);
      const source = model.source(text);
      this.unknown = this.entry.told;
      const example = this.payload.examples.find((one) => one.source === text.trim());
      await this.#search({ text, words, source, prefix: [BOS] }, stop);
      this.compare.show({ ...this.#own(), reference: example?.target ?? '' });
    });
  }

  /** Puts a word at the chosen position, and lets the model go on from there. */
  write(word) {
    const { text, words, source, target } = this.result;
    const prefix = [...target.slice(0, this.position + 1), word];
    return this.#guard((stop) => this.#search({ text, words, source, prefix: word === EOS ? prefix.slice(0, -1) : prefix, end: word === EOS }, stop));
  }

  /** Searches again, from the first word that the reader has not set. */
  again(changes = {}) {
    Object.assign(this.#settings, changes);
    this.#showSettings();
    if (!this.result) return Promise.resolve(null);
    return this.#guard((stop) => this.#search(this.result, stop));
  }

  /** Switches breaks on, by name, and all others off. */
  without(names) {
    for (const [name, input] of this.ablation.boxes) input.checked = !names.includes(name);
    return this.again();
  }

  /** Shows what the model thinks at a position: row i predicts word i. */
  choose(position) {
    const { view, target, words } = this.result;
    this.position = Math.max(0, Math.min(view.probabilities.length - 1, position));
    this.#closePlayer();
    const written = this.#written();
    this.#showTranslation();
    this.attention.show({
      source: [...words, t('end')],
      target: written.map((id) => this.#name(id)),
      attention: view.attention,
      position: this.position,
    });
    this.nextWord.show({
      row: view.probabilities[this.position],
      words: this.model.tgt.vocabulary,
      prefix: this.#prefixText(),
      position: this.position,
      chosen: written[this.position],
    });
    setText(this.openHint, t('open_hint', { number: this.position + 1, prefix: this.#prefixText() }));
    this.host.setAttribute('data-position', this.position);
    return target;
  }

  /** Shows a beginning that the beam weighed, a node of `result.found.steps`, as if the model had written it. */
  look(node) {
    const { source, prefix, without, found } = this.result;
    if (found !== this.tree.found) return; // a newer search has begun
    const written = wordsOf(node);
    const ids = node.finished ? written.slice(0, -1) : written;
    const target = [...prefix, ...ids];
    const view = this.model.view(source, target, without);
    if (!node.finished) view.probabilities.pop();
    const normalised = node.score / lengthPenalty(written.length, this.#settings.alpha);
    const hypothesis = found.hypotheses.some((one) => wordsOf(one.node).join() === written.join());
    const best = { ids, score: node.score, normalised, finished: node.finished };
    Object.assign(this.result, { target, view, best, beginning: !hypothesis });
    this.tree.mark(node);
    this.#chooseAndTell(view.probabilities.length - 1);
    this.compare.show({ ...this.#own(), reference: null });
  }

  /** Opens the program in the player, as it predicts the chosen word. */
  open() {
    const { source, target, text } = this.result;
    const prefix = target.slice(0, this.position + 1);
    const title = t('player_title', { source: text.trim(), prefix: this.model.tgt.decode(prefix) });
    const payload = this.model.payload(source, prefix, this.ablation.without, title);
    this.#closePlayer();
    const player = h('stepformer-player', {}, h('script', { type: 'application/json' }, JSON.stringify(payload)));
    this.playerBox.append(player);
    for (const { name } of this.model.switchedOn(payload, this.ablation.without)) player.player?.break(name, true);
    const written = this.#written()[this.position];
    player.player?.look([this.position, written]);
    setText(this.openButton, t('close'));
    setAttribute(this.openButton, 'aria-expanded', 'true');
    return player;
  }

  // ---- the work ----

  /**
   * Does something that takes a while. An error becomes a notice, and what was on show stays. `stop` throws where a newer
   * call has begun meanwhile.
   */
  async #guard(work) {
    this.#turn += 1;
    const turn = this.#turn;
    const stop = () => {
      if (turn !== this.#turn) throw new Superseded();
    };
    this.host.setAttribute('data-busy', '');
    try {
      this.#complain('');
      await work(stop);
      return this.result && this.model.tgt.decode(this.result.target);
    } catch (error) {
      if (error instanceof Superseded) return null;
      this.#say('');
      this.#complain(error.name === 'Error' ? error.message : t('failed', { reason: error.message }));
      return null;
    } finally {
      if (turn === this.#turn) this.host.removeAttribute('data-busy');
    }
  }

  /** What is wrong with a text, or null. */
  #problem(text) {
    const count = text.length;
    if (count > MOST_CHARACTERS) return t('too_many_characters', { count, most: MOST_CHARACTERS });
    const words = this.entry.tokenizer.encode(text).length;
    if (!words) return t('empty');
    const most = this.payload.most_words;
    return words > most ? t('too_many_words', { count: words, most }) : null;
  }

  async #search({ text, words, source, prefix, end = false }, stop) {
    const { model } = this;
    const { search, size, alpha } = this.#settings;
    const without = this.ablation.without;
    const find = { greedy, beam }[search];
    const next = (ids) => model.next(source, ids, without);
    const maxLen = model.limit(source, prefix);
    // Between two words the page may draw, and the reader may do something else.
    const written = async (ids) => {
      this.#showWords(text, [...prefix.slice(1), ...ids]);
      await pause();
      stop();
    };
    const found = end
      ? { hypotheses: [{ ids: [], finished: true }] }
      : await find(next, { maxLen, prefix, alpha, size, written });
    const [best] = found.hypotheses;
    const target = [...prefix, ...best.ids];
    const view = model.view(source, target, without);
    if (!best.finished) view.probabilities.pop();
    this.result = { text, words, source, prefix, end, target, best, found, view, without };
    await this.#compareWithWhole(stop);
    setAttribute(this.results, 'hidden', false);
    this.tree.show(found.steps ? found : null);
    this.#keepingFocus(() => this.choose(Math.min(prefix.length - 1, view.probabilities.length - 1)));
    this.compare.show({ ...this.#own(), reference: null });
    this.#tell();
  }

  /** Says what was found, after the words that the model cannot read. */
  #tell() {
    const { best, whole } = this.result;
    const text = this.#text();
    const key = whole === text ? 'ablate_same' : !best.finished ? 'spoken_cut' : whole === null ? 'spoken' : 'spoken_without';
    this.voice.say([this.unknown, t(key, { text, whole })].join(' ').trim());
    this.unknown = '';
  }

  /** Does something that may take away the button with the focus; the one for the word of the same place has it then. */
  #keepingFocus(act) {
    const root = this.element.getRootNode();
    const at = root.activeElement;
    const place = at?.closest('.tr-bars, details');
    act();
    if (!at || at.checkVisibility()) return;
    (place?.querySelector('[aria-pressed=true], summary') ?? this.words.children[this.position]).focus();
  }

  /** What the parts that are away have changed. */
  async #compareWithWhole(stop) {
    const { source, prefix, end, without } = this.result;
    let whole = null;
    if (without.length && !end) {
      const { search, size, alpha } = this.#settings;
      const next = (ids) => this.model.next(source, ids);
      const maxLen = this.model.limit(source, prefix);
      const found = await { greedy, beam }[search](next, { maxLen, prefix, alpha, size });
      stop();
      whole = this.model.tgt.decode([...prefix, ...found.hypotheses[0].ids]);
    }
    this.result.whole = whole;
    this.ablation.show(whole === null ? '' : t(whole === this.#text() ? 'ablate_same' : 'ablate_whole', { text: whole }));
  }

  #own() {
    return { target: this.result.target, rows: this.result.view.probabilities };
  }

  // ---- showing ----

  #build(root) {
    this.entry = new Entry(this.payload, { submit: (text) => this.translate(text) });
    this.notice = h('div.notice', { role: 'alert', id: 'notice' });
    this.progress = h('p.hint');
    this.voice = new Voice();
    this.results = h('div.tr-results', { hidden: true });
    this.element = h(
      'div.exercise.tr',
      { role: 'group', 'aria-label': t('title'), on: { keydown: keepKeys } },
      h('style', {}, forms + style),
      this.entry.element,
      this.notice,
      this.progress,
      this.results,
      this.voice.element,
    );
    root.append(this.element);
  }

  #buildViews() {
    const { model } = this;
    this.words = h('p.tr-out', { lang: 'zh', role: 'group', 'aria-label': t('translation') });
    this.asked = h('p.hint', { lang: 'en' });
    this.told = h('p.hint');
    this.free = button(t('free'), () => this.translate(this.result.text));
    this.kinds = new Choice(t('search'), ['greedy', 'beam'].map((kind) => [kind, t(kind)]), (search) => this.again({ search }));
    const number = (options, change) =>
      h('input.tr-field', { type: 'text', inputmode: 'decimal', autocomplete: 'off', ...options, on: { change } });
    this.size = number({}, () => this.#setNumber('size', this.size, 'bad_beam'));
    this.alpha = number({}, () => this.#setNumber('alpha', this.alpha, 'bad_alpha'));
    this.beamSettings = h(
      'span.tr-beam',
      {},
      h('label', {}, t('beam_size'), this.size),
      h('label', {}, t('alpha'), this.alpha),
    );
    this.attention = new AttentionView(
      { nLayers: model.crossAttentions.length, nHeads: model.nHeads },
      { choose: (i) => this.#chooseAndTell(i), say: (text) => this.voice.say(text) },
    );
    this.nextWord = new NextWordView((word) => this.write(word));
    this.tree = new TreeView({
      text: (ids) => model.tgt.decode([...this.result.prefix, ...ids]),
      word: (id) => model.tgt.vocabulary[id],
      look: (node) => this.look(node),
    });
    this.compare = new CompareView({
      model,
      compute: (target) => model.view(this.result.source, target, this.ablation.without).probabilities,
      say: (text) => this.voice.later(text),
    });
    this.ablation = new AblationView(model, () => this.again());
    this.openHint = h('p.hint');
    this.openButton = button(t('open'), () => (this.playerBox.firstChild ? this.#closePlayer() : this.open()), {
      'aria-expanded': 'false',
    });
    this.playerBox = h('div');
    this.results.append(
      h('div.tr-part', {}, h('h2.section', {}, t('translation')), this.asked, this.words, this.told, this.free),
      h('div.slices', {}, this.kinds.element, this.beamSettings),
      this.nextWord.element,
      this.attention.element,
      this.tree.element,
      this.compare.element,
      this.ablation.element,
      h('div.tr-part', {}, this.openHint, this.openButton, this.playerBox),
    );
    this.#showSettings();
  }

  #showSettings() {
    if (!this.model) return;
    const { search, size, alpha } = this.#settings;
    this.kinds.value = search;
    setAttribute(this.beamSettings, 'hidden', search !== 'beam');
    this.size.value = String(size);
    this.alpha.value = String(alpha);
  }

  #setNumber(name, input, message) {
    const value = Number(input.value.replace(',', '.'));
    const whole = name === 'size';
    const fits = whole ? Number.isInteger(value) && value >= 1 && value <= MOST_BEAMS : value >= 0 && value <= MOST_ALPHA;
    if (!input.value.trim() || !fits) {
      this.#showSettings();
      this.#complain(t(message, { most: MOST_BEAMS }));
    } else this.again({ [name]: value });
  }

  /** The words while they are written. */
  #showWords(text, ids) {
    this.results.hidden = false;
    setText(this.asked, text.trim());
    const words = this.model.tgt.words(ids);
    this.words.replaceChildren(...words.map((word) => h('span.tr-token', {}, word)));
  }

  /** The written words, each of them a button that chooses its position. */
  #showTranslation() {
    const { text, prefix, target, best, beginning } = this.result;
    const set = prefix.length - 1;
    setText(this.asked, text.trim());
    this.words.replaceChildren(
      ...this.#written().map((id, i) => {
        const name = this.#name(id);
        const label = id === EOS ? t('chosen_end', { number: i + 1 }) : t('chosen_word', { number: i + 1, word: name });
        const kind = `${i < set ? '.tr-set' : ''}${id === EOS ? '.tr-end' : ''}`;
        const options = { type: 'button', 'aria-label': label, 'aria-pressed': String(i === this.position) };
        return h(`button.tr-token${kind}`, { ...options, on: { click: () => this.#chooseAndFocus(i) } }, name);
      }),
    );
    const { score, normalised, finished } = best;
    const told = [];
    if (set) told.push(t('forced', { count: set }));
    if (beginning) told.push(t('beginning'));
    else if (!finished) told.push(t('cut', { count: target.length - 1 }));
    if (score !== undefined && !set)
      told.push(t(beginning ? 'beginning_scored' : 'scored', { probability: likely(score), score: format(score), normalised: format(normalised) }));
    setText(this.told, told.join(' '));
    setAttribute(this.free, 'hidden', !set);
  }

  #chooseAndFocus(i) {
    this.#chooseAndTell(i);
    this.words.children[this.position].focus();
  }

  #chooseAndTell(i) {
    this.choose(i);
    this.voice.say(t('spoken_place', { expected: this.nextWord.told, looks: this.attention.told }));
  }

  /** The words that the rows predict: the written ones, and the end if it was written. */
  #written() {
    const { target, best } = this.result;
    return [...target.slice(1), ...(best.finished ? [EOS] : [])];
  }

  #name(id) {
    return id === EOS ? t('end') : this.model.tgt.vocabulary[id];
  }

  #prefixText() {
    const text = this.model.tgt.decode(this.result.target.slice(0, this.position + 1));
    return text || t('prefix_empty');
  }

  #text() {
    return this.model.tgt.decode(this.result.target) || t('nothing');
  }

  #closePlayer() {
    this.playerBox.replaceChildren();
    setText(this.openButton, t('open'));
    setAttribute(this.openButton, 'aria-expanded', 'false');
  }

  #say(text) {
    this.progress.replaceChildren(text);
  }

  #complain(text) {
    this.notice.replaceChildren(...(text ? [h('p', {}, text)] : []));
  }
}

