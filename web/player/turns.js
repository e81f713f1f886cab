/**
 * Two equations that take turns. One is on show. In the other, out of sight, the step is drawn that the reader will most
 * likely see next: then it has only to be uncovered, while to draw and lay out matrices is most of what a step costs.
 */
import { setAttribute } from './dom.js';
import { Equation } from './equation.js';

export class Turns {
  /** @param {Object} actions  see Equation */
  constructor(actions) {
    this.actions = actions;
    this.shown = new Equation(actions);
    /** The other one is made when it is needed: many a player is read and never stepped. */
    this.waiting = null;
  }

  /** Shows a step in the equation that has waited, in place of the one on show. */
  turn(...step) {
    const last = this.shown;
    for (const matrix of last.matrices) matrix.point(null);
    this.shown = this.#other();
    this.waiting = last;
    setAttribute(last.element, 'data-waiting', true);
    setAttribute(this.shown.element, 'data-waiting', null);
    this.shown.show(...step);
    for (const matrix of this.shown.matrices) {
      const same = last.matrices.filter(({ view }) => view.fullName === matrix.view.fullName);
      matrix.goOnFrom(same.find(({ slot }) => slot === matrix.slot) ?? same[0] ?? matrix);
    }
  }

  /**
   * Draws a step, has it laid out, which asking for a place does, and puts it out of sight, all before the browser paints
   * again. What is out of sight by `content-visibility` keeps its layout; the page without it is laid out again at once,
   * so that the next step finds nothing left to do.
   */
  prepare(...step) {
    const other = this.#other();
    setAttribute(other.element, 'data-waiting', null);
    try {
      other.show(...step);
      other.element.getBoundingClientRect();
    } finally {
      setAttribute(other.element, 'data-waiting', true);
    }
    this.shown.element.getBoundingClientRect();
  }

  /** Throws away what waits. */
  forget() {
    this.waiting?.element.remove();
    this.waiting = null;
  }

  #other() {
    if (!this.waiting) {
      this.waiting = new Equation(this.actions);
      setAttribute(this.waiting.element, 'data-waiting', true);
      this.shown.element.after(this.waiting.element);
    }
    return this.waiting;
  }
}
