/** An exercise that answers at once, also on a page without a kernel. */
import { h, keepKeys, setAttribute } from '../player/dom.js';
import { t } from '../player/text.js';
import { Voice } from '../player/voice.js';
import { check, isReadable, readExercise } from './check.js';

const SIGNS = { right: '✓', known: '✗', other: '✗', unreadable: '!' };

export class Exercise {
  /**
   * @param {HTMLElement} host
   * @param {ShadowRoot|HTMLElement} root
   * @param {Object} payload  format "stepformer.exercise/1"
   */
  constructor(host, root, payload) {
    this.host = host;
    this.payload = payload;
    this.key = readExercise(payload);
    this.feedback = h('div.feedback', { id: 'feedback' });
    this.voice = new Voice();
    const form = h(
      'form',
      {
        novalidate: true,
        on: {
          submit: (event) => {
            event.preventDefault();
            this.#answer(this.#given());
          },
        },
      },
      this.#question(),
    );
    const hint = payload.hint
      ? h('details.hint-box', {}, h('summary', {}, t('hint')), h('p', {}, payload.hint))
      : null;
    this.element = h(
      'div.exercise',
      { role: 'group', 'aria-label': t('exercise'), on: { keydown: keepKeys } },
      form,
      this.feedback,
      hint,
      this.voice.element,
    );
    root.append(this.element);
  }

  /** Checks an answer as if the reader had given it: texts or numbers, or the place of a choice. */
  check(values) {
    const given = [values].flat();
    this.inputs.forEach((input, i) => {
      if (this.payload.kind === 'choice') input.checked = i === Number(given[0]);
      else input.value = String(given[i] ?? '');
    });
    return this.#answer(given);
  }

  destroy() {
    this.element.remove();
  }

  /** The question with one field, or one radio button, for each of its texts. */
  #question() {
    const { kind, question, choices, fields } = this.payload;
    const chosen = kind === 'choice';
    this.inputs = [];
    const labels = (choices ?? fields).map((text, value) => {
      const input = chosen
        ? h('input', { type: 'radio', name: 'answer', value })
        : h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'feedback' });
      this.inputs.push(input);
      const name = h('span', {}, text || t('answer'));
      return h('label', {}, ...(chosen ? [input, name] : [name, input]));
    });
    const button = h('button.check', { type: 'submit' }, t('check'));
    return h(chosen ? 'fieldset.choices' : 'fieldset.fields', {}, h('legend', {}, question), ...labels, button);
  }

  #given() {
    if (this.payload.kind === 'choice') return [this.inputs.find((input) => input.checked)?.value];
    return this.inputs.map((input) => input.value);
  }

  #answer(values) {
    const verdict = check(this.payload.kind, this.key, values);
    this.feedback.dataset.verdict = verdict.verdict;
    const sign = h('b', { 'aria-hidden': 'true' }, SIGNS[verdict.verdict]);
    this.feedback.replaceChildren(sign, h('p', {}, verdict.message));
    // The sign is not heard.
    this.voice.say(verdict.verdict === 'known' ? t('spoken_known', verdict) : verdict.message);
    if (this.payload.kind === 'number')
      this.inputs.forEach((input, i) => setAttribute(input, 'aria-invalid', !isReadable(values[i]) && 'true'));
    this.host.setAttribute('data-answered', verdict.right ? 'right' : 'wrong');
    return { right: verdict.right, message: verdict.message };
  }
}
