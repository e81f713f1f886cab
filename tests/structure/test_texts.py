"""The texts of the interface stand in tables: all of them, all of them used, and with what stands in their places."""

import re

import pytest
from interface_texts import FOLDERS, WEB, all_tables, read_table

# The element and the exercises use the player's table.
USERS = {"player": ("player", "exercise")}
# What shows something to a reader. (numpy.js writes Python. The engine's refusals, of a payload that no build of ours
# writes, are for authors.)
SOURCES = sorted(
    path
    for folder in (*FOLDERS, "exercise")
    for path in (WEB / folder).glob("*.js")
    if path.name not in ("text.js", "numpy.js") and not path.name.endswith(".test.js")
)
SOURCES.append(WEB / "element.js")

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<regex>(?<=[(,=:\[!&|?{};>] )/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n\[])+/[a-z]*
               | (?<=[(\[!])/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n\[])+/[a-z]*)
      | (?P<text>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)""",
    re.VERBOSE | re.DOTALL,
)


def literals(source: str) -> list[tuple[str, str]]:
    """Return each text in quotes with what stands before it on its line; of a template, the text between its places."""
    found = []
    for token in TOKEN.finditer(source):
        if text := token["text"]:
            before = source[source.rfind("\n", 0, token.start()) + 1 : token.start()]
            parts = re.split(r"\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", text[1:-1]) if text[0] == "`" else [text[1:-1]]
            found += [(before, part) for part in parts]
    return found


def table(folder: str) -> dict[str, str]:
    """Return the texts of a folder: key -> English."""
    return read_table(f"{folder}/text.js")


def sources_of(folder: str) -> str:
    """Return all code that may use the texts of a folder."""
    paths = [path for path in SOURCES if path.parent.name in USERS.get(folder, (folder,))]
    if folder == "player":
        paths += [WEB / "element.js", WEB / "player" / "text.js"]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


# A sentence has two words and a space between them; a label begins with a capital letter.
WORDS = re.compile(r"[A-Za-z]{2,}[,.;:!?]? +[a-z]{2,}|^\s*[A-Z][a-z]+\b")
# Where words in quotes are no text for a reader: names of keys and events, selectors, styles, drawings, types.
NOT_SHOWN = re.compile(
    r"""import\s|\bfrom\s|querySelector|matches\(|closest\(|new\ CustomEvent|event\.key|transform|viewBox|
        getPropertyValue|setProperty|style\.|\btype:|\.dataset|\bcase\b|\bkey\s===|\bkey\sin|\bto\.|throw|
        'aria-(?:labelled|described)by'""",
    re.VERBOSE,
)
# Words of code that is written for readers to copy, of drawings, of style classes, of formats.
NOT_TEXT = re.compile(r"<|^:host|^\.|^\{background|^ ?(?:tr|wm)-|^ changed less|^list of snapshots$|^Error$")
NAMES_OF_KEYS = {
    "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "Enter", "Escape", "PageUp", "PageDown",
    "AltGraph", "Alt", "Arrow", "Backspace", "Delete", "Tab", "Infinity", "NaN",
}  # fmt: skip


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_word_that_a_reader_sees_stands_in_code(path):
    source = path.read_text(encoding="utf-8")
    shown = [text for before, text in literals(source)
             if WORDS.search(text) and not NOT_SHOWN.search(before)
             and not NOT_TEXT.search(text) and text not in NAMES_OF_KEYS]  # fmt: skip
    assert shown == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_names_an_element_or_fills_it_comes_from_a_table(path):
    source = path.read_text(encoding="utf-8")
    # Letters as a literal child of an element, as its text, or as one of the attributes that are read out.
    letters = r"['\"`](?=[^'\"`]*[A-Za-z])[^'\"`$]+['\"`]"
    child = re.compile(rf"setText\([^,()]+, {letters}\)|\bh\('[\w.]+', \{{[^{{}}]*\}}, {letters}")
    named = re.compile(rf"(?:'aria-(?:label|valuetext|description)'|\btitle|\bplaceholder): {letters}")
    assert [found[0] for pattern in (child, named) for found in pattern.finditer(source)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_text_is_used_and_each_that_is_asked_for_exists(folder):
    texts = table(folder)
    source = sources_of(folder)
    asked = set(re.findall(r"\bt\('(\w+)'", source))
    assert asked <= set(texts), "texts that no table holds"
    # The hosts name the messages of elements that cannot be shown.
    hosts = [path.read_text(encoding="utf-8") for path in WEB.glob("host_*.js")] if folder == "player" else []
    plain = set(re.findall(r"'(\w+)'", "".join([source, *hosts])))
    if re.search(r"\bt\((?!['`])", source):  # the keys are names in an object, or in a list of the table's file
        plain |= set(re.findall(r"[{\s](\w+)(?=[:,] |\()", source)) - {"title", "name", "position"}
        listed = (WEB / folder / "text.js").read_text(encoding="utf-8")
        plain |= set(re.findall(r"(?<=[\[ ])'(\w+)'", listed))
    # t(`legend_${kind}`) uses every key of that form.
    forms = [re.sub(r"\\\$\\\{.*?\\\}", r"\\w+", re.escape(form)) for form in re.findall(r"\bt\(`([^`]+)`", source)]
    forms += [re.sub(r"\\\$\\\{.*?\\\}", r"\\w+", re.escape(form)) for form in re.findall(r"\bkey: `([^`]+)`", source)]
    unused = [key for key in texts if key not in plain and not any(re.fullmatch(form, key) for form in forms)]
    assert unused == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_place_of_a_text_is_filled(folder):
    texts = table(folder)
    checked = 0
    for key, given in re.findall(r"\bt\('(\w+)'(?:, (\{[^{}]*\}))?\)", sources_of(folder)):
        if given and "..." in given:
            continue
        names = set(re.findall(r"[{,]\s*(\w+)\s*(?=[:,}])", given))
        assert set(re.findall(r"\{(\w+)\}", texts[key])) <= names, f"{key} needs more than {sorted(names)}"
        checked += 1
    assert checked >= 3


def test_the_lines_of_the_help_have_keys_and_what_they_do():
    source = (WEB / "player" / "text.js").read_text(encoding="utf-8")
    keys = re.findall(r"'(key_\w+)'", source[source.index("KEYS = {") :])
    texts = table("player")
    assert sorted(keys) == sorted(key for key in texts if key.startswith("key_"))
    assert all(len(texts[key].split(" | ")) == 2 for key in keys)


def test_the_check_sees_words_in_code():
    seen = [text for _, text in literals("h('p', {}, 'Not in a table'); // 'a comment'\nx = `Step ${i} of ${n}`;")]
    assert seen == ["p", "Not in a table", "Step ", " of ", ""]
    assert [bool(WORDS.search(text)) for text in seen] == [False, True, True, False, False]


def test_another_language_can_give_every_table():
    named = [name for path in WEB.rglob("*.js") if "node_modules" not in path.parts and path.name != "language.js"
             for name in re.findall(r"textsOf\('(\w+)'", path.read_text(encoding="utf-8"))]  # fmt: skip
    assert len(named) == len(set(named))
    assert set(all_tables()) <= set(named)
