/**
 * The language of the page, as `<html lang>` names it: whose texts are shown, and how numbers are written.
 *
 * Texts stand in tables, in English. A script of an edition in another language, read before our elements mount, puts
 * its own beside them; an entry that it lacks is shown in English:
 *
 *   globalThis.stepformerLanguages = { zh: { player: { next: '下一步' }, reasons: {…} } };
 */
const page = globalThis.document?.documentElement.lang || 'en';
/** What a table for it may be called, the closest first: zh-hant-tw, zh-hant, zh. Tags mean the same in any case. */
const names = page
  .toLowerCase()
  .split('-')
  .map((_, i, parts) => parts.slice(0, parts.length - i).join('-'));

/** Puts the parameters into a template: fill('{n} keys', {n: 3}) is '3 keys'. */
export function fill(template, parameters) {
  return template.replace(/\{(\w+)\}/g, (placeholder, name) =>
    Object.hasOwn(parameters, name) ? String(parameters[name]) : placeholder,
  );
}

function translated(name, key) {
  if (!globalThis.stepformerLanguages) return undefined;
  const all = Object.entries(globalThis.stepformerLanguages);
  const tables = names.map((language) => all.find(([tag]) => tag.toLowerCase() === language)?.[1]);
  return tables.map((table) => table?.[name]?.[key]).find((text) => typeof text === 'string');
}

/**
 * The texts of a table, each with its places filled in: `textsOf('player', TEXT)('next')`.
 * @param {string} name  what another language calls the table
 * @param {Object<string, string>} english
 */
export const textsOf =
  (name, english) =>
  (key, values = {}) =>
    fill(translated(name, key) ?? english[key], values);

/** The language that numbers follow: English where the page's is unknown, not whatever the browser speaks. */
function known() {
  try {
    return Intl.NumberFormat.supportedLocalesOf(page)[0] ?? 'en';
  } catch {
    return 'en';
  }
}

const numbers = new Intl.NumberFormat(known(), { numberingSystem: 'latn' });
const sign = (type) => numbers.formatToParts(1234567.5).find((part) => part.type === type).value;
/** What parts the decimals, and what parts the thousands. */
export const [POINT, GROUP] = ['decimal', 'group'].map(sign);
/** Parts numbers in a row: (1.5, 2) in English, (1,5; 2) where a comma is the decimal sign. */
export const COMMA = POINT === ',' ? '; ' : ', ';

/** A count with its thousands parted. */
export const count = (number) => numbers.format(number);
