"""What the attention page weighs, and how soon its players can be used, beside the same page with stock ipywidgets."""

import sys
from collections import defaultdict
from urllib.parse import urlsplit

from browser import Site, chromium, served
from playwright.sync_api import Browser, Page
from results import ROOT, Figure, median, versions, write

sys.path.insert(0, str(ROOT / "scripts"))
from stock_page import ELEMENT, HTML_MANAGER, add_stock_scripts, stock_page

SITE = ROOT / "_build" / "html"
OURS, STOCK = "/chapters/05_attention.html", "/chapters/05_attention-stock.html"
OWN_STYLES = "/_static/stepformer.css"
RUNS, SLOW_RUNS = 11, 7
SLOW = {"latency": 0, "downloadThroughput": 5e6 / 8, "uploadThroughput": 5e6 / 8, "offline": False}

# Notes the moment at which so many elements match, when it happens: nothing is polled.
WATCH = """
window.errors = 0;
addEventListener('error', () => window.errors++);
window.mounted = new Promise((resolve) => {
  const look = () => {
    if (document.querySelectorAll(SELECTOR).length < COUNT) return;
    observer.disconnect();
    resolve(performance.now());
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { subtree: true, childList: true, attributeFilter: ['data-ready'] });
});
"""


def open_page(browser: Browser, address: str, watch: str, slow: bool = False) -> tuple[Page, float, list[str]]:
    """Open a page with nothing in the cache; return it, milliseconds until it was mounted, and what it requested."""
    context = browser.new_context()
    page = context.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.add_init_script(watch)
    if slow:
        devtools = context.new_cdp_session(page)
        devtools.send("Network.enable")
        devtools.send("Network.emulateNetworkConditions", SLOW)
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.goto(address)
    return page, page.evaluate("window.mounted"), requested


def watch(selector: str, count: int) -> str:
    """Return the script that waits for so many elements."""
    return WATCH.replace("SELECTOR", repr(selector)).replace("COUNT", str(count))


def weigh(browser: Browser, site: Site, address: str, name: str, script: str) -> dict[str, int]:
    """Return the gzipped bytes of one page by kind; fail if another host is asked for anything."""
    page, _, requested = open_page(browser, address + name, script)
    page.wait_for_load_state("networkidle")
    if name == OURS and page.evaluate("window.errors"):
        raise SystemExit(f"{name} reports an error: see the browser's console.")
    page.context.close()
    weight: dict[str, int] = defaultdict(int)
    for url in {url.partition("#")[0] for url in requested if not url.startswith(("data:", "blob:"))}:
        if not url.startswith(address):
            raise SystemExit(f"{name} asks another host: {url}")
        if answer := site.answer(url):
            weight[kind_of(urlsplit(url).path, answer[2])] += len(answer[0])
    # Our style sheet is written into the page and is ours all the same.
    if not any(urlsplit(url).path.endswith(OWN_STYLES) for url in requested):
        own = len(site.answer(OWN_STYLES)[0])
        weight["page"] -= own
        weight["our JS and CSS"] += own
    return weight


def kind_of(path: str, media: str) -> str:
    """Return the kind under which a file is counted."""
    if path.endswith(("/stepformer.js", "/stepformer.css")):
        return "our JS and CSS"
    if path.startswith("/stock/"):
        return "stock widgets"
    for kind, sign in {"pictures": "image/", "fonts": "font", "page": "html", "theme's CSS": "css"}.items():
        if sign in media or (kind == "fonts" and path.endswith(".woff2")):
            return kind
    return "theme's JS"


def main() -> None:
    """Weigh both pages, then open them in turn, on a fast connection and on a slow one."""
    ours = (SITE / OURS.lstrip("/")).read_text(encoding="utf-8")
    stock, n_widgets = stock_page(ours)
    site = Site(SITE, {STOCK: stock.encode()})
    add_stock_scripts(site)
    pages = {
        OURS: watch("stepformer-player[data-ready], stepformer-exercise[data-ready]", len(ELEMENT.findall(ours))),
        STOCK: watch(".widget-html", n_widgets),
    }
    with chromium() as browser, served(site) as address:
        weights = {name: weigh(browser, site, address, name, script) for name, script in pages.items()}
        times: dict[tuple[str, bool], list[float]] = defaultdict(list)
        for slow, runs in ((False, RUNS), (True, SLOW_RUNS)):
            for _ in range(runs):
                for name, script in pages.items():
                    page, milliseconds, _ = open_page(browser, address + name, script, slow)
                    times[name, slow].append(milliseconds / 1000)
                    page.context.close()
        used = versions(
            ["playwright", "ipywidgets"], chromium=browser.version, html_manager=HTML_MANAGER.rpartition("@")[2]
        )
    figures = weight_figures(weights) + time_figures(times)
    how = (
        "Bytes: gzip level 6, pictures left out. Times: from navigation until every widget is mounted, nothing cached, "
        f"the pages in turn in one browser, median of {RUNS} runs, of {SLOW_RUNS} where slow: the processor at a "
        "quarter of its speed, 5 Mbit/s."
    )
    write("page", figures, used, how)


def weight_figures(weights: dict[str, dict[str, int]]) -> list[Figure]:
    """Return the weights in KB: the bars first, then by kind."""
    total = {name: sum(n for kind, n in weight.items() if kind != "pictures") for name, weight in weights.items()}
    figures = [
        Figure("weight", "attention page, gzipped", total[OURS] / 1000, "KB", bar=350),
        Figure("weight_own", "of it our JS and CSS", weights[OURS]["our JS and CSS"] / 1000, "KB", bar=60),
        Figure("weight_stock", "the same page with stock ipywidgets, gzipped", total[STOCK] / 1000, "KB"),
    ]
    for kind, n in sorted(weights[OURS].items(), key=lambda item: -item[1]):
        if kind not in ("pictures", "our JS and CSS"):
            name = f"weight_{kind.replace(' ', '_').replace(chr(39), '')}".lower()
            figures.append(Figure(name, f"of the attention page: {kind}", n / 1000, "KB"))
    return figures


def time_figures(times: dict[tuple[str, bool], list[float]]) -> list[Figure]:
    """Return the times until mounted, and their ratio."""
    figures = []
    for slow, key, words in ((False, "", ""), (True, "_slow", ", slow")):
        ours, stock = (median(times[name, slow]) for name in (OURS, STOCK))
        figures += [
            Figure(f"mounted{key}", f"navigation to mounted{words}", ours, "s"),
            Figure(f"mounted_stock{key}", f"the same with stock ipywidgets{words}", stock, "s"),
            Figure(f"mounted_ratio{key}", f"ours as a part of stock{words}", ours / stock, "×", bar=0.5),
        ]
    return figures


if __name__ == "__main__":
    main()
