/** The bundle of a page with a training timeline: it is read after stepformer.js and uses its engine. */
import { define, element } from './element.js';
import { Timeline } from './timeline/timeline.js';

define({ 'stepformer-timeline': element('timeline', Timeline, 'broken_timeline') });
