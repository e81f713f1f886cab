/** The second bundle of a page that translates: it is read after stepformer.js and uses its engine. */
import { define, element } from './element.js';
import { Translator } from './translate/translator.js';

define({ 'stepformer-translator': element('translator', Translator, 'broken_translator') });
