"""A whole evaluation: the attention of a model against gold links, all scores together, and the report."""

import json
import re
from typing import NamedTuple

import numpy as np
import pytest
import torch

from stepformer import examples, nn, plots
from stepformer.data.pair import Pair
from stepformer.data.tokenizer import WordTokenizer
from stepformer.evaluate import scores
from stepformer.evaluate.attention import attention_error, cross_attention
from stepformer.evaluate.bootstrap import Comparison, Interval
from stepformer.evaluate.evaluation import Difference, compare, evaluate, score
from stepformer.evaluate.report import markdown, plain_text, write_report
from stepformer.evaluate.summary import to_json
from stepformer.nn.attention_weights import attention_weights
from stepformer.params import from_arrays

LINES = [
    ("Tom chases Jerry .", "汤姆 追逐 杰瑞 。", {"statement"}, 1),
    ("now Tom sees Jerry and Tom chases Jerry .", "汤姆 现在 看见 杰瑞 ， 汤姆 追逐 杰瑞 。", {"statement", "time"}, 2),
    ("Jerry sees Tom .", "杰瑞 看见 汤姆 。", {"statement"}, 1),
]
PAIRS = []
for english, chinese, shown, clauses in LINES:
    words = tuple(english.split()), tuple(chinese.split())
    sure = frozenset((i, i) for i in range(len(words[0]) - 1))
    possible = sure | {(len(words[0]) - 1, j) for j in range(len(words[0]))}
    texts = " ".join(words[0][:-1]) + ".", "".join(words[1])
    PAIRS.append(Pair(*texts, *words, sure, possible, frozenset(shown), clauses))
SRC = WordTokenizer.learn([pair.source_tokens for pair in PAIRS], "en")
TGT = WordTokenizer.learn([pair.target_tokens for pair in PAIRS], "zh")
IDS = [(SRC.encode(pair.source), TGT.encode(pair.target)) for pair in PAIRS]


class Said(NamedTuple):
    text: str
    finished: bool = True
    unknown: tuple[str, ...] = ()


@pytest.fixture(scope="module")
def model():
    seed = torch.Generator().manual_seed(3)
    model = nn.Transformer(len(SRC), len(TGT), 8, 2, 2, 12, generator=seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=seed))
    return model


# ---- attention as alignment ---------------------------------------------------------------------------------------


def errors_one_by_one(model, choose) -> float:
    """The rate by the formula, sentence by sentence and word by word; `choose` makes one matrix of all weights."""
    found = hits = 0
    for pair, (source, target) in zip(PAIRS, IDS, strict=True):
        weights = attention_weights(model, torch.tensor([[*source, 2]]), torch.tensor([[1, *target]]))
        layers = [weights[f"decoder.layers.{i}.cross_attention"][0] for i in range(2)]
        matrix = choose(layers)
        for i in range(len(target)):
            best = max(range(len(source)), key=lambda j, i=i: matrix[i, j].item())
            found += 1
            hits += ((i, best) in pair.sure) + ((i, best) in pair.possible)
    return 1 - hits / (found + sum(len(pair.sure) for pair in PAIRS))


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_every_layer_head_and_mean_is_read_where_the_word_is_predicted(model, batch_size):
    error = attention_error(model, PAIRS, IDS, batch_size)
    assert [layer.name for layer in error.layers] == [f"decoder.layers.{i}.cross_attention" for i in range(2)]
    for i, layer in enumerate(error.layers):
        for k, head in enumerate(layer.heads):
            assert head.rate == pytest.approx(errors_one_by_one(model, lambda layers, i=i, k=k: layers[i][k]))
        assert layer.average.rate == pytest.approx(errors_one_by_one(model, lambda layers, i=i: layers[i].mean(0)))
    assert error.average.rate == pytest.approx(errors_one_by_one(model, lambda layers: torch.cat(layers).mean(0)))
    assert error.diagonal.rate == 0  # these links are the diagonal, and the last word's are all possible
    rates = {head.rate for layer in error.layers for head in layer.heads}
    assert len(rates) > 2  # so that a wrong layer or head would show


