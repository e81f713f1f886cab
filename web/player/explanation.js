/** The panel that shows how one cell is computed, with the cells it is made of as buttons. */
import { reason, variableName } from '../explain_text.js';
import { evaluate } from '../explain.js';
import { COMMA } from '../language.js';
import { format, formatCell } from '../tensor.js';
import { h, setAttribute, setText } from './dom.js';
import { formatApart, formatChange } from './matrix.js';
import { t } from './text.js';
import { WalkBack } from './walk_back.js';

export const SHOWN_TERMS = 8;
const STRENGTH = { sum: 1, difference: 1, product: 2, quotient: 2 };
const SIGN = { sum: ' + ', difference: ' − ', product: ' · ', quotient: ' / ' };
const CALL = { exp: 'exp', log: 'log', max: 'max', tanh: 'tanh', erf: 'erf', sqrt: '√', square: '', sin: 'sin', cos: 'cos' };

/**
 * An expression as a row of pieces: `{text}`, `{variable}`, `{ref}` (a cell of an input) or `{more}` (terms
 * left out).
 * @param {import('../explain.js').Expr} expr
 * @param {{kinds: string[], limit: number}} options  the dtypes of the inputs; how many terms of a long sum
 *   to show
 */
export function pieces(expr, options, outer = 0, first = true) {
  const number = (text, extra) => [{ text: first || !text.startsWith('−') ? text : `(${text})`, ...extra }];
  switch (expr.kind) {
    case 'num':
      return number(
        expr.workedOut || !Number.isInteger(expr.value) ? plain(expr.value) : formatCell(expr.value, 'int'),
      );
    case 'ref':
      return number(formatCell(expr.value, options.kinds[expr.input]), { ref: expr });
    case 'var':
      return [{ variable: variableName(expr.name) }];
    case 'choice':
      return pieces(expr.args[0], options, outer, first);
    case 'call': {
      if (expr.fn === 'power') {
        const [base, exponent] = expr.args.map((arg) => pieces(arg, options, 0));
        return [...base, { text: '^(' }, ...exponent, { text: ')' }];
      }
      const inside = joined(expr.args, COMMA, options, 0);
      const after = expr.fn === 'square' ? ')²' : ')';
      return [{ text: `${CALL[expr.fn]}(` }, ...inside, { text: after }];
    }
  }
  const strength = STRENGTH[expr.kind];
  const inside = joined(expr.args, SIGN[expr.kind], options, strength);
  return outer > strength || (outer === strength && !first)
    ? [{ text: '(' }, ...inside, { text: ')' }]
    : inside;
}

function joined(args, sign, options, strength) {
  const left = args.length - options.limit;
  const shown = left > 1 ? [...args.slice(0, options.limit - 1), null, args.at(-1)] : args;
  return shown.flatMap((arg, i) => {
    const part = arg ? pieces(arg, options, strength, i === 0 || strength === 0) : [{ more: left }];
    return i === 0 ? part : [{ text: sign }, ...part];
  });
}

/** Two decimals; but a power of ten too small for them, such as an eps, in its own form. */
function plain(value) {
  const power = value.toExponential();
  return value > 0 && value < 0.005 && power.startsWith('1e') ? power.replace('-', '−') : format(value);
}

/** The same arithmetic with every part already worked out, or null where that says nothing new. */
function workedOut({ lets, result }) {
  if (!['sum', 'quotient', 'product', 'difference'].includes(result.kind)) return null;
  if (result.args.every((arg) => arg.kind === 'ref' || arg.kind === 'num')) return null;
  return {
    kind: result.kind,
    args: result.args.map((arg) => ({
      kind: 'num',
      workedOut: true,
      value: evaluate({ lets, result: arg }),
    })),
  };
}

/** Whether two decimals show every number of a piece of arithmetic exactly. */
function isExact(expr, value) {
  const exact = (x) =>
    !Number.isFinite(x) || Math.abs(x * 100 - Math.round(x * 100)) < 1e-9 * Math.max(1, Math.abs(x));
  const all = (node) => node.kind !== 'var' && exact(node.value ?? 0) && (node.args ?? []).every(all);
  return exact(value) && all(expr);
}

