/** The elements of a page without a kernel: each reads the JSON in the script element it holds. */
// The engine comes first: where files that share names lie close together, the bundle compresses better.
import './explain.js';
import './program.js';
import { loadData } from './data.js';
import { define, element, mounted } from './element.js';
import { Exercise } from './exercise/exercise.js';
import { Player } from './player/player.js';
import * as shared from './shared.js';

globalThis.stepformerShared = shared;
Player.part = (name) => loadData(name, `stepformer-${name}.js`);

define({
  'stepformer-player': element('player', Player, 'broken_player'),
  'stepformer-exercise': element('exercise', Exercise, 'broken_exercise'),
});

/** A shared link, or an embedded player with a state, needs the script that shares. */
function follow() {
  if (!location.hash.startsWith('#stepformer=') && !document.querySelector('stepformer-player[data-state]')) return;
  // Where it cannot be loaded, the page is as it is without the link.
  Promise.all([Player.part('share'), mounted()]).then(([share]) => share.follow()).catch(() => {});
}

addEventListener('hashchange', follow);
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', follow, { once: true });
else follow();
