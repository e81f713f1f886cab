"""Serve the built site on this computer and print the address: `python scripts/serve.py [--port 8000]`."""

import argparse
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITE = Path(__file__).resolve().parent.parent / "_build" / "html"


class QuietHandler(SimpleHTTPRequestHandler):
    """Serve files without a line per request, and never from the browser's cache."""

    def log_message(self, *arguments):
        """Say nothing."""

    def end_headers(self):
        """Ask the browser to look again: the book may have been rebuilt."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


def make_server(folder: Path, port: int = 0, tries: int = 20) -> ThreadingHTTPServer:
    """Return a server for the folder on 127.0.0.1, on the first free port from `port` on; 0 takes any free one.

    Raises:
        OSError: none of the `tries` ports is free.
    """
    handler = partial(QuietHandler, directory=str(folder))
    for candidate in range(port, port + tries) if port else [0]:
        try:
            return ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError as error:
            last = error
    raise OSError(f"No free port from {port} to {port + tries - 1}.") from last


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="first port to try (default 8000)")
    port = parser.parse_args(arguments).port
    if not (SITE / "index.html").is_file():
        print("There is no built book yet: run `make book` first.", file=sys.stderr)
        return 1
    with make_server(SITE, port) as server:
        print(f"The book: http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
