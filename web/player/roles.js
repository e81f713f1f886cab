/** Which colour a name has: the same in formulas, matrices, labels and plots. */
import colours from '../../src/stepformer/colours.json' with { type: 'json' };

const WORDS = {
  query: 'query', queries: 'query', q: 'query',
  key: 'key', keys: 'key', k: 'key',
  value: 'value', values: 'value', v: 'value',
  src: 'source', source: 'source',
  tgt: 'target', target: 'target',
};

/** The role of a tensor or an axis: that of the first word of its last name part that has one, or null. */
export function roleOf(name) {
  for (const word of lastPart(name).split('_')) {
    if (Object.hasOwn(WORDS, word)) return WORDS[word];
  }
  return null;
}

/** Axes have a colour of their own only where they run along the source or the target. */
export function roleOfAxis(name) {
  const role = roleOf(name);
  return role === 'source' || role === 'target' ? role : null;
}

export function lastPart(name) {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** The style rules that give every role its colour, by day and by night. */
export const ROLE_STYLE = `:host{${Object.entries(colours).map(([role, [light, dark]]) =>
  `--${role}:light-dark(${light},${dark})`).join(';')}}${Object.keys(colours).map((role) =>
  `[data-role=${role}]{--role:var(--${role})}`).join('')}`;
