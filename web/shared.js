/**
 * What the other bundles of a page, such as stepformer-translate.js or stepformer-share.js, take from the first one, so that
 * the engine is on the page once. In those bundles the build puts `globalThis.stepformerShared`, where the first one leaves
 * all of this, in the place of every file outside of their own folders.
 */
export { define, element } from './element.js';
export { COMMA, GROUP, POINT, count, fill, textsOf } from './language.js';
export { formulaOf, sentenceOf } from './player/equation.js';
export { h, icon, keepKeys, setAttribute, setText } from './player/dom.js';
export { Scene } from './player/scene.js';
export { narrow } from './player/number.js';
export { needList, needObject, needText, parseProgram } from './program.js';
export { format, formatCell, fromNested, tensor } from './tensor.js';
// The question mode works out what is right, what is wrong, and how far a hint goes.
export { contributions } from './contributions.js';
export { evaluate, references } from './explain.js';
export { sentence, variableName } from './explain_text.js';
export { OPS } from './ops.js';
export { SHOWN_TERMS, pieces } from './player/explanation.js';
export { parseGrouped, parseNumber } from './player/number.js';
export { placeOf, spokenValue } from './player/speech.js';
export { Voice } from './player/voice.js';
export { at, indexOf, offset } from './tensor.js';
