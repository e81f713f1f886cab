/**
 * All steps of a program on paper, through the print dialog of the browser. The document stands at the end of the page,
 * seen by a printer alone, until the printing is over.
 */
import { formulaOf, sentenceOf } from '../player/equation.js';
import { h } from '../player/dom.js';
import { Scene } from '../player/scene.js';
import { formatCell } from '../tensor.js';
import style from './handout.css';
import { t } from './text.js';

/** What a sheet of paper, and a reader with a pencil, can take. */
const MOST_STEPS = 40;
const MOST_CELLS = 400;
const MOST_COLUMNS = 12;
const MOST_SLICES = 8;
/** A table of more rows may run on to the next page. */
const MOST_ROWS_TOGETHER = 24;

/** While the hand-out is on the page, it is what is printed. */
const PAGE_STYLE = `.stepformer-handout { display: none; }
@media print {
  @page { margin: 15mm; }
  html, body { display: block !important; position: static !important; block-size: auto !important; min-block-size: 0 !important; inline-size: auto !important; margin: 0 !important; padding: 0 !important; overflow: visible !important; background: #fff !important; }
  body > :not(.stepformer-handout) { display: none !important; }
  body > .stepformer-handout { display: block !important; }
}`;

/** The one that is on the page, and what takes it away. */
let clear = null;

/** @param {import('../player/player.js').Player} player; @param {'blank'|'filled'|'both'} kind */
export function printHandout(player, kind) {
  clear?.();
  const { title } = document;
  const host = h('div.stepformer-handout');
  const pages = { blank: [true], filled: [false], both: [true, false] }[kind];
  host.attachShadow({ mode: 'open' }).append(h('style', {}, style), ...pages.map((blank) => handout(player, blank, title)));
  const pageStyle = h('style', {}, PAGE_STYLE);
  document.head.append(pageStyle);
  document.body.append(host);
  // The browser offers it as the name of the file.
  document.title = t('handout', { title: titleOf(player) });
  clear = () => {
    clear = null;
    removeEventListener('afterprint', clearNow);
    host.remove();
    pageStyle.remove();
    document.title = title;
  };
  const clearNow = clear;
  addEventListener('afterprint', clearNow);
  print();
}

const titleOf = ({ session }) => session.program.title || t('untitled');

/** The whole document once. */
function handout(player, blank, page) {
  const { session, edits, breaks } = player;
  const title = titleOf(player);
  const all = shownSteps(session);
  const here = all.indexOf(player.step);
  const from = all.length > MOST_STEPS ? Math.max(0, Math.min(here, all.length - MOST_STEPS)) : 0;
  const steps = all.slice(from, from + MOST_STEPS);
  const onFile = location.protocol === 'file:';
  const source = t(onFile ? 'source' : 'source_address', { page, address: location.href.split('#')[0] });
  const part = { first: from + 1, last: from + steps.length, count: all.length };
  const on = breaks.length ? breaks.join('; ') : t('nothing_on');
  return h(
    'article',
    { lang: document.documentElement.lang || null },
    h('h1', {}, t(blank ? 'handout' : 'handout_filled', { title })),
    blank ? h('p.who', {}, h('span', {}, t('name_line')), h('i'), h('span', {}, t('date_line')), h('i.short')) : null,
    h('p', {}, t(blank ? 'instructions' : 'rounded')),
    session.touched ? h('p', {}, t('changed', { edits: edits.length, breaks: on })) : null,
    all.length > steps.length ? h('p.notice', {}, t('part', part)) : null,
    ...sections(session, steps, blank),
    h('footer', {}, h('p', {}, source), h('p', {}, t('licence'))),
  );
}

/** The positions that stepping through shows: a folded block is one. */
function shownSteps({ steps, blocks }) {
  return [...new Set(steps.map((_, i) => blocks.shown(i)))];
}

/** The scene works out what a step shows from where the session is: it is led through the steps, and back. */
function sections(session, steps, blank) {
  const { step } = session;
  /** Where a tensor was shown first: the text that leads there. */
  const seen = new Map();
  try {
    return steps.map((position) => {
      session.step = position;
      return section(new Scene(session), seen, blank);
    });
  } finally {
    session.step = step;
  }
}

