/**
 * Data that a page loads only when the reader asks for it. Each set is a classic script, `data/<name>.js` beside ours,
 * because a script also loads from a page that was opened from a disk. It calls `stepformerData(name, data)`.
 */

const OWN = document.currentScript?.src || document.baseURI;
const waiting = new Map();

globalThis.stepformerData = (name, data) => waiting.get(name)?.resolve(data);

/**
 * Loads a set once; every later call gets the same promise, unless loading failed.
 *
 * @param {string} name  such as "vectors"
 * @param {string} [file]  the script, seen from ours
 * @returns {Promise<Object>}
 */
export function loadData(name, file = `data/${name}.js`) {
  if (!waiting.has(name)) {
    const { promise, resolve, reject } = deferred();
    waiting.set(name, { promise, resolve });
    const script = document.createElement('script');
    script.src = new URL(file, OWN);
    // A script that loaded has called us before; then this changes nothing.
    script.onload = script.onerror = () => {
      script.remove();
      reject(new Error(file));
    };
    promise.catch(() => waiting.delete(name));
    document.head.append(script);
  }
  return waiting.get(name).promise;
}

function deferred() {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
}
