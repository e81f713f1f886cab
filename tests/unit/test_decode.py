"""Greedy search, beam search and sampling: by hand, against brute force, and alone against in any batch."""

import json
import math

import numpy as np
import pytest
import torch
from decode_cases import END, Table, all_sentences, of_dictionary, random_table, spelled
from helpers import fault
from hypothesis import given, settings
from hypothesis import strategies as st

from stepformer import nn
from stepformer.decode import beam, beam_tree, greedy, length_penalties, sample

ONE = torch.tensor([[1]])
ENDS = {"eos_id": END, "prefix": (9,)}

FORK = {
    "": {"a": 0.5, "b": 0.4, "e": 0.1},
    "a": {"e": 0.4, "a": 0.3, "b": 0.3},
    "b": {"e": 0.9, "a": 0.05, "b": 0.05},
}
"""Greedy search takes a, which leads to nothing as good as b."""
LATE = {
    "": {"e": 0.3, "a": 0.5, "b": 0.2},
    "a": {"b": 0.5, "e": 0.2, "a": 0.3},
    "ab": {"e": 1.0},
}
"""The shortest sentence is finished at once, and the best, word for word, later."""


def found(hypotheses):
    return [(spelled(h.ids), round(h.score, 7), h.finished) for h in hypotheses]


# ---- by hand --------------------------------------------------------------------------------------------------------


@fault("DEC-01")
def test_a_beam_of_one_is_greedy_and_a_beam_of_two_finds_what_greedy_misses():
    table = of_dictionary(FORK, {"e": 1.0})
    assert found(greedy(table, ONE, 5, **ENDS)) == [("a", -1.6094379, True)]
    assert found(beam(table, ONE, 5, 1, **ENDS)[0]) == [("a", -1.6094379, True)]
    assert found(beam(table, ONE, 5, 2, **ENDS)[0]) == [("b", -1.0216512, True)]


@fault("DEC-02")
def test_a_beam_begins_with_one_hypothesis_and_its_places_differ():
    table = of_dictionary(FORK, {"e": 1.0})
    firsts = []
    beam(table, ONE, 5, 2, n_best=2, **ENDS, watch=lambda seen: firsts.append(seen.step.words[0].tolist()))
    assert firsts[0] == [1, 2]
    hypotheses = beam(table, ONE, 5, 2, n_best=2, **ENDS)[0]
    assert found(hypotheses) == [("b", -1.0216512, True), ("a", -1.6094379, True)]


@fault("DEC-04")
@pytest.mark.parametrize("n_best", [1, 2, 5])
def test_the_search_goes_on_while_something_open_could_win_and_n_best_does_not_change_the_best(n_best):
    table = of_dictionary(LATE, {"e": 0.1, "a": 0.45, "b": 0.45})
    best = beam(table, ONE, 6, 5, float, n_best, **ENDS)[0]
    assert spelled(best[0].ids) == "ab"
    assert best[0].normalised == pytest.approx(-0.4620981, abs=1e-7)
    if n_best == 5:
        assert next(h for h in best if h.ids == ()).normalised == pytest.approx(-1.2039728, abs=1e-7)


@fault("DEC-04")
def test_the_search_ends_as_soon_as_nothing_open_can_win():
    table = of_dictionary({"": {"e": 0.9, "a": 0.1}}, {"e": 0.1, "a": 0.9})
    assert spelled(beam(table, ONE, 50, 3, **ENDS)[0][0].ids) == ""
    # With α = 0.6 a sentence of 50 words may be worth 4.5 times less logarithm: one step is enough to rule it out …
    assert table.decoded == 1
    table.decoded = 0
    beam(table, ONE, 50, 3, float, **ENDS)  # … and with the mean of 50 words it is not: -2.3 / 50 is more than -0.1
    assert table.decoded > 10


@fault("DEC-06")
@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("finishes", [True, False])
def test_what_is_given_is_not_counted_and_the_end_mark_is(n, finishes):
    each = math.exp(-0.5)

    def next_word(_, words):
        ends = finishes and len(words) == n + 1  # two words of the three that are given come after the start mark
        return [each, 1 - each, 0] if ends else [0, each, 1 - each]

    for search in (greedy, lambda *a, **k: beam(*a, **k)[0]):
        written = search(Table(next_word), ONE, n, length_penalty=float, eos_id=END, prefix=(9, 1, 1))[0]
        assert written.finished == finishes
        assert len(written.ids) == n - finishes
        assert len(written.log_probabilities) == n
        assert written.normalised == pytest.approx(-0.5)
        assert written.score == pytest.approx(-0.5 * n)


