/** Which colour a name has: the same in formulas, matrices, labels and plots. */
import colours from '../../src/stepformer/colours.json' with { type: 'json' };

const WORDS = {
  query: ['query', 'queries', 'q'],
  key: ['key', 'keys', 'k'],
  value: ['value', 'values', 'v'],
  source: ['source', 'src'],
  target: ['target', 'tgt'],
};

/** The role of a tensor or an axis: that of the first word of its last name part that has one, or null. */
export function roleOf(name) {
  const roles = Object.keys(WORDS);
  for (const word of lastPart(name).split(/[._]/)) {
    const role = roles.find((one) => WORDS[one].includes(word));
    if (role) return role;
  }
  return null;
}

/** Axes have a colour of their own only where they run along the source or the target. */
export function roleOfAxis(name) {
  const role = roleOf(name);
  return role === 'source' || role === 'target' ? role : null;
}

/** The last part of a name, and the one before it where the last alone does not tell which: w_q.weight. */
export function lastPart(name) {
  const parts = name.split('.');
  return parts.slice(['weight', 'bias'].includes(parts.at(-1)) ? -2 : -1).join('.');
}

/** Whether a tensor is a parameter of a layer, by its name. */
export function isParameter(name) {
  return ['weight', 'bias', 'gain'].includes(name.split('.').at(-1));
}

/** The style rules that give every role its colour, by day and by night. */
export const ROLE_STYLE = `:host{${Object.entries(colours)
  .map(([role, [light, dark]]) => `--${role}:light-dark(${light},${dark})`)
  .join(';')}}${Object.keys(colours)
  .map((role) => `[data-role=${role}]{--role:var(--${role})}`)
  .join('')}`;

/** Per cent of a tone in a cell's colour, for each of the ten strengths. */
const STRENGTHS = [11, 18, 25, 31, 36, 41, 46, 51, 56, 61];

/**
 * The style rules of the tones in all strengths. They are written out because a cell whose colour is one plain
 * declaration costs the browser less than one with variables of its own.
 */
export const TONE_STYLE = ['positive', 'negative', 'share']
  .flatMap((tone) =>
    STRENGTHS.map(
      (strength, i) => `.${tone}.s${i + 1}{background-color:color-mix(in srgb,var(--${tone}) ${strength}%,var(--paper))}`,
    ),
  )
  .join('');
