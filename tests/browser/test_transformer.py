"""The whole Transformer in one player: its arithmetic, its words, and the way back from a probability to them."""

import json

import numpy as np
import pytest
from probe import api
from test_explanations import EXPLAINED, compare

from stepformer import examples
from stepformer.widgets import player_html

TRACE = examples.transformer()
FOLD = ["encoder", "decoder"]
WORDS = examples.CHINESE_WORDS

# From a cell on to the largest share of it, until a given number; of a weight and what it weighs, to what it weighs.
WALK = """({player}, [name, index]) => {
  const passed = [];
  for (let at = {tensor: name, index}; passed.length < 99;) {
    const found = player.contributions(at.tensor, at.index);
    const [largest] = found;
    const cells = largest ? [largest, ...largest.with] : [];
    passed.push({...at, deciding: found.filter(({term}) => term === 0)});
    if (!cells.length) return passed;
    at = cells.find(({tensor}) => tensor.endsWith('value_heads')) ?? largest;
  }
  throw new Error('no end');
}"""


@pytest.fixture
def page(show_on_page):
    return show_on_page(player_html(TRACE, start="probabilities", fold=FOLD))


def test_every_number_of_it_is_explained_by_arithmetic_that_gives_its_value(page):
    explained = page.locator("stepformer-player").evaluate(EXPLAINED)
    assert len(explained) == len(TRACE.steps) > 100
    compare(explained, TRACE, TRACE.title)


@pytest.mark.parametrize(("row", "word", "source"), [(0, "汤姆", "Tom"), (1, "追逐", "chase"), (2, "杰瑞", "Jerry")])
def test_the_largest_shares_lead_from_the_probability_of_a_word_back_to_the_word_it_translates(page, row, word, source):
    passed = page.locator("stepformer-player").evaluate(WALK, ["probabilities", [row, WORDS.index(word)]])
    names = [cell["tensor"] for cell in passed]
    assert names[:2] == ["probabilities", "logits"]
    for part in ("decoder.layers.0.cross_attention.attention.output", "encoder.layers.0.feed_forward_residual"):
        assert part in names, names
    assert names[-2:] == ["src_input.embedded", "src_embedding.weight"]
    position = ["Tom", "chase", "Jerry"].index(source)
    assert passed[-1]["index"][0] == examples.ENGLISH_WORDS.index(source)
    assert passed[-2]["index"][0] == position
    (token,) = passed[-2]["deciding"]
    assert (token["tensor"], token["index"]) == ("src", [position]), "what decides is the token itself"


def test_a_reader_walks_back_by_keyboard_through_the_folded_blocks(page):
    page.locator("[role=grid]:visible").last.locator("[role=gridcell]").nth(13 + WORDS.index("追逐")).click()
    assert page.locator(".answer").inner_text().startswith("probabilities[汤姆, 追逐]")
    page.keyboard.press("w")
    trail = []
    while page.locator(".terms .go").count() and len(trail) < 99:
        trail.append(page.locator(".answer").inner_text().split(" = ")[0])
        largest = page.locator(".terms > li").first.locator(".go")
        fetched = largest.filter(has_text="value_heads")
        (fetched if fetched.count() else largest).first.press("Enter")
    assert any(text.startswith("output[汤姆, action") for text in trail), trail
    assert page.locator(".answer").inner_text().startswith("src_embedding.weight[chase, action]")
    assert page.get_by_text("A given value: the walk back ends here.").is_visible()
    page.locator(".trail button").first.click()
    assert page.locator(".answer").inner_text().startswith("probabilities[汤姆, 追逐]")


def test_every_weight_mask_and_token_can_be_edited_and_the_words_follow(page):
    def says():
        rows = np.array(api(page, "return player.values('probabilities')"))
        return [WORDS[k] for k in rows.argmax(axis=1)]

    assert says() == ["汤姆", "追逐", "杰瑞", "<eos>"]
    tom, jerry = (examples.ENGLISH_WORDS.index(name) for name in ("Tom", "Jerry"))
    api(page, f"player.set('src', [0], {jerry}); player.set('src', [2], {tom});")
    api(page, f"player.set('tgt', [1], {WORDS.index('杰瑞')}); player.set('tgt', [3], {WORDS.index('汤姆')});")
    assert says() == ["杰瑞", "追逐", "汤姆", "<eos>"]
    api(page, "player.reset(); player.set('target_mask', [1, 2], 1);")
    assert says()[1] == "<eos>", "one cell of the mask: 汤姆 sees 追逐"
    api(page, "player.reset();")
    for i in TRACE.leaves:
        tensor, array = TRACE.tensors[i], TRACE.arrays[i]
        if tensor.dtype == "float":
            index = [int(k) for k in np.unravel_index(np.abs(array).argmax(), array.shape)]
            api(page, f"player.set({json.dumps(tensor.name)}, {index}, {array[tuple(index)] + 2.0});")
            edited = TRACE.run({tensor.name: array + 2.0 * (index == np.indices(array.shape).T).all(-1).T})
            got = np.array(api(page, "return player.values('logits')"))
            np.testing.assert_allclose(got, edited["logits"], rtol=0, atol=1e-11, err_msg=tensor.name)
            api(page, "player.reset();")
