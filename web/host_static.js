/** The elements of a page without a kernel: each reads the JSON in the script element it holds. */
// The engine comes first: where files that share names lie close together, the bundle compresses better.
import './explain.js';
import './program.js';
import { loadData } from './data.js';
import { Exercise } from './exercise/exercise.js';
import { Ledger } from './ledger/ledger.js';
import { dress, mount } from './player/mount.js';
import { Player } from './player/player.js';
import { WordMap } from './word_map/word_map.js';

/** An element that mounts once, however often it is moved about in the page. */
function element(property, Component, message) {
  return class extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      const text = this.querySelector('script[type="application/json"]')?.textContent;
      this[property] = mount(this, text, (root, payload) => new Component(this, root, payload, loadData), message);
    }

    /** Style sheets stay behind where an element moves to another document. */
    adoptedCallback() {
      if (this.shadowRoot) dress(this.shadowRoot);
    }

    disconnectedCallback() {
      this[property]?.pause?.();
    }
  };
}

const ELEMENTS = {
  'stepformer-player': element('player', Player, 'broken_player'),
  'stepformer-exercise': element('exercise', Exercise, 'broken_exercise'),
  'stepformer-ledger': element('ledger', Ledger, 'broken_ledger'),
  'stepformer-word-map': element('wordMap', WordMap, 'broken_map'),
};

/**
 * Elements are defined when the document is complete: before that, their script may not have been read yet.
 */
function define() {
  for (const [name, constructor] of Object.entries(ELEMENTS)) {
    if (!customElements.get(name)) customElements.define(name, constructor);
  }
}

if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', define, { once: true });
else define();
