"""The script that builds the site: closed network, warnings as errors, no build where nothing changed."""

import subprocess
import sys

import build_book
import pytest
from helpers import fault


@fault("BOOK-04")
@pytest.mark.parametrize(
    "asks",
    [
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/theme')",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import socket; socket.socket().connect(('127.0.0.1', 9))",
        "import socket; socket.getaddrinfo('localhost', 80)",
    ],
)
def test_the_network_is_closed_to_the_build(asks):
    result = subprocess.run([sys.executable, "-c", build_book.OFFLINE + asks], capture_output=True, text=True)
    assert result.returncode != 0
    assert "The build of the book asked for the network." in result.stderr


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """A build into a temporary folder by a stand-in for Jupyter Book: the list of the commands that were run."""
    commands = []
    monkeypatch.setattr(build_book, "BUILD", tmp_path)
    monkeypatch.setattr(build_book, "SITE", tmp_path / "html")
    monkeypatch.setattr(build_book, "STAMP", tmp_path / "sources.sha256")
    monkeypatch.setattr(build_book, "source_digest", lambda: "unchanged")

    def stand_in(command, **options):
        commands.append(command)
        (tmp_path / "html").mkdir()
        (tmp_path / "html" / "index.html").write_text("built")
        return subprocess.CompletedProcess(command, returncode=0, stdout="")

    monkeypatch.setattr(subprocess, "run", stand_in)
    return commands


@fault("BOOK-04")
def test_warnings_and_missing_references_are_errors_and_the_network_is_closed(builds):
    build_book.build()
    _, _, code, verb, _, *options = builds[0]
    assert code.startswith(build_book.OFFLINE)
    assert (verb, set(options) >= {"-W", "-n", "--keep-going"}) == ("build", True)


def test_a_second_build_happens_only_when_a_source_changed_or_when_it_is_asked_for(builds, monkeypatch):
    build_book.build()
    build_book.build()
    assert len(builds) == 1
    build_book.build(force=True)
    assert len(builds) == 2
    monkeypatch.setattr(build_book, "source_digest", lambda: "changed")
    build_book.build()
    assert len(builds) == 3


def test_pages_of_an_earlier_build_are_removed(builds):
    stale = build_book.build() / "gone.html"
    stale.write_text("a page that left the table of contents")
    build_book.build(force=True)
    assert not stale.exists()


def test_a_build_with_warnings_ends_the_command_and_counts_as_none(builds, monkeypatch):
    failed = subprocess.CompletedProcess([], returncode=1, stdout="")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: failed)
    with pytest.raises(SystemExit, match="not built"):
        build_book.build()
    assert not build_book.is_fresh()


def test_the_digest_follows_contents_and_names_and_not_caches(tmp_path):
    (tmp_path / "book").mkdir()
    page = tmp_path / "book" / "a.md"
    page.write_text("one")
    first = build_book.source_digest(tmp_path)
    page.write_text("two")
    second = build_book.source_digest(tmp_path)
    page.rename(tmp_path / "book" / "b.md")
    third = build_book.source_digest(tmp_path)
    (tmp_path / "book" / "__pycache__").mkdir()
    (tmp_path / "book" / "__pycache__" / "a.pyc").write_text("x")
    assert len({first, second, third}) == 3
    assert build_book.source_digest(tmp_path) == third
