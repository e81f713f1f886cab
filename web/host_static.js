/** The elements of a page without a kernel: each reads the JSON in the script element it holds. */
// The engine comes first: where files that share names lie close together, the bundle compresses better.
import './explain.js';
import './program.js';
import { loadData } from './data.js';
import { define, element } from './element.js';
import { Exercise } from './exercise/exercise.js';
import { Ledger } from './ledger/ledger.js';
import { Player } from './player/player.js';
import * as shared from './shared.js';
import { WordMap } from './word_map/word_map.js';

globalThis.stepformerShared = shared;
Player.sharing = () => loadData('sharing', 'stepformer-share.js');

define({
  'stepformer-player': element('player', Player, 'broken_player'),
  'stepformer-exercise': element('exercise', Exercise, 'broken_exercise'),
  'stepformer-ledger': element('ledger', Ledger, 'broken_ledger'),
  'stepformer-word-map': element('wordMap', WordMap, 'broken_map'),
});

/** A shared link, or an embedded player with a state, needs the script that shares. */
function follow() {
  if (!location.hash.startsWith('#stepformer=') && !document.querySelector('stepformer-player[data-state]')) return;
  // Where it cannot be loaded, the page is as it is without the link.
  Player.sharing().then((sharing) => sharing.follow()).catch(() => {});
}

addEventListener('hashchange', follow);
if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', follow, { once: true });
else follow();
