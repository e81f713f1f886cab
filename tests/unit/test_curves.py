"""The measured curves of the machines: the file is whole, holds what the book says, and is of the shipped models."""

import json

import pytest
from helpers import only_in_test_all
from make_curves import RECIPES, N, clauses, moment, sets_of

from stepformer.checkpoint import SHIPPED, load_model
from stepformer.evaluate import curves
from stepformer.train import Config

RUNS = curves.load().runs
SHIPPED_RUNS = ("small", "gru_attention", "gru", "base")
IN_EQUAL_TIME = ("small", "gru_attention", "gru_in_equal_time")
TRAINED_CLAUSES = 4


def test_the_file_holds_every_run_at_every_moment_and_every_number_is_possible():
    assert set(RUNS) == {*RECIPES, "base"}
    for name, run in RUNS.items():
        steps = [one.step for one in run.moments]
        every = RECIPES[name].every if name in RECIPES else steps[-1]
        assert steps == list(range(every, steps[-1] + 1, every))
        assert [one.cpu_seconds for one in run.moments] == sorted(one.cpu_seconds for one in run.moments)
        for one in run.moments:
            assert all(len(row) == len(curves.CLAUSES) for row in one[2:])
            for low, value, high in zip(one.low, one.bleu, one.high, strict=True):
                assert 0 <= low <= value <= high <= 100
            assert all(0 <= share <= 1 for share in (*one.exact, *one.as_many))


def test_the_runs_are_those_of_the_presets_and_end_with_the_shipped_models():
    for name in SHIPPED_RUNS:
        run = RUNS[name]
        assert run.preset == name
        assert run.final.step == Config.preset(name).budget.steps
        assert run.parameters == sum(x.numel() for x in load_model(name).model.parameters())
    assert RUNS["gru_in_equal_time"].preset == "gru"
    assert RUNS["gru_in_equal_time"].parameters == RUNS["gru"].parameters


def test_equal_time_is_equal():
    seconds = [RUNS[name].final.cpu_seconds for name in IN_EQUAL_TIME]
    assert max(seconds) <= 1.1 * min(seconds)


def test_one_vector_is_enough_for_one_clause_and_far_behind_attention_at_four():
    one_vector, four = RUNS["gru"].final, curves.CLAUSES.index(TRAINED_CLAUSES)
    assert one_vector.bleu[0] >= 95
    for name in ("gru_attention", "small"):
        assert one_vector.bleu[four] <= RUNS[name].final.bleu[four] - 20
        # The intervals are far from each other, too.
        assert one_vector.high[four] < RUNS[name].final.low[four] - 15


def test_in_equal_time_a_gru_with_attention_is_as_good_as_the_transformer_on_the_lengths_of_training():
    gru, transformer = RUNS["gru_attention"].final, RUNS["small"].final
    for i in range(TRAINED_CLAUSES):
        assert abs(gru.bleu[i] - transformer.bleu[i]) <= 1


def test_clauses_are_counted_by_their_commas():
    assert [clauses(text) for text in ("汤姆睡觉。", "汤姆睡觉，杰瑞跑步，猫唱歌。")] == [1, 3]


DAMAGED = {
    "no runs": (lambda d: d.pop("runs"), "runs is None"),
    "no machine": (lambda d: d.update(cpu=3), "cpu is 3"),
    "a run that is none": (lambda d: d["runs"].update(small=[]), "small: it is no object"),
    "no moments": (lambda d: d["runs"]["small"].update(moments=[]), r"small: moments is \[\]"),
    "a truth value": (lambda d: d["runs"]["small"].update(parameters=True), "small: parameters is True"),
    "a moment that is none": (lambda d: d["runs"]["small"]["moments"].insert(0, 5), "small, moment 0: it is no object"),
    "no step": (lambda d: d["runs"]["small"]["moments"][1].pop("step"), "small, moment 1: step is None"),
    "a text for numbers": (lambda d: d["runs"]["small"]["moments"][0].update(bleu="123456"), "small, moment 0: bleu"),
    "a number less": (lambda d: d["runs"]["small"]["moments"][0]["exact"].pop(), "small, moment 0: exact is"),
    "NaN": (lambda d: d["runs"]["small"]["moments"][0]["low"].__setitem__(2, float("nan")), "small, moment 0: low"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_refused_with_its_place(name, tmp_path):
    contents = json.loads(curves.FILE.read_text(encoding="utf-8"))
    change, message = DAMAGED[name]
    change(contents)
    file = tmp_path / "curves.json"
    file.write_text(json.dumps(contents), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"curves\.json: {message}"):
        curves.load(file)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"[]", b"3", b"null", b'{"format": []}'])
def test_what_is_no_file_of_curves_is_refused(content, tmp_path):
    file = tmp_path / "curves.json"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"curves\.json"):
        curves.load(file)


def test_another_format_is_refused(tmp_path):
    contents = json.loads(curves.FILE.read_text(encoding="utf-8"))
    without = {name: value for name, value in contents.items() if name != "clauses"}
    for changed in (contents | {"format": "stepformer.curves/2"}, contents | {"clauses": [1, 2]}, without):
        file = tmp_path / "curves.json"
        file.write_text(json.dumps(changed), encoding="utf-8")
        with pytest.raises(ValueError, match=r"curves\.json"):
            curves.load(file)


@only_in_test_all
def test_the_shipped_models_are_as_good_as_their_curves_end():
    sets = sets_of(Config.preset("small"))
    assert [len(pairs) for pairs in sets] == [N] * len(curves.CLAUSES)
    for name in SHIPPED_RUNS:
        found, stored = moment(SHIPPED / name, 0, 0.0, sets), RUNS[name].final
        # On another processor a near tie may fall the other way.
        assert found["bleu"] == pytest.approx(stored.bleu, abs=1)
        assert found["exact"] == pytest.approx(stored.exact, abs=0.02)
        assert found["as_many"] == pytest.approx(stored.as_many, abs=0.02)
