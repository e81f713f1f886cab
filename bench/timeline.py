"""How long the training timeline takes from a move of its slider until the page is laid out, and what it weighs."""

import gzip

from browser import PLAYER, Site, chromium, served
from results import ROOT, Figure, percentile, versions, write

from stepformer.timeline import timeline

SCRIPT = PLAYER.with_name("stepformer-timeline.js")
SAMPLES, WARM_UP = 200, 30
SENTENCE = 1
"""The longest one: nine rows of eight cells."""
# As a reader drags: an input event on the slider; then the layout that follows from it is forced.
SCRUB = """async (host, [samples, warmUp]) => {
  const slider = host.shadowRoot.querySelector('input[type=range]');
  const times = [];
  for (let i = 0; i < warmUp + samples; i++) {
    slider.value = String((i * 7) % (Number(slider.max) + 1));
    const start = performance.now();
    slider.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    host.getBoundingClientRect();
    if (i >= warmUp) times.push(performance.now() - start);
    if (host.dataset.snapshot !== slider.value) throw new Error('the slider moved nothing');
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  }
  return times;
}"""


def main() -> None:
    """Measure both shipped models."""
    figures = []
    with chromium() as browser:
        for model in ("small", "base"):
            view = timeline(model, SENTENCE)
            page = (
                '<!doctype html><meta charset="utf-8"><title>t</title><script defer src="/stepformer.js"></script>'
                f'<script defer src="/stepformer-timeline.js"></script>{view.html()}'
            )
            scripts = {"/stepformer.js": PLAYER.read_bytes(), "/stepformer-timeline.js": SCRIPT.read_bytes()}
            with served(Site(ROOT, {"/page.html": page.encode(), **scripts})) as address:
                tab = browser.new_page()
                tab.goto(f"{address}/page.html")
                times = tab.locator("stepformer-timeline[data-ready]").evaluate(SCRUB, [SAMPLES, WARM_UP])
            for percent in (50, 95):
                bar = 8 if percent == 95 else None
                what = f"scrub, p{percent} ({model})"
                figures.append(Figure(f"scrub_{model}_p{percent}", what, percentile(times, percent), "ms", bar))
            size = len(view.payload.encode()) / 1000
            figures.append(Figure(f"payload_{model}", f"payload ({model})", size, "KB", 150))
        used = versions(["playwright"], chromium=browser.version)
    figures.append(Figure("script", "the bundle, gzipped", len(gzip.compress(SCRIPT.read_bytes(), 6)) / 1000, "KB"))
    how = (
        f"{SAMPLES} moves of the slider after {WARM_UP}, to another snapshot each, for the longest sentence: from "
        "dispatching the input event until a forced layout returns, without the wait for the next frame."
    )
    write("timeline", figures, used, how)


if __name__ == "__main__":
    main()
