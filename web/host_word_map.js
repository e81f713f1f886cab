/** The bundle of a page with a map of words: it is read after stepformer.js and uses its engine. */
import { define, element } from './element.js';
import { WordMap } from './word_map/word_map.js';

define({ 'stepformer-word-map': element('wordMap', WordMap, 'broken_map') });
