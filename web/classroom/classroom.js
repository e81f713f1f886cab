/** The menu "Classroom": a lecture for a projector, and hand-outs on paper. */
import { h } from '../player/dom.js';
import { printHandout } from './handout.js';
import { Lecture } from './lecture.js';
import { t } from './text.js';

const KINDS = ['blank', 'filled', 'both'];

/**
 * @param {import('../player/player.js').Player} player
 * @returns {HTMLElement}
 */
export function menu(player) {
  const button = (name, click) => h('button.text', { type: 'button', title: t(`${name}_hint`), on: { click } }, t(name));
  return h(
    'div.tools',
    {},
    button('present', () => present(player, true)),
    ...KINDS.map((kind) => button(kind, () => handout(player, kind))),
  );
}

/** The lecture that is on: the screen holds one. */
let lecture = null;

/** Begins a lecture with a player, or ends the one that it is in. */
export function present(player, on) {
  if (lecture?.isOf(player) && on) return;
  // While another one gives the whole screen back, the browser gives it to nobody.
  const whole = !lecture;
  if (on || lecture?.isOf(player)) lecture?.leave();
  if (on) lecture = new Lecture(player, () => (lecture = null), whole);
}

/** Opens the print dialog with a hand-out: `blank`, `filled` or `both`. */
export function handout(player, kind) {
  if (!KINDS.includes(kind)) throw new Error(`hand-out ${kind} is none of ${KINDS.join(', ')}`);
  // A filled sheet would tell the number that the reader is asked for.
  if (kind === 'blank' || !player.asking?.refuses()) printHandout(player, kind);
}
