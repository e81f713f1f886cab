"""What Lighthouse says of the heaviest chapters, on its mobile preset: a slow phone on a slow connection.

Lighthouse is a tool of its own, installed once with `npm ci --prefix bench/lighthouse`; it asks no host for anything.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Site, served
from results import BENCH, ROOT, Figure, load, median, versions, write

sys.path.insert(0, str(ROOT / "tests" / "browser"))
from chromium import FLAGS, HINT, find_chromium

SITE = ROOT / "_build" / "html"
TOOL = BENCH / "lighthouse" / "node_modules" / "lighthouse"
RUNS = 3
N_PAGES = 3
# How many points of 100 a page may be short of, which is how a bar for scores is held by one for figures.
CATEGORIES = {"performance": 15, "accessibility": 0, "best-practices": 0}
TIMES = {
    "first-contentful-paint": ("until something is drawn", "s", 1000),
    "largest-contentful-paint": ("until the largest part is drawn", "s", 1000),
    "total-blocking-time": ("in which the page does not answer", "ms", 1),
    "cumulative-layout-shift": ("of the page moves while it loads", "", 1),
    "total-byte-weight": ("over the wire", "KB", 1000),
}


def heaviest(site: Path, count: int = N_PAGES) -> list[str]:
    """Return the addresses of the largest chapters, the largest first: 14, 19 and 18 when this was written."""
    chapters = sorted((site / "chapters").glob("*.html"), key=lambda path: -path.stat().st_size)
    return [f"/{path.relative_to(site).as_posix()}" for path in chapters[:count]]


def report(address: str) -> dict:
    """Run Lighthouse on one address and return what it reports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        command = [
            "node", str(TOOL / "cli" / "index.js"), address, "--quiet", "--no-enable-error-reporting",
            f"--chrome-flags=--headless=new {' '.join(FLAGS)}", f"--only-categories={','.join(CATEGORIES)}",
            "--output=json", f"--output-path={path}",
        ]  # fmt: skip
        subprocess.run(command, check=True, env={**os.environ, "CHROME_PATH": find_chromium()}, cwd=folder)
        return json.loads(path.read_text(encoding="utf-8"))


def findings(document: dict) -> list[str]:
    """Return one line for each audit of a category that is short of full marks."""
    lines = []
    for name, category in document["categories"].items():
        for reference in category["auditRefs"]:
            audit = document["audits"][reference["id"]]
            if audit["score"] is None or audit["score"] >= 0.9:
                continue
            if not reference["weight"] and name != "performance":
                continue
            lines.append(f"  {name}: {audit['title']} ({audit['score']:g}) {audit.get('displayValue', '')}".rstrip())
            for item in audit.get("details", {}).get("items", [])[:6]:
                what = item.get("node", {}).get("snippet") or item.get("url") or item.get("description") or ""
                lines += [f"      {str(what)[:150]}"] if what else []
    return lines


def page_figures(name: str, documents: list[dict]) -> list[Figure]:
    """Return the scores and times of one page as medians of its runs."""
    number = name.rpartition("/")[2].partition("_")[0]
    figures = []
    for category, bar in CATEGORIES.items():
        short = 100 - median([100 * document["categories"][category]["score"] for document in documents])
        key = category.replace("-", "_")
        what = f"chapter {number}: points short of 100, {category.replace('-', ' ')}"
        figures.append(Figure(f"short_{key}_{number}", what, round(short, 6), "points", bar=bar))
    for audit, (words, unit, divisor) in TIMES.items():
        value = median([document["audits"][audit]["numericValue"] for document in documents]) / divisor
        figures.append(Figure(f"{audit.replace('-', '_')}_{number}", f"chapter {number}: {words}", value, unit))
    return figures


def main(arguments: list[str] | None = None) -> None:
    """Run Lighthouse on the heaviest chapters, or on the pages named, which writes no figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="addresses in the site, to look at alone; no figures are written")
    parser.add_argument("--site", type=Path, default=SITE, help="folder of the built site")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args(arguments)
    if not TOOL.is_dir() or not shutil.which("node"):
        raise SystemExit("Lighthouse is not installed: run `npm ci --prefix bench/lighthouse` (Node 20 or newer).")
    if not find_chromium():
        raise SystemExit(HINT)
    pages = options.pages or heaviest(options.site)
    reports: dict[str, list[dict]] = {name: [] for name in pages}
    busy = load()
    with served(Site(options.site, {})) as address:
        for _ in range(options.runs):
            for name in pages:
                reports[name].append(report(address + name))
    figures = [figure for name, documents in reports.items() for figure in page_figures(name, documents)]
    for name, documents in reports.items():
        scores = [
            "/".join(f"{100 * document['categories'][category]['score']:.0f}" for document in documents)
            for category in CATEGORIES
        ]
        print(name, *(f"{category} {score}" for category, score in zip(CATEGORIES, scores, strict=True)), sep="  ")
        print("\n".join(findings(documents[0])))
    if options.pages or options.site != SITE:
        print("\n".join(f"{figure.what}: {figure.value:.4g} {figure.unit}" for figure in figures))
        return
    tool = json.loads((TOOL / "package.json").read_text(encoding="utf-8"))["version"]
    how = (
        f"Lighthouse on its mobile preset with simulated throttling, gzip level 6, median of {options.runs} runs on "
        f"the {len(pages)} largest chapters; load of the computer before it: {busy:g}."
    )
    chromium = next(iter(reports.values()))[0]["environment"]["hostUserAgent"].partition("Chrome/")[2].partition(" ")[0]
    write("lighthouse", figures, versions([], lighthouse=tool, chromium=chromium), how)


if __name__ == "__main__":
    main()
