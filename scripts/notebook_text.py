"""Print a notebook as text: what `git diff` compares after `make setup` (see .gitattributes).

Cells, sources and text outputs appear as they are read; anything long or binary (a player, a picture) as its kind,
its size and a short digest, so that a change is seen without its thousand characters. Needs Python alone.
"""

import hashlib
import json
import sys

LONGEST_OUTPUT = 2000


def notebook_text(notebook: dict) -> str:
    """Return the readable text of a notebook given as the parsed JSON of its file."""
    blocks = []
    for number, cell in enumerate(notebook["cells"], start=1):
        tags = cell.get("metadata", {}).get("tags", [])
        blocks.append(" ".join([f"── {number} {cell['cell_type']}", *(f"#{tag}" for tag in tags)]))
        blocks.append(_joined(cell["source"]))
        blocks += [text for output in cell.get("outputs", []) for text in _output_lines(output)]
        blocks.append("")
    return "\n".join(blocks)


def _output_lines(output: dict) -> list[str]:
    if output["output_type"] == "stream":
        return [f"→ {output['name']}", _joined(output["text"]).rstrip("\n")]
    if output["output_type"] == "error":
        return [f"→ error {output['ename']}: {output['evalue']}"]
    return [line for kind, data in sorted(output["data"].items()) for line in _data_lines(kind, data)]


def _data_lines(kind: str, data: object) -> list[str]:
    text = _joined(data) if isinstance(data, str | list) else json.dumps(data, sort_keys=True)
    if kind == "text/plain" or (kind.startswith("text/") and kind != "text/html" and len(text) <= LONGEST_OUTPUT):
        return [f"→ {kind}", text[:LONGEST_OUTPUT]]
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return [f"→ {kind} ({len(text)} characters, {digest})"]


def _joined(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    try:
        sys.stdout.reconfigure(encoding="utf-8")
        print(notebook_text(json.loads(text)))
    except (json.JSONDecodeError, KeyError):
        print(text)  # half-written, or with conflict marks: the raw text is the best there is