function section(scene, seen, blank) {
  const { step, session } = scene;
  const { block } = session;
  const names = step.inputs.map((id) => scene.name(id));
  const output = scene.name(step.output);
  const number = session.step + 1;
  const heading = t(block ? 'step_block' : 'step', { first: (block?.first ?? 0) + 1, step: number, name: output });
  const parts = [];
  for (const id of new Set(step.inputs)) {
    const name = scene.name(id);
    const known = seen.get(id);
    if (known) parts.push(h('p.known', {}, t(known.made ? 'from_step' : 'from_given', { name, step: known.step })));
    else parts.push(...figures(scene, id, false));
    if (!known) seen.set(id, { step: number, made: false });
  }
  // A result that an edit or a switch has set is given: there is nothing to work out.
  parts.push(...figures(scene, step.output, blank && !step.overridden));
  seen.set(step.output, { step: number, made: true });
  return h(
    'section',
    {},
    h('div.head', {}, h('h2', {}, heading), h('p.formula', {}, `${output} = ${formulaOf(step, names)}`), h('p', {}, sentenceOf(step, names))),
    h('div.figures', {}, ...parts),
  );
}

/** The tables of a tensor: one for each head, or other leading place, and for each group of columns. */
function figures(scene, id, blank) {
  const { shape } = scene.value(id);
  const [rows, columns] = [shape.at(-2) ?? 1, shape.at(-1) ?? 1];
  const name = scene.name(id);
  if (rows * columns > MOST_CELLS) return [h('p.note', {}, t('too_large', { name, shape: shape.join(' × ') }))];
  const axes = scene.session.axes(id).slice(0, -2);
  const places = leads(shape.slice(0, -2));
  const shown = places.slice(0, MOST_SLICES);
  const tables = shown.flatMap((lead) => {
    lead.forEach((place, k) => scene.slices.set(axes[k], place));
    return grids(scene, id, name, axes, lead, blank);
  });
  if (shown.length < places.length) {
    const last = scene.indexLabels(id, [...shown.at(-1), 0, 0]).slice(0, -2).at(-1);
    tables.push(h('p.note', {}, t('too_many_slices', { axis: last.axis, label: last.text, left: places.length - shown.length })));
  }
  return tables;
}

/** Every index of some axes. */
function leads(lengths) {
  return lengths.reduce((found, length) => found.flatMap((lead) => Array.from({ length }, (_, i) => [...lead, i])), [[]]);
}

function grids(scene, id, name, axes, lead, blank) {
  const { shape, data, dtype } = scene.value(id);
  const { session } = scene;
  const words = session.program.tensors[id].vocabulary;
  const [rows, columns] = [shape.at(-2) ?? 1, shape.at(-1) ?? 1];
  const base = lead.reduce((place, i, k) => place * shape[k] + i, 0) * rows * columns;
  const [rowAxis, columnAxis] = [-2, -1].map((k) => session.axes(id, shape.length).at(k));
  const rowLabels = shape.length > 1 ? session.axisLabels(rowAxis, rows) : null;
  const columnLabels = shape.length > 0 && !words ? session.axisLabels(columnAxis, columns) : null;
  const size = shape.slice(-2).join(' × ') || t('one_number');
  const along = rowLabels ? t('rows_columns', { rows: rowAxis, columns: columnAxis }) : columnLabels && t('along', { columns: columnAxis });
  const place = scene.indexLabels(id, [...lead, ...shape.slice(-2).map(() => 0)]).slice(0, lead.length);
  const groups = Math.ceil(columns / MOST_COLUMNS) || 1;
  const width = Math.ceil(columns / groups);
  return Array.from({ length: groups }, (_, g) => {
    const [first, last] = [g * width, Math.min(columns, (g + 1) * width)];
    const across = Array.from({ length: last - first }, (_, j) => first + j);
    const said = [
      ...place.map(({ axis, text }) => t('at', { axis, label: text })),
      along,
      groups > 1 ? t('columns', { first: first + 1, last, count: columns }) : null,
    ];
    const cell = (i, j) => {
      const value = data[base + i * columns + j];
      return h(blank ? 'td.box' : 'td', {}, blank ? '' : words ? words[value] : formatCell(value, dtype));
    };
    const head = columnLabels && h('tr', {}, rowLabels && h('td'), ...across.map((j) => h('th', { scope: 'col' }, columnLabels[j])));
    const body = Array.from({ length: rows }, (_, i) =>
      h('tr', {}, rowLabels && h('th', { scope: 'row' }, rowLabels[i]), ...across.map((j) => cell(i, j))),
    );
    return h(
      rows > MOST_ROWS_TOGETHER ? 'figure.tall' : 'figure',
      {},
      h('figcaption', {}, h('b', {}, t('shape', { name, shape: size })), ' ', h('span', {}, said.filter(Boolean).join(', '))),
      h('table', {}, h('thead', {}, head || null), h('tbody', {}, ...body)),
    );
  });
}