@fault("DEC-09")
def test_what_has_no_end_is_cut_whole_and_says_so():
    table = of_dictionary({"": {"a": 0.9, "b": 0.1}, "a": {"a": 0.8, "b": 0.2}}, {"a": 0.6, "b": 0.4})
    assert found(greedy(table, ONE, 3, **ENDS)) == [("aaa", round(math.log(0.9 * 0.8 * 0.6), 7), False)]
    hypotheses = beam(table, ONE, 3, 2, n_best=2, **ENDS)[0]
    assert [(spelled(h.ids), h.finished) for h in hypotheses] == [("aaa", False), ("aab", False)]
    drawn = sample(table, ONE, 3, [torch.Generator().manual_seed(0)], **ENDS)[0]
    assert (len(drawn.ids), drawn.finished) == (3, False)


def test_what_is_finished_comes_before_what_was_cut():
    table = of_dictionary({"": {"e": 0.01, "a": 0.99}}, {"a": 1.0})
    assert found(beam(table, ONE, 3, 2, n_best=2, **ENDS)[0]) == [
        ("", round(math.log(0.01), 7), True),
        ("aaa", round(math.log(0.99), 7), False),
    ]


def test_what_is_finished_is_remembered_when_it_leaves_the_beam():
    """The end is third of all; then four beginnings are more probable, and all of them end badly."""
    probabilities = {"": {"a": 0.5, "b": 0.3, "e": 0.2}, "a": {"a": 0.5, "b": 0.5}, "b": {"a": 0.95, "b": 0.05}}
    table = of_dictionary(probabilities, {"e": 1e-3, "a": 0.5, "b": 0.499})
    best = beam(table, ONE, 4, 3, 0.0, **ENDS)[0][0]
    assert found([best]) == [("", round(math.log(0.2), 7), True)]


def test_a_length_penalty_beyond_all_numbers_is_refused():
    with pytest.raises(ValueError, match=r"length_penalty is 1e\+300; for 9 words"):
        length_penalties(1e300, 9)


def test_length_penalty_is_that_of_wu_et_al():
    assert length_penalties(0.6, 7) == pytest.approx([((5 + n) / 6) ** 0.6 for n in range(1, 8)])
    assert length_penalties(1.0, 7)[0] == 1.0
    assert length_penalties(1.0, 7)[6] == 2.0
    assert length_penalties(0, 3) == [1, 1, 1]
    assert length_penalties(float, 3) == [1, 2, 3]


# ---- against brute force, on random tables --------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    vocab_size=st.integers(2, 4),
    max_len=st.integers(1, 5),
    length_penalty=st.sampled_from([0.0, 0.6, 2.0, float]),
    sharpness=st.sampled_from([0.5, 1.0, 5.0]),
)
def test_a_large_beam_is_exact(seed, vocab_size, max_len, length_penalty, sharpness):
    table = random_table(seed, vocab_size, sharpness)
    everything = list(all_sentences(table, 1, vocab_size, max_len))
    divisors = length_penalties(length_penalty, max_len)
    ranked = sorted(((log / divisors[n - 1], log, ids) for ids, log, n in everything), reverse=True)
    n_best = min(3, len(ranked))
    size = vocab_size**max_len + len(everything)
    for hypothesis, (normalised, log, ids) in zip(
        beam(table, ONE, max_len, size, length_penalty, n_best, **ENDS)[0], ranked, strict=False
    ):
        assert hypothesis.finished
        assert hypothesis.ids == ids
        assert hypothesis.score == pytest.approx(log, abs=1e-12)
        assert hypothesis.normalised == pytest.approx(normalised, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_large_beam_is_exact_with_five_words_and_length_six(seed):
    table = random_table(seed, 5)
    everything = sorted(all_sentences(table, 1, 5, 6), key=lambda x: -x[1] / length_penalties(0.6, 6)[x[2] - 1])
    hypotheses = beam(table, ONE, 6, 5**6, n_best=10, **ENDS)[0]
    assert [h.ids for h in hypotheses] == [ids for ids, _, _ in everything[:10]]


searches = st.tuples(
    st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 9), st.integers(1, 5), st.sampled_from([0.0, 0.6, float])
)


