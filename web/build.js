/**
 * Bundles the player for its two hosts: a page (a classic script) and Jupyter (the module of an anywidget); and what only
 * few pages hold or few readers open, as scripts of their own that share the engine of the first. Also minifies
 * the style sheet of the site.
 *
 *   node build.js           writes what is built
 *   node build.js --check   writes nothing; exits 1 where a built file is not what the sources give
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';

const STATIC = '../src/stepformer/widgets/static/';
/** Scripts of their own beside stepformer.js, each with the folders (or files) that are its own. */
const PARTS = {
  translate: ['translate', 'word_map/spelling.js', 'forms.css'],
  timeline: ['timeline', 'translate'],
  'word-map': ['word_map', 'forms.css'],
  ledger: ['ledger', 'forms.css'],
  share: ['share'],
  classroom: ['classroom'],
  ask: ['ask'],
};
const OUTPUTS = [
  { file: `${STATIC}stepformer.js`, make: () => bundle({ host: 'host_static.js', format: 'iife' }) },
  ...Object.entries(PARTS).map(([name, own]) => ({
    file: `${STATIC}stepformer-${name}.js`,
    make: () =>
      bundle({ host: `host_${name.replace('-', '_')}.js`, format: 'iife', plugins: [sharedWithFirstBundle(...own)] }),
  })),
  { file: `${STATIC}widget.js`, make: () => bundle({ host: 'host_anywidget.js', format: 'esm' }) },
  { file: '../book/_static/stepformer.css', make: () => styleSheet('site.css') },
];
const BANNER =
  '/* stepformer, MIT licence. Built from web/ by "make web": edit the sources, not this file. */';

/** A style sheet is imported as its minified text, for a constructable style sheet. */
const styleAsText = {
  name: 'style-as-text',
  setup(plugin) {
    plugin.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { loader: 'css', minify: true });
      return { contents: code.trim(), loader: 'text' };
    });
  },
};

const HERE = fileURLToPath(new URL('.', import.meta.url));
const OPTIONS = {
  absWorkingDir: HERE,
  bundle: true,
  minify: true,
  charset: 'utf8',
  target: 'es2022',
  plugins: [styleAsText],
  loader: { '.py': 'text' },
  legalComments: 'none',
  logLevel: 'warning',
  write: false,
};

/** Another bundle of a page takes from the first one whatever lies outside of its own folders; see shared.js. */
const sharedWithFirstBundle = (...own) => ({
  name: 'shared-with-first-bundle',
  setup(plugin) {
    plugin.onResolve({ filter: /^\.\.?\// }, ({ path, kind, resolveDir }) => {
      const isOwn = (part) => resolve(resolveDir, path).startsWith(resolve(HERE, part));
      return kind === 'entry-point' || own.some(isOwn) ? undefined : { path: 'shared', namespace: 'shared' };
    });
    plugin.onLoad({ filter: /.*/, namespace: 'shared' }, async () => {
      const { metafile } = await build({ ...OPTIONS, entryPoints: ['shared.js'], format: 'esm', metafile: true });
      const [{ exports: names }] = Object.values(metafile.outputs);
      return { contents: `export const { ${names.join(', ')} } = globalThis.stepformerShared;` };
    });
  },
});

/** @returns {Promise<string>} the text of one bundle */
async function bundle({ host, format, plugins = [] }) {
  const result = await build({
    ...OPTIONS,
    entryPoints: [host],
    format,
    plugins: [...OPTIONS.plugins, ...plugins],
    banner: { js: BANNER },
  });
  return result.outputFiles[0].text;
}

async function current(file) {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/** @returns {Promise<string>} the style sheet of the site, minified */
async function styleSheet(source) {
  const text = await readFile(new URL(source, import.meta.url), 'utf8');
  return `${BANNER}\n${(await transform(text, { loader: 'css', minify: true })).code}`;
}

const check = process.argv.includes('--check');
let stale = 0;
for (const { file, make } of OUTPUTS) {
  const path = new URL(file, import.meta.url);
  const name = file.split('/').at(-1);
  const text = await make();
  if (check) {
    const fresh = (await current(path)) === text;
    if (!fresh) stale += 1;
    console.log(`${name}: ${fresh ? 'up to date' : 'stale, run "make web"'}`);
  } else {
    await mkdir(dirname(fileURLToPath(path)), { recursive: true });
    await writeFile(path, text);
    console.log(`${name}: ${(Buffer.byteLength(text) / 1024).toFixed(1)} KB`);
  }
}
if (stale > 0) process.exitCode = 1;
