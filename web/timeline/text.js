/**
 * Every text of the training timeline, in one table, so that another language is another table. A text is a whole
 * sentence or label with named places, {like_this}; none is assembled from fragments.
 */
import { textsOf } from '../language.js';

export const TEXT = {
  title: 'How the model “{model}” learnt',
  wrong_format: 'the format is {format}, which this page does not read',
  wrong_part: 'the {part} is missing or damaged',

  sentence: 'Sentence',
  play: 'Play',
  pause: 'Pause',
  slider: 'Moment of the training',
  moment: 'after step {step}',
  before: 'before the first step',
  loss: 'loss {loss}',
  no_loss: 'no loss yet',
  curve: 'The loss, from {first} in the first step to {last} in the last. The line marks the chosen moment.',

  layer: 'layer',
  head: 'head',
  average: 'average',

  attention: 'Where it looks',
  attention_hint: 'A row for each word of the translation: how much the position that predicts it looks at each word of the source. What is missing to 1 goes to the end of the sentence.',
  predicts: 'What is expected in the place of {word}',
  next: 'What it expects in the place of {word}',
  next_hint: 'The five most probable words, after {prefix}. ✓ marks the right one.',
  next_hint_first: 'The five most probable words at the beginning. ✓ marks the right one.',
  right: 'right: ',

  spoken: 'In the place of {word} it expects {expected}, {share}, and looks most at {source}, {weight}.',
  spoken_moment: 'Stopped {moment}. {said}',
};

/** The text of a key with its places filled in. */
export const t = textsOf('timeline', TEXT);
