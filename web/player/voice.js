/**
 * What a screen reader is told by an element of ours, which nobody sees. An act of the reader is answered once; done
 * again, it is answered again, if need be with the same words.
 */
import { h } from './dom.js';
import { sign } from './text.js';

/** Milliseconds without a key, after which readers who type or slide are told what came of it. */
const REST = 600;
/** Chinese, which another voice reads than the rest. */
const CHINESE = /(\p{Script=Han}(?:[\p{Script=Han}\s]*\p{Script=Han})?)/u;

/** A text whose signs of arithmetic are words: screen readers pass over most of them. */
export const aloud = (text) =>
  text
    .replace(/ ?· ?/g, ' · ')
    .replace(/ [+−·×/=<>](?= )/g, (found) => ` ${sign(`${found} `)}`)
    .replace(/\^(?=[(\d])/g, () => ` ${sign('^(')} `)
    .replace(/√/g, () => `${sign('√(')} `)
    .replace(/(?<=\d)e(?=\d)|[−∞]/g, sign)
    .replace(/^<(?= \d)/, () => sign(' < '));

export class Voice {
  #timer = null;
  element = h('div.unseen', { 'aria-live': 'polite', role: 'status' });

  /** Says something now, instead of whatever still waits. What is there when the page opens is not said. */
  say(text) {
    clearTimeout(this.#timer);
    if (!this.element.isConnected) return;
    const parts = aloud(text).split(CHINESE);
    this.element.replaceChildren(...parts.map((part, i) => (i % 2 ? h('span', { lang: 'zh' }, part) : part)));
  }

  /** Says something as soon as the reader rests. */
  later(text) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.say(text), REST);
  }
}
