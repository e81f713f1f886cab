/**
 * The controls around the matrices: transport, list of steps, axis choice, break-it switches, legend and
 * help.
 */
import { h, icon, setAttribute, setText } from './dom.js';
import { lastPart, roleOf, roleOfAxis } from './roles.js';
import { KEYS, t } from './text.js';

const ICONS = {
  previous: 'M15 5l-7 7 7 7',
  next: 'M9 5l7 7-7 7',
  play: 'M8 5l11 7-11 7z',
  pause: 'M8 5v14M16 5v14',
};

function iconButton(name, label, click) {
  return h(
    `button.icon.${name}`,
    { type: 'button', 'aria-label': label, title: label, on: { click } },
    icon(ICONS[name]),
  );
}

export class Transport {
  constructor(player, title) {
    this.previous = iconButton('previous', t('previous'), () => player.previous());
    this.next = iconButton('next', t('next'), () => player.next());
    this.playing = iconButton('play', t('play'), () => (player.playing ? player.pause() : player.play()));
    this.position = h('span.position');
    this.reset = h(
      'button.text.reset',
      { type: 'button', title: t('reset_hint'), on: { click: () => player.reset() } },
      t('reset'),
    );
    this.element = h(
      'div.bar',
      {},
      h('div.title', {}, title || t('untitled')),
      h(
        'div.transport',
        { role: 'group', 'aria-label': t('transport') },
        this.reset,
        this.position,
        this.previous,
        this.playing,
        this.next,
      ),
    );
  }

  show({ step, steps, playing, touched }) {
    setText(this.position, t('position', { step: step + 1, steps }));
    // Greyed out, not disabled: a disabled button would lose the keyboard focus in the reader's hand.
    setAttribute(this.previous, 'aria-disabled', step === 0 ? 'true' : null);
    setAttribute(this.next, 'aria-disabled', step === steps - 1 ? 'true' : null);
    setAttribute(this.reset, 'hidden', !touched);
    const name = t(playing ? 'pause' : 'play');
    if (this.playing.title === name) return;
    this.playing.title = name;
    setAttribute(this.playing, 'aria-label', name);
    this.playing.replaceChildren(icon(ICONS[playing ? 'pause' : 'play']));
  }
}

/** The steps in order, grouped by scope; a group folds. */
export class StepList {
  constructor(player, steps, outputs) {
    this.items = [];
    this.scopes = [];
    const root = h('ol');
    const open = [{ path: [], list: root }];
    steps.forEach(({ op, scope, output }, i) => {
      const path = scope ? scope.split('.') : [];
      while (!isPrefix(open.at(-1).path, path)) open.pop();
      while (open.at(-1).path.length < path.length) open.push(this.#scope(open.at(-1), path));
      const name = lastPart(outputs[output]);
      const button = h(
        'button.step',
        { type: 'button', title: outputs[output], on: { click: () => player.goto(i) } },
        h('span.step-name', { 'data-role': roleOf(name) }, name),
        h('span.step-op', {}, op),
        h('span.unseen', {}),
      );
      this.items.push({ button, name, op, output, scopes: open.slice(1).map((item) => item.entry) });
      open.at(-1).list.append(h('li', {}, button));
    });
    this.list = root;
    this.drawer = h('button.drawer', {
      type: 'button',
      'aria-expanded': 'false',
      on: { click: () => this.#toggle() },
    });
    this.element = h('div.steps', { role: 'group', 'aria-label': t('step_list') }, this.drawer, root);
  }

  #scope(parent, path) {
    const inside = path.slice(0, parent.path.length + 1);
    const scope = inside.join('.');
    const list = h('ol');
    const entry = h(
      'details',
      { open: true },
      h('summary.scope', { title: t('fold', { scope }) }, inside.at(-1)),
      list,
    );
    parent.list.append(h('li', {}, entry));
    this.scopes.push(entry);
    return { path: inside, list, entry };
  }

  /** On a narrow page the list opens on demand. */
  #toggle(open = !this.element.classList.contains('open')) {
    this.element.classList.toggle('open', open);
    this.drawer.setAttribute('aria-expanded', String(open));
  }

