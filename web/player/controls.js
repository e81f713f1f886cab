/** The controls around the matrices: transport, list of steps, break-it switches, legend and help. */
import { breakable, h, icon, setAttribute, setText } from './dom.js';
import { lastPart, roleOf } from './roles.js';
import { t } from './text.js';

const ICONS = {
  previous: 'M15 5l-7 7 7 7',
  next: 'M9 5l7 7-7 7',
  play: 'M8 5l11 7-11 7z',
  pause: 'M8 5v14M16 5v14',
  undo: 'M9 14L4 9l5-5M4 9h10a5.5 5.5 0 0 1 0 11h-3',
  redo: 'M15 14l5-5-5-5M20 9H10a5.5 5.5 0 0 0 0 11h3',
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
    this.undo = iconButton('undo', t('undo'), () => player.undo());
    this.redo = iconButton('redo', t('redo'), () => player.redo());
    const compare = { type: 'button', title: t('compare_hint'), on: { click: () => player.compare(!player.comparing) } };
    this.compare = h('button.text.reset', compare, t('compare'));
    this.changes = h('span.own', { hidden: true }, this.compare, this.reset, this.undo, this.redo);
    this.element = h(
      'div.bar',
      {},
      h('div.title', {}, title || t('untitled')),
      h(
        'div.transport',
        { role: 'group', 'aria-label': t('transport') },
        this.changes,
        this.position,
        this.previous,
        this.playing,
        this.next,
      ),
    );
  }

  show({ first, step, steps, playing, touched, comparing, past, future }) {
    const position = first === step ? 'position' : 'position_block';
    setText(this.position, t(position, { first: first + 1, step: step + 1, steps }));
    // Greyed out, not disabled: a disabled button would lose the keyboard focus in the reader's hand.
    setAttribute(this.previous, 'aria-disabled', first === 0 ? 'true' : null);
    setAttribute(this.next, 'aria-disabled', step === steps - 1 ? 'true' : null);
    for (const button of [this.reset, this.compare]) setAttribute(button, 'hidden', !touched);
    setAttribute(this.compare, 'aria-pressed', String(comparing));
    setAttribute(this.changes, 'hidden', !touched && past + future === 0);
    setAttribute(this.undo, 'aria-disabled', past === 0 ? 'true' : null);
    setAttribute(this.redo, 'aria-disabled', future === 0 ? 'true' : null);
    const name = t(playing ? 'pause' : 'play');
    if (this.playing.title === name) return;
    this.playing.title = name;
    setAttribute(this.playing, 'aria-label', name);
    this.playing.replaceChildren(icon(ICONS[playing ? 'pause' : 'play']));
  }
}

/**
 * The steps in order, inside the blocks they belong to; a block folds. One entry can be reached with Tab, the one on
 * show; the arrow keys go on from there.
 *
 * @typedef {{button: HTMLElement, parent?: Entry, says: {name: string, op: string},
 *   kind?: HTMLElement, block?: Object, list?: HTMLElement, twist?: HTMLElement}} Entry
 *   a step with its `kind`, or a block with its `list` and the `twist` that folds it
 */
