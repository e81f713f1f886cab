"""Find Chromium for the browser tests: `STEPFORMER_CHROMIUM`, the system's, or the one Playwright installed.

    python tests/browser/chromium.py             print its path
    python tests/browser/chromium.py --install   let Playwright install one when there is none (`make setup`)
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HINT = (
    "Chromium is missing. On Debian or Ubuntu: apt-get install chromium fonts-noto-cjk; elsewhere `make setup` lets "
    "Playwright install it; or name one: STEPFORMER_CHROMIUM=/path/to/chromium."
)

# Our own elements, as a CSS selector.
NAMES_OF_ELEMENTS = ("player", "exercise", "word-map", "ledger", "timeline", "translator")
ELEMENTS = f":is({', '.join(f'stepformer-{name}' for name in NAMES_OF_ELEMENTS)})"

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}

# Headless Chromium talks to the network by itself; a test that forbids foreign requests must not see that. And on a
# busy machine it takes its own waiting for a slow network, and says so on the console.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-effective-connection-type=4G",
)


def find_chromium() -> str | None:
    """Return the path of a Chromium, or None."""
    if named := os.environ.get("STEPFORMER_CHROMIUM"):
        return named if Path(named).is_file() else None
    for name in NAMES:
        if path := shutil.which(name):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code. A missing Chromium is said, not an error: only tests need it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="install one when there is none, and print nothing else")
    options = parser.parse_args(arguments)
    if options.install and not find_chromium():
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    path = find_chromium()
    if not path or not options.install:
        print(path or HINT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
