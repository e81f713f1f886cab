"""The built site, a server for it, and a Chromium whose every complaint and every foreign request fails the test."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import build_book
import pytest
from chromium import DESKTOP, ELEMENTS, FLAGS, HINT, find_chromium
from helpers import ROOT, missing
from playwright.sync_api import Browser, Page, sync_playwright
from probe import LOOKED_OUT_OF_SIGHT, write_page
from serve import make_server

TIMEOUT = 15_000  # ms; generous, a loaded machine must not fail a test


def pytest_collection_modifyitems(items):
    """Every test in this folder needs the browser: `-m "not browser"` leaves them out."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


# An element of ours whose turn to be mounted has not come: they mount in slices.
WAITING = f"{ELEMENTS}:defined:not([data-ready], [data-error], [data-deferred])"


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site, built now if its sources changed."""
    try:
        return build_book.build()
    except SystemExit as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The address of a server for the site."""
    with make_server(site) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One Chromium for all tests; each page gets its own context."""
    path = find_chromium()
    if not path:
        missing(HINT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


class Watched:
    """What a page said and asked for that a page of the book must not."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(f"uncaught error: {error}"))
        page.on("requestfailed", lambda request: self.complaints.append(f"failed request: {request.url}"))
        page.on("response", self._answered)
        page.on("request", lambda request: self.requests.append(request.url))

    def _said(self, message) -> None:
        # A test may look at what is out of sight; that the player never does so, test_player_turns.py makes sure.
        if not message.text.startswith(LOOKED_OUT_OF_SIGHT):
            self.complaints.append(f"console {message.type}: {message.text}")

    def _answered(self, response) -> None:
        if response.status >= 400:
            self.complaints.append(f"answer {response.status}: {response.url}")

    def foreign_requests(self) -> list[str]:
        """Requests that leave this computer."""
        own = ("file:", "data:", "blob:", "about:", "http://127.0.0.1:", "ws://127.0.0.1:")
        return [url for url in self.requests if not url.startswith(own)]


@pytest.fixture(scope="session")
def opener(chromium: Browser) -> Callable[..., AbstractContextManager[Callable[..., Page]]]:
    """Make an `open_page`; what its pages complain of fails the test, or the fixture, that leaves it."""

    @contextmanager
    def opener() -> Iterator[Callable[..., Page]]:
        contexts, watched = [], []

        def open_page(address, *, viewport=DESKTOP, permit: tuple[str, ...] = (), until="load", **options) -> Page:
            context = chromium.new_context(viewport=viewport, **options)
            context.set_default_timeout(TIMEOUT)
            contexts.append(context)
            page = context.new_page()
            watched.append((Watched(page), permit))
            page.goto(address)
            page.wait_for_load_state(until)
            if options.get("java_script_enabled", True):
                page.wait_for_selector("html:not([data-scripts])", state="attached")  # pages of the book load them late
                page.wait_for_selector(WAITING, state="detached")
            return page

        yield open_page
        found = []
        for watch, permit in watched:
            found += [f"foreign request: {url}" for url in watch.foreign_requests()]
            found += [text for text in watch.complaints if not any(permitted in text for permitted in permit)]
        for context in contexts:
            context.close()
        assert found == []

    return opener


@pytest.fixture
def open_page(opener) -> Iterator[Callable[..., Page]]:
    """Open pages: `open_page(address, viewport=PHONE, color_scheme="dark", …)`. Complaints fail the test at its end.

    Our elements are mounted then. `until="networkidle"` waits longer, for whatever comes late.
    """
    with opener() as open_page:
        yield open_page


@pytest.fixture(scope="session")
def workloads():
    """The programs that the benchmarks measure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "bench"))
        import workloads
    return workloads


@pytest.fixture
def show_on_page(tmp_path, open_page):
    """Put the elements on a page of their own and open it: returns the page."""

    def show_on_page(*elements, **options):
        page = open_page(write_page(tmp_path, *elements), **options)
        page.wait_for_selector(f"{ELEMENTS}:is([data-ready], [data-error])", state="attached")
        return page

    return show_on_page
