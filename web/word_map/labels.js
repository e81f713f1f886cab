/** Where the words of a map go, so that they do not run into one another. */

const HEIGHT = 12;
const LETTER = 6.6; // a generous mean width in pixels; what is measured in the page would cost a layout each
const GAP = 6;

/**
 * @param {{x: number, y: number, word: string}[]} points  the most important first
 * @param {number} main  the labels of the first so many may cover the points of the others
 * @param {number} width
 * @param {number} height
 * @returns {({x: number, y: number, anchor: string}|null)[]}  for each point where its word goes; null: nowhere
 */
export function placeLabels(points, main, width, height) {
  const dots = points.map(({ x, y }) => ({ left: x - 3, right: x + 3, top: y - 3, bottom: y + 3 }));
  const labels = [];
  return points.map(({ x, y, word }, own) => {
    const length = word.length * LETTER;
    const places = [
      { anchor: 'start', left: x + GAP, top: y - HEIGHT / 2 },
      { anchor: 'end', left: x - GAP - length, top: y - HEIGHT / 2 },
      { anchor: 'middle', left: x - length / 2, top: y - GAP - HEIGHT },
      { anchor: 'middle', left: x - length / 2, top: y + GAP },
      { anchor: 'start', left: x + GAP, top: y + 1 },
      { anchor: 'end', left: x - GAP - length, top: y + 1 },
      { anchor: 'start', left: x + GAP, top: y - HEIGHT - 1 },
      { anchor: 'end', left: x - GAP - length, top: y - HEIGHT - 1 },
    ];
    for (const { anchor, left, top } of places) {
      const box = { left, right: left + length, top, bottom: top + HEIGHT };
      const inside = box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height;
      const inTheWay = own < main ? dots.slice(0, main) : dots;
      const free = [...labels, ...inTheWay].every((other) => other === dots[own] || apart(box, other));
      if (!inside || !free) continue;
      labels.push(box);
      return { anchor, x: anchor === 'start' ? left : anchor === 'end' ? box.right : x, y: top + 10 };
    }
    return null;
  });
}

function apart(a, b) {
  return a.right <= b.left || a.left >= b.right || a.bottom <= b.top || a.top >= b.bottom;
}
