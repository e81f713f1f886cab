/** What a reader has done, to be taken back step by step and done again. No page is needed here. */

/** So many steps back are kept: enough for any reader, and a long session does not fill the memory. */
const MOST = 100;

/** @typedef {{edits: import('./session.js').Edit[], breaks: string[]}} State */

export class History {
  /** @type {State[]} */ past = [];
  /** @type {State[]} */ future = [];
  #gesture = null;

  /**
   * Keeps a state that is left for another one.
   * @param {State} state
   * @param {string|null} gesture  changes in a row with the same gesture, as of one slider, are one step back
   */
  leave(state, gesture = null) {
    this.future = [];
    if (gesture !== null && gesture === this.#gesture) return;
    this.#gesture = gesture;
    this.past.push(state);
    if (this.past.length > MOST) this.past.shift();
  }

  /** The state before this one, or null. */
  back(state) {
    return this.#move(this.past, this.future, state);
  }

  /** The state that this one was gone back from, or null. */
  forward(state) {
    return this.#move(this.future, this.past, state);
  }

  #move(from, to, state) {
    this.#gesture = null;
    if (!from.length) return null;
    to.push(state);
    return from.pop();
  }
}