@settings(max_examples=25)
@given(searches)
def test_a_beam_of_one_is_greedy(drawn):
    seed, vocab_size, max_len, batch, length_penalty = drawn
    table, src = random_table(seed, vocab_size), torch.arange(1, batch + 1).unsqueeze(1)
    one = beam(table, src, max_len, 1, length_penalty, **ENDS)
    many = greedy(table, src, max_len, length_penalty=length_penalty, **ENDS)
    assert [h[0].ids for h in one] == [h.ids for h in many]
    for mine, theirs in zip(one, many, strict=True):
        assert mine[0].finished == theirs.finished
        assert mine[0].log_probabilities == pytest.approx(theirs.log_probabilities, abs=1e-12)
        assert mine[0].normalised == pytest.approx(theirs.normalised, abs=1e-12)


@settings(max_examples=25)
@given(searches, st.integers(1, 6), st.data())
def test_n_best_is_sorted_distinct_and_its_scores_are_those_of_the_table(drawn, size, data):
    seed, vocab_size, max_len, batch, length_penalty = drawn
    table, src = random_table(seed, vocab_size), torch.arange(1, batch + 1).unsqueeze(1)
    n_best = data.draw(st.integers(1, size))
    results = beam(table, src, max_len, size, length_penalty, n_best, **ENDS)
    assert len(results) == batch
    fewer = beam(table, src, max_len, size, length_penalty, 1, **ENDS)
    for sentence, (hypotheses, best) in enumerate(zip(results, fewer, strict=True), 1):
        assert 1 <= len(hypotheses) <= n_best
        assert hypotheses[0] == best[0]
        assert len({(h.ids, h.finished) for h in hypotheses}) == len(hypotheses)
        assert hypotheses == sorted(hypotheses, key=lambda h: (h.finished, h.normalised), reverse=True)
        for h in hypotheses:
            words = (*h.ids, END) if h.finished else h.ids
            assert len(words) <= max_len
            assert END not in h.ids
            logs = [math.log(table.next_word(sentence, words[:k])[word]) for k, word in enumerate(words)]
            assert h.log_probabilities == pytest.approx(logs, abs=1e-12)
            assert h.score == pytest.approx(sum(logs), abs=1e-12)
            assert h.normalised == h.score / length_penalties(length_penalty, max_len)[len(words) - 1]


# ---- with the models of nn: neighbours, cache, mode -----------------------------------------------------------------

VOCABULARY, PAD = 9, 0
SIZES = dict(d_model=8, n_heads=2, n_layers=2, d_ff=12, max_len=24)


def a_transformer(seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    model = nn.Transformer(VOCABULARY, VOCABULARY, **SIZES | options, generator=generator)
    with torch.no_grad():  # a model that was never trained says nearly the same whatever it reads
        for name, parameter in model.named_parameters():
            parameter.mul_(3.0 if "embedding" in name or name.startswith("output") else 1.5)
    return model.double()


def a_recurrent_model(seed=0, kind=nn.EncoderDecoder):
    model = kind(VOCABULARY, VOCABULARY, 6, 10).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.8, generator=generator)
    return model


MODELS = {
    "post-norm": a_transformer(2),
    "pre-norm": a_transformer(5, norm_first=True, positions="learned"),
    "recurrent": a_recurrent_model(),
    "recurrent with attention": a_recurrent_model(kind=nn.RecurrentAttention),
}
every_model = pytest.mark.parametrize("kind", MODELS)


def padded(sources, extra=0):
    longest = max(map(len, sources)) + extra
    return torch.tensor([[*source, *[PAD] * (longest - len(source))] for source in sources])


def search(how, model, src, limits, seeds):
    if how == "greedy":
        return [[h] for h in greedy(model, src, limits, never_ids=(0, 1))]
    if how == "beam":
        return beam(model, src, limits, 3, n_best=3, never_ids=(0, 1))
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    return [[h] for h in sample(model, src, limits, generators, temperature=1.2, top_k=6, top_p=0.95)]


def assert_that_neighbours_change_nothing(how, model, sources, limits, extra):
    together = search(how, model, padded(sources, extra), limits, range(len(sources)))
    for k, source in enumerate(sources):
        (alone,) = search(how, model, padded([source]), limits[k], [k])
        assert [h.ids for h in alone] == [h.ids for h in together[k]]
        assert [h.finished for h in alone] == [h.finished for h in together[k]]
        for mine, theirs in zip(alone, together[k], strict=True):
            assert mine.score == pytest.approx(theirs.score, abs=1e-6)
            assert mine.log_probabilities == pytest.approx(theirs.log_probabilities, abs=1e-6)


