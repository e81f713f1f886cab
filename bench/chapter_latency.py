"""How long a step and an edit take until they are laid out on built pages of the book, with all that stands there."""

from browser import Site, chromium, served
from latency import ACTIONS, SAMPLES, UNBOUND, WARM_UP
from playwright.sync_api import Browser
from results import BENCH, ROOT, Figure, percentile, versions, write

SITE = ROOT / "_build" / "html"
CHAPTERS = (
    "05_attention",
    "12_decoder",
    "14_transformer",
    "16_training",
    "17_decoding_and_evaluation",
    "18_looking_inside",
)
# The trained model of chapter 18 has matrices of 64 × 64 and wider, so it is held to the bar of those.
BARS = dict.fromkeys(CHAPTERS, 8) | {"18_looking_inside": 30}

LONGEST = """() => {
  const all = [...document.querySelectorAll('stepformer-player')];
  const steps = all.map(({player}) => player?.session.steps.length ?? 0);
  return steps.indexOf(Math.max(...steps));
}"""
"""Which player of a page has the most steps."""
MEASURE = """([k, plan]) => {
  const host = document.querySelectorAll('stepformer-player')[k];
  const { session } = host.player;
  const { values } = session.run;
  const takesMatrix = ({ inputs: [first] }) => values[first].dtype === 'float' && values[first].shape.length === 2;
  const isProduct = (step) => ['matmul', 'linear'].includes(step.op) && takesMatrix(step);
  const edited = session.steps.findIndex(session.steps.some(isProduct) ? isProduct : takesMatrix);
  const changed = session.program.tensors[session.steps[edited].inputs[0]].name;
  host.player.fold([]);
  return measureLatency(host, { ...plan, edited, changed });
}"""
"""Edits the first factor of the first product of matrices; where there is none, the first matrix of numbers."""


def on_a_page(browser: Browser, address: str, chapter: str) -> dict[str, list[float]]:
    """Return milliseconds by action, of the longest player of a chapter."""
    tab = browser.new_page()
    tab.goto(f"{address}/chapters/{chapter}.html")
    tab.wait_for_selector("html:not([data-scripts])", state="attached")
    tab.eval_on_selector_all("[data-deferred]", "all => Promise.all(all.map((element) => element.load()))")
    tab.wait_for_function("() => [...document.querySelectorAll('stepformer-player')].every(({player}) => player)")
    tab.add_script_tag(path=str(BENCH / "latency.js"))
    times = tab.evaluate(MEASURE, [tab.evaluate(LONGEST), {"samples": SAMPLES, "warmUp": WARM_UP}])
    tab.close()
    return times


def main() -> None:
    """Measure the longest player of each of these chapters."""
    figures = []
    with chromium() as browser, served(Site(SITE, {})) as address:
        for chapter in CHAPTERS:
            times = on_a_page(browser, address, chapter)
            number = chapter[:2]
            for action, name in ACTIONS.items():
                for percent in (50, 95):
                    bar = BARS[chapter] if percent == 95 and action not in UNBOUND else None
                    what = f"{name}, p{percent} (chapter {number})"
                    value = percentile(times[action], percent)
                    figures.append(Figure(f"{action}_{number}_p{percent}", what, value, "ms", bar))
        used = versions(["playwright"], chromium=browser.version)
    how = (
        f"The player with the most steps on each built page, opened in Chromium over http: {SAMPLES} samples after "
        f"{WARM_UP}, from dispatching the input event until a forced layout returns, without the wait for the next "
        "frame; a typed number is taken over when it has been painted. The edits are of the first factor of its first "
        "product of matrices, or else of its first matrix."
    )
    write("chapter_latency", figures, used, how)


if __name__ == "__main__":
    main()
