"""From text to text: order, neighbours, what can not be translated, and where the model looked."""

import pytest
import torch
from decode_cases import toy_translator
from helpers import fault

from stepformer import nn
from stepformer.data.tokenizer import SPECIAL, WordTokenizer
from stepformer.translator import Translator

TRANSLATIONS = {
    "Tom chase Jerry": "汤姆追逐杰瑞",
    "Jerry see Tom": "杰瑞看见汤姆",
    "Tom swim river": "汤姆游河",
    "tom pay BANK": "汤姆付银行",
    "Jerry swim shore": "杰瑞游河岸",
}
TOY = toy_translator()


class Unused(torch.nn.Module):
    """A model that must not be asked."""

    def encode(self, src):
        raise AssertionError("the model was run")


@pytest.mark.parametrize("settings", [{}, {"beam": 3}, {"batch_size": 2}], ids=str)
def test_texts_are_translated_in_their_order(settings):
    translations = TOY.translate(list(TRANSLATIONS), **settings)
    assert [t.text for t in translations] == list(TRANSLATIONS.values())
    assert [t.source for t in translations] == list(TRANSLATIONS)
    assert all(t.finished and not t.unknown and not t.notice for t in translations)


def test_what_is_known_of_a_translation():
    (translation,) = TOY.translate(["Tom chase Jerry"], beam=3, n_best=3, alignment=True)
    assert translation.tokens == ("汤姆", "追逐", "杰瑞")
    assert translation.source_tokens == ("Tom", "chase", "Jerry")
    best = translation.hypotheses[0]
    assert (best.text, best.tokens, best.score) == (translation.text, translation.tokens, translation.score)
    assert translation.score == pytest.approx(-0.1313977, abs=1e-6)
    assert [h.normalised for h in translation.hypotheses] == sorted(
        (h.normalised for h in translation.hypotheses), reverse=True
    )
    # 追逐 is written while the model looks at chase: that is the row of the position that predicts it.
    assert [max(range(3), key=row.__getitem__) for row in translation.alignment] == [0, 1, 2]
    assert [len(row) for row in translation.alignment] == [3, 3, 3]
    assert min(max(row) for row in translation.alignment) > 0.95
    assert all(sum(row) <= 1 + 1e-12 for row in translation.alignment)


@fault("DEC-13")
@pytest.mark.parametrize("nothing", ["", "   ", "\t", "\u3000", "\u200b\ufeff", "\n", "\x00"])
def test_nothing_to_translate_becomes_nothing_without_the_model(nothing):
    idle = Translator(Unused(), TOY.src_tokenizer, TOY.tgt_tokenizer)
    (translation,) = idle.translate([nothing], beam=2, alignment=True)
    assert (translation.text, translation.source, translation.notice) == ("", nothing, "")
    mixed = TOY.translate(["Tom chase Jerry", nothing, "Jerry see Tom"])
    assert [t.text for t in mixed] == ["汤姆追逐杰瑞", "", "杰瑞看见汤姆"]
    assert idle.translate([]) == []


def test_what_is_too_long_is_not_translated_and_the_others_are():
    texts = ["Tom chase Jerry", "Tom " * 30, "Tom " * 29, "Jerry see Tom"]
    first, second, third, fourth = TOY.translate(texts)
    assert (first.text, fourth.text) == ("汤姆追逐杰瑞", "杰瑞看见汤姆")
    assert second.text == ""
    assert second.notice == "it has 30 tokens, and the model reads at most 29"
    assert not second.finished
    assert third.text
    assert not third.notice
    assert len(third.tokens) == 30
    assert not third.finished


def test_a_model_without_a_limit_has_one_for_texts():
    vocabulary = [*SPECIAL, "Tom"]
    words = WordTokenizer(vocabulary, "en"), WordTokenizer(vocabulary, "zh")
    recurrent = Translator(nn.EncoderDecoder(5, 5, 3, 4), *words)
    short, long = recurrent.translate(["Tom", "Tom " * 1024], alignment=True, max_len=4)
    assert short.hypotheses
    assert short.alignment is None, "it has no attention"
    assert "1,024 tokens" in long.notice


def test_unknown_words_are_named_and_translation_goes_on():
    first, second = TOY.translate(["Tom see wug 😀 wug", "Tom see Jerry"])
    assert first.unknown == ("wug", "😀", "wug")
    assert first.text
    assert second.unknown == ()


@pytest.mark.parametrize("settings", [{}, {"beam": 3, "n_best": 3}, {"sample": True, "n_best": 2, "temperature": 2.0}],
                         ids=["greedy", "beam", "sample"])  # fmt: skip
def test_neighbours_change_nothing(settings):
    texts = ["Tom chase Jerry", "river", "Tom see wug Jerry Tom", "Tom", "Tom chase Jerry"]
    together = TOY.translate(texts, alignment=True, batch_size=3, **settings)
    assert [h.text for h in together[0].hypotheses] == [h.text for h in together[4].hypotheses]
    for text, translation in zip(texts, together, strict=True):
        (alone,) = TOY.translate([text], alignment=True, **settings)
        assert alone.text == translation.text
        assert [h.text for h in alone.hypotheses] == [h.text for h in translation.hypotheses]
        assert [h.score for h in alone.hypotheses] == pytest.approx([h.score for h in translation.hypotheses], abs=1e-9)
        for mine, theirs in zip(alone.alignment, translation.alignment, strict=True):
            assert mine == pytest.approx(theirs, abs=1e-9)


def test_a_seed_decides_what_is_drawn():
    def drawn(seed):
        (translation,) = TOY.translate(["river"], sample=True, temperature=3.0, n_best=4, seed=seed)
        return [h.text for h in translation.hypotheses]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert len(set(drawn(1))) > 1


def test_special_words_are_never_written():
    vocabulary = [*SPECIAL, "a"]
    words = WordTokenizer(vocabulary, "en"), WordTokenizer(vocabulary, "zh")
    model = nn.Transformer(5, 5, 4, 1, 1, 4, max_len=20)
    with torch.no_grad():
        model.output.weight.zero_()
        model.output.bias.copy_(torch.tensor([9.0, 8.0, -1.0, 0.0, 5.0]))
    for settings in ({}, {"beam": 2}, {"sample": True}):
        (translation,) = Translator(model, *words).translate(["a"], max_len=3, **settings)
        assert set(translation.tokens) <= {"a", "<unk>"}
        assert translation.score < -3, "the probabilities of the others stay as they are"


@pytest.mark.parametrize(
    ("texts", "settings", "error", "message"),
    [
        ("Tom", {}, TypeError, "texts is a text, 'Tom'; it must be a list"),
        ([3], {}, TypeError, "A sentence is a text; this is 3"),
        (["Tom"], {"n_best": 2}, ValueError, "n_best is 2.*the size of the beam, 1"),
        (["Tom"], {"max_len": 0}, ValueError, "max_len 0; they must be 1 or more"),
        (["Tom"], {"batch_size": 0}, ValueError, "batch_size is 0"),
        (["Tom"], {"sample": True, "temperature": -1}, ValueError, "temperature is -1"),
    ],
)
def test_what_is_refused(texts, settings, error, message):
    with pytest.raises(error, match=message):
        TOY.translate(texts, **settings)
