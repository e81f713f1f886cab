/** What a screen reader is told as the reader steps, chooses and edits. */
import { arithmeticText } from './explanation.js';
import { formatApart } from './matrix.js';
import { t } from './text.js';

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
  const said = { place: placeOf(scene, cell), value: spokenValue(cell) };
  if (!cell.explanation || cell.explanation.result.kind === 'choice') return t('spoken_cell', said);
  const kinds = cell.ids.map((id) => scene.value(id).dtype);
  return t('spoken_cell_from', { ...said, arithmetic: arithmeticText(cell.explanation, kinds) });
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
