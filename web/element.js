/** Custom elements that read the JSON in the script element they hold, or load it when the reader asks for it. */
import { loadData } from './data.js';
import { h, setAttribute, setText } from './player/dom.js';
import { dress, mount } from './player/mount.js';
import { t } from './player/text.js';
import { Voice } from './player/voice.js';

/** Milliseconds after which a page that mounts many elements answers its reader in between. */
const SLICE = 12;
/** What the elements of the page wait for while it is opened: mounts, in the order of the page; null once it is open. */
let waiting = null;
/** Settles when the elements that the page was opened with are mounted. */
let opened = Promise.resolve();

/** An element that mounts once, however often it is moved about in the page. */
export function element(property, Component, message) {
  return class extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      if (this.dataset.deferred) offer(this);
      else if (waiting) waiting.push(() => this.isConnected && !this.shadowRoot && this.#mount());
      else this.#mount();
    }

    /** Style sheets stay behind where an element moves to another document. */
    adoptedCallback() {
      if (this.shadowRoot) dress(this.shadowRoot);
    }

    disconnectedCallback() {
      this[property]?.pause?.();
    }

    /** Loads the payload of an element that was built without it, and mounts it; the same element as any other then. */
    async load() {
      const name = this.dataset.deferred;
      if (!name) return;
      const text = await loadData(name);
      if (!this.dataset.deferred) return; // a second click came while the first one was loading
      this.append(h('script', { type: 'application/json' }, text));
      this.removeAttribute('data-deferred');
      this.shadowRoot.replaceChildren();
      this.#mount();
    }

    #mount() {
      const text = this.querySelector('script[type="application/json"]')?.textContent;
      this[property] = mount(this, text, (root, payload) => new Component(this, root, payload, loadData), message);
    }
  };
}

/** A button that loads the payload, above what the element holds for readers without JavaScript. */
function offer(host) {
  const root = host.attachShadow({ mode: 'open' });
  const notice = h('p.notice', { role: 'alert' });
  const voice = new Voice();
  const button = h('button.check', { type: 'button' });
  const show = (loading) => {
    // A button that is disabled loses the focus, and with it the reader their place.
    setAttribute(button, 'aria-disabled', loading && 'true');
    setText(button, loading ? t('loading') : t('load', { size: host.dataset.megabytes }));
  };
  button.addEventListener('click', async () => {
    if (button.ariaDisabled) return;
    notice.replaceChildren();
    show(true);
    voice.say(t('loading'));
    try {
      await host.load();
      // The button that had the focus is gone; a reader who went on meanwhile is left where they are.
      const buttons = [...root.querySelectorAll('button:not([aria-disabled])')];
      if (document.activeElement === document.body) buttons.find((one) => one.checkVisibility())?.focus();
    } catch ({ message }) {
      notice.replaceChildren(t('load_failed', { reason: message }));
      show(false);
    }
  });
  show(false);
  root.append(h('div.tools', {}, button, notice, voice.element), h('slot'));
  dress(root);
  // Tables that are wider than the page can be scrolled from the keyboard.
  const tables = host.querySelector('.stepformer-fallback');
  if (tables) for (const [name, value] of Object.entries({ tabindex: 0, role: 'group', 'aria-label': t('tables') })) tables.setAttribute(name, value);
}

/**
 * Elements are defined when the document is complete: before that, their script may not have been read yet.
 * @param {Object<string, CustomElementConstructor>} elements
 */
export function define(elements) {
  const now = () => {
    const mounts = (waiting = []);
    for (const [name, constructor] of Object.entries(elements)) {
      if (!customElements.get(name)) customElements.define(name, constructor);
    }
    waiting = null;
    opened = opened.then(() => inSlices(mounts));
  };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', now, { once: true });
  else now();
}

/** Settles when the elements that the page was opened with are mounted, or have said why not. */
export const mounted = () => opened;

/** Does one piece of work after the other, and lets the page answer in between. */
async function inSlices(work) {
  const { port1, port2 } = new MessageChannel(); // unlike a timer, it does not wait longer in a tab behind others
  let end = 0; // the script itself was work enough for one piece
  for (const piece of work) {
    if (performance.now() > end) {
      await new Promise((resolve) => {
        port1.onmessage = resolve;
        port2.postMessage(null);
      });
      end = performance.now() + SLICE;
    }
    piece();
  }
  port1.close();
}
