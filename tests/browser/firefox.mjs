/**
 * What readers do most, done in Firefox, which puppeteer-core drives: one process for all flows.
 *
 * Reads one JSON document from standard input, {firefox, bases: {http, file}, texts}, and writes one to standard
 * output: {version, flows: {"http stepping": {seen} or {error}}}. `seen` is what the page shows; whether that is right
 * is for test_firefox.py to say. `texts` are what the reader types.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const puppeteer = createRequire(new URL('../../web/package.json', import.meta.url))('puppeteer-core');
const { firefox, bases, texts } = JSON.parse(readFileSync(0, 'utf8'));
const WAIT = 15_000;
const ELEMENTS = ['player', 'exercise', 'word-map', 'ledger', 'timeline', 'translator'].map((name) => `stepformer-${name}`).join();

/** A page of the site, what it complained of and what it asked for. */
class Watched {
  static async open(browser, address) {
    const page = await browser.newPage();
    page.setDefaultTimeout(WAIT);
    const watched = Object.assign(new Watched(), { page, complaints: [], requests: [] });
    page.on('console', (message) => watched.complaints.push(`console ${message.type()}: ${message.text()}`));
    // Firefox complains of a formula whose end has not come yet, where it lays the page out in the middle of one.
    const early = 'Invalid markup: Incorrect number of children';
    page.on('pageerror', ({ message }) => message.startsWith(early) || watched.complaints.push(`uncaught error: ${message}`));
    page.on('requestfailed', (request) => watched.complaints.push(`failed request: ${request.url()}`));
    page.on('request', (request) => watched.requests.push(request.url()));
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(address, { waitUntil: 'load' });
    // Scripts come after the text, and elements are mounted in slices; until then the page moves under a click.
    await page.waitForFunction(
      (names) =>
        !document.documentElement.hasAttribute('data-scripts') &&
        [...document.querySelectorAll(names)].every((one) => one.matches('[data-ready], [data-error], [data-deferred]')),
      {},
      ELEMENTS,
    );
    return watched;
  }

  /** The first element inside an element of ours that a selector, and a text if given, finds; waits until it can be seen. */
  async find(host, selector, text = '') {
    const handle = await this.page.waitForFunction(
      (name, n, inside, words) => {
        const root = document.querySelectorAll(name)[n]?.shadowRoot;
        const fits = (element) => element.textContent.includes(words) && element.checkVisibility() && element.getClientRects().length;
        return [...(root?.querySelectorAll(inside) ?? [])].find(fits);
      },
      {},
      ...host,
      selector,
      text,
    );
    return handle.asElement();
  }

  async click(host, selector, text) {
    await (await this.find(host, selector, text)).click();
  }

  /** Runs a function of the nth element of a kind, as in the page. */
  ask([name, n], act, ...values) {
    return this.page.evaluate(`(${act})(document.querySelectorAll('${name}')[${n}], ...${JSON.stringify(values)})`);
  }

  press(...keys) {
    return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
  }

  async chord(keys, last) {
    for (const key of keys) await this.page.keyboard.down(key);
    await this.page.keyboard.press(last);
    for (const key of keys.toReversed()) await this.page.keyboard.up(key);
  }
}

const CHAPTERS = {
  5: 'chapters/05_attention',
  8: 'chapters/08_multi_head_attention',
  14: 'chapters/14_transformer',
  18: 'chapters/18_looking_inside',
};
const PAGES = { words: 'chapters/01_tokens_and_vectors', ledger: 'book/ledger', timeline: CHAPTERS[18], translating: 'book/try_it' };

const PLAYER = ['stepformer-player', 0];
const goto = (name) => `({ player }) => {
  player.reset();
  player.compare(false);
  player.fold([]);
  player.goto(player.session.positions.get(player.session.program.find('${name}')));
}`;
const state = '({ player }) => ({ step: player.step, cell: player.cell, edits: player.edits, breaks: player.breaks })';
/** The results of all steps, by name. */
const results = `({ player }) => Object.fromEntries(
  player.session.steps.map(({ output }) => player.session.program.tensors[output].name).map((name) => [name, player.values(name)]))`;
/** What can be seen of the result: the text of each cell, and whether it is marked as changed. */
const shown = `({ player }) => [...player.equation.output.box.querySelectorAll('.body .row')].map((row) =>
  [...row.querySelectorAll('.cell')].map((cell) => [cell.textContent, cell.classList.contains('changed')]))`;

