/**
 * Every text of the player and of the exercises, in one table, so that another language is another table.
 * A text is a whole sentence or label with named places, {like_this}; none is assembled from fragments.
 */
import { textsOf } from '../language.js';

export const TEXT = {
  // transport
  transport: 'Steps through the computation',
  previous: 'Previous step',
  next: 'Next step',
  play: 'Play',
  pause: 'Pause',
  undo: 'Undo (Ctrl+Z)',
  redo: 'Redo (Ctrl+Shift+Z)',
  compare: 'Compare',
  compare_hint: 'Show the result before and after your edits and switches, side by side (C)',
  reset: 'Reset',
  reset_hint: 'Undo every edit and switch (R)',
  position: 'Step {step} of {steps}',
  step_list: 'Steps',
  step_item: '{name}, by {op}',
  step_changed: ', changed by your edits',
  scope_changed: ', holds changes by your edits',
  position_block: 'Steps {first} to {step} of {steps}',
  fold: 'Fold {scope}',
  unfold: 'Unfold {scope}',
  show_block: 'Show {scope} as one step',
  block_op: '{count} steps',
  block_item: '{name}, {op}',
  block_sentence: 'The {count} steps of {scope} as one.',
  block_sentence_left: 'The {count} steps of {scope} as one. Not shown: {left} more inputs, such as weights.',
  inside: 'Made by the {count} steps inside.',
  untitled: 'Computation',

  // matrices
  scalar_shape: 'one number',
  grid: '{name}: {shape}',
  grid_with_axes: '{name}: {shape}, rows {row_axis}, columns {column_axis}',
  vector_grid: '{name}: {shape} values along {column_axis}',
  replaced: 'set by hand',
  replaced_hint: 'This result was edited, so it no longer follows its inputs. Reset to connect it again.',
  changed_cell: '{value}, changed from {old} to {now}',
  changed_cell_by: '{value}, changed from {old} to {now}, by {by}',
  changed_title: 'was {old}, now {now}',
  changed_title_by: 'was {old}, now {now}: {by}',
  allowed: 'may attend',
  masked: 'masked',
  token_cell: '{word}, token {id}',
  scale: 'Colour scale from {low} to {high}',

  // the chosen cell
  panel: 'How the chosen cell is computed',
  place: '{name}, row {row}, column {column}',
  place_vector: '{name}, position {column}',
  place_scalar: '{name}',
  place_leading: '{place}, {axis} {label}',
  spoken_cell: '{place}: {value}.',
  spoken_cell_from: '{place}: {value}, from {arithmetic}.',
  spoken_cell_because: '{place}: {value}. {reason}',
  spoken_break_on: 'On: {name}. What you see: {symptom} Switches on: {count}.',
  spoken_break_off: 'Off: {name}. Switches on: {count}.',
  spoken_block: 'Steps {first} to {step} of {steps}: {name}, as one step.',
  spoken_step: 'Step {step} of {steps}: {name}, by {op}.',
  given: 'A given value: nothing computes it. Change it and see what follows.',
  overridden: 'You set this result by hand. It no longer follows its inputs; Reset connects it again.',
  overridden_by_break: 'A switch that is on replaces this result, so it does not follow its inputs.',
  was: 'was {old}',
  was_by: 'was {old}: {by}',
  more_terms: '… {count} more …',
  spoken_more: '{count} more terms',
  more_terms_hint: 'Show all {count} terms',
  edit: 'Edit',
  edit_hint: 'Type another value (Enter)',
  mask_it: 'Mask this cell',
  allow_it: 'Allow this cell',
  slider: 'Slide {place}',

  ask: 'Ask me',
  ask_hint: 'Hide this number and work it out yourself (Q)',
  hidden_cell: 'hidden, you are asked for it',

  // where a number comes from
  walk: 'Where does it come from?',
  terms: 'What makes this number',
  terms_add_up: 'Its terms, the largest first. They add up to {value}.',
  one_term: 'It is no sum. These cells make it; the one that moves it most comes first.',
  terms_deciding: 'These decide it without being part of the sum:',
  constant: 'a constant of the operation',
  walk_end: 'A given value: the walk back ends here.',
  trail: 'The way you came',

  // editing
  editor: 'New value for {place}',
  editor_words: 'Another token for {place}',
  accepted_number: 'A number is needed, such as 1.5 or −0,25 or 1/3. Escape keeps the old one.',
  accepted_id: 'A whole number of at least 0 is needed. Escape keeps the old one.',
  edit_undone: 'That edit cannot be computed, so it was undone: {reason}',
  break_undone: 'This switch cannot be used here, so it was turned off again: {reason}',
  dismiss: 'Close this message',
  spoken_reset: 'All edits and switches were undone.',
  spoken_undo: 'Undone. Edits left: {edits}; switches left: {breaks}.',
  spoken_redo: 'Done again. Edits: {edits}; switches on: {breaks}.',
  nothing_to_undo: 'There is nothing to undo.',
  nothing_to_redo: 'There is nothing to do again.',

  // before and after
  spoken_compare: '{name}, before and after.',
  nothing_to_compare: 'Nothing is changed yet, so there is nothing to compare.',
  before: '{name} before',
  change: 'change',
  after: '{name} now',
  compare_sentence: 'The result without your edits and switches, and with them.',
  compare_rounded:
    'The result without your edits and switches, and with them. Each number is rounded by itself: a change may be off by 0.01 from what the two beside it give.',
  compare_same: 'Your edits and switches leave this result as it is.',
  changes: 'What changed',
  changes_count: '{count} of {size} cells',
  changes_shape: 'another shape: {old} became {now}',
  changes_most: 'most at [{place}]: {old} → {now}',
  changes_most_by: 'most at [{place}]: {old} → {now}, {by}',
  changes_more: '… {count} more results …',
  spoken_edit: '{place} is now {value}. Results changed: {count}.',

  // break it
  breaks: 'Break it',
  breaks_hint: 'Known mistakes, one switch each. Turn one on and look for what it does.',
  symptom: 'What you see: {symptom}',
  caught_by: 'Caught by the test {test}',

  // legend and help
  legend_changed: 'changed: more, or another value',
  legend_less: 'changed: less',
  legend_changed_hint: 'differs from the computation without your edits and switches; point at the cell to see by how much',
  legend_lit: 'makes the chosen cell',
  legend_fed: 'made from the chosen cell',
  share: 'Share',
  classroom: 'Classroom',

  // the help: keys and what they do, with a bar between
  help: 'Keyboard',
  help_hint: 'The keys and what they do (?)',
  close_help: 'Close',
  keys_stepping: 'Stepping',
  key_step: '[  ] | previous, next step',
  key_play: 'P | play, pause',
  key_list: '← ↑ ↓ → | in the list of steps: fold, move, unfold',
  keys_cells: 'Cells',
  key_arrows: '← ↑ ↓ → | move between cells',
  key_row: 'Home  End | first, last cell of the row',
  key_matrix: 'Ctrl + Home  End | first, last cell of the matrix',
  key_page: 'Page ↑  Page ↓ | eight rows up, down',
  key_walk: 'W | where the number comes from',
  key_ask: 'Q | ask me: hide the number, or ask for another',
  keys_changes: 'Changes',
  key_edit: 'Enter | edit the cell (or just type a number)',
  key_mask: 'Space | mask or allow the cell',
  key_leave: 'Esc | leave the editor, keep the old value',
  key_undo: 'Ctrl + Z | undo the last edit or switch (on a Mac ⌘ + Z)',
  key_redo: 'Ctrl + Shift + Z | do it again',
  key_reset: 'R | undo every edit and switch',
  key_compare: 'C | compare before and after',
  keys_tools: 'Tools',
  key_tab: 'Tab | the next control, the next matrix',
  key_share: 'S | share: link, code, picture, table',
  key_lecture: 'L | present on a projector',
  key_help: '? | show or hide this list',

  // errors
  broken_player:
    'This interactive example cannot be shown; its numbers are printed below. What is wrong: {reason}',
  broken_exercise: 'This exercise cannot be shown. What is wrong: {reason}',
  empty_payload: 'the element holds no data',
  bad_json: 'the data is not valid JSON ({reason})',
  not_an_object: 'the data is not a JSON object',
  empty_program: 'the computation has no steps',
  bad_fold: 'the fold {fold} is not a scope of this computation, or not a list of scopes',
  bad_start: 'the start {start} is neither a step number nor the name of a result',

  // an element whose data are loaded on a click
  load: 'Load the player ({size} MB)',
  loading: 'Loading the player …',
  tables: 'Numbers of this example, as tables',
  load_failed: 'It could not be loaded ({reason}). Nothing is lost; try again later.',

  // elements whose other texts come with their scripts
  broken_map: 'This map cannot be shown; its words are listed below. What is wrong: {reason}',
  broken_translator: 'The page cannot translate here; some translations are printed below. What is wrong: {reason}',
  broken_timeline: 'This timeline cannot be shown; its last moment is listed below. What is wrong: {reason}',
  broken_ledger: 'This ledger cannot be shown; its counts are listed below. What is wrong: {reason}',

  // exercises
  exercise: 'Exercise',
  check: 'Check',
  hint: 'Hint',
  answer: 'Answer',
  right: 'Right.',
  spoken_known: 'Not right. {message}',
  not_yet: 'Not yet. Look again, then try another answer.',
  choose_first: 'Choose an answer first.',
  not_a_number: '“{text}” is not a number. Write one such as 0.25, 0,25 or 1/4.',
  exercise_problem: 'its data is not valid: the {part} is missing or damaged',
  missing_number: 'Fill in every field with a number such as 0.25, 0,25 or 1/4.',
};

