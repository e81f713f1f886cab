/** The question mode of a player: a script that a page loads when a reader asks to be asked. */
import * as asking from './ask/asking.js';

globalThis.stepformerData('ask', asking);
