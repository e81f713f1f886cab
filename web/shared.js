/**
 * What the other bundles of a page, such as stepformer-translate.js or stepformer-share.js, take from the first one, so that
 * the engine is on the page once. In those bundles the build puts `globalThis.stepformerShared`, where the first one leaves
 * all of this, in the place of every file outside of their own folders.
 */
export { fill } from './explain_text.js';
export { define, element } from './element.js';
export { h, icon, keepKeys, setAttribute, setText } from './player/dom.js';
export { narrow } from './player/number.js';
export { needList, needObject, needText, parseProgram } from './program.js';
export { format, fromNested, tensor } from './tensor.js';
