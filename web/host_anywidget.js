/**
 * The same player and exercise as a live Jupyter widget (anywidget). Traits of the model: `kind`, `payload`,
 * `edits` (a list of [tensor, index, value]) and `state` ({step, breaks}); the last two are kept the same on
 * both sides.
 */
// The engine comes first: where files that share names lie close together, the bundle compresses better.
import './explain.js';
import './program.js';
import * as classroom from './classroom/classroom.js';
import * as ask from './ask/asking.js';
import { Exercise } from './exercise/exercise.js';
import { t } from './jupyter_text.js';
import { Ledger } from './ledger/ledger.js';
import { mount } from './player/mount.js';
import { Player } from './player/player.js';
import { menu } from './share/sharing.js';
import { Timeline } from './timeline/timeline.js';
import { WordMap } from './word_map/word_map.js';

/** How long Python may take to answer, in milliseconds. */
const PATIENCE = 20_000;

/** What a body says of its theme: first JupyterLab, then VS Code. */
const SCHEMES = {
  true: 'light',
  false: 'dark',
  'vscode-light': 'light',
  'vscode-dark': 'dark',
  'vscode-high-contrast': 'dark',
  'vscode-high-contrast-light': 'light',
};

const PARTS = { ask, share: { menu: (player) => menu(player, false) }, classroom };
Player.part = async (name) => PARTS[name];

const KINDS = {
  player: ['stepformer-player', 'player', Player, 'broken_player'],
  exercise: ['stepformer-exercise', 'exercise', Exercise, 'broken_exercise'],
  ledger: ['stepformer-ledger', 'ledger', Ledger, 'broken_ledger'],
  timeline: ['stepformer-timeline', 'timeline', Timeline, 'broken_timeline'],
  word_map: ['stepformer-word-map', 'wordMap', WordMap, 'broken_map'],
};

/**
 * Shows a model in `el`; returns what takes the view away again. Hosts differ in how they say that a view has gone: by
 * calling that function, by aborting `signal`, or by both.
 * @param {{model: Object, el: HTMLElement, signal?: AbortSignal}} context
 */
function render({ model, el, signal }) {
  const [tag, property, Component, message] = KINDS[model.get('kind')];
  const host = document.createElement(tag);
  // JupyterLab's own single-key shortcuts must not act on the notebook while the reader types in here.
  host.setAttribute('data-lm-suppress-shortcuts', 'true');
  const stopTheme = followTheme(host);
  const component = mount(
    host,
    model.get('payload'),
    (root, payload) => new Component(host, root, payload, (name) => askPython(model, name)),
    message,
  );
  host[property] = component;
  const stopSync = component && Component === Player ? keepInStep(model, host, component) : () => {};
  el.append(host);
  el.classList.add('stepformer-widget'); // for the rule of dual.py on rows of widgets
  const stop = () => {
    // A signal lives as long as its model; what listens to it would as well.
    signal?.removeEventListener('abort', stop);
    stopSync();
    stopTheme();
    component?.destroy();
    host.remove();
  };
  signal?.addEventListener('abort', stop);
  return stop;
}

/**
 * Sends what the reader does to the model, and shows what the model is set to. An unchanged value goes
 * nowhere.
 */
function keepInStep(model, host, player) {
  let taking = false;

  const send = () => {
    if (taking) return;
    const wanted = { edits: player.edits, state: { step: player.step, breaks: player.breaks } };
    const changed = Object.keys(wanted).filter((name) => !same(model.get(name), wanted[name]));
    for (const name of changed) model.set(name, wanted[name]);
    if (changed.length) model.save_changes();
  };

  const take = () => {
    const edits = model.get('edits') ?? [];
    const { step = player.step, breaks = player.breaks } = model.get('state') ?? {};
    if (same(edits, player.edits) && step === player.step && same(breaks, player.breaks)) return;
    const fits = hasPlace(player, step, breaks) && Array.isArray(edits) && edits.every(Array.isArray);
    if (!fits) player.notify(t('misfit'));
    taking = true;
    const taken = fits && player.restore({ edits, step, breaks });
    taking = false;
    // What cannot be shown must not stay in the model as if it were.
    if (!taken || !same(edits, player.edits)) send();
  };

  take();
  host.addEventListener('stepformer:change', send);
  model.on('change:edits', take);
  model.on('change:state', take);
  return () => {
    host.removeEventListener('stepformer:change', send);
    model.off('change:edits', take);
    model.off('change:state', take);
  };
}

/** Whether a player has the step and the switches that a model names. */
function hasPlace({ session }, step, breaks) {
  const known = session.program.breaks.map(({ name }) => name);
  return Number.isInteger(step) && step in session.steps && Array.isArray(breaks) && breaks.every((name) => known.includes(name));
}

/** A data set from Python, which answers with {data: name, content}; a page without a kernel loads a script instead. */
function askPython(model, name) {
  return new Promise((resolve, reject) => {
    const finish = (settle, value) => {
      clearTimeout(timer);
      model.off('msg:custom', answer);
      settle(value);
    };
    const answer = (message) => {
      if (message?.data === name) finish(resolve, message.content);
    };
    model.on('msg:custom', answer);
    const timer = setTimeout(() => finish(reject, new Error(name)), PATIENCE);
    model.send({ ask: name });
  });
}

function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** JupyterLab and VS Code say on the body whether they are light or dark; elsewhere the page's own color-scheme holds. */
function followTheme(host) {
  const follow = () => {
    const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
    host.style.colorScheme = SCHEMES[jpThemeLight ?? vscodeThemeKind] ?? '';
  };
  follow();
  const observer = new MutationObserver(follow);
  const attributeFilter = ['data-jp-theme-light', 'data-vscode-theme-kind'];
  observer.observe(document.body, { attributes: true, attributeFilter });
  return () => observer.disconnect();
}

export default { render };
