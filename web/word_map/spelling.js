/** Near spellings of an unknown word: the same rules as `stepformer.data.spelling` in Python. */

/** A word as the table holds it: full-width forms made ordinary, nothing invisible, no spaces around, small letters. */
export function plain(word) {
  return word.normalize('NFKC').replace(/[\p{Cc}\p{Cf}]/gu, '').trim().toLowerCase();
}

/** How many typing slips apart: letters left out, put in, changed, or two neighbours swapped. */
export function distance(a, b) {
  let earlier = [];
  let before = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    [earlier, before, row] = [before, row, [i]];
    for (let j = 1; j <= b.length; j++) {
      const changed = before[j - 1] + (a[i - 1] !== b[j - 1]);
      row[j] = Math.min(before[j] + 1, row[j - 1] + 1, changed);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j], earlier[j - 2] + 1);
    }
  }
  return row[b.length];
}

/** The words spelt most like it: one slip for each three letters, but one in any case; the earlier word first. */
export function suggestions(word, words, most = 3) {
  const allowed = Math.max(1, Math.floor(word.length / 3));
  return words
    .filter((other) => Math.abs(other.length - word.length) <= allowed)
    .map((other) => [distance(word, other), other])
    .filter(([slips]) => slips <= allowed)
    .sort(([a], [b]) => a - b)
    .slice(0, most)
    .map(([, other]) => other);
}
