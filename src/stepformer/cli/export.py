"""`stepformer export`: a trained model as a recorded program, or as the script of a page."""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepformer.cli._common import InputError, UsageError, print_json, visible, write_utf8

if TYPE_CHECKING:
    from stepformer.checkpoint import Stored
    from stepformer.trace import Trace

SOURCE = "Tom chases Jerry."


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command.

    Args:
        commands: where to.
    """
    parser = commands.add_parser(
        "export",
        help="write a trained Transformer as a recorded program that players read",
        description="Write a trained Transformer as a recorded program: the JSON that Trace.from_json, stepformer "
        "trace and the players of a page read, with the tokens of source and target as inputs and heads as switches. "
        "With --page, write the script that the page Try it loads.",
        epilog="examples:\n"
        "  stepformer export small --out small.json\n"
        '  stepformer export runs/mine/model --out mine.json --source "The cat is sleeping." --target 那只猫\n'
        "  stepformer export small --out - | stepformer trace -\n"
        "  stepformer export runs/mine/model --page --out translator.js --json\n\n"
        "exit codes: 0 written; 1 the model can not be read or is none that can be recorded, or the file can not be\n"
        "written; 2 wrong usage, such as a file that is there already, without --force.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="the folder of a model, or small or base")
    parser.add_argument("--out", required=True, metavar="FILE", help="the file to write; - writes standard output")
    parser.add_argument("--page", action="store_true", help="write the script of the page instead of the program")
    parser.add_argument("--source", metavar="TEXT", help=f"the sentence that it reads first (default: {SOURCE})")
    parser.add_argument("--target", metavar="TEXT", help="what it has written so far (default: nothing)")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    parser.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> int:
    to_stdout = options.out == "-"
    if options.page and (options.source is not None or options.target is not None):
        raise UsageError("export: --source and --target are for the program; with --page the reader types them.")
    if to_stdout and options.json:
        raise UsageError("export: --json describes a file; it does not go together with --out -.")
    path = Path(options.out)
    if not to_stdout and path.is_dir():
        raise UsageError(f"export: {options.out} is a folder; --out names a file.")
    if not to_stdout and path.exists() and not options.force:
        raise UsageError(f"export: {options.out} is there already; --force replaces it.")
    from stepformer import translator_page
    from stepformer.checkpoint import CheckpointError, read_model

    try:
        stored = read_model(options.model)
        text = translator_page.script(stored) if options.page else _trace(stored, options).to_json()
    except CheckpointError as error:
        raise InputError(str(error)) from None
    except ValueError as error:
        raise InputError(f"{options.model}: {error}") from None
    if to_stdout:
        write_utf8()
        print(text, end="" if text.endswith("\n") else "\n")
        return 0
    _write(path, text)
    told = _told(stored, options, text)
    if options.json:
        print_json(told)
    else:
        print(visible(f"{options.out}: {told['format']}, {told['bytes']:,} bytes, {told['parameters']:,} parameters"))
    return 0


def _trace(stored: "Stored", options: argparse.Namespace) -> "Trace":
    from stepformer.data.tokenizer import BOS, EOS, UNK, tokenizer_from_json
    from stepformer.translation_program import translation_program

    texts = {"src": SOURCE if options.source is None else options.source, "tgt": options.target or ""}
    ids: dict[str, list[int]] = {}
    for side, text in texts.items():
        tokenizer = tokenizer_from_json(stored.info[f"{side}_tokenizer"])
        ids[side] = tokenizer.encode(text)
        if unknown := [word for word, i in zip(tokenizer.tokens(text), ids[side], strict=True) if i == UNK]:
            words = ", ".join(dict.fromkeys(unknown))
            print(visible(f"stepformer export: unknown in {text!r}: {words}"), file=sys.stderr)
    return translation_program(stored, [*ids["src"], EOS], [BOS, *ids["tgt"]])


def _write(path: Path, text: str) -> None:
    """Write the file completely or not at all."""
    part = None
    try:
        if path.exists() and not path.is_file():  # a device or a pipe is written to: it must not be replaced by a file
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        os.replace(part, path)
    except OSError as error:
        if part is not None:
            Path(part).unlink(missing_ok=True)
        raise InputError(f"{path}: {error.strerror or error}") from None


def _told(stored: "Stored", options: argparse.Namespace, text: str) -> dict[str, Any]:
    from stepformer.trace_json import FORMAT
    from stepformer.translator_page import DATA_FORMAT

    return {
        "file": options.out,
        "format": DATA_FORMAT if options.page else FORMAT,
        "bytes": len(text.encode("utf-8")),
        "parameters": int(stored.info["weights"].get("parameters", sum(a.size for a in stored.arrays.values()))),
        "model": stored.info["record"].get("title", ""),
    }
