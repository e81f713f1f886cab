/**
 * Every sentence of the engine, to be translated in one place: templates with named placeholders.
 *
 * SENTENCES  what an op does, in words; {0}, {1}, … are the names of its inputs
 * REASONS    why a cell has a value that no arithmetic gives (the `text` of a choice in an explanation)
 * RULES      what is wrong with the inputs of an op (the message of an OpError)
 */
import { textsOf } from './language.js';

export const SENTENCES = {
  matmul: 'Each row of {0} meets each column of {1}: multiply pairwise, then add up.',
  transpose: 'Rows of {0} become columns.',
  add: 'Add {0} and {1}, cell by cell.',
  subtract: 'Subtract {1} from {0}, cell by cell.',
  multiply: 'Multiply {0} and {1}, cell by cell.',
  divide: 'Divide {0} by {1}, cell by cell.',
  scale: 'Divide {0} by the square root of the width of {1}.',
  scale_up: 'Multiply {0} by the square root of its width.',
  linear: 'Multiply {0} by {1}, then add {2} to each row.',
  causal_mask: 'A position of {0} may look at a position of {1} that is not later than itself.',
  padding_mask: 'Every token of {0} may be looked at, except padding.',
  both: 'Allowed where both {0} and {1} allow it.',
  share_across_heads: 'All heads use the same {0}.',
  mask: 'Keep {0} where {1} allows it; put −∞ everywhere else.',
  mask_with_zero: 'Keep {0} where {1} allows it; put 0 everywhere else (a mistake: 0 still gets a weight).',
  mask_opposite:
    'Put −∞ where {1} allows it (a mistake: the mask is read the wrong way round); keep {0} elsewhere.',
  mask_transposed:
    'Keep {0} where {1}, rows and columns swapped, allows it; put −∞ elsewhere (a mistake: it hides queries, not keys).',
  zero_masked: 'A row of {0} that {1} hides from every query becomes 0.',
  softmax: 'Turn {0} into shares, which are positive and add up to 1.',
  total: 'Add up {0} along one axis.',
  count_rows: 'Count the rows of {0}.',
  cross_entropy: 'In each row of {0}: minus the logarithm of the probability that softmax gives to {1}.',
  one_hot: 'A row for each token of {0}: 1 in the column of the token, 0 elsewhere.',
  softmax_averaged: 'Turn {0} into weights, then give every head the mean of all heads (a mistake).',
  hardmax: 'Give the largest of {0} the weight 1 and all others 0.',
  relu: 'Keep what is positive in {0}; replace the rest by 0.',
  tanh: 'Squash {0} into the range from −1 to 1.',
  gelu: 'Keep what is positive in {0}, replace the rest by nearly 0, with a round corner between.',
  mean: 'Average {0} along one axis.',
  mean_square: 'Square {0}, then average along one axis.',
  root: 'Take the square root of {0}.',
  layer_norm: 'Shift and stretch each row of {0} to mean 0 and variance 1, then apply {1} and {2}.',
  row_total: 'Add up each row of {0}; the sums stand in one column.',
  row_norm: 'The length of each row of {0}: the root of the sum of its squares.',
  positive: 'Put 1 where {0} is above 0, and 0 elsewhere.',
  gelu_slope: 'How steeply GELU rises at each number of {0}.',
  sinusoids: 'One row of sines and cosines for each position of {0}, whatever stands there.',
  sinusoids_in_blocks: 'One row for each position of {0}: all sines first, then all cosines (another order).',
  sinusoids_exponent_slip:
    'One row for each position of {0}, with a slip in the exponent (a mistake: columns are counted, not pairs).',
  add_batch_positions:
    'Add one row for each sentence to {0} (a mistake: the tokens of a sentence are not told apart).',
  first_rows: 'The first rows of {0}, one for each position of {1}.',
  rotate_pairs: 'Turn each pair of columns of {0} by an angle that grows with the position.',
  distance_bias: 'A penalty for each pair, in proportion to the distance between {0} and {1}.',
  convolve_1d: 'Slide a window along the rows of {0}: multiply what it sees by {1}, add up, and add {2}.',
  convolve_1d_flipped: 'Slide a window along the rows of {0}, with {1} turned round (a mistake: last place first).',
  convolve_2d: 'Slide a window over {0}: multiply what it sees by {1}, add up, and add {2}.',
  convolve_2d_flipped: 'Slide a window over {0}, with {1} turned upside down (a mistake: by half a turn).',
  concat: 'Put the inputs next to one another.',
  split_heads: 'Cut each row of {0} into one piece per head.',
  merge_heads: 'Put the pieces of all heads back into one row.',
  reshape_heads: 'Cut the numbers of {0} into heads without regard to rows: the positions get mixed up.',
  embed: 'Look up the row of {1} for each token of {0}.',
  add_pairs: 'Add each row of {0} to each row of {1}.',
  exp: 'Raise e to the power of {0}.',
  keep_top_k: 'Mark the {1} largest of {0}.',
  keep_top_p: 'Mark the fewest of {0} that together reach {1}, the largest first.',
  smooth: 'Take the part {1} of {0} and share it equally among all words.',
  soft_cross_entropy:
    'In each row of {0}: minus the logarithm of what softmax gives to each word, weighted with {1}.',
  clear_padding: 'Rows of {0} whose token in {1} is padding become 0.',
  count_tokens: 'Count the tokens of {0} that are not padding.',
  copy: 'Pass {0} on unchanged.',
  sigmoid: 'Squash {0} into the range from 0, a shut gate, to 1, an open one.',
  join_pair: 'Join the most frequent pair of {1} wherever it stands in {0}; the rows below move up.',
  trim: 'Leave out tokens of {0} at the ends.',
  row: 'Take one row of {0}.',
  stack: 'Put the inputs below one another.',
  hold: 'Take {0} where {2} says that there is a word; keep {1} over padding.',
};

