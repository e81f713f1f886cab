"""Build the site from the stored notebook outputs, unless the built one is already of these sources.

    python scripts/build_book.py            build when something changed
    python scripts/build_book.py --force    build in any case

Warnings are errors, and a missing reference is a warning. Nothing is executed, and the network is closed to the
build: what a page needs is in the repository, or the build fails. Each build starts from an empty folder, because
Sphinx would leave pages that are no longer in the table of contents and keep players whose Python changed.
"""

import argparse
import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
SITE = BUILD / "html"
STAMP = BUILD / "sources.sha256"

# Runs Jupyter Book with the network closed, so that a theme or an extension that asks a host fails here, not at a
# reader's without network.
OFFLINE = """
import socket
def refuse(*arguments, **options):
    raise OSError("The build of the book asked for the network.")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
"""
OFFLINE_BUILD = OFFLINE + "from jupyter_book.cli.main import main; main()"

SOURCES = (
    *("_config.yml", "_toc.yml", "requirements.txt", "book", "chapters", "src/stepformer", "CHANGELOG.md"),
    *("CITATION.cff", "tests/structure/faults.txt"),
)
NOT_SOURCES = {"__pycache__", ".ipynb_checkpoints"}


def source_digest(root: Path = ROOT) -> str:
    """Return one digest of the names and contents of every file that the site is made of."""
    digest = hashlib.sha256()
    for source in SOURCES:
        path = root / source
        files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
        for file in files:
            if NOT_SOURCES.isdisjoint(file.parts):
                digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def is_fresh() -> bool:
    """Tell whether the built site was built from the sources as they are now."""
    return (SITE / "index.html").is_file() and STAMP.is_file() and STAMP.read_text() == source_digest()


def build(force: bool = False) -> Path:
    """Build the site if needed and return its folder.

    Raises:
        SystemExit: Jupyter Book reported an error or a warning; its own output says which.
    """
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test processes may ask at once; the second finds a fresh site
        if force or not is_fresh():
            digest = source_digest()
            STAMP.unlink(missing_ok=True)
            for stale in (SITE, BUILD / ".doctrees", BUILD / "jupyter_execute"):
                shutil.rmtree(stale, ignore_errors=True)
            options = ["build", str(ROOT), "-W", "--keep-going", "-n", "-q"]
            command = [sys.executable, "-c", OFFLINE_BUILD, *options]
            result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)  # warnings go to stderr
            if result.returncode != 0:
                print(result.stdout)
                raise SystemExit("The book was not built: see the warnings above.")
            STAMP.write_text(digest)
    return SITE


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--force", action="store_true", help="build even when nothing changed")
    index = build(parser.parse_args(arguments).force) / "index.html"
    print(f"\nThe book is built: {index.relative_to(ROOT)}\nOpen {index.as_uri()}")
    print("or run `make serve` and open the address that it prints.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
