/** Where the script that loads data stands is told by its address, or where it has none by that of the page. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

test('a script without an address loads data from beside the page', async () => {
  const asked = [];
  globalThis.document = {
    currentScript: { src: '' },
    baseURI: 'https://book.example/chapters/one.html',
    createElement: () => ({ remove() {} }),
    head: { append: (script) => (asked.push(String(script.src)), script.onerror()) },
  };
  const { loadData } = await import('../data.js');
  await assert.rejects(loadData('vectors'), { message: 'data/vectors.js' });
  assert.deepEqual(asked, ['https://book.example/chapters/data/vectors.js']);
});
