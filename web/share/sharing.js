/** The menu "Share": a link to the state on show, the state as code, the step as a picture, a matrix as a table. */
import { h, setAttribute } from '../player/dom.js';
import { numpyCode } from './numpy.js';
import { picture } from './picture.js';
import { MOST_LETTERS, decode, digest, encode } from './state.js';
import { csv } from './table.js';
import { t } from './text.js';

/** What a link has in front of the state. */
const MARK = '#stepformer=';
const OWN = document.currentScript?.src || document.baseURI;

/**
 * @param {import('../player/player.js').Player} player
 * @param {boolean} [onPage]  whether the page can be linked to and its player taken elsewhere; not so in JupyterLab, or of
 *   a player that another element has made
 * @returns {HTMLElement}
 */
export function menu(player, onPage = players().includes(player.host)) {
  const told = h('span', { role: 'status' });
  const text = h('textarea.written', { readonly: true, hidden: true, 'aria-label': t('text'), spellcheck: 'false' });
  const copy = async (written) => {
    setAttribute(text, 'hidden', written === null);
    if (written === null) return t('too_long');
    text.value = written;
    try {
      await navigator.clipboard.writeText(written);
      return t('copied');
    } catch {
      text.focus();
      text.select();
      return t('copy_it');
    }
  };
  const save = (file, type, written) => {
    const href = URL.createObjectURL(new Blob([written], { type }));
    h('a', { href, download: file }).click();
    URL.revokeObjectURL(href);
    return t('saved', { file });
  };
  const { session } = player;
  const file = (ending) => `${session.program.tensors[player.scene.chosenId].name.replace(/[^\p{L}\p{N}.-]+/gu, '_')}.${ending}`;
  const acts = {
    ...(onPage && { link: () => copy(link(player)) }),
    numpy: () => copy(numpyCode(session)),
    ...(onPage && { embed: () => copy(snippet(player)) }),
    svg: () => save(file('svg'), 'image/svg+xml', picture(player.equation)),
    csv: () => save(file('csv'), 'text/csv', csv(player.matrix)),
  };
  const buttons = Object.entries(acts).map(([name, act]) => {
    // A new text each time: done again, it is said again.
    const click = async () => told.replaceChildren(await act());
    return h('button.text', { type: 'button', title: t(`${name}_hint`), on: { click } }, t(name));
  });
  return h('div', {}, h('div.tools', {}, ...buttons, told), text);
}

/** The players of the page, in the order in which links count them. */
const players = () => [...document.querySelectorAll('stepformer-player')];

function stateOf(player) {
  const { host, session, step, folded, cell, comparing, edits, breaks } = player;
  return { player: players().indexOf(host), program: digest(session.program), step, folded, cell, comparing, edits, breaks };
}

/** The address of the page with the state of a player; null where no browser would take so long a one. */
export function link(player) {
  const state = encode(stateOf(player));
  return state.length > MOST_LETTERS ? null : `${location.href.split('#')[0]}${MARK}${state}`;
}

/** The player with its state as HTML for another page. */
function snippet(player) {
  const payload = player.host.querySelector('script[type="application/json"]').textContent.replaceAll('<', '\\u003c');
  return (
    `<script defer src="${new URL('stepformer.js', OWN)}"></script>\n` +
    `<stepformer-player data-state="${encode(stateOf(player))}"><script type="application/json">${payload}</script></stepformer-player>\n`
  );
}

/** Brings the players of a page into the states that their attribute `data-state` and the address of the page name. */
export async function follow() {
  const hosts = players();
  for (const host of hosts) {
    if (!host.dataset.state || !host.player) continue;
    show(host.player, decode(host.dataset.state));
    delete host.dataset.state; // where it began; from now on the reader's edits count
  }
  if (!location.hash.startsWith(MARK)) return;
  const state = decode(location.hash.slice(MARK.length));
  const host = hosts[state?.player] ?? hosts.find(({ player }) => player);
  // A payload that was left out of the page and cannot be loaded leaves its button, which says so when pressed.
  await host?.load().catch(() => {});
  if (!host?.player) return;
  show(host.player, host === hosts[state?.player] ? state : null);
  host.scrollIntoView();
}

/** Brings a player into a state, and says so where it does not fit. */
function show(player, state) {
  const before = { edits: player.edits, breaks: player.breaks, step: player.step };
  const { folded } = player;
  if (!state) return player.notify(t('link_damaged'));
  try {
    player.fold(state.folded);
    if (!player.restore(state)) throw new Error();
    const [slot, index] = state.cell;
    player.look(index, slot);
    player.compare(state.comparing);
  } catch {
    player.restore(before);
    player.fold(folded);
    return player.notify(t('link_misfit'));
  }
  return state.program === digest(player.session.program) || player.notify(t('link_older'));
}
