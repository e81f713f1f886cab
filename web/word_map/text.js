/** Every text of the word map, in one table, so that another language is another table. */
import { textsOf } from '../language.js';

export const TEXT = {
  format: 'the format is {format}, which this page does not read',
  title: 'Map of word vectors',
  ask: 'A word, or a sum such as king − man + woman',
  show: 'Show',
  allow: 'the words I typed may be answers too',
  nearest: 'Nearest to {query}',
  description: '{count} words as points. Nearest to {query} is {word}. The list and the table give all of it as text.',
  sum: 'the sum',
  load: 'Load all {count} words (0.6 MB)',
  loading: 'Loading …',
  load_failed: 'The words could not be loaded ({reason}). What you see still works; try again later.',
  clear: 'Clear my words',
  table: 'All points as a table',
  word: 'word',
  right: 'to the right',
  up: 'up',
  empty: 'Type a word first.',
  unknown: '“{word}” is not among the {count} words here. ',
  near: 'Spelt nearly like it: ',
  spaces: 'To subtract, put spaces around the sign: ',
  two_signs: 'The signs {signs} stand side by side. Put a word between them, or keep one of them.',
  spoken: 'Nearest to {query}: {words}.',
  spoken_near: '{word} {cosine}',
  spoken_spelt: 'Spelt nearly like it: {words}. ',
  spoken_spaces: 'To subtract, put spaces around the sign: {sum}. ',
  zero: 'In {query} everything cancels out, so there is no direction left to compare.',
};

/** The text of a key with its places filled in. */
export const t = textsOf('word_map', TEXT);
