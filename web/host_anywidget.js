/**
 * The same player and exercise as a live Jupyter widget (anywidget). Traits of the model: `kind`, `payload`,
 * `edits` (a list of [tensor, index, value]) and `state` ({step, breaks}); the last two are kept the same on
 * both sides.
 */
// The engine comes first: where files that share names lie close together, the bundle compresses better.
import './explain.js';
import './program.js';
import { Exercise } from './exercise/exercise.js';
import { Ledger } from './ledger/ledger.js';
import { mount } from './player/mount.js';
import { Player } from './player/player.js';
import { menu } from './share/sharing.js';
import { Timeline } from './timeline/timeline.js';
import { WordMap } from './word_map/word_map.js';

/** How long Python may take to answer, in milliseconds. */
const PATIENCE = 20_000;

const PARTS = { share: { menu: (player) => menu(player, false) } };
Player.part = async (name) => PARTS[name];

const KINDS = {
  player: ['stepformer-player', 'player', Player, 'broken_player'],
  exercise: ['stepformer-exercise', 'exercise', Exercise, 'broken_exercise'],
  ledger: ['stepformer-ledger', 'ledger', Ledger, 'broken_ledger'],
  timeline: ['stepformer-timeline', 'timeline', Timeline, 'broken_timeline'],
  word_map: ['stepformer-word-map', 'wordMap', WordMap, 'broken_map'],
};

function render({ model, el }) {
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
  return () => {
    stopSync();
    stopTheme();
    component?.destroy();
    host.remove();
  };
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
    taking = true;
    const taken = player.restore({ edits, step, breaks });
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

/** A data set from Python, which answers with {data: name, content}; a page without a kernel loads a script instead. */
function askPython(model, name) {
  return new Promise((resolve, reject) => {
    const finish = (settle, value) => {
      model.off('msg:custom', answer);
      settle(value);
    };
    const answer = (message) => {
      if (message?.data === name) finish(resolve, message.content);
    };
    model.on('msg:custom', answer);
    setTimeout(() => finish(reject, new Error(name)), PATIENCE);
    model.send({ ask: name });
  });
}

function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** JupyterLab says on the body whether it is light or dark; elsewhere the page's own color-scheme holds. */
function followTheme(host) {
  const follow = () => {
    const light = document.body.dataset.jpThemeLight;
    host.style.colorScheme = light === undefined ? '' : light === 'false' ? 'dark' : 'light';
  };
  follow();
  const observer = new MutationObserver(follow);
  observer.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-light'] });
  return () => observer.disconnect();
}

export default { render };
