/** The widths that the layout of matrices is worked out from, in pixels. */
import { h } from './dom.js';

/** Labels, and the numbers of a compact matrix, are set a little smaller than other numbers; see style.css. */
export const LABEL_SIZE = 0.75 / 0.8125;
/** The numbers of a tight matrix, in rem: smaller than that no number gets. */
const SMALLEST = 0.6875;
const DIGITS = '0000000000';

/** One canvas serves all players; it measures text without laying out the page. */
let canvas = null;

/** @typedef {{room: number, digit: number, smallest: number, label: (text: string) => number, widest: Function}} Measures */
export class Measures {
  /** @param {HTMLElement} stage  what the matrices stand in */
  constructor(stage) {
    this.stage = stage;
    /** So many times larger than laid out the stage is shown. */
    this.scale = 1;
    this.probe = h('span.probe', { 'aria-hidden': 'true' }, DIGITS);
    stage.append(this.probe);
    this.take();
  }

  /** Measures again; true where something has changed. */
  take() {
    const room = this.stage.clientWidth || 520;
    const digit = this.probe.getBoundingClientRect().width / this.scale / DIGITS.length || 7.5;
    if (room === this.room && digit === this.digit) return false;
    /** Pixels across, and pixels a digit takes in a matrix. */
    Object.assign(this, { room, digit });
    const { fontFamily, fontSize } = getComputedStyle(this.probe);
    const size = parseFloat(fontSize) || 13;
    this.font = `${size * LABEL_SIZE}px ${fontFamily || 'sans-serif'}`;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
    /** The numbers of a tight matrix, as a share of the size of other numbers. */
    this.smallest = (SMALLEST * rem) / size;
    this.known = new Map();
    return true;
  }

  /** The width of a label. */
  label(text) {
    if (!this.known.has(text)) {
      canvas ??= document.createElement('canvas').getContext('2d');
      canvas.font = this.font;
      this.known.set(text, canvas.measureText(text).width);
    }
    return this.known.get(text);
  }

  /** The width of the widest of some labels, but no more than `most`. */
  widest(texts, most) {
    let width = 0;
    for (const text of texts) {
      width = Math.max(width, this.label(text));
      if (width >= most) return most;
    }
    return width;
  }
}
