/** Making elements. Text always goes in as text: nothing here can turn data into markup. */

/**
 * @param {string} tag  an element name, with classes as in 'button.step'
 * @param {Object} [options]  `on: {event: listener}`, and attributes; true gives an empty attribute, false and
 *   null give none
 * @param {...(Node|string|null)} children
 */
export function h(tag, options = {}, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(options)) {
    if (key === 'on') {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else setAttribute(element, key, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Writes an attribute only where it differs: an unchanged element costs the browser nothing. */
export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else {
    const text = value === true ? '' : String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** Sets a length of so many pixels; null takes it away. */
export function setStyle(element, name, pixels) {
  const { style } = element;
  const value = pixels === null ? '' : `${pixels}px`;
  if (style.getPropertyValue(name) !== value) style.setProperty(name, value);
}

/** Writes a text into the one text node of an element, which the browser redraws with less work than a new one. */
export function setText(element, text) {
  const node = element.firstChild;
  if (!node) element.append(text);
  else if (node.data !== text) node.data = text;
}

/** A name as children of an element, which may break after each underscore. */
export function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, i) => (i ? [h('wbr'), part] : [part]));
}

/** Keeps plain keys from the page around, which may have shortcuts of its own (such as / for its search). */
export function keepKeys(event) {
  if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
}

const SVG = 'http://www.w3.org/2000/svg';

/** A small drawing of one path in a 24 × 24 square; decoration only, its button carries the name. */
export function icon(path) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS(SVG, 'path');
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}