/** What is done: on the page of chapter 5, or on the page that PAGES or the flow itself names. */
const FLOWS = {
  ...Object.fromEntries(
    Object.entries(CHAPTERS).map(([number, page]) => [`chapter ${number}`, [page, loading]]),
  ),
  async stepping(at) {
    await at.ask(PLAYER, goto('key_transposed'));
    const steps = [];
    const look = async () => steps.push((await at.ask(PLAYER, state)).step);
    for (const name of ['next', 'next', 'previous']) {
      await at.click(PLAYER, `button.${name}`);
      await look();
    }
    await at.click(PLAYER, '[role=gridcell]');
    for (const key of [']', ']', '[']) {
      await at.press(key);
      await look();
    }
    await at.click(PLAYER, 'button.step', 'weights');
    await look();
    return { steps };
  },
  async choosing(at) {
    await at.ask(PLAYER, goto('scores'));
    await at.click(PLAYER, '[aria-label^="scores:"] .body .row:nth-child(2) .cell:nth-of-type(3)');
    const clicked = await at.ask(PLAYER, state);
    await at.press('ArrowDown', 'ArrowRight', 'ArrowLeft', 'ArrowLeft');
    const panel = await (await at.find(PLAYER, '.answer')).evaluate((element) => element.textContent);
    return { clicked: clicked.cell, moved: (await at.ask(PLAYER, state)).cell, panel };
  },
  async editing(at) {
    await at.ask(PLAYER, goto('scores'));
    await at.click(PLAYER, '[aria-label^="query:"] .body .row:nth-child(2) .cell:nth-of-type(4)');
    await at.page.keyboard.type('-4.5');
    await at.press('Enter');
    const typed = await at.ask(PLAYER, state);
    const values = await at.ask(PLAYER, results);
    await at.press(']', ']', ']', ']', ']');
    const seen = { ...typed, values, output: await at.ask(PLAYER, shown), counts: [] };
    const count = async () => seen.counts.push((await at.ask(PLAYER, state)).edits.length);
    await at.click(PLAYER, 'button.undo');
    await count();
    await at.click(PLAYER, 'button.redo');
    await count();
    await at.click(PLAYER, '[role=gridcell]');
    await at.chord(['Control'], 'z');
    await count();
    await at.chord(['Control', 'Shift'], 'Z');
    await count();
    await at.click(PLAYER, 'button', 'Compare');
    const labels = `({ player }) => player.equation.matrices.map(({ box }) => box.getAttribute('aria-label').split(':')[0])`;
    seen.compared = await at.ask(PLAYER, labels);
    await at.press('c');
    seen.back = await at.ask(PLAYER, labels);
    return seen;
  },
  async switching(at) {
    const all = await at.page.$$eval('stepformer-player', (players) => players.map(({ player }) => player.session.program.breaks.length));
    const host = ['stepformer-player', all.findIndex((count) => count > 0)];
    await at.ask(host, '({ player }) => player.reset()');
    await at.click(host, '[role=switch]');
    const seen = { ...(await at.ask(host, state)), values: await at.ask(host, results) };
    seen.payload = await at.ask(host, `(host) => host.querySelector('[type="application/json"]').textContent`);
    await at.click(host, '[role=switch]');
    return { ...seen, after: (await at.ask(host, state)).breaks };
  },
  async sharing(at) {
    await at.ask(PLAYER, goto('weights'));
    await at.ask(PLAYER, "({ player }) => { player.set('query', [0, 1], -2.5); player.look([1, 2]); }");
    await at.click(PLAYER, 'summary', 'Share');
    const copy = async (name) => {
      await at.click(PLAYER, '.footer button', name);
      const area = await at.find(PLAYER, '.written');
      return area.evaluate((element) => element.value);
    };
    const numpy = await copy('Copy as NumPy');
    const link = await copy('Copy link');
    const told = await at.ask(PLAYER, state);
    const other = await Watched.open(at.page.browser(), link);
    await other.page.waitForFunction(() => document.querySelector('stepformer-player').player?.edits.length);
    const followed = await other.ask(PLAYER, state);
    const complaints = [...other.complaints]; // before the page goes, and with it what it still loads
    await other.page.close();
    return { numpy, told, followed, complaints };
  },
  async walking(at) {
    await at.ask(PLAYER, goto('output'));
    await at.ask(PLAYER, '({ player }) => player.look([2, 1])');
    await at.click(PLAYER, '[aria-label^="output:"] .chosen');
    await at.press('Escape', 'w');
    const terms = await (await at.find(PLAYER, 'ol.terms')).evaluate((list) => [...list.querySelectorAll('.amount')].map((item) => item.textContent));
    const way = [];
    const here = `({ player }) => { const { id, index, value } = player.scene.chosenCell();
      return { name: player.session.program.tensors[id].name, index, value, made: player.session.positions.has(id) }; }`;
    for (let i = 0; i < 12; i++) {
      way.push(await at.ask(PLAYER, here));
      if (!way.at(-1).made) break;
      await at.press('Enter');
    }
    await at.click(PLAYER, '.trail li:first-child button');
    return { terms, way, back: await at.ask(PLAYER, here) };
  },
  async answering(at) {
    const host = ['stepformer-exercise', 0];
    const verdicts = [];
    for (const text of texts.answers) {
      const field = await at.find(host, 'input');
      await field.click({ count: 3 });
      await at.page.keyboard.type(text);
      await at.press('Enter');
      verdicts.push(await at.ask(host, `({ shadowRoot, dataset }) => [dataset.answered,
        shadowRoot.querySelector('.feedback').dataset.verdict, shadowRoot.querySelector('.feedback p').textContent]`));
    }
    return { verdicts };
  },
  async dark(at) {
    const colours = `({ player }) => [player.element, player.equation.output.box.querySelector('.cell')].map((element) => {
      const { color, backgroundColor } = getComputedStyle(element); return [color, backgroundColor]; })`;
    const theme = (mode) => at.page.evaluate((value) => { document.documentElement.dataset.theme = value; }, mode);
    await theme('light');
    const light = await at.ask(PLAYER, colours);
    await theme('dark');
    const dark = await at.ask(PLAYER, colours);
    await theme('light');
    return { light, dark };
  },
  async narrow(at) {
    await at.page.setViewport({ width: 320, height: 700 });
    const seen = await at.page.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
    await at.click(PLAYER, 'button.drawer');
    const list = await (await at.find(PLAYER, '.steps > ol')).evaluate(({ offsetHeight }) => offsetHeight);
    await at.page.setViewport({ width: 1280, height: 900 });
    return { seen, list };
  },
  async words(at) {
    const host = ['stepformer-word-map', 0];
    const field = await at.find(host, 'input[type=text]');
    await field.click({ count: 3 });
    await at.page.keyboard.type(texts.words);
    await at.press('Enter');
    return at.ask(host, `({ dataset, shadowRoot }) => ({ query: dataset.query,
      nearest: [...shadowRoot.querySelectorAll('li')].map((item) => [item.querySelector('button').textContent, item.querySelector('span').textContent]) })`);
  },
  async ledger(at) {
    const host = ['stepformer-ledger', 0];
    const field = await at.find(host, 'input:not([type=checkbox])'); // the first one, d_model
    await field.click({ count: 3 });
    await at.page.keyboard.type(texts.ledger);
    await at.press('Tab');
    return at.ask(host, "({ ledger, shadowRoot }) => ({ parameters: ledger.value('parameters'), told: shadowRoot.querySelector('.exercise > p').textContent })");
  },
  async timeline(at) {
    const host = ['stepformer-timeline', 0];
    const slider = await at.find(host, 'input[type=range]');
    await slider.focus();
    await at.press('Home', 'ArrowRight', 'ArrowRight', 'ArrowRight');
    return at.ask(host, `({ dataset, shadowRoot }) => ({ snapshot: dataset.snapshot,
      row: [...shadowRoot.querySelectorAll('.tr-matrix tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)) })`);
  },
  async translating(at) {
    const host = ['stepformer-translator', 0];
    const field = await at.find(host, 'input[type=text], textarea');
    await field.click({ count: 3 });
    await at.page.keyboard.type(texts.sentence);
    await at.click(host, 'button', 'Translate');
    await at.page.waitForSelector('stepformer-translator[data-model]:not([data-busy])');
    return at.ask(host, "({ shadowRoot }) => ({ words: [...shadowRoot.querySelectorAll('.tr-out button')].map((button) => button.textContent.trim()) })");
  },
};

