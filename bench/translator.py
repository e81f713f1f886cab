"""How long the page takes to translate with the shipped small model, and what it asks a reader to load."""

import gzip

from browser import PLAYER, Site, chromium, served
from results import ROOT, Figure, median, percentile, versions, write

from stepformer import translator_page
from stepformer.checkpoint import read_model
from stepformer.data.grammar import pairs

SECOND = PLAYER.with_name("stepformer-translate.js")
TOKENS, SENTENCES, WARM_UP = 10, 30, 3
BEAM = 4
# From the call until the views are laid out; the weights are there.
MEASURE = """async (e, [text, search]) => {
  await e.translator.again({ search });
  const start = performance.now();
  await e.translator.translate(text);
  e.getBoundingClientRect();
  return performance.now() - start;
}"""
LOAD = "async (e) => { const start = performance.now(); await e.translator.load(); return performance.now() - start; }"


def sentences() -> list[str]:
    """Sentences of the grammar with ten words and signs, all different."""
    found: dict[str, None] = {}
    for pair in pairs(1):
        if len(pair.source_tokens) == TOKENS:
            found[pair.source] = None
        if len(found) == SENTENCES:
            return list(found)
    raise AssertionError("pairs() never ends")


def main() -> None:
    """Measure."""
    stored = read_model("small")
    script = translator_page.script(stored).encode("utf-8")
    page = (
        '<!doctype html><meta charset="utf-8"><title>translator</title><script defer src="/stepformer.js"></script>'
        f'<script defer src="/stepformer-translate.js"></script>{translator_page.page_html(stored)}'
    )
    pages = {"/page.html": page.encode(), "/stepformer.js": PLAYER.read_bytes(), "/data/translator.js": script,
             "/stepformer-translate.js": SECOND.read_bytes()}  # fmt: skip
    times: dict[str, list[float]] = {"greedy": [], "beam": []}
    with chromium() as browser, served(Site(ROOT, pages)) as address:
        tab = browser.new_page()
        tab.goto(f"{address}/page.html")
        element = tab.locator("stepformer-translator[data-ready]")
        loading = element.evaluate(LOAD)
        for search, found in times.items():
            for text in sentences():
                found.append(element.evaluate(MEASURE, [text, search]))
        browser_version = browser.version
    figures = [Figure("weights", "the script with the model, gzipped", len(gzip.compress(script, 6)) / 1000, "KB", 700)]
    second = len(gzip.compress(SECOND.read_bytes(), 6)) / 1000
    figures.append(Figure("script", "the second bundle of the page, gzipped", second, "KB"))
    figures.append(Figure("loading", "loading the model and reading the program", loading, "ms"))
    for search, what in (("greedy", "greedy"), ("beam", f"beam {BEAM}")):
        measured = times[search][WARM_UP:]
        bar = 300 if search == "greedy" else None
        figures.append(Figure(f"{search}_p50", f"{TOKENS} words, {what}, p50", median(measured), "ms"))
        figures.append(Figure(f"{search}_p95", f"{TOKENS} words, {what}, p95", percentile(measured, 95), "ms", bar))
    how = (
        f"{SENTENCES} different sentences of the grammar with {TOKENS} words and signs, the first {WARM_UP} not "
        "counted, from the call until attention, probabilities and translation are laid out. The page lets the browser "
        "draw after each word; these pauses are part of the time. Loading is from the same computer."
    )
    write("translator", figures, versions(["numpy", "playwright"], chromium=browser_version), how)


if __name__ == "__main__":
    main()