def designed() -> nn.Transformer:
    """The example model whose cross-attention looks at the source word of the position that writes."""
    model = nn.Transformer(11, 13, 10, 2, 1, examples.TRANSFORMER_PARAMS["encoder.layers.0.feed_forward.w_1.bias"].size)
    model.load_state_dict(from_arrays(examples.TRANSFORMER_PARAMS, model.state_dict()))
    return model


def test_the_designed_model_aligns_without_an_error():
    source, target = ["Tom", "chase", "Jerry"], ["汤姆", "追逐", "杰瑞"]
    ids = [examples.ENGLISH_WORDS.index(w) for w in source], [examples.CHINESE_WORDS.index(w) for w in target]
    links = frozenset((i, i) for i in range(3))
    pair = Pair("Tom chase Jerry", "汤姆追逐杰瑞", tuple(source), tuple(target), links, links)
    error = attention_error(designed(), [pair], [ids])
    assert error.average.rate == error.layers[0].heads[0].rate == 0
    # Read one row too late, where the word has been read already, the same weights are wrong.
    late = frozenset((i + 1, j) for i, j in links)
    assert attention_error(designed(), [pair._replace(sure=late, possible=late)], [ids]).average.rate > 0.9


def test_a_recurrent_decoder_with_attention_has_one_head(model):
    recurrent = nn.RecurrentAttention(len(SRC), len(TGT), 4, 5)
    error = attention_error(recurrent, PAIRS, IDS, 2)
    assert [len(layer.heads) for layer in error.layers] == [1]
    assert error.average == error.layers[0].average == error.layers[0].heads[0]
    assert error.average.links == sum(len(pair.target_tokens) for pair in PAIRS)


def test_weights_come_without_end_marks_and_padding(model):
    for position, layers in cross_attention(model, IDS):
        source, target = IDS[position]
        for weights in layers.values():
            assert weights.shape == (2, len(target), len(source))
            assert (weights.sum(axis=-1) > 0).all()
            assert (weights.sum(axis=-1) < 1).all()  # the rest looks at the source's end


def test_punctuation_can_be_left_out(model):
    marked, bare = (attention_error(model, PAIRS, IDS, with_punctuation=with_it).average for with_it in (True, False))
    n_marks = sum(pair.target_tokens.count(mark) for pair in PAIRS for mark in "，。")
    assert marked.links == sum(len(pair.target_tokens) for pair in PAIRS)
    assert bare.links <= marked.links - n_marks
    assert bare.sure < marked.sure


def test_links_need_the_words_that_they_join(model):
    with pytest.raises(ValueError, match=r"Pair 0, 'Tom chases Jerry\.', has links between 4 and 4 words, .* 4 and 3"):
        attention_error(model, PAIRS[:1], [(IDS[0][0], IDS[0][1][:3])])
    with pytest.raises(ValueError, match="No pair has a sure link"):
        attention_error(model, [PAIRS[0]._replace(sure=frozenset())], IDS[:1])
    recurrent = nn.EncoderDecoder(len(SRC), len(TGT), 4, 5)
    with pytest.raises(ValueError, match="no cross-attention"):
        attention_error(recurrent, PAIRS, IDS)


# ---- everything together ------------------------------------------------------------------------------------------


def said(pair: Pair) -> Said:
    if pair.source == "Jerry sees Tom.":
        return Said("汤姆|看见<script>。", finished=False, unknown=("Zed",))
    return Said(pair.target)


@pytest.fixture(scope="module")
def evaluation(model):
    answers, handed = {pair.source: said(pair) for pair in PAIRS}, []

    def translate(texts):
        handed.append(list(texts))
        return [answers[text] for text in texts]

    result = evaluate(model, SRC, TGT, PAIRS, translate, np.random.default_rng(0), batch_size=2,
                      on_progress=handed.append, system="toy, greedy", data="three", n_samples=30)  # fmt: skip
    assert handed == [[PAIRS[0].source, PAIRS[2].source], 2, [PAIRS[1].source], 1]
    return result


