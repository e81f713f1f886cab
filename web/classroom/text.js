/** Every text of the classroom, the lecture and the hand-out, in one table, so that another language is another table. */
import { textsOf } from '../language.js';

const TEXT = {
  // the menu
  present: 'Present',
  present_hint: 'Fill the screen for a projector: large type, one step for each key press (L)',
  blank: 'Print hand-out: blank',
  blank_hint: 'All steps on paper, with empty boxes for the results',
  filled: 'Print hand-out: filled',
  filled_hint: 'All steps on paper, with every number',
  both: 'Print hand-out: blank and filled',
  both_hint: 'First to fill in, then, on new pages, the key',

  // the lecture
  lecture: 'Presenting: {title}',
  untitled: 'Computation',
  previous: 'Previous step',
  next: 'Next step',
  keys: 'Keys',
  leave: 'Leave',
  leave_hint: 'Back to the page, at this step (Esc)',
  hint: 'Space or →: next step. ←: back. T: all keys. Esc: leave.',
  typed: 'Go to step {step}: press Enter.',
  predict_on: 'Every result stays hidden until the next key.',
  predict_off: 'Results are shown at once.',
  veiled: 'The result of this step is hidden. The next key shows it.',
  revealed: 'The result is shown.',
  blanked: 'The screen is blank. Any key brings it back.',

  // its keys and what they do, with a bar between
  key_next: '→  ↓  Space  Page ↓  Enter | next step',
  key_previous: '←  ↑  Backspace  Page ↑ | previous step',
  key_ends: 'Home  End | first, last step',
  key_number: '7  Enter | go to step 7',
  key_predict: 'H | hide each result until the next key',
  key_explain: 'E | how the chosen cell is computed, or click a cell',
  key_cells: 'Shift + ← ↑ ↓ → | choose another cell',
  key_blank: 'B  . | blank screen',
  key_invert: 'I | dark on light, light on dark',
  key_keys: 'T | show or hide this list',
  key_leave: 'Esc | leave, at this step',

  // the hand-out
  handout: '{title}, hand-out',
  handout_filled: '{title}, hand-out with every number',
  name_line: 'Name',
  date_line: 'Date',
  instructions: 'Fill in the empty boxes, step by step. Numbers are rounded to two decimals: who goes on from them may be off by 0.01, and by more after several steps.',
  rounded: 'Every number, rounded to two decimals.',
  changed: 'These numbers follow from changes to the example. Cells edited: {edits}. Switched on: {breaks}.',
  nothing_on: 'nothing',
  part: 'The computation has more steps than fit a hand-out: these are {first} to {last} of {count}. Fold blocks, or go to another step, to print others.',
  step: 'Step {step}. {name}',
  step_block: 'Steps {first} to {step}. {name}',
  from_step: '{name}: the result of step {step}.',
  from_given: '{name}: given in step {step}.',
  shape: '{name} ({shape})',
  at: '{axis} {label}',
  rows_columns: 'rows {rows}, columns {columns}',
  along: 'along {columns}',
  columns: 'columns {first} to {last} of {count}',
  too_large: '{name} has {shape} numbers, too many for paper. Look at them on the page.',
  too_many_slices: 'Shown: {axis} {label}. The page has the other {left} as well.',
  one_number: 'one number',
  source: 'From “{page}”.',
  source_address: 'From “{page}”, {address}.',
  licence: 'Text and figures: CC BY 4.0, creativecommons.org/licenses/by/4.0.',
};

/** The keys of the lecture, in the order of its list. */
export const KEYS = [
  'key_next', 'key_previous', 'key_ends', 'key_number', 'key_predict', 'key_explain', 'key_cells', 'key_blank', 'key_invert',
  'key_keys', 'key_leave',
];

/** The text of a key with its places filled in. */
export const t = textsOf('classroom', TEXT);
