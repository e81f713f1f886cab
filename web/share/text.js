/** Every text of the menu "Share", in one table, so that another language is another table. */
import { textsOf } from '../language.js';

const TEXT = {
  link: 'Copy link',
  link_hint: 'An address that opens this page with this step, cell, edits and switches',
  numpy: 'Copy as NumPy',
  numpy_hint: 'A Python program that computes these numbers and needs NumPy alone',
  embed: 'Copy to embed',
  embed_hint: 'HTML that shows this player on another page: one script, one element',
  svg: 'Save picture (SVG)',
  svg_hint: 'The step as it is on show',
  csv: 'Save matrix (CSV)',
  csv_hint: 'The matrix with the chosen cell, with labels and all decimals',
  copied: 'Copied. It also stands below.',
  copy_it: 'The browser does not let a page copy here: copy the text below.',
  saved: 'Saved as {file}.',
  text: 'What was copied',
  too_long: 'There are too many edits for a link. Undo some, or copy the state as NumPy.',
  link_damaged: 'The link to this page is damaged or from another version of this book, so nothing was changed.',
  link_older: 'The link to this page was made with other numbers in this example: its edits are applied to those of today.',
  link_misfit: 'The link to this page does not fit this example any more, so nothing was changed.',
};

/** The text of a key with its places filled in. */
export const t = textsOf('share', TEXT);