def test_scores_are_those_of_the_sentences(evaluation):
    hypotheses, references = [said(pair).text for pair in PAIRS], [pair.target for pair in PAIRS]
    assert [(s.source, s.reference, s.hypothesis) for s in evaluation.sentences] == [
        (pair.source, pair.target, said(pair).text) for pair in PAIRS
    ]
    assert evaluation.bleu.value == scores.bleu(hypotheses, references).value
    assert evaluation.bleu_parts.score == pytest.approx(evaluation.bleu.value)
    assert evaluation.bleu.low <= evaluation.bleu.value <= evaluation.bleu.high
    assert evaluation.chrf == scores.chrf(hypotheses, references)
    assert evaluation.exact.value == pytest.approx(2 / 3)
    assert (evaluation.unfinished, evaluation.with_unknown) == (1, 1)
    groups = {kind: [(g.name, g.n, round(g.exact, 2)) for g in groups] for kind, groups in evaluation.groups.items()}
    assert groups == {
        "phenomenon": [("statement", 3, 0.67), ("time", 1, 1.0)],
        "length": [("4–6 words", 2, 0.5), ("7–9 words", 1, 1.0)],
        "clauses": [("1 clause", 2, 0.5), ("2 clauses", 1, 1.0)],
    }
    assert evaluation.groups["length"][0].bleu == pytest.approx(scores.bleu(hypotheses[::2], references[::2]).value)
    assert evaluation.perplexity.tokens == sum(len(pair.target_tokens) + 1 for pair in PAIRS)
    assert evaluation.attention.average.links == sum(len(pair.target_tokens) for pair in PAIRS)
    assert evaluation.notes == ()


def test_what_can_not_be_computed_is_said_and_the_rest_is_there():
    short = nn.Transformer(len(SRC), len(TGT), 8, 2, 1, 8, max_len=6)
    recurrent = nn.EncoderDecoder(len(SRC), len(TGT), 4, 5)
    unlinked = PAIRS[0]._replace(source_tokens=("Tom", "chases", "Jerry."))
    for model, pairs, expected in (
        (short, PAIRS, [r"The perplexity was not computed\. .*6", r"The alignment error was not computed\. .*6"]),
        (recurrent, PAIRS, [r"The alignment error was not computed\. This model has no cross-attention"]),
        (recurrent, [unlinked], [r"leaves out 1 sentences, which the model's tokenizers cut into other pieces"]),
    ):
        result = evaluate(model, SRC, TGT, pairs, lambda texts: [Said("")] * len(texts), np.random.default_rng(0),
                          n_samples=5)  # fmt: skip
        assert result.bleu.value == 0
        assert result.attention is None
        for note, message in zip(result.notes, expected, strict=True):
            assert re.search(message, note)


def test_scores_need_a_translation_for_each_pair():
    with pytest.raises(ValueError, match="3 pairs and 1 translations"):
        score(PAIRS, [""], np.random.default_rng(0))


def test_systems_are_compared_on_the_same_sentences(evaluation):
    perfect = score(PAIRS, [pair.target for pair in PAIRS], np.random.default_rng(0), system="perfect", n_samples=30)
    assert (perfect.bleu, perfect.exact) == ((pytest.approx(100),) * 3 + (0.95,), (1.0, 1.0, 1.0, 0.95))
    difference = compare(perfect, evaluation, np.random.default_rng(0), n_samples=30)
    assert difference.exact.difference.value == pytest.approx(1 / 3)
    assert difference.bleu.difference.value == pytest.approx(100 - evaluation.bleu.value)
    assert difference.bleu.share_better > 0.5
    other = score(PAIRS[:2], ["", ""], np.random.default_rng(0), system="other", n_samples=5)
    with pytest.raises(ValueError, match="'perfect' and 'other' were not evaluated on the same sentences"):
        compare(perfect, other, np.random.default_rng(0))


