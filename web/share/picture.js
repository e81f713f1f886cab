/** The step on show as an SVG picture: what the page draws, at the places where it draws it. */

/** What has one text, in the middle or at an end of its box; and what is text that may break into lines. */
const BOXES = '.cell, .column, .rowhead, .sign';
const TEXTS = 'figcaption, .formula, .sentence';
const PADDING = 12;

/**
 * @param {import('../player/equation.js').Equation} equation
 * @returns {string}
 */
export function picture({ element }) {
  const frame = element.getBoundingClientRect();
  const root = getComputedStyle(element);
  const paper = colour(getComputedStyle(element.closest('.player')).backgroundColor) ?? '#ffffff';
  const width = Math.ceil(frame.width) + 2 * PADDING;
  const height = Math.ceil(frame.height) + 2 * PADDING;
  const parts = [`<rect width="${width}" height="${height}" fill="${paper}"/>`];
  const place = (box) => [box.left - frame.left + PADDING, box.top - frame.top + PADDING, box];
  for (const one of element.querySelectorAll(BOXES)) {
    const box = one.getBoundingClientRect();
    const scrolled = one.closest('.box')?.getBoundingClientRect();
    if (!box.width || !one.textContent || (scrolled && !overlaps(box, scrolled))) continue;
    parts.push(drawn(one, ...place(box)));
  }
  for (const text of element.querySelectorAll(TEXTS))
    for (const { word, box, style } of words(text)) parts.push(written(word, style, ...place(box), 'start'));
  const style = `font-family="${escaped(root.fontFamily)}, sans-serif"`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ${style}>` +
    `${parts.join('')}</svg>\n`
  );
}

/** The background of an element, its text, and the corner that marks a changed cell. */
function drawn(element, x, y, { width, height }) {
  const style = getComputedStyle(element);
  const fill = colour(style.backgroundColor);
  const place = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
  const cell = element.matches('.cell');
  let text = '';
  if (fill && cell) text += `<rect ${place} fill="${fill}"/>`;
  if (element.matches('.chosen'))
    text += `<rect ${place} fill="none" stroke="${colour(style.color)}" stroke-width="2"/>`;
  if (element.matches('.changed')) {
    // The corner is the first of the cell's background images; with forced colours there is none.
    const mark = colour(/(rgb|color)[^)]*\)/.exec(style.backgroundImage)?.[0] ?? style.color);
    const [left, right, top, bottom] = [x, x + width, y, y + height].map(round);
    const corner = element.matches('.less')
      ? `M${left} ${bottom}v-8l8 8z`
      : `M${right} ${top}v8l-8 -8z`;
    text += `<path d="${corner}" fill="${mark}"/>`;
  }
  if (style.fontSize === '0px') return text;
  const middle = ['center', 'end', 'right'].indexOf(style.textAlign);
  const anchor = middle === 0 ? 'middle' : middle > 0 ? 'end' : 'start';
  const inset = parseFloat(middle > 0 ? style.paddingRight : style.paddingLeft) || 0;
  const at = middle === 0 ? x + width / 2 : middle > 0 ? x + width - inset : x + inset;
  return text + written(element.textContent, style, at, y, { height }, anchor);
}

/** A text at a place, in the middle of a height. */
function written(text, { fontSize, fontWeight, color }, x, y, { height }, anchor) {
  const size = parseFloat(fontSize);
  return (
    `<text x="${round(x)}" y="${round(y + height / 2 + size * 0.35)}" text-anchor="${anchor}" ` +
    `font-size="${size}" font-weight="${fontWeight}" fill="${colour(color)}">${escaped(text)}</text>`
  );
}

/** The words of a text, each where the page has put it. */
function* words(element) {
  const range = document.createRange();
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const { currentNode: node } = nodes;
    const style = getComputedStyle(node.parentElement);
    for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const box = range.getBoundingClientRect();
      if (box.width) yield { word, box, style };
    }
  }
}

const round = (value) => Math.round(value * 10) / 10;

const overlaps = (a, b) =>
  a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;

/** A computed colour as #rrggbb, which every program that reads SVG knows; null for a transparent one. */
function colour(text) {
  const mixed = text.startsWith('color(');
  const [red, green, blue, alpha = 1] = text.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
  if (alpha === 0) return null;
  const byte = (value) =>
    Math.max(0, Math.min(255, Math.round(mixed ? value * 255 : value)))
      .toString(16)
      .padStart(2, '0');
  return `#${byte(red)}${byte(green)}${byte(blue)}`;
}

/** Text that is no markup; control characters, which XML does not know, become spaces. */
const escaped = (text) =>
  text
    .replace(/[\p{Cc}\ufffe\uffff]/gu, ' ')
    .replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
