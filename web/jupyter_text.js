/** Every text that only a live widget shows, in one table, so that another language is another table. */
import { textsOf } from './language.js';

const TEXT = {
  misfit: 'Python asked for a step, switches or edits that this computation does not have, so nothing was changed here.',
};

/** The text of a key with its places filled in. */
export const t = textsOf('jupyter', TEXT);
