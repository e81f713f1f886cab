/**
 * Every text of the page that translates, in one table, so that another language is another table. A text is a whole
 * sentence or label with named places, {like_this}; none is assembled from fragments.
 */
import { textsOf } from '../language.js';

export const TEXT = {
  title: 'Translate with the trained model',
  wrong_format: 'the format is {format}, which this page does not read',

  // the sentence
  ask: 'An English sentence',
  translate: 'Translate',
  size: 'The first click loads the model ({size} MB).',
  examples: 'Or one of these:',
  next_words: 'What may come next',
  completions: 'Words that begin like this',
  reads: 'The model reads',
  unknown_hint: '{word} is not among the {count} words that the model knows',
  near: '{word} is unknown. Spelt nearly like it:',
  spoken_near: '{word} is unknown. Spelt nearly like it: {words}.',
  unknown_alone: '{word} is unknown; the model reads <unk> in its place.',
  left_out: 'Left out, for it is control characters or marks of direction and no text: {signs}.',
  end: 'end',

  // while it works
  loading: 'Loading the model …',
  load_failed: 'The model could not be loaded ({reason}). Nothing is lost; try again later.',
  failed: 'This cannot be computed: {reason}',
  empty: 'Type a sentence first, or choose one of the examples.',
  too_many_characters: 'This text has {count} characters. Please translate one sentence at a time, of at most {most} characters.',
  too_many_words: 'This sentence has {count} words and signs; the model has learnt to read at most {most}. Shorten it, or cut it in two.',

  // the translation
  translation: 'Translation',
  spoken: 'Translation: {text}',
  spoken_cut: 'Translation, cut off because it did not end: {text}',
  spoken_without: 'Translation: {text}; with everything: {whole}',
  spoken_place: '{expected} {looks}',
  cut: 'Cut off after {count} words: the model did not end the sentence.',
  beginning: 'One of the beginnings that the search weighed.',
  beginning_scored: 'Its probability: {probability} (logarithm {score}; divided by the length penalty {normalised}).',
  scored: 'Probability of the whole sentence: {probability} (logarithm {score}; divided by the length penalty {normalised}).',
  forced: 'Words at the beginning that were set by you: {count}.',
  free: 'Let the model write all of it',
  nothing: 'nothing at all',

  // how the next word is searched for
  search: 'Search',
  greedy: 'Greedy',
  beam: 'Beam',
  beam_size: 'Beam size',
  alpha: 'Length penalty α',
  bad_beam: 'The beam size must be a whole number from 1 to {most}.',
  bad_alpha: 'The length penalty must be a number from 0 to 5.',
  tree: 'The beam, step by step',
  tree_hint: 'Each column is one more word; the most probable beginnings stand at the top. Numbers are logarithms of the probability of all words so far. Choose a beginning, here or in the list: probabilities, attention and player then show it.',
  tree_label: 'The search as a tree of {count} beginnings. Arrow keys walk through it. The list under it gives the finished translations as text.',
  tree_dropped: 'Show what was dropped',
  best: 'Finished translations, the best first',
  best_item: '{text} ({score}; divided by the length penalty {normalised})',
  best_item_cut: '{text} (not finished; {score}; divided by the length penalty {normalised})',

  // attention
  attention: 'What each word looks at',
  attention_hint: 'Cross-attention at the position that predicts the word.',
  layer: 'layer',
  head: 'head',
  average: 'average',
  lines: 'Lines from each written word to the words of the source it looks at. {links} The table gives all weights.',
  link: '{target} looks most at {source}.',
  spoken_link: '{target} looks most at {source}, {weight}.',
  weights: 'The same weights as a table: rows are written words, columns words of the source',

  // the next word
  next_word: 'Probabilities of word {number}',
  next_hint: 'After {prefix}. Choose another word, and the model goes on from there.',
  prefix_empty: 'the beginning of the sentence',
  others: 'all {count} other words',
  spoken_next: 'Most probable after {prefix}: {words}.',
  spoken_share: '{word} {share}',
  write: 'Write {word} here, probability {probability}, and go on',
  chosen_word: 'Word {number}: {word}',
  chosen_end: 'Word {number}: the end of the sentence',

  // teacher forcing
  compare: 'Teacher forcing beside free running',
  compare_ask: 'A right translation',
  compare_hint: 'Left, each word is predicted after the words of the right translation, as in training. Right, after the words that the model itself wrote.',
  compare_table: 'Word by word: given by the teacher, and running free',
  compare_given: 'after the right word',
  compare_own: 'after its own word',
  compare_predicts: 'predicts',
  compare_sum: 'After the right words it predicts {right} of {count} right. Logarithm of the probability of the right translation: {score}.',
  compare_unknown: 'The model cannot write {words}, so no probability of this translation can be given.',
  compare_empty: 'Give a right translation to compare with.',
  begin: 'begin',

  // ablation
  ablate: 'Take a part away',
  ablate_hint: 'Switch off single heads, or the positions, and see what was theirs to do. The weights stay as they are.',
  ablate_table: 'Heads that are in use, for each attention',
  ablate_head: '{path}, head {head}',
  ablate_path: '{side}, layer {layer}: {kind}-attention',
  head_number: 'head {head}',
  ablate_positions: 'Positions',
  ablate_all: 'Use everything again',
  ablate_whole: 'With everything: {text}',
  ablate_same: 'The translation stays the same: {text}',

  // the player
  open: 'Open this step in the player',
  open_hint: 'Every number of the prediction of word {number}, after {prefix}: each step can be opened, followed back and edited.',
  close: 'Close the player',
  player_title: '{source} → {prefix} …',
};

/** The text of a key with its places filled in. */
export const t = textsOf('translate', TEXT);