export class ExplanationPanel {
  /**
   * @param {{follow: Function, edit: Function, toggle: Function, slide: Function, light: Function,
   *   ask: Function, unfold: Function, walk: Function, back: Function, openWalk: Function}} actions
   */
  constructor(actions) {
    this.actions = actions;
    this.limit = SHOWN_TERMS;
    this.place = h('span.place');
    this.value = h('span.value');
    this.old = h('span.old');
    this.slider = h('input', {
      type: 'range',
      on: { input: () => actions.slide(Number(this.slider.value)) },
    });
    this.edit = h('button.text', { type: 'button', on: { click: () => this.#change() } });
    this.walk = new WalkBack(actions);
    this.ask = h('button.text', { type: 'button', title: t('ask_hint'), on: { click: () => actions.ask() } }, t('ask'));
    this.work = h('div.work', { tabindex: -1, on: { click: (event) => this.#click(event) } });
    for (const event of ['pointerover', 'focusin']) this.work.addEventListener(event, (e) => this.#light(e));
    for (const event of ['pointerleave', 'focusout'])
      this.work.addEventListener(event, () => actions.light(null));
    this.element = h(
      'div.panel',
      { role: 'group', 'aria-label': t('panel') },
      h(
        'div.cell-line',
        {},
        h('span.answer', {}, this.place, ' = ', this.value, ' ', this.old),
        h('span.tools', {}, this.slider, this.edit, this.walk.button, this.ask),
      ),
      this.work,
      this.walk.element,
    );
  }

  /**
   * @param {{key: string, name: string, role: string|null, labels: {text: string, role: string|null}[],
   *   spoken: string,
   *   value: number, dtype: string, words: string[]|null, old: number|null, note: string|null,
   *   explanation: import('../explain.js').Explanation|null, kinds: string[], roles: string[],
   *   block: import('./blocks.js').Block|null,
   *   refTitle: (ref: Object) => string}} cell
   *   `kinds`, `roles` and `refTitle` describe the inputs and cells that the arithmetic is made of
   */
  show(cell) {
    if (this.cell?.key !== cell.key) this.limit = SHOWN_TERMS;
    this.cell = cell;
    this.#heading();
    this.#tools();
    this.#arithmetic();
  }

  #heading() {
    const { name, role, labels, value, dtype, words, old } = this.cell;
    const show = (x, other) => {
      if (words) return words[x];
      return dtype === 'bool' ? t(x ? 'allowed' : 'masked') : formatApart(x, other, dtype);
    };
    const place = JSON.stringify([role, name, labels]);
    if (this.placed !== place) {
      this.placed = place;
      const parts = labels.flatMap(({ text, role: axisRole }, i) => [
        i ? ', ' : '',
        h('span', { 'data-role': axisRole }, text),
      ]);
      this.place.replaceChildren(h('b', { 'data-role': role }, name), ...(parts.length ? ['[', ...parts, ']'] : []));
    }
    setText(this.value, show(value, old ?? value));
    const by = old === null || dtype !== 'float' || words ? null : formatChange(value, old);
    setText(this.old, old === null ? '' : t(by ? 'was_by' : 'was', { old: show(old, value), by }));
  }

  #tools() {
    const { key, value, dtype, words, spoken } = this.cell;
    const slides = dtype === 'float' && Number.isFinite(value);
    setAttribute(this.slider, 'hidden', !slides);
    if (slides) {
      if (this.sliderKey !== key || Math.abs(value) > this.reach) {
        this.sliderKey = key;
        this.reach = Math.max(2, Math.ceil(Math.abs(value) * 2));
        setAttribute(this.slider, 'min', -this.reach);
        setAttribute(this.slider, 'max', this.reach);
        setAttribute(this.slider, 'step', this.reach / 20);
      }
      if (Number(this.slider.value) !== value) this.slider.value = value;
      setAttribute(this.slider, 'aria-label', t('slider', { place: spoken }));
      setAttribute(this.slider, 'aria-valuetext', format(value));
    }
    setText(this.edit, t(dtype === 'bool' && !words ? (value ? 'mask_it' : 'allow_it') : 'edit'));
    setAttribute(this.edit, 'title', dtype === 'bool' ? null : t('edit_hint'));
  }

  #arithmetic() {
    const { explanation, note, value, kinds, block } = this.cell;
    // A note alone stays as it is while the reader changes its cell.
    const alone = block || explanation ? null : note;
    if (alone !== null && alone === this.alone) return;
    this.alone = alone;
    const lines = [];
    if (note) lines.push(h('p.note', {}, note));
    if (block) {
      const unfold = { type: 'button', on: { click: () => this.actions.unfold() } };
      const said = t('inside', { count: block.last - block.first + 1 });
      lines.push(h('p.note', {}, said, ' ', h('button.text', unfold, t('unfold', { scope: block.name }))));
    } else if (explanation) {
      const { lets, result } = explanation;
      lets.forEach(({ name, expr }, i) => {
        const known = evaluate({ lets: lets.slice(0, i), result: expr });
        lines.push(this.#line([h('i', {}, variableName(name)), ' = '], expr, known));
      });
      if (result.kind === 'choice')
        lines.push(h('p.note', {}, reason(result.text, result.parameters)));
      const source = result.kind === 'choice' ? result.args[0] : result;
      if (source.kind === 'ref')
        lines.push(h('p.line', {}, '= ', this.#cellButton(source, this.cell.refTitle(source))));
      else if (source.kind !== 'num') {
        const numbers = workedOut(explanation);
        lines.push(this.#line(['= '], source, numbers ? null : value));
        if (numbers) lines.push(this.#line(['= '], numbers, value));
      }
    }
    this.work.replaceChildren(...lines);
  }

  /** One line of arithmetic, and its value where that is given. */
  #line(start, expr, value) {
    const parts = pieces(expr, { kinds: this.cell.kinds, limit: this.limit }).map((piece) =>
      this.#piece(piece),
    );
    const end = value === null ? [] : [isExact(expr, value) ? ' = ' : ' ≈ ', h('b', {}, format(value))];
    return h('p.line', {}, ...start, ...parts, ...end);
  }

  #piece({ text, variable, ref, more }) {
    if (variable) return h('i', {}, variable);
    if (more) {
      const title = t('more_terms_hint', { count: more + this.limit });
      return h('button.more', { type: 'button', title }, t('more_terms', { count: more }));
    }
    return ref ? this.#cellButton(ref, text) : document.createTextNode(text);
  }

  #cellButton(ref, text) {
    const title = this.cell.refTitle(ref);
    const button = h('button.ref', { type: 'button', 'data-role': this.cell.roles[ref.input], title }, text);
    button.ref = ref;
    return button;
  }

  #click(event) {
    const { ref } = event.target;
    if (ref) this.actions.follow(ref);
    else if (event.target.matches('.more')) {
      this.limit = Infinity;
      this.#arithmetic();
      this.work.focus({ preventScroll: true });
    }
  }

  #light(event) {
    this.actions.light(event.target.ref ?? null);
  }

  #change() {
    if (this.cell.dtype === 'bool') this.actions.toggle();
    else this.actions.edit();
  }
}