export const REASONS = {
  'causal_mask.allowed': 'Query {query} may look at key {key}: keys up to {last} are not later than it.',
  'causal_mask.later': 'Query {query} may not look at key {key}: keys after {last} are later than it.',
  'causal_mask.none': 'Query {query} comes before every key, so it may look at none.',
  'padding_mask.token': 'Token {token} is not padding ({pad}), so it may be looked at.',
  'padding_mask.padding': 'This token is padding ({pad}), so nobody may look at it.',
  'both.allowed': 'Both masks allow it.',
  'both.refused': 'At least one of the masks refuses it.',
  'mask.allowed': 'Allowed by the mask, so the score stays.',
  'mask.refused': 'Refused by the mask, therefore −∞.',
  'mask_with_zero.allowed': 'Allowed by the mask, so the score stays.',
  'mask_with_zero.refused':
    'Refused by the mask, but 0 is a score like any other: softmax gives it a weight.',
  'mask_opposite.allowed': 'Allowed by the mask, but the mask is read the wrong way round, therefore −∞.',
  'mask_opposite.refused':
    'Refused by the mask, but the mask is read the wrong way round, so the score stays.',
  'mask_transposed.allowed': 'The mask, with rows and columns swapped, allows it, so the score stays.',
  'mask_transposed.refused': 'The mask, with rows and columns swapped, refuses it, therefore −∞.',
  'zero_masked.kept': 'At least one query may look at this key, so its row stays.',
  'zero_masked.zeroed': 'No query may look at this key, so its row becomes 0.',
  'softmax.nothing_allowed': 'Every score here is −∞: there is nothing to attend to, so all weights are 0.',
  'softmax_averaged.nothing_allowed':
    'Every score of this head is −∞: there is nothing to attend to, so its weights are 0.',
  'cross_entropy.right': 'Token {token} is right: the logarithm of the total, minus the logit of token {token}.',
  'one_hot.token': 'Token {token} has its 1 in column {token}.',
  'one_hot.other': 'Token {token} has no 1 in column {column}.',
  'hardmax.largest': 'This is the largest (the first, if several are), so it gets all the weight.',
  'hardmax.not_largest': 'Another one is larger (or equal and earlier), so this one gets no weight.',
  'hardmax.nothing_allowed': 'Every score here is −∞: there is nothing to attend to, so all weights are 0.',
  'sinusoids.sine': 'Position {position}, column {column} = 2 · {pair}: the sine of pair {pair}.',
  'sinusoids.cosine': 'Position {position}, column {column} = 2 · {pair} + 1: the cosine of pair {pair}.',
  'sinusoids_in_blocks.sine': 'Position {position}, column {column} of the first block: the sine of pair {pair}.',
  'sinusoids_in_blocks.cosine':
    'Position {position}, column {column}, in the second block: the cosine of pair {pair}.',
  'sinusoids_exponent_slip.sine':
    'Position {position}, column {column}: the exponent doubles the number of the column, not that of the pair.',
  'sinusoids_exponent_slip.cosine':
    'Position {position}, column {column}: the exponent doubles the number of the column, not that of the pair.',
  'add_batch_positions.sine':
    'Sentence {position} of the batch, for every token of it: the sine of pair {pair}.',
  'add_batch_positions.cosine':
    'Sentence {position} of the batch, for every token of it: the cosine of pair {pair}.',
  'positive.above': 'Above 0, so the answer is 1; it is the slope of ReLU too.',
  'positive.not_above': 'Not above 0, so the answer is 0; it is the slope of ReLU too.',
  'hold.new': 'This is a word, so the new state counts.',
  'hold.old': 'This is padding, so the old state stays.',
  'join_pair.joined': 'The most frequent pair, columns {first} and {second}, stood here: two rows became one.',
  'join_pair.kept': 'No pair begins here: this is row {row} as it was.',
  'join_pair.empty': 'The rows have moved up, and none is left for this place.',
  'embed.row': 'Token {token} picks row {token} of the table.',
  'keep_top_k.kept': '{rank} come before this one, fewer than {limit}: it is kept.',
  'keep_top_k.dropped': '{rank} come before this one, not fewer than {limit}: it is left out.',
  'keep_top_p.kept': 'The {rank} that come before it add up to {before}, less than {limit}: it is kept.',
  'keep_top_p.dropped': 'The {rank} that come before it add up to {before}, which reaches {limit}: it is left out.',
  'soft_cross_entropy.expected': 'What each word would cost, weighted with its share of the target.',
  'soft_cross_entropy.nothing': 'No word has a share in this row of the target, so it costs nothing.',
  'clear_padding.token': 'Token {token} is not padding, so the number stays.',
  'clear_padding.padding': 'This token is padding ({pad}), so the number becomes 0.',
  'count_tokens.counted': 'There are {n} tokens; those that are not padding ({pad}) are counted.',
};

