"""The timeline of a training: what the page is given is what the snapshots hold, and nothing broken passes."""

import copy
import itertools
import json
import re
import shutil

import pytest

from stepformer import timeline as timelines
from stepformer.checkpoint import SHIPPED, CheckpointError
from stepformer.timeline import LARGEST, payload, timeline
from stepformer.widgets.timeline_view import TimelineView

MODELS = ("small", "base", "gru_attention")
LAYER = "decoder.layers.0.cross_attention"


def stored(model, name="snapshots.json"):
    return json.loads((SHIPPED / model / name).read_text(encoding="utf-8"))


@pytest.fixture
def directory(tmp_path):
    """A folder with the files of a timeline, to be damaged."""
    for name in ("model.json", "snapshots.json", "log.json"):
        shutil.copy(SHIPPED / "small" / name, tmp_path / name)
    return tmp_path


def damaged(directory, change, name="snapshots.json"):
    """Write the file with one thing changed."""
    document = json.loads((directory / name).read_text(encoding="utf-8"))
    changed = change(document)
    (directory / name).write_text(json.dumps(document if changed is None else changed), encoding="utf-8")
    return directory


@pytest.mark.parametrize("model", MODELS)
def test_the_page_gets_every_snapshot_as_it_was_taken(model):
    document, before = payload(model), stored(model)
    assert [one["step"] for one in document["snapshots"]] == [one["step"] for one in before["snapshots"]]
    assert [one["src"] for one in document["sentences"]] == [one["src"] for one in before["sentences"]]
    for mine, theirs in zip(document["snapshots"], before["snapshots"], strict=True):
        for k, (part, other) in enumerate(zip(mine["sentences"], theirs["sentences"], strict=True)):
            assert part["attention"] == list(other["attention"].values())
            n_tgt = len(document["sentences"][k]["tgt"])
            assert part["next"] == other["next"][:n_tgt]


@pytest.mark.parametrize("model", MODELS)
def test_a_timeline_weighs_no_more_than_a_page_holds(model):
    size = len(timeline(model).payload.encode())
    assert size <= 100_000 < LARGEST == 150_000, "above 100 KB it would load on a click"


@pytest.mark.parametrize("model", MODELS)
def test_the_loss_is_that_of_the_log(model):
    document, log = payload(model), stored(model, "log.json")["steps"]
    curve = dict(zip(log["step"], log["loss"], strict=True))
    assert all(loss == round(curve[step], 3) for step, loss in document["loss"])
    steps = [step for step, _ in document["loss"]]
    assert steps == sorted(set(steps))
    moments = [one["step"] for one in document["snapshots"]]
    assert set(moments[1:]) <= set(steps)
    for first, last in itertools.pairwise(moments):
        assert 1 <= sum(first < step <= last for step in steps) <= timelines.POINTS + 1
    assert document["losses"] == [None, *(curve[step] for step in moments[1:])]


def test_attention_begins_nowhere_and_ends_at_the_words_that_translate_each_other():
    first, last = (payload()["snapshots"][k]["sentences"][0] for k in (0, -1))
    means = [[[sum(head[i][j] for head in part["attention"][-1]) / 4000 for j in range(4)] for i in range(4)]
             for part in (first, last)]  # fmt: skip
    assert max(map(max, means[0])) < 0.5
    assert all(means[1][i][i] > 0.9 for i in range(4)), "Tom chases Jerry . in the same order"
    assert [bars[0][0] for bars in last["next"]] == payload()["sentences"][0]["tgt"]
    assert first["next"][0][0][1] < 50 < 850 < last["next"][0][0][1]


def test_without_a_script_the_last_snapshot_stands_there_as_a_table():
    html = timeline("small", sentence=2).html()
    assert html.startswith('<stepformer-timeline><script type="application/json">{"format":"stepformer.timeline/1"')
    table = html.rpartition("</script>")[2]
    assert "after step 8,000" in table
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)", row) for row in re.findall(r"<tr>(.*?)</tr>", table)[1:]]
    document = payload()
    part = document["snapshots"][-1]["sentences"][2]
    assert [row[0] for row in rows] == document["sentences"][2]["tgt"]
    for i, row in enumerate(rows):
        cells = [sum(head[i][j] for head in part["attention"][-1]) / 4000 for j in range(6)]
        assert row[1:-1] == [f"{x:.2f}" for x in cells]
        word, share = part["next"][i][0]
        assert row[-1] == f"{word} {share / 1000:.2f}"


def test_it_is_a_widget_with_two_faces_and_a_stable_name():
    widget = timeline("base", sentence=1)
    assert isinstance(widget, TimelineView)
    assert widget.kind == "timeline"
    assert json.loads(widget.payload)["start"] == 1
    assert repr(widget) == "TimelineView('base', 10 snapshots, to step 6000)"
    data, _ = widget._repr_mimebundle_()
    assert data["text/html"] == widget.html()