every_search = pytest.mark.parametrize("how", ["greedy", "beam", "sample"])


SOURCES = [[5], [8, 2, 4, 4, 7, 3], [3, 4, 5], [6, 7]]


def test_the_models_listen_to_their_source_and_some_end():
    """Otherwise what follows would hold of a model that says the same to everybody."""
    written = {
        kind: [h.ids for (h,) in search("greedy", model, padded(SOURCES), 9, [])] for kind, model in MODELS.items()
    }
    assert all(len(set(sentences)) > 1 for sentences in written.values()), written
    assert len({len(ids) for sentences in written.values() for ids in sentences}) > 1, "none ends"


@every_model
@every_search
def test_a_sentence_alone_is_the_sentence_in_a_batch(how, kind):
    sources = [[5], [8, 2, 4, 4, 7, 3], [3, 4, 5], [3, 4, 5]]
    assert_that_neighbours_change_nothing(how, MODELS[kind], sources, [7, 5, 6, 2], 2)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    sources=st.lists(st.lists(st.integers(2, VOCABULARY - 1), min_size=1, max_size=7), min_size=2, max_size=5),
    extra=st.integers(0, 3),
    data=st.data(),
)
@every_model
@every_search
def test_a_sentence_alone_is_the_sentence_in_any_batch(how, kind, sources, extra, data):
    limits = [data.draw(st.integers(1, 10)) for _ in sources]
    assert_that_neighbours_change_nothing(how, MODELS[kind], sources, limits, extra)


@fault("DEC-10")
@every_model
@pytest.mark.parametrize("how", ["greedy", "beam"])
def test_scores_are_those_of_the_whole_sentence_at_once(how, kind):
    """Word by word with a cache, or everything in one pass without: position, order and masks agree."""
    model, sources = MODELS[kind], [[3, 4, 5], [6, 7], [8, 2, 4, 4, 5]]
    for source, hypotheses in zip(sources, search(how, model, padded(sources), 9, []), strict=True):
        for h in hypotheses:
            words = [*h.ids, 2] if h.finished else list(h.ids)
            with torch.no_grad():
                logits = model.eval()(torch.tensor([source]), torch.tensor([[1, *words[:-1]]]))
            logs = logits.log_softmax(-1)[0, range(len(words)), words]
            assert h.log_probabilities == pytest.approx(logs.tolist(), abs=1e-10)


@fault("DEC-10")
def test_the_source_is_read_once_and_each_word_once(monkeypatch):
    table = random_table(3, 4)
    src = torch.arange(1, 6).unsqueeze(1)
    hypotheses = greedy(table, src, 8, **ENDS)
    assert table.encoded == 1
    assert table.decoded == sum(len(h.log_probabilities) for h in hypotheses), "what is finished still costs"


@fault("DEC-10")
def test_cached_steps_give_the_logits_of_the_full_pass():
    model = MODELS["post-norm"].eval()
    src, tgt = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 5, 6, 7]])
    with torch.no_grad():
        encoded, cache = model.encode(src), None
        full = model(src, tgt)
        for t in range(4):
            output, cache = model.decode(tgt[:, t : t + 1], *encoded, cache)
            torch.testing.assert_close(model.project(output)[0, 0], full[0, t], atol=1e-10, rtol=0)


@fault("MOD-15")
@every_search
def test_a_model_writes_without_dropout_and_stays_in_its_mode(how):
    model = a_transformer(2, dropout=0.5)
    model.train()
    model.decoder.layers[0].eval()  # a part that is frozen
    modes = [module.training for module in model.modules()]
    src = padded([[3, 4, 5], [6, 7]])
    first, second = (search(how, model, src, 9, [4, 5]) for _ in range(2))
    assert first == second
    assert modes == [module.training for module in model.modules()]
    assert all(parameter.requires_grad for parameter in model.parameters())
    model(src, src).sum().backward()  # nothing is left of inference mode


# ---- sampling -------------------------------------------------------------------------------------------------------


def drawn_words(n, **options):
    table = of_dictionary({"": {"a": 0.6, "b": 0.3, "e": 0.1}}, {"e": 1.0})
    src = torch.ones(n, 1, dtype=torch.long)
    generators = [torch.Generator().manual_seed(seed) for seed in range(n)]
    hypotheses = sample(table, src, 2, generators, **ENDS, **options)
    return np.bincount([[*h.ids, END][0] for h in hypotheses], minlength=3)[[1, 2, 0]] / n, hypotheses


