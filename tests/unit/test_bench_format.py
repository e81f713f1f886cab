"""The committed figures have the fields that the book and the README read. Measuring is not testing: `make bench`."""

import json
import re

import pytest
from helpers import ROOT

BENCH = ROOT / "bench"
DOCUMENTS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(BENCH.glob("*.json"))}
# Figures that must be held against a bar, whatever else is measured.
BARS = {
    "import_time": {"more_than_numpy", "heavy_modules"},
    "latency": {f"{action}_{size}_p95" for action in ("type", "slide", "step")
                for size in ("toy", "64x64", "sixteen_heads", "many", "very_many", "transformer")},
    "chapter_latency": {f"{action}_{chapter}_p95" for action in ("type", "slide", "step")
                        for chapter in ("05", "12", "14", "16", "17", "18")},
    "multi_head": {"ratio", "ratio_weights", "misfit"},
    "transformer_step": {"ratio", "peak_ratio"},
    "hsk": {"test_bleu", "train_seconds"},
    "training_speed": {"torch_64", "marian_64", "torch_128", "marian_128"},
    "training_cost": {f"{what}_{name}" for what in ("flops", "profiler", "kept", "peak")
                      for name in ("small", "long", "wide")},
    "grammar": {"random", "unseen_pairs", "relative", "seconds"},
    "translator": {"weights", "greedy_p95"},
    "decoding": {"greedy_ratio_64", "greedy_ratio_128", "beam_ratio_64", "beam_ratio_128", "cached_ratio", "growth"},
    "alignment": {"last_layer"},
    "timeline": {"scrub_small_p95", "scrub_base_p95", "payload_small", "payload_base"},
    "tokenizing": {"english", "chinese", "stream_peak", "peak"},
    "lighthouse": {f"short_{category}_{chapter}" for chapter in ("14", "18", "19")
                   for category in ("performance", "accessibility", "best_practices")},
    "page": {"weight", "weight_own", "mounted_ratio", "mounted_ratio_slow"},
}


@pytest.fixture
def bench(monkeypatch):
    """Return the names of the scripts that measure, and the module that states figures."""
    monkeypatch.syspath_prepend(str(BENCH))
    import results
    import run

    return run.BENCHMARKS + run.LONG, results


def test_every_benchmark_has_its_script_and_its_committed_figures(bench):
    names, _ = bench
    assert set(names) == set(DOCUMENTS)
    assert set(BARS) <= set(names)
    assert all((BENCH / f"{name}.py").is_file() for name in names)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_file_says_how_when_and_on_what_class_of_computer(name):
    document = DOCUMENTS[name]
    assert set(document) == {"benchmark", "how", "date", "machine", "versions", "figures"}
    assert document["benchmark"] == name
    assert len(document["how"]) > 40
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", document["date"])
    assert re.fullmatch(r"(x86-64|arm64), \d+ cores", document["machine"])
    assert "python" in document["versions"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_figure_is_a_number_with_its_meaning_and_an_honest_verdict(name):
    figures = DOCUMENTS[name]["figures"]
    assert BARS.get(name, set()) <= {key for key, figure in figures.items() if figure["bar"] is not None}
    for figure in figures.values():
        assert set(figure) - {"at_least"} == {"what", "value", "unit", "bar", "met"}
        assert figure["what"]
        assert figure["value"] >= 0
        if figure["bar"] is None:
            assert figure["met"] is None
        elif figure.get("at_least"):
            assert figure["met"] is (figure["value"] >= figure["bar"])
        else:
            assert figure["met"] is (figure["value"] <= figure["bar"])


def test_percentiles_are_measured_numbers(bench):
    _, results = bench
    assert results.percentile([3, 1, 2], 50) == 2
    assert results.percentile(range(1, 201), 95) == 190
    assert results.percentile([7], 95) == 7


def test_the_table_names_a_missed_bar(bench, tmp_path, monkeypatch):
    _, results = bench
    monkeypatch.setattr(results, "BENCH", tmp_path)
    figures = [results.Figure("a", "first", 2.0, "ms", bar=1), results.Figure("b", "second", 0.5, "s", bar=1)]
    path = results.write("example", [*figures, results.Figure("c", "third", 3.14159, "×")], {}, "one run")
    lines = results.table([path]).splitlines()
    assert [line.split()[-1] for line in lines[2:]] == ["MISSED", "met", "×"]
    assert "3.142 ×" in lines[4]


def test_a_bar_may_be_what_a_figure_must_reach(bench, tmp_path, monkeypatch):
    _, results = bench
    monkeypatch.setattr(results, "BENCH", tmp_path)
    values = {"below": 11.9, "at": 12.0, "above": 15.0}
    figures = [results.Figure(name, name, value, "BLEU", bar=12, at_least=True) for name, value in values.items()]
    assert [figure.met for figure in figures] == [False, True, True]
    path = results.write("example", [*figures, results.Figure("time", "time", 13.0, "s", bar=12)], {}, "one run")
    lines = results.table([path]).splitlines()[2:]
    assert [line.split()[-3:] for line in lines] == [
        ["≥", "12", "MISSED"], ["≥", "12", "met"], ["≥", "12", "met"], ["≤", "12", "MISSED"],
    ]  # fmt: skip
    stored = json.loads(path.read_text(encoding="utf-8"))["figures"]
    assert stored["below"].items() >= {"value": 11.9, "bar": 12, "at_least": True, "met": False}.items()
    assert "at_least" not in stored["time"]