  show({ step, steps, changed }) {
    const current = this.items[step];
    setText(this.drawer, t('step_item', current));
    if (this.current !== step) this.#toggle(false);
    this.current = step;
    for (const entry of this.scopes) entry.classList.toggle('holds-current', current.scopes.includes(entry));
    this.items.forEach(({ button, output }, i) => {
      setAttribute(button, 'aria-current', i === step ? 'step' : null);
      const touched = changed.has(output);
      setText(button.children[1], steps[i].op);
      setText(button.children[2], touched ? t('step_changed') : '');
      button.classList.toggle('changed', touched);
    });
    this.#scrollTo(current.button);
  }

  /**
   * Keeps the current step in sight within the list alone: the page itself never moves. Done when next drawn.
   */
  #scrollTo(button) {
    if (this.shownButton === button) return;
    this.shownButton = button;
    requestAnimationFrame(() => {
      const { list } = this;
      const above = button.getBoundingClientRect().top - list.getBoundingClientRect().top;
      if (above < 0 || above > list.clientHeight - 30) list.scrollTop += above - list.clientHeight / 2;
    });
  }
}

function isPrefix(short, long) {
  return short.every((part, i) => part === long[i]);
}

/** One choice for each axis that is not shown as rows or columns, such as the heads. */
export class AxisPicker {
  constructor(choose) {
    this.choose = choose;
    this.element = h('div.slices');
    this.key = '';
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

  #radios({ axis, labels }) {
    const name = `axis ${axis}`;
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
      element,
      show: (chosen) => {
        select.selectedIndex = chosen;
      },
    };
  }
}

/** Known mistakes as switches. */
export class BreakSwitches {
  constructor(player, breaks) {
    this.items = breaks.map((item) => {
      const input = h('input', {
        type: 'checkbox',
        role: 'switch',
        on: { change: () => player.break(item.name, input.checked) },
      });
      const told = h(
        'div.symptom',
        { hidden: true },
        h('p', {}, t('symptom', { symptom: item.symptom })),
        item.caughtBy ? h('p.test', {}, t('caught_by', { test: item.caughtBy })) : null,
      );
      return {
        name: item.name,
        input,
        told,
        element: h('li', {}, h('label', {}, input, h('span', {}, item.name)), told),
      };
    });
    this.element = h(
      'div.breaks',
      { role: 'group', 'aria-label': t('breaks'), hidden: breaks.length === 0 },
      h('p.section', {}, t('breaks')),
      h('p.hint', {}, t('breaks_hint')),
      h('ul', {}, ...this.items.map((item) => item.element)),
    );
  }

  show({ breaks }) {
    for (const { name, input, told } of this.items) {
      input.checked = breaks.includes(name);
      setAttribute(told, 'hidden', !input.checked);
    }
  }
}

export class Footer {
  constructor() {
    this.summary = h('summary', {}, t('help'));
    this.help = h(
      'details.help',
      {},
      this.summary,
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h('tr', {}, h('th', { scope: 'col' }, t('key_name')), h('th', { scope: 'col' }, t('key_action'))),
        ),
        h(
          'tbody',
          {},
          ...KEYS.map(([key, action]) => h('tr', {}, h('td', {}, h('kbd', {}, key)), h('td', {}, action))),
        ),
      ),
    );
    this.changed = h('span.mark', { title: t('legend_changed_hint') }, h('i.changed'), t('legend_changed'));
    this.element = h(
      'div.footer',
      {},
      h('span.mark', {}, h('i.lit'), t('legend_lit')),
      h('span.mark', {}, h('i.fed'), t('legend_fed')),
      this.changed,
      this.help,
    );
  }

  toggleHelp() {
    this.help.open = !this.help.open;
    if (this.help.open) this.summary.focus();
  }
}
