/** Custom elements that read the JSON in the script element they hold. */
import { loadData } from './data.js';
import { dress, mount } from './player/mount.js';

/** An element that mounts once, however often it is moved about in the page. */
export function element(property, Component, message) {
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

/**
 * Elements are defined when the document is complete: before that, their script may not have been read yet.
 * @param {Object<string, CustomElementConstructor>} elements
 */
export function define(elements) {
  const now = () => {
    for (const [name, constructor] of Object.entries(elements)) {
      if (!customElements.get(name)) customElements.define(name, constructor);
    }
  };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', now, { once: true });
  else now();
}