/** Every element of the page, those that wait for a click too: how many players there are, and what did not mount. */
async function loading({ page }) {
  const waiting = await page.$$eval('[data-deferred]', (all) => all.length);
  for (const button of await page.$$('>>> [data-deferred] >>> button')) await button.click();
  await page.waitForFunction((names) => [...document.querySelectorAll(names)].every((element) => element.matches('[data-ready], [data-error]')), {}, ELEMENTS);
  const players = await page.$$eval('stepformer-player', (all) => all.length);
  const broken = await page.$$eval(`:is(${ELEMENTS}):not([data-ready])`, (all) => all.map((element) => element.outerHTML.slice(0, 80)));
  return { waiting, players, broken };
}

const browser = await puppeteer.launch({ browser: 'firefox', executablePath: firefox, headless: true });
const flows = {};
try {
  for (const [way, base] of Object.entries(bases)) {
    const open = new Map();
    for (const [name, flow] of Object.entries(FLOWS)) {
      const [path, act] = Array.isArray(flow) ? flow : [PAGES[name] ?? CHAPTERS[5], flow];
      const start = performance.now();
      try {
        if (!open.has(path)) open.set(path, await Watched.open(browser, `${base}/${path}.html`));
        const at = open.get(path);
        await at.page.bringToFront();
        flows[`${way} ${name}`] = { seen: await act(at) };
      } catch (error) {
        flows[`${way} ${name}`] = { error: error.stack };
      }
      flows[`${way} ${name}`].seconds = (performance.now() - start) / 1000;
    }
    const all = [...open.values()];
    const gather = (what) => all.flatMap((at) => at[what]);
    flows[`${way} quiet`] = { seen: { complaints: gather('complaints'), requests: gather('requests') } };
    for (const { page } of all) await page.close();
  }
  console.log(JSON.stringify({ version: await browser.version(), flows }));
} finally {
  await browser.close();
}
