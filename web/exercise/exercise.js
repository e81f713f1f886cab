/** An exercise that answers at once, also on a page without a kernel. */
import { h, keepKeys } from '../player/dom.js';
import { t } from '../player/text.js';
import { check, readExercise } from './check.js';

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
    this.feedback = h('div.feedback', { role: 'status' });
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
      payload.kind === 'choice' ? this.#choices() : this.#fields(),
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

  #choices() {
    this.inputs = this.payload.choices.map((_, i) => h('input', { type: 'radio', name: 'answer', value: i }));
    return h(
      'fieldset.choices',
      {},
      h('legend', {}, this.payload.question),
      ...this.payload.choices.map((choice, i) => h('label', {}, this.inputs[i], h('span', {}, choice))),
      this.#button(),
    );
  }

  #fields() {
    const { fields, question } = this.payload;
    this.inputs = fields.map(() => h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' }));
    return h(
      'fieldset.fields',
      {},
      h('legend', {}, question),
      ...fields.map((field, i) => h('label', {}, h('span', {}, field || t('answer')), this.inputs[i])),
      this.#button(),
    );
  }

  #button() {
    return h('button.check', { type: 'submit' }, t('check'));
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
    this.host.setAttribute('data-answered', verdict.right ? 'right' : 'wrong');
    return { right: verdict.right, message: verdict.message };
  }
}
