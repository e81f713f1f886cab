/**
 * What the second bundle of a page, stepformer-translate.js, stepformer-timeline.js or stepformer-share.js, takes from the first one, so that
 * the engine is on the page once. In that bundle the build puts `globalThis.stepformerShared`, where the first one leaves
 * all of this, in the place of every file outside of its own folders.
 */
export { fill } from './explain_text.js';
export { define, element } from './element.js';
export { h, icon, keepKeys, setAttribute, setText } from './player/dom.js';
export { needList, needObject, needText, parseProgram } from './program.js';
export { format, tensor } from './tensor.js';
export { suggestions } from './word_map/spelling.js';