/** The signs of arithmetic as they are read aloud, one after the other: what `pieces` writes -> a word for it. */
export const SIGNS = {
  ' + ': 'plus',
  ' − ': 'minus',
  ' · ': 'times',
  ' / ': 'over',
  ' × ': 'times',
  ' = ': 'equals',
  ' < ': 'less than',
  ' > ': 'greater than',
  '−': 'minus ',
  '∞': 'infinity',
  e: ' times 10 to the power of ',
  '(': 'open bracket',
  ')': 'close bracket',
  'exp(': 'e to the power of',
  'log(': 'the logarithm of',
  'max(': 'the largest of',
  'tanh(': 'the hyperbolic tangent of',
  'erf(': 'the error function of',
  '√(': 'the square root of',
  'sin(': 'the sine of',
  'cos(': 'the cosine of',
  ')²': 'squared',
  '^(': 'to the power of',
};

/** The keys of the player in groups, in the order of the help: name of the group -> its lines. */
export const KEYS = {
  keys_stepping: ['key_step', 'key_play', 'key_list'],
  keys_cells: ['key_arrows', 'key_row', 'key_matrix', 'key_page', 'key_walk', 'key_ask'],
  keys_changes: ['key_edit', 'key_mask', 'key_leave', 'key_undo', 'key_redo', 'key_reset', 'key_compare'],
  keys_tools: ['key_tab', 'key_share', 'key_lecture', 'key_help'],
};

/** The text of a key with its places filled in. */
export const t = textsOf('player', TEXT);

/** The word for a sign, or null where it is none. */
const word = textsOf('signs', SIGNS);
export const sign = (text) => (text in SIGNS ? word(text) : null);
