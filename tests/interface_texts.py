"""The texts of the interface as tests read them: the tables in the JavaScript sources, key -> English."""

import re

from helpers import ROOT

WEB = ROOT / "web"
# The folders with a table of their own.
FOLDERS = sorted(path.parent.name for path in WEB.glob("*/text.js"))
QUOTED = re.compile(r"""'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)\"""")
ENTRY = re.compile(
    r"""^\ \ (?:(?P<name>\w+)|'(?P<quoted>[^']+)'):\s*
        (?P<text>(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")(?:\s*\+\s*'(?:\\.|[^'\\])*')*),$""",
    re.MULTILINE | re.VERBOSE,
)


def read_table(path: str, name: str = "TEXT") -> dict[str, str]:
    """Return one table of a source in `web/`."""
    source = (WEB / path).read_text(encoding="utf-8")
    body = source[source.index(f"const {name} = {{") :]
    body = body[: body.index("\n};")]
    texts = {
        entry["name"] or entry["quoted"]: "".join(a or b for a, b in QUOTED.findall(entry["text"]))
        for entry in ENTRY.finditer(body)
    }
    written = re.findall(r"^  (?:\w+|'[^']+'):", body, re.MULTILINE)
    assert len(texts) == len(written) >= 3, f"an entry of {name} in {path} is not read here"
    return texts


def all_tables() -> dict[str, dict[str, str]]:
    """Return every table by the name under which another language gives it."""
    tables = {folder: read_table(f"{folder}/text.js") for folder in FOLDERS}
    tables["signs"] = read_table("player/text.js", "SIGNS")
    names = ("SENTENCES", "REASONS", "RULES", "VARIABLES")
    return tables | {name.lower(): read_table("explain_text.js", name) for name in names}