def test_words_are_drawn_by_their_probabilities():
    shares, hypotheses = drawn_words(800)
    assert shares == pytest.approx([0.6, 0.3, 0.1], abs=0.05)
    assert {round(h.score, 6) for h in hypotheses} == {round(math.log(p), 6) for p in (0.6, 0.3, 0.1)}


def test_temperature_top_k_and_top_p_act_in_this_order_and_leave_the_scores_alone():
    assert drawn_words(800, top_k=2)[0] == pytest.approx([2 / 3, 1 / 3, 0], abs=0.05)
    assert drawn_words(800, top_p=0.5)[0].tolist() == [1, 0, 0]
    shares, hypotheses = drawn_words(800, temperature=0.5)
    assert shares == pytest.approx([36 / 46, 9 / 46, 1 / 46], abs=0.05)
    assert {round(h.score, 6) for h in hypotheses} == {round(math.log(p), 6) for p in (0.6, 0.3, 0.1)}
    # At temperature 0.5 the first has 0.78: top_p 0.75 keeps it alone, and would keep two at temperature 1.
    assert drawn_words(200, temperature=0.5, top_p=0.75)[0].tolist() == [1, 0, 0]
    assert drawn_words(200, top_p=0.75)[0][1] > 0
    assert drawn_words(200, temperature=0.01)[0].tolist() == [1, 0, 0]


def test_the_same_generators_draw_the_same_and_nothing_global_is_touched():
    state = torch.get_rng_state()
    src, model = padded([[3, 4, 5], [3, 4, 5]]), MODELS["post-norm"]

    def drawn():
        # So hot that all words are nearly as probable: which are drawn is left to the generators.
        return sample(model, src, 9, [torch.Generator().manual_seed(seed) for seed in (0, 1)], temperature=50.0)

    first, second = drawn(), drawn()
    assert first == second
    assert first[0] != first[1]
    assert torch.equal(torch.get_rng_state(), state)


# ---- the tree -------------------------------------------------------------------------------------------------------


def test_the_tree_of_the_fork_is_the_one_drawn_by_hand():
    tree = beam_tree(of_dictionary(FORK, {"e": 1.0}), ONE, 5, 2, 0.0, 2, **ENDS)
    drawn = [(n.parent, None if n.word is None else "eab"[n.word], round(math.exp(n.score), 3), n.state)
             for n in tree.nodes]  # fmt: skip
    assert drawn == [
        (None, None, 1.0, "kept"),
        (0, "a", 0.5, "kept"),
        (0, "b", 0.4, "kept"),
        (1, "e", 0.2, "finished"),
        (1, "a", 0.15, "pruned"),
        (2, "e", 0.36, "finished"),
        (2, "a", 0.02, "pruned"),
    ]
    assert tree.best == (5, 3)
    assert [tree.way(node) for node in tree.best] == [[2, 5], [1, 3]]
    assert tree.levels("eab") == [
        [("a", 0, pytest.approx(0.5), True), ("b", 0, pytest.approx(0.4), True)],
        [("e", 1, pytest.approx(0.36), True), ("e", 0, pytest.approx(0.2), True), ("a", 0, pytest.approx(0.15), False),
         ("a", 1, pytest.approx(0.02), False)],
    ]  # fmt: skip


@settings(max_examples=20)
@given(searches, st.integers(1, 4))
def test_the_tree_is_that_of_the_search(drawn, size):
    seed, vocab_size, max_len, _, length_penalty = drawn
    table = random_table(seed, vocab_size)
    tree = beam_tree(table, ONE, max_len, size, length_penalty, size, **ENDS)
    assert list(tree.hypotheses) == beam(table, ONE, max_len, size, length_penalty, size, **ENDS)[0]
    for node, hypothesis in zip(tree.best, tree.hypotheses, strict=True):
        way = [tree.nodes[k] for k in tree.way(node)]
        assert [n.word for n in way] == [*hypothesis.ids, *[END] * hypothesis.finished]
        assert [n.log_probability for n in way] == pytest.approx(hypothesis.log_probabilities, abs=1e-12)
        assert way[-1].state == ("finished" if hypothesis.finished else "cut")
        assert way[-1].normalised == pytest.approx(hypothesis.normalised)
    children = {node.parent for node in tree.nodes}
    for k, node in enumerate(tree.nodes[1:], 1):
        assert node.score == pytest.approx(tree.nodes[node.parent].score + node.log_probability)
        assert (node.state == "kept") == (k in children)
        assert (node.state == "finished") <= (node.word == END)
    for n in range(1, tree.nodes[-1].n_words + 1):
        assert sum(node.n_words == n and node.state != "pruned" for node in tree.nodes) <= size
    content = tree.to_json([str(k) for k in range(vocab_size)])
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["nodes"][0]["parent"] is None


