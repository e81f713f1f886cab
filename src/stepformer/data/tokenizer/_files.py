"""A vocabulary as a file that one can read: one word a line."""

import os
from collections.abc import Iterable
from pathlib import Path

from stepformer.data.text import normalise, visible
from stepformer.data.tokenizer._base import SPECIAL, VocabularyError


def write_vocabulary(vocabulary: Iterable[str], path: str | os.PathLike) -> None:
    """Write a vocabulary, one token a line, in UTF-8.

    Args:
        vocabulary: the tokens.
        path: the file.

    Raises:
        VocabularyError: a token is blank or holds a line break, and would not be read again.
    """
    tokens = list(vocabulary)
    for i, token in enumerate(tokens):
        if not token.strip() or len(token.split()) != 1 or token != token.strip():
            raise VocabularyError(f"vocabulary[{i}] is {token!r}; in a file a token has no spaces and is not blank.")
    Path(path).write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8", newline="\n")


def read_vocabulary(path: str | os.PathLike) -> tuple[str, ...]:
    """Read a vocabulary, one token a line. The four special tokens stand first, or are put there.

    Args:
        path: a file in UTF-8.

    Returns:
        The vocabulary; the ids are its positions, without gaps.

    Raises:
        VocabularyError: a line is blank, is not UTF-8, holds a space or repeats a token; the message has its number.
    """
    first_line: dict[str, int] = {}
    lines = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(lines, start=1):
        if number == len(lines) and not line:
            break  # the last line is closed
        try:
            token = line.decode("utf-8").removesuffix("\r")
        except UnicodeDecodeError:
            raise VocabularyError(f"{path}, line {number}: {line!r} is not UTF-8.") from None
        if not token.strip():
            raise VocabularyError(f"{path}, line {number}: the line is blank; each line holds one token.")
        if len(token.split()) != 1 or token != token.strip():
            raise VocabularyError(f"{path}, line {number}: '{visible(token)}' holds a space; a token has none.")
        if normalise(token) != token:
            written = normalise(token)
            raise VocabularyError(
                f"{path}, line {number}: '{visible(token)}' is '{written}' in normalised text; it would never be found."
            )
        if token in first_line:
            raise VocabularyError(f"{path}, line {number}: '{token}' stands in line {first_line[token]} already.")
        first_line[token] = number
    tokens = tuple(first_line)
    if tokens[: len(SPECIAL)] != SPECIAL:
        if misplaced := [token for token in SPECIAL if token in first_line]:
            number = first_line[misplaced[0]]
            raise VocabularyError(
                f"{path}, line {number}: {misplaced[0]} must stand among the first lines, in the order {SPECIAL!r}."
            )
        tokens = (*SPECIAL, *tokens)
    return tokens