export class StepList {
  constructor(player, { steps, blocks }, outputs) {
    this.player = player;
    /** @type {Entry[]} from top to bottom */ this.entries = [];
    this.ofBlock = new Map();
    this.ofStep = [];
    this.list = h('ol', { on: { keydown: (event) => this.#key(event) } });
    const starting = [...blocks.all];
    steps.forEach(({ op, output }, i) => {
      while (starting[0]?.first === i) this.#addBlock(starting.shift());
      const title = outputs[output];
      const kind = h('span.step-op', {}, op);
      const name = lastPart(title);
      const shown = h('span.step-name', { 'data-role': roleOf(name) }, ...breakable(name));
      const entry = this.#entry('step', title, () => player.goto(i), [shown, kind]);
      this.ofStep.push(this.#add({ ...entry, kind, says: { name, op } }, blocks.innermost[i], entry.button));
    });
    this.drawer = h('button.drawer', {
      type: 'button',
      'aria-expanded': 'false',
      on: { click: () => this.#toggle() },
    });
    this.element = h('div.steps', { role: 'group', 'aria-label': t('step_list') }, this.drawer, this.list);
  }

  #entry(kind, title, click, children) {
    const mark = h('span.unseen.when-changed', {}, t(`${kind}_changed`));
    return { button: h(`button.${kind}`, { type: 'button', tabindex: -1, title, on: { click } }, ...children, mark) };
  }

  #addBlock(block) {
    const { path, name, first, last, parent } = block;
    const title = t('show_block', { scope: name });
    const entry = this.#entry('scope', title, () => this.player.showBlock(block), breakable(name));
    const twist = h('button.twist', { type: 'button', tabindex: -1, on: { click: () => this.player.toggle(path) } });
    const list = h('ol');
    const says = { name, op: t('block_op', { count: last - first + 1 }) };
    const line = h('div.scope-line', {}, twist, entry.button);
    this.ofBlock.set(block, this.#add({ ...entry, block, list, twist, says }, parent, line, list));
  }

  #add(entry, block, ...parts) {
    entry.parent = this.ofBlock.get(block);
    this.entries.push(entry);
    (entry.parent?.list ?? this.list).append(h('li', {}, ...parts));
    return entry;
  }

  /** On a narrow page the list opens on demand. */
  #toggle(open = !this.element.classList.contains('open')) {
    this.element.classList.toggle('open', open);
    this.drawer.setAttribute('aria-expanded', String(open));
  }

  /** Writes only what differs from what was shown before: a program may have hundreds of steps. */
  show({ step, steps, block, folded, changed, positions }) {
    const current = block ? this.ofBlock.get(block) : this.ofStep[step];
    if (this.current !== current) {
      if (this.current) {
        this.#toggle(false);
        this.current.button.removeAttribute('aria-current');
      }
      current.button.setAttribute('aria-current', 'step');
      this.#rove(current);
      this.current = current;
    }
    const foldedNow = [...folded].join();
    if (this.foldedNow !== foldedNow) {
      this.foldedNow = foldedNow;
      for (const [{ path, name }, { twist, list }] of this.ofBlock) {
        const isFolded = folded.has(path);
        setAttribute(list, 'hidden', isFolded);
        setAttribute(twist, 'aria-expanded', String(!isFolded));
        setAttribute(twist, 'aria-label', t(isFolded ? 'unfold' : 'fold', { scope: name }));
      }
    }
    if (this.steps !== steps) {
      this.steps = steps;
      this.ofStep.forEach((entry, i) => {
        entry.says.op = steps[i].op;
        setText(entry.kind, steps[i].op);
      });
      this.#mark(changed, positions);
    }
    setText(this.drawer, t(block ? 'block_item' : 'step_item', current.says));
    this.#scrollTo(current.button);
  }

  /** Marks the steps whose results an edit has changed, and every block that holds one. */
  #mark(changed, positions) {
    const touched = new Set();
    for (const id of changed) {
      let entry = this.ofStep[positions.get(id)];
      for (; entry && !touched.has(entry); entry = entry.parent) touched.add(entry);
    }
    for (const entry of this.entries) {
      const isTouched = touched.has(entry);
      if (Boolean(entry.touched) === isTouched) continue;
      entry.touched = isTouched;
      entry.button.classList.toggle('changed', isTouched);
    }
  }

  // ---- by keyboard ----

  #rove(entry) {
    if (this.roving) this.roving.button.tabIndex = -1;
    this.roving = entry;
    entry.button.tabIndex = 0;
  }

  #key(event) {
    const seen = this.entries.filter((one) => {
      for (let { parent } = one; parent; parent = parent.parent) if (parent.list.hidden) return false;
      return true;
    });
    const i = seen.findIndex(({ button, twist }) => [button, twist].includes(event.target));
    const entry = seen[i];
    const fold = entry.block && !entry.list.hidden;
    const to = { ArrowUp: seen[i - 1], ArrowDown: seen[i + 1], Home: seen[0], End: seen.at(-1) };
    if (event.key === 'ArrowLeft' && !fold) to.ArrowLeft = entry.parent;
    if (event.key === 'ArrowRight' && fold) to.ArrowRight = seen[i + 1];
    if (event.key in to) {
      const next = to[event.key] ?? entry;
      this.#rove(next);
      next.button.focus();
    } else if ((event.key === 'ArrowLeft' && fold) || (event.key === 'ArrowRight' && entry.block)) {
      this.player.toggle(entry.block.path);
      this.#rove(entry);
      entry.button.focus();
    } else return;
    event.preventDefault();
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
  /**
   * @param {(name: string) => Promise<HTMLElement>} menu  makes what stands under "Share" or "Classroom", when it is
   *   first opened
   * @param {() => void} help  opens the list of keys
   */
  constructor(menu, help) {
    this.share = drawer('share', menu);
    this.help = h('button.text.reset', { type: 'button', title: t('help_hint'), 'aria-haspopup': 'dialog', on: { click: help } }, t('help'));
    this.element = h(
      'div.footer',
      {},
      h('span.mark', {}, h('i.lit'), t('legend_lit')),
      h('span.mark', {}, h('i.fed'), t('legend_fed')),
      ...['changed', 'less'].map((kind) => h('span.mark', { title: t('legend_changed_hint') }, h(`i.changed.${kind}`), t(`legend_${kind}`))),
      h('div.menus', {}, this.share, drawer('classroom', menu), this.help),
    );
  }

  openShare() {
    this.share.open = true;
    this.share.firstChild.focus();
  }
}

/** A menu that is made when it is first opened; opened anew it tries again what has failed. */
function drawer(name, menu) {
  const summary = h('summary', {}, t(name));
  const element = h('details.help', { on: { toggle } }, summary);
  let filled = false;
  async function toggle() {
    if (!element.open || filled) return;
    let content;
    try {
      content = await menu(name);
      filled = true;
    } catch ({ message }) {
      content = h('p.notice', { role: 'alert' }, t('load_failed', { reason: message }));
    }
    element.replaceChildren(summary, content);
  }
  return element;
}