# ---- what must not matter, and what is refused ----------------------------------------------------------------------


def test_words_that_are_never_to_be_written_leave_the_scores_of_the_others():
    table = of_dictionary(FORK, {"e": 1.0})
    assert found(greedy(table, ONE, 5, **ENDS, never_ids=[1])) == [("b", -1.0216512, True)]
    assert found(beam(table, ONE, 5, 2, **ENDS, never_ids=[1], n_best=2)[0])[0] == ("b", -1.0216512, True)


def test_no_sentences_give_no_hypotheses():
    nothing = torch.empty(0, 3, dtype=torch.long)
    assert greedy(MODELS["post-norm"], nothing, 5) == []
    assert beam(MODELS["post-norm"], nothing, 5) == []
    assert sample(MODELS["post-norm"], nothing, 5, []) == []


@pytest.mark.parametrize("how", [greedy, beam])
def test_a_broken_model_is_named(how):
    table = Table(lambda *_: [float("nan")] * 3)
    with pytest.raises(ValueError, match="probabilities are NaN"):
        how(table, ONE, 3, **ENDS)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: greedy(t, torch.tensor([1, 2]), 3), ValueError, r"src has shape \(2,\); it must be \(batch, n"),
        (lambda t: greedy(t, torch.tensor([[1.0]]), 3), TypeError, "src must be a tensor of token ids.*float32"),
        (lambda t: greedy(t, [[1]], 3), TypeError, "src must be a tensor of token ids.*list"),
        (lambda t: greedy(t, ONE, 0), ValueError, "max_len is 0; it must be 1 or more"),
        (lambda t: greedy(t, ONE, 2.5), TypeError, "max_len|not iterable"),
        (lambda t: greedy(t, ONE, [3, 4]), ValueError, "max_len has 2 numbers for 1 sentences"),
        (lambda t: greedy(t, ONE, [True]), TypeError, "max_len is True"),
        (lambda t: greedy(t, ONE, 3, prefix=()), ValueError, "prefix is empty"),
        (lambda t: beam(t, ONE, 3, 0), ValueError, "size is 0"),
        (lambda t: beam(t, ONE, 3, 2, n_best=3), ValueError, "n_best is 3 and size 2"),
        (lambda t: beam(t, ONE, 3, 2.0), TypeError, "size is 2.0; it must be a whole number"),
        (lambda t: beam(t, ONE, 3, length_penalty=-1), ValueError, "length_penalty is -1; α must be 0 or more"),
        (lambda t: beam(t, ONE, 3, length_penalty=math.nan), ValueError, "length_penalty is nan"),
        (lambda t: beam(t, ONE, 3, length_penalty=lambda n: n - 1), ValueError, "length_penalty gave 0.0"),
        (lambda t: beam_tree(t, ONE.repeat(2, 1), 3), ValueError, "a tree is that of one sentence"),
        (lambda t: sample(t, ONE, 3, []), ValueError, "0 generators for 1 sentences"),
        (lambda t: sample(t, ONE, 3, [torch.Generator()], temperature=0), ValueError, "temperature is 0.*greedy"),
        (lambda t: sample(t, ONE, 3, [torch.Generator()], top_k=0), ValueError, "k is 0"),
        (lambda t: sample(t, ONE, 3, [torch.Generator()], top_p=0.0), ValueError, "p is 0.0"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(random_table(0, 3))


def test_no_temperature_and_no_share_leave_nothing_to_draw():
    model = nn.Transformer(9, 9, 4, 1, 1, 4, generator=torch.Generator().manual_seed(0))
    src, never = torch.tensor([[4, 5, 2]]), (0, 1)

    def drawn(**settings):
        return sample(model, src, 6, [torch.Generator().manual_seed(0)], never_ids=never, **settings)[0].ids

    best = greedy(model, src, 6, never_ids=never)[0].ids
    assert drawn(temperature=1e-300) == drawn(temperature=1e-40) == drawn(top_p=1e-320) == best
    assert not set(drawn(temperature=1e300)) & set(never)
    assert drawn(top_k=10**30) == drawn()
