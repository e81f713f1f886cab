/**
 * Bundles the player for its two hosts: a page (a classic script) and Jupyter (the module of an anywidget).
 *
 *   node build.js           writes the bundles
 *   node build.js --check   writes nothing; exits 1 where a bundle is not what the sources give
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transform } from 'esbuild';

const BUNDLES = [
  { host: 'host_static.js', format: 'iife', output: 'stepformer.js' },
  { host: 'host_anywidget.js', format: 'esm', output: 'widget.js' },
];
const STATIC = new URL('../src/stepformer/widgets/static/', import.meta.url);
const BANNER =
  '/* stepformer player, MIT licence. Built from web/ by "make web": edit the sources, not this file. */';

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

/** @returns {Promise<string>} the text of one bundle */
async function bundle({ host, format }) {
  const result = await build({
    absWorkingDir: fileURLToPath(new URL('.', import.meta.url)),
    entryPoints: [host],
    format,
    bundle: true,
    minify: true,
    charset: 'utf8',
    target: 'es2022',
    plugins: [styleAsText],
    banner: { js: BANNER },
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
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

const check = process.argv.includes('--check');
let stale = 0;
for (const one of BUNDLES) {
  const file = new URL(one.output, STATIC);
  const text = await bundle(one);
  if (check) {
    const fresh = (await current(file)) === text;
    if (!fresh) stale += 1;
    console.log(`${one.output}: ${fresh ? 'up to date' : 'stale, run "make web"'}`);
  } else {
    await mkdir(dirname(fileURLToPath(file)), { recursive: true });
    await writeFile(file, text);
    console.log(`${one.output}: ${(Buffer.byteLength(text) / 1024).toFixed(1)} KB`);
  }
}
if (stale > 0) process.exitCode = 1;
