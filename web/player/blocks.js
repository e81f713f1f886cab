/**
 * The blocks of a program: steps in a row that share a scope, inside one another as the scopes are. A folded block
 * is shown, and stepped over, as one step that ends where the block ends. No page is needed here.
 *
 * @typedef {{path: string, name: string, parent: Block|null, first: number, last: number, depth: number}} Block
 *   `first` and `last`: positions of its steps
 */
export class Blocks {
  /** @param {{scope: string}[]} steps */
  constructor(steps) {
    /** @type {Block[]} in the order in which they begin, the outer ones first */
    this.all = [];
    /** The innermost block of each step, or null. */
    this.innermost = steps.map(() => null);
    this.folded = new Set();
    let block = null;
    steps.forEach(({ scope }, i) => {
      const paths = ancestors(scope);
      while (block && !paths.includes(block.path)) block = block.parent;
      for (const path of paths.slice(block ? block.depth + 1 : 0)) {
        const name = path.slice(block ? block.path.length + 1 : 0);
        block = { path, name, parent: block, first: i, last: i, depth: block ? block.depth + 1 : 0 };
        this.all.push(block);
      }
      for (let one = block; one; one = one.parent) one.last = i;
      this.innermost[i] = block;
    });
  }

  /** The blocks a step is in, from the inside out. */
  around(step) {
    const found = [];
    for (let block = this.innermost[step]; block; block = block.parent) found.push(block);
    return found;
  }

  /** The folded block that a step is hidden in, the outermost if several are folded; or null. */
  hiding(step) {
    return this.around(step).findLast(({ path }) => this.folded.has(path)) ?? null;
  }

  /** The position shown for a step: its own, or that of the end of the folded block it is hidden in. */
  shown(step) {
    return this.hiding(step)?.last ?? step;
  }

  /** Unfolds every block around a step. */
  reveal(step) {
    for (const { path } of this.around(step)) this.folded.delete(path);
  }
}

/** The scopes that hold a scope, and itself, from the outside in; a number belongs to the part before it. */
function ancestors(scope) {
  const paths = [];
  for (const part of scope ? scope.split('.') : []) {
    const path = paths.length ? `${paths.at(-1)}.${part}` : part;
    if (paths.length && /^\d+$/.test(part)) paths.pop();
    paths.push(path);
  }
  return paths;
}
