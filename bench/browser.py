"""Chromium, and a web server that sends files as a real one does: compressed, over connections that stay open."""

import gzip
import mimetypes
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, sync_playwright
from results import ROOT

sys.path.insert(0, str(ROOT / "tests" / "browser"))
from chromium import FLAGS, HINT, find_chromium

PLAYER = ROOT / "src" / "stepformer" / "widgets" / "static" / "stepformer.js"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium.

    Raises:
        SystemExit: there is none.
    """
    path = find_chromium()
    if not path:
        raise SystemExit(HINT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


def compressed(body: bytes) -> bytes:
    """Return the body as a server sends it: gzipped, unless it is compressed in itself."""
    smaller = gzip.compress(body, 6, mtime=0)
    return smaller if len(smaller) < len(body) else body


class Site:
    """The files of a folder, and pages that exist in memory only; each is compressed once, when first asked for."""

    def __init__(self, folder: Path, pages: Mapping[str, bytes]) -> None:
        self.folder = folder.resolve()
        self.pages = dict(pages)
        self._sent: dict[str, tuple[bytes, bool, str] | None] = {}

    def answer(self, address: str) -> tuple[bytes, bool, str] | None:
        """Return the body to send, whether it is gzipped, and its type; None where there is no such file."""
        name = unquote(urlsplit(address).path)
        if name not in self._sent:
            self._sent[name] = self._read(name)
        return self._sent[name]

    def _read(self, name: str) -> tuple[bytes, bool, str] | None:
        path = (self.folder / name.lstrip("/")).resolve()
        if name in self.pages:
            body = self.pages[name]
        elif path.is_file() and path.is_relative_to(self.folder):
            body = path.read_bytes()
        else:
            return None
        sent = compressed(body)
        return sent, sent is not body, mimetypes.guess_type(name)[0] or "application/octet-stream"


@contextmanager
def served(site: Site) -> Iterator[str]:
    """Serve a site on this computer and give its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = site.answer(self.path)
            body, gzipped, kind = answer or (b"", False, "text/plain")
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if gzipped:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
