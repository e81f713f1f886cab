/** What stands in a player's menu "Share": a script that a page loads when a reader opens it, or follows a shared link. */
import * as sharing from './share/sharing.js';

globalThis.stepformerData('share', sharing);
