/** The bundle of a page with a ledger: it is read after stepformer.js and uses its engine. */
import { define, element } from './element.js';
import { Ledger } from './ledger/ledger.js';

define({ 'stepformer-ledger': element('ledger', Ledger, 'broken_ledger') });