@pytest.mark.parametrize("sentence", [-1, 5])
def test_a_sentence_that_is_not_there_is_refused(sentence):
    with pytest.raises(IndexError, match="the timeline has 5"):
        timeline("small", sentence)


@pytest.mark.parametrize("sentence", [True, 1.0, "1", None])
def test_a_sentence_is_chosen_by_a_whole_number(sentence):
    with pytest.raises(TypeError, match="it must be a whole number"):
        timeline("small", sentence)


def renamed(layers):
    layers["another"] = layers.pop(LAYER)


def first(document):
    return document["snapshots"][0]["sentences"][0]


BROKEN = {
    "no snapshots": (lambda d: d.pop("snapshots"), "snapshots is missing"),
    "another format": (lambda d: d.update(format="stepformer.snapshots/2"), "its format is"),
    "one snapshot": (lambda d: d.update(snapshots=d["snapshots"][:1]), "two or more are needed"),
    "out of order": (lambda d: d["snapshots"].reverse(), "two or more are needed, in order"),
    "no sentence": (lambda d: d.update(sentences=[]), "a part for each of the 0 sentences"),
    "a word that is none": (lambda d: d["sentences"][0]["src"].append(3), "src is no list of words"),
    "a missing part": (lambda d: d["snapshots"][1]["sentences"].pop(), "snapshot 1: it needs a step, and a part"),
    "a step that is none": (lambda d: d["snapshots"][1].update(step=True), "snapshot 1: it needs a step"),
    "no attention": (lambda d: first(d).update(attention={}), "attention is no object"),
    "a short row": (lambda d: first(d)["attention"][LAYER][0][0].pop(), "has no heads of 4"),
    "more than all": (lambda d: first(d)["attention"][LAYER][0][0].__setitem__(0, 1001), "has no heads of 4"),
    "a layer less": (lambda d: first(d)["attention"].pop(LAYER), "snapshot 0, sentence 1 has other layers"),
    "another layer": (lambda d: renamed(first(d)["attention"]), "snapshot 0, sentence 1 has other layers"),
    "a head less": (lambda d: first(d)["attention"][LAYER].pop(), "different numbers of heads: [3, 4]"),
    "half of a sign": (lambda d: d["sentences"][0]["src"].__setitem__(0, "\ud800"), "can not be written"),
    "a position less": (lambda d: first(d)["next"].pop(), "for 5 positions"),
    "a word without a share": (lambda d: first(d)["next"][0][0].pop(), "for 5 positions"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_what_and_where(name, directory):
    change, message = BROKEN[name]
    with pytest.raises(CheckpointError, match=re.escape(message)) as error:
        payload(damaged(directory, lambda d: change(d) and None))
    assert "snapshots.json" in str(error.value)


def test_layers_are_those_of_the_first_snapshot_in_whatever_order_others_name_them(directory):
    wanted = payload(directory)["snapshots"]

    def other_order(document):
        for part in document["snapshots"][1]["sentences"]:
            part["attention"] = dict(reversed(part["attention"].items()))

    assert len(first(stored("small"))["attention"]) > 1
    assert payload(damaged(directory, other_order))["snapshots"] == wanted


def test_a_loss_of_fewer_than_two_points_is_refused(directory):
    def early(document):
        document["steps"].update(step=[0, 1], loss=[3.0, 2.0])

    with pytest.raises(CheckpointError, match=r"log\.json: .* two or more"):
        payload(damaged(directory, early, "log.json"))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"steps": {"step": [1' + "0" * 5000 + "]}}", "{"])
def test_a_log_that_is_no_json_is_refused(text, directory):
    (directory / "log.json").write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"log\.json can not be read"):
        payload(directory)


@pytest.mark.parametrize("change", [lambda d: [], lambda d: {"steps": {}}, lambda d: d["steps"]["loss"].pop() and None,
                                    lambda d: d["steps"]["loss"].__setitem__(0, None),
                                    *(lambda d, x=x: d["steps"]["loss"].__setitem__(0, x)
                                      for x in (float("nan"), float("inf"), 1.1e9))])  # fmt: skip
def test_a_broken_log_is_refused(change, directory):
    with pytest.raises(CheckpointError, match=r"log\.json: steps\.step and steps\.loss"):
        payload(damaged(directory, change, "log.json"))


def test_a_missing_file_is_named(directory):
    (directory / "log.json").unlink()
    with pytest.raises(CheckpointError, match=r"log\.json can not be read"):
        payload(directory)


def test_too_much_for_a_page_is_refused(directory):
    def longer(document):
        for part in (document["sentences"], *(one["sentences"] for one in document["snapshots"])):
            part += copy.deepcopy(part)

    with pytest.raises(CheckpointError, match="a page takes at most 150,000"):
        payload(damaged(directory, longer))