# ---- the report ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_report_has_every_number_and_no_sentence_becomes_markup(evaluation, model, tmp_path):
    ((_, weights),) = cross_attention(model, IDS[:1])
    path = write_report(tmp_path / "new" / "report", [evaluation], example=(PAIRS[0], weights))
    text = path.read_text(encoding="utf-8")
    for expected in (
        "# Evaluation of toy, greedy",
        "three: 3 sentences.",
        f"| BLEU | {evaluation.bleu.value:.1f} (",
        "| exactly right | 66.7% (",
        "`nrefs:1|case:mixed|eff:no|tok:zh|smooth:exp|version:",
        "| time | 1 | 100.0% | 100.0 |",
        "| 2 clauses | 1 | 100.0% | 100.0 |",
        f"| layer 1 | {evaluation.attention.layers[1].heads[0].rate:.3f} |",
        "did not come to an end: 1.",
        "| Jerry sees Tom. | 杰瑞看见汤姆。 | 汤姆\\|看见&lt;script&gt;。 | unfinished |",
    ):
        assert expected in text
    assert "<script" not in text
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert pictures == ["exact_by_length.png", "exact_by_clauses.png", "alignment_error.png", "attention.png"]
    assert {p.name for p in path.parent.iterdir()} == {*pictures, "report.md", "report.json"}
    assert all((path.parent / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    assert json.loads((path.parent / "report.json").read_text(encoding="utf-8")) == to_json([evaluation])
    for cells in re.findall(r"^\|.*\|$", text, re.M):
        assert len(re.findall(r"(?<!\\)\|", cells)) >= 3


def test_the_json_says_the_same_and_is_strict(evaluation):
    found = json.loads(json.dumps(to_json([evaluation]), allow_nan=False))
    assert found["format"] == "stepformer.evaluation/1"
    (one,) = found["evaluations"]
    assert one["n"] == 3
    assert one["bleu"]["value"] == evaluation.bleu.value
    assert [row["total"] for row in one["bleu"]["orders"]] == [row.total for row in evaluation.bleu_parts.orders]
    assert one["alignment_error"]["layers"][0]["heads"][1]["rate"] == evaluation.attention.layers[0].heads[1].rate
    assert one["sentences"][2]["unknown"] == ["Zed"]
    assert one["perplexity"]["tokens"] == evaluation.perplexity.tokens


def test_a_terminal_gets_the_scores_and_a_comparison(evaluation):
    perfect = score(PAIRS, [pair.target for pair in PAIRS], np.random.default_rng(0), system="perfect", n_samples=30)
    text = plain_text([perfect, evaluation], [compare(perfect, evaluation, np.random.default_rng(0), n_samples=30)])
    assert "three: 3 sentences" not in text  # the first system names the data
    assert re.search(r"^  exactly right +66\.7% \(", text, re.M)
    assert re.search(r"^  time +1 +100\.0% +100\.0$", text, re.M)
    assert re.search(r"perfect against toy, greedy, .*: BLEU \+\d+\.\d", text)
    assert "sentences that did not come to an end: 1" in text
    same = plain_text([perfect, perfect], [compare(perfect, perfect, np.random.default_rng(0), n_samples=5)])
    nothing = Comparison(Interval(-1e-9, -1e-9, 1e-9), 0.5)
    assert "-0.0" not in same + plain_text([perfect, perfect], [Difference(nothing, nothing)])
    assert markdown([perfect, evaluation]).count("exactly right, ") == 6


def test_a_report_of_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match="nothing to report"):
        write_report(tmp_path, [])


def test_what_no_font_has_is_not_drawn():
    assert plots.can_draw("汤姆 追逐 Tom.")
    assert not plots.can_draw("\ue000")
