/**
 * Puts a player or an exercise into the shadow root of an element; a payload that is no good leaves a message
 * there.
 */
import { h } from './dom.js';
import { ROLE_STYLE, TONE_STYLE } from './roles.js';
import style from './style.css';
import { t } from './text.js';

const sheets = new WeakMap();
/** Letters: a message that quotes the data, such as a shape of a thousand axes, ends there. */
const MOST_REASON = 300;

/** Gives a shadow root its styles. One sheet serves every element of a document, and no other document. */
export function dress(root) {
  const { ownerDocument } = root;
  if (!ownerDocument.defaultView) return;
  if (!sheets.has(ownerDocument)) {
    const sheet = new ownerDocument.defaultView.CSSStyleSheet();
    sheet.replaceSync(ROLE_STYLE + style + TONE_STYLE);
    sheets.set(ownerDocument, sheet);
  }
  root.adoptedStyleSheets = [sheets.get(ownerDocument)];
}

/**
 * @param {HTMLElement} host
 * @param {string} text  the payload, as JSON
 * @param {(root: ShadowRoot, payload: Object) => T} build
 * @param {string} message  key of the text to show when that fails
 * @returns {T|null}
 * @template T
 */
export function mount(host, text, build, message) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  dress(root);
  try {
    const built = build(root, readPayload(text));
    host.setAttribute('data-ready', '');
    host.removeAttribute('data-error');
    return built;
  } catch (error) {
    const reason = error.message.length > MOST_REASON ? `${error.message.slice(0, MOST_REASON)}…` : error.message;
    // The slot shows what the element holds for readers without JavaScript.
    root.replaceChildren(h('p.notice', { role: 'alert' }, t(message, { reason })), h('slot'));
    host.setAttribute('data-error', reason);
    host.removeAttribute('data-ready');
    return null;
  }
}

function readPayload(text) {
  if (!text?.trim()) throw new Error(t('empty_payload'));
  let payload;
  try {
    payload = JSON.parse(text);
  } catch (error) {
    throw new Error(t('bad_json', { reason: error.message }));
  }
  if (payload === null || typeof payload !== 'object' || Array.isArray(payload))
    throw new Error(t('not_an_object'));
  return payload;
}
