/**
 * What a screen reader is told as the reader steps, chooses and edits. Signs are said in words: most screen readers pass
 * over a multiplication dot and over brackets, and some over a minus. (In a cell, − stands alone before a number, which
 * they all read.)
 */
import { reason } from '../explain_text.js';
import { SHOWN_TERMS, pieces } from './explanation.js';
import { formatApart } from './matrix.js';
import { sign, t } from './text.js';
import { aloud } from './voice.js';

/** @param {import('./scene.js').Scene} scene; @param {import('./scene.js').Cell} cell */
export function placeOf(scene, { id, index }) {
  const labels = scene.indexLabels(id, index);
  const place = t(['place_scalar', 'place_vector'][labels.length] ?? 'place', {
    name: scene.name(id),
    row: labels.at(-2)?.text,
    column: labels.at(-1)?.text,
  });
  return labels
    .slice(0, -2)
    .reduce((said, { axis, text }) => t('place_leading', { place: said, axis, label: text }), place);
}

export function spokenStep(scene, comparing = false) {
  const { session, step } = scene;
  if (comparing) return t('spoken_compare', { name: scene.name(step.output) });
  if (step.block) {
    const { first, last, name } = step.block;
    return t('spoken_block', { first: first + 1, step: last + 1, steps: session.steps.length, name });
  }
  const said = {
    step: session.step + 1,
    steps: session.steps.length,
    name: scene.name(step.output),
    op: step.op,
  };
  return t('spoken_step', said);
}

export function spokenCell(scene) {
  const cell = scene.chosenCell();
  if (cell.empty) return scene.name(cell.id);
  if (scene.hides(cell.id, cell.index)) return t('spoken_cell', { place: placeOf(scene, cell), value: t('hidden_cell') });
  const said = { place: placeOf(scene, cell), value: spokenValue(cell) };
  if (!cell.explanation) return t('spoken_cell', said);
  const { result } = cell.explanation;
  if (result.kind === 'choice')
    return t('spoken_cell_because', { ...said, reason: reason(result.text, result.parameters) });
  const kinds = cell.ids.map((id) => scene.value(id).dtype);
  return t('spoken_cell_from', { ...said, arithmetic: spokenArithmetic(result, kinds) });
}

export function spokenEdit(scene) {
  const cell = scene.chosenCell();
  const { steps, changed } = scene.session;
  const results = steps.filter(({ output }) => output !== cell.id && changed.has(output));
  return t('spoken_edit', { place: placeOf(scene, cell), value: spokenValue(cell), count: results.length });
}

export function spokenValue({ value, dtype, words, old }) {
  if (words) return words[value];
  return dtype === 'bool' ? t(value ? 'allowed' : 'masked') : formatApart(value, old ?? value, dtype);
}

/** A switch turned on or off. */
export function spokenBreak({ breaks }, { name, symptom }) {
  const on = breaks.includes(name);
  return t(on ? 'spoken_break_on' : 'spoken_break_off', { name, symptom, count: breaks.length });
}

/** Arithmetic in words, as "2.00 times minus 0.50 plus …". Brackets are said where more than one number is inside. */
function spokenArithmetic(expr, kinds) {
  const parts = pieces(expr, { kinds, limit: SHOWN_TERMS });
  const opens = (i) => parts[i]?.text?.endsWith('(');
  const closes = (i) => parts[i]?.text?.startsWith(')');
  return parts
    .flatMap(({ text, variable, more }, i) => {
      if (text === undefined) return variable ?? t('spoken_more', { count: more });
      const said = sign(text);
      if (opens(i)) return closes(i + 2) || text === '(' ? said : [said, sign('(')];
      if (closes(i) && text !== ')') return opens(i - 2) ? said : [sign(')'), said];
      if (said !== null) return closes(i) && opens(i - 2) ? [] : said;
      // A number, which its own brackets have kept apart from the sign before it.
      return aloud(text.replace(/[()]/g, '').trim()).replace(/(?<=\d)e/, sign);
    })
    .join(' ')
    .replaceAll(' ,', ',');
}
