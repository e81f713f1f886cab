/** What stands in a player's menu "Classroom": a script that a page loads when a reader opens it, or presses its key. */
import * as classroom from './classroom/classroom.js';

globalThis.stepformerData('classroom', classroom);