export const RULES = {
  unknown_op: 'there is no op of this name',
  input_count: 'takes {expected} inputs, but {given} were given',
  attribute_unknown: 'does not know the attribute {attribute}',
  attribute_missing: 'needs the attribute {attribute}',
  attribute_integer: 'the attribute {attribute} must be a whole number, not {given}',
  attribute_number: 'the attribute {attribute} must be a number, not {given}',
  attribute_above: 'the attribute {attribute} must be greater than {above}, not {given}',
  too_large: 'the result of shape {shape} is too large: at most {limit} values are allowed',
  needs_numbers: '{argument} is a mask (true or false), but numbers are needed',
  needs_mask: '{argument} must be a mask (true or false), not numbers',
  needs_tokens: '{argument} must hold token ids (whole numbers), not {dtype} values',
  scores: '{argument} holds {value} at {index}: scores are finite, or −∞ where they are masked',
  at_least: '{argument} has the shape {shape}, but at least {rank} axes are needed',
  broadcast:
    '{argument} of shape {shape} and {second} of shape {other} do not fit: ' +
    'compared from the last axis, lengths must be equal or 1',
  mask_shape:
    '{argument} of shape {shape} does not fit scores of shape {other}: ' +
    'compared from the last axis, its lengths must be equal to theirs or 1',
  inner:
    '{argument} of shape {shape} and {second} of shape {other} do not fit: ' +
    'a row of {argument} has {inner} values, but a column of {second} has {rows}',
  keys:
    '{argument} of shape {shape} and {second} of shape {other} do not fit: ' +
    '{argument} has {rows} rows, but {second} is a mask for {keys} keys',
  matrix: '{argument} must be a matrix (2 axes), but has the shape {shape}',
  vector: '{argument} must have the shape {expected}, but has the shape {shape}',
  zero_divisor: '{argument} holds a zero at {index}: division by zero',
  empty_axis: '{argument} of shape {shape} has no values along axis {axis}',
  too_few: '{argument} of shape {shape} has too few values along axis {axis}',
  negative: '{argument} holds a value at {index} that is too small to have a square root',
  axis: 'axis {axis} does not exist in a tensor of shape {shape}',
  concat:
    '{argument} of shape {shape} does not fit the first input of shape {other}: ' +
    'all axes except axis {axis} must be equal',
  heads:
    '{argument} of shape {shape} cannot be cut into {heads} heads: ' +
    'its last axis must be a multiple of {heads}',
  trim: 'of {argument} of shape {shape}, {count} tokens can not be left out',
  no_row: '{argument} of shape {shape} has no row {index}',
  same_shape: '{argument} of shape {shape} and {second} of shape {other} must have one shape',
  hold: '{argument} of shape {shape} is no mask (…, 1, n) for {second} of shape {other}',
  token_range: '{argument} holds the token id {id} at {index}, but ids go from 0 to {last}',
  targets: '{argument} of shape {shape} must hold one target for each row of {second}, of shape {other}',
  impossible: '{argument} is −∞ for the right answer of row {index}: its loss would be infinite',
  single: '{argument} must be one number between {low} and {high}',
  needs_shares: '{argument} must hold probabilities, none of them negative',
  one_each: '{argument} of shape {shape} must begin with the shape {other} of {second}',
  too_long: '{argument} has {rows} rows, one for each position, but there are {n} tokens: {n} > {rows}',
  pairs: '{argument} of shape {shape} has an odd width, but columns are turned in pairs',
  rank: '{argument} must have {rank} axes, but has the shape {shape}',
  channels:
    '{argument} of shape {shape} and {second} of shape {other} do not fit: both must have the same number of channels',
  window:
    '{argument} of shape {shape} is too small: a window of {window} does not fit into {places} places, with padding',
  width: '{argument} of shape {shape} and {second} of shape {other} do not fit: their last axes must be equal',
};

/** The names that arithmetic gives to what it works out on the way. */
export const VARIABLES = {
  max: 'max',
  total: 'total',
  mean: 'mean',
  variance: 'variance',
  angle: 'angle',
};

export const sentence = textsOf('sentences', SENTENCES);
export const reason = textsOf('reasons', REASONS);
export const rule = textsOf('rules', RULES);
const word = textsOf('variables', VARIABLES);
/** max, or max of a group as max₁: the word is translated, the rest stays. */
export const variableName = (name) => name.replace(/^[a-z]+/, (known) => (known in VARIABLES ? word(known) : known));
