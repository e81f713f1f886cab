/** Every text of the ledger, in one table, so that another language is another table. */
import { textsOf } from '../language.js';

export const TEXT = {
  format: 'the format is {format}, which this page does not read',
  presets: 'Start from',
  more: 'More settings',
  kept: 'The counts below are still those of the last configuration that is possible.',
  problem: '{name} is {value}; {rule}',
  said: '{problem}.',
};

/** The text of a key with its places filled in. */
export const t = textsOf('ledger', TEXT);
