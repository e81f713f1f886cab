/** The choice of what is shown of a tensor with more axes than rows and columns, such as which head. */
import { h } from './dom.js';
import { roleOfAxis } from './roles.js';

/** Radio buttons of one name are one choice: a second picker in the same page needs other names. */
let made = 0;

/** One choice for each axis that is not shown as rows or columns, such as the heads. */
export class AxisPicker {
  constructor(choose) {
    this.choose = choose;
    this.number = made++;
    this.element = h('div.slices');
    this.key = '';
    this.pickers = [];
  }

  /** @param {{axis: string, labels: string[], chosen: number}[]} axes */
  show(axes) {
    const key = JSON.stringify(axes.map(({ axis, labels }) => [axis, labels]));
    if (key !== this.key) {
      this.key = key;
      this.pickers = axes.map((item) => (item.labels.length > 8 ? this.#select(item) : this.#radios(item)));
      this.element.replaceChildren(...this.pickers.map((picker) => picker.element));
    }
    axes.forEach(({ chosen }, i) => this.pickers[i].show(chosen));
  }

  /** The axis whose choice has the keyboard focus, or null. */
  get focused() {
    const focused = this.element.getRootNode().activeElement;
    return this.pickers.find(({ element }) => element.contains(focused))?.axis ?? null;
  }

  /**
   * Puts the focus on what is chosen of an axis; false where there is no choice of it.
   * @param {FocusOptions} [options]  as of Matrix.focus
   */
  focus(axis, options) {
    const picker = this.pickers.find((one) => one.axis === axis);
    picker?.element.querySelector('select, :checked').focus(options);
    return Boolean(picker);
  }

  #radios({ axis, labels }) {
    const name = `axis ${axis} ${this.number}`;
    const inputs = labels.map((label, i) =>
      h('input', { type: 'radio', name, on: { change: () => this.choose(axis, i) } }),
    );
    const element = h(
      'fieldset.slice',
      {},
      h('legend.axis', { 'data-role': roleOfAxis(axis) }, axis),
      ...labels.map((label, i) => h('label', {}, inputs[i], h('span.pick', {}, label))),
    );
    return {
      axis,
      element,
      show: (chosen) => {
        inputs[chosen].checked = true;
      },
    };
  }

  #select({ axis, labels }) {
    const select = h(
      'select',
      { on: { change: () => this.choose(axis, select.selectedIndex) } },
      ...labels.map((label) => h('option', {}, label)),
    );
    const element = h('label.slice', {}, h('span.axis', { 'data-role': roleOfAxis(axis) }, axis), select);
    return {
      axis,
      element,
      show: (chosen) => {
        select.selectedIndex = chosen;
      },
    };
  }
}
