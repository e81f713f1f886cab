/** Small parts that the views share. */
import { h } from '../player/dom.js';
import { format } from '../tensor.js';

const SVG = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A probability or a weight: two decimals, and what is too small for them but not zero is said to be small. */
export function share(x) {
  return x > 0 && x < 0.005 ? '< 0.01' : format(x);
}

/** The class of a cell's tone: ten strengths, none for almost nothing. */
export function strength(x) {
  const level = Math.round(x * 10);
  return level > 0 ? `.share.s${level}` : '';
}

/** One of a few, as in the player: radio buttons in a row. */
export class Choice {
  static #count = 0;

  constructor(legend, options, choose) {
    const name = `choice-${(Choice.#count += 1)}`;
    this.inputs = new Map();
    const labels = options.map(([value, text]) => {
      const input = h('input', { type: 'radio', name, value, on: { change: () => choose(value) } });
      this.inputs.set(value, input);
      return h('label', {}, input, h('span.pick', {}, text));
    });
    this.element = h('fieldset.slice', {}, h('legend.axis', {}, legend), ...labels);
  }

  set value(value) {
    for (const [key, input] of this.inputs) input.checked = key === value;
  }
}

/** A part with a heading. */
export function section(title, hint, ...children) {
  return h('div.tr-part', {}, h('h2.section', {}, title), hint ? h('p.hint', {}, hint) : null, ...children);
}

/** A part that is folded until the reader wants it. */
export function folded(title, hint, ...children) {
  return h(
    'details.tr-part',
    {},
    h('summary.tr-summary', {}, title),
    hint ? h('p.hint', {}, hint) : null,
    ...children,
  );
}

export const button = (text, click, options = {}) =>
  h('button.text', { type: 'button', ...options, on: { click } }, text);
