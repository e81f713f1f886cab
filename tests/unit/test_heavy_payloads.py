"""Large payloads leave the pages of the site, whole, and small ones stay."""

import json
import re

import pytest
from stepformer_book.heavy_payloads import LARGEST, without_heavy_payloads

from stepformer.widgets.dual import element


def payload(size):
    """JSON text of so many bytes, with what must be escaped in a script."""
    start = '{"words":"汤姆 \\u003cb> \\" \\\\ ","filler":"'
    return start + "x" * (size - len(start.encode()) - 2) + '"}'


@pytest.mark.parametrize("size", [200, LARGEST])
def test_a_page_of_small_payloads_stays_as_it_is(size):
    html = f"<p>Before</p>{element('stepformer-player', payload(size), '<p>tables</p>')}"
    assert without_heavy_payloads(html) == (html, {})


def test_a_large_payload_becomes_a_script_and_its_element_says_which():
    text = payload(LARGEST + 1)
    small = element("stepformer-exercise", payload(300), "")
    html, scripts = without_heavy_payloads(small + element("stepformer-player", text, "<p>tables</p>") + small)
    [(name, script)] = scripts.items()
    assert re.fullmatch(r"payloads/[0-9a-f]{16}", name)
    expected = f'<stepformer-player data-deferred="{name}" data-megabytes="0.1"><p>tables</p></stepformer-player>'
    assert html == small + expected + small
    arguments = script.removeprefix("stepformerData(").removesuffix(");\n")
    assert json.loads(f"[{arguments}]") == [name, text], "to the last character"


def test_the_name_is_that_of_the_content():
    first, second, other = (element("stepformer-player", payload(LARGEST + n), "") for n in (1, 1, 2))
    html, scripts = without_heavy_payloads(first + second + other)
    assert len(scripts) == 2
    assert html.count("data-deferred") == 3
    assert len(set(re.findall(r'data-deferred="([^"]+)"', html))) == 2
