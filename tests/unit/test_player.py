"""The Python side of the player: what it computes, what it refuses, what it stores."""

import json

import numpy as np
import pytest
import traitlets
from agreement import assert_agree
from calls import f
from helpers import fault

from stepformer import Break, Edit, Trace, TraceError, leaf, ops, record, scope, show
from stepformer.reference.attention import scaled_dot_product_attention
from stepformer.widgets import Player, player_html

VOCABULARY = ("<pad>", "Tom", "chase", "Jerry")
HARD = Break("hard", Edit("weights", op="hardmax"), "One word takes all.", "check")


def attention():
    with record("Attention") as trace:
        tokens = leaf("src", [1, 2, 0], "src", vocabulary=VOCABULARY)
        query = leaf("query", f(4, 5) / 9, ("tgt", "d_k"), {"tgt": ["汤姆", "追逐", "杰瑞", "<eos>"]})
        table = leaf("table", f(4, 5) / 9, ("word", "d_k"))
        allowed = ops.padding_mask(tokens, pad_id=0, name="allowed")
        key = ops.embed(tokens, table, name="key")
        scaled_dot_product_attention(query, key, key, allowed)
    return trace


TRACE = attention()


@pytest.fixture
def player():
    return show(TRACE, breaks=[HARD])


def state_of(player):
    return json.dumps([player.edits, player.state, player.payload])


# ---- what it shows ------------------------------------------------------------------------------------------------


def test_show_returns_a_player_of_the_trace_with_its_breaks(player):
    assert isinstance(player, Player)
    assert player.kind == "player"
    assert player.trace.breaks == (HARD,)
    assert TRACE.breaks == ()
    assert_agree(player.values["attention.weights"], TRACE["weights"], 0)


def test_breaks_of_the_trace_and_of_the_call_are_offered_together():
    other = Break("soft", Edit("weights", op="softmax"), "", "")
    assert show(TRACE.with_breaks(HARD), breaks=[other]).trace.breaks == (HARD, other)
    with pytest.raises(TraceError, match="share a name"):
        show(TRACE.with_breaks(HARD), breaks=[HARD])


def test_the_payload_is_the_trace_and_the_step_to_start_at(player):
    document = json.loads(player.payload)
    assert document.pop("start") == 0
    assert Trace.from_json(json.dumps(document)) == player.trace


@pytest.mark.parametrize(("start", "step"), [(0, 0), (3, 3), ("allowed", 0), ("weights", 7), ("attention.output", 8)])
def test_start_is_a_step_or_the_name_of_its_result(start, step):
    player = show(TRACE, start=start)
    assert json.loads(player.payload)["start"] == player.state["step"] == step


@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        (9, TraceError, "step 9 does not exist; there are 9"),
        (-1, TraceError, "step -1"),
        ("query", TraceError, "'query' is given, not computed"),
        ("nobody", KeyError, "nobody"),
    ],
)
def test_a_start_that_is_no_step_is_refused(start, error, message):
    with pytest.raises(error, match=message):
        show(TRACE, start=start)


def nested():
    """Steps in the scopes a, a.layers.0.b, a.layers.0, a.layers.1.b and none."""
    with record() as trace:
        x = leaf("x", f(2, 3), ("i", "j"))
        with scope("a"):
            x = ops.relu(x)
            for i in range(2):
                with scope(f"layers.{i}"):
                    with scope("b"):
                        x = ops.tanh(x)
                    x = ops.relu(x)
        ops.softmax(x, name="end")
    return trace


LAYERS = ["a.layers.0", "a.layers.0.b", "a.layers.1", "a.layers.1.b"]


@pytest.mark.parametrize(
    ("fold", "scopes"),
    [
        (0, ["a", *LAYERS]),
        (1, LAYERS),
        (2, ["a.layers.0.b", "a.layers.1.b"]),
        (9, []),
        ((), []),
        ("b", ["a.layers.0.b", "a.layers.1.b"]),
        (["layers.1", "a.layers.0.b"], ["a.layers.0.b", "a.layers.1"]),
    ],
)
def test_fold_is_a_depth_or_names_of_scopes(fold, scopes):
    assert json.loads(show(nested(), fold=fold).payload).get("fold", []) == scopes
    assert json.dumps(scopes, separators=(",", ":")) in show(nested(), fold=fold).html() or not scopes


@pytest.mark.parametrize("fold", [["nowhere"], "layers", -1, True, 1.5, [1], None])
def test_a_fold_that_names_no_scope_is_refused(fold):
    with pytest.raises(TraceError, match="fold: "):
        show(nested(), fold=fold)


@fault("VIZ-12")
@pytest.mark.parametrize("thing", [None, 0.5, np.ones((2, 2)), [[1.0]], (np.ones((1, 2)),), "attention"])
def test_what_is_not_a_trace_is_refused_in_plain_words(thing):
    with pytest.raises(TypeError, match=f"show: a trace is shown, made with record.*{type(thing).__name__}"):
        show(thing)


@fault("VIZ-12")
@pytest.mark.parametrize("shape", [(1, 1), (2, 4, 3), (1, 2, 4, 3), (5, 2, 4, 3)])
def test_weights_of_any_number_of_heads_and_sentences_are_shown_with_every_axis_named(shape):
    names = ("sentence", "head", "tgt", "src")[-len(shape) :]
    with record() as trace:
        ops.softmax(leaf("scores", f(*shape), names), name="weights")
        with pytest.raises(TraceError, match="axes are named"):
            leaf("wrong", f(*shape), names[1:])
    assert show(trace).values["weights"].shape == shape


def test_a_trace_without_a_step_is_refused():
    with record() as trace:
        leaf("x", f(3), "n")
    with pytest.raises(TraceError, match="no step"):
        show(trace)


@fault("VIZ-06")
def test_rows_are_labelled_with_the_queries_and_columns_with_the_keys():
    html = player_html(TRACE)
    table = html.split("attention.weights = softmax")[1].split("</table>")[0]
    assert table.split("</thead>")[0].count("汤姆") == 0
    assert [word for word in ("Tom", "chase", "&lt;pad&gt;") if word not in table.split("</thead>")[0]] == []
    assert [word for word in ("汤姆", "追逐", "杰瑞", "&lt;eos&gt;") if word not in table.split("</thead>")[1]] == []
    with record(), pytest.raises(TraceError, match="axis 'tgt' has 4 positions but 3 labels"):
        leaf("query", f(4, 5), ("tgt", "d_k"), {"tgt": ["Tom", "chase", "Jerry"]})


# ---- set, reset, breaks -------------------------------------------------------------------------------------------


def test_setting_a_cell_changes_what_follows_and_nothing_else(player):
    player.set("query", (0, 1), 2.5)
    expected = TRACE["query"].copy()
    expected[0, 1] = 2.5
    again = TRACE.run({"query": expected})
    for name, value in player.values.items():
        assert_agree(value, again[name], 1e-15, name)
    assert player.edits == [["query", [0, 1], 2.5]]
    assert_agree(player.trace["query"], TRACE["query"], 0)


def test_edits_are_kept_in_order_and_only_the_last_one_is_replaced_by_one_of_its_cell(player):
    player.set("query", (0, 1), 2.5)
    player.set("query", (0, 1), 3.5)
    player.set("query", (1, 1), 1.0)
    player.set("query", (0, 1), 4.5)
    assert player.edits == [["query", [0, 1], 3.5], ["query", [1, 1], 1.0], ["query", [0, 1], 4.5]]
    assert player.values["query"][0, 1] == 4.5
    assert player.values["query"][1, 1] == 1.0


def test_mask_cells_and_tokens_can_be_set(player):
    player.set("allowed", (0, 0), False)
    assert (player.values["attention.weights"][:, 0] == 0).all()
    player.set("src", (2,), 3)
    assert_agree(player.values["key"][2], TRACE["table"][3], 0)
    assert player.current().axis_labels("weights")[1] == ["Tom", "chase", "Jerry"]


def test_a_result_can_be_set_cell_by_cell_and_keeps_the_rest_of_its_row(player):
    player.set("scores", (0, 0), 1.0)
    player.set("scores", (2, 1), 2.0)
    scores = TRACE["scores"].copy()
    scores[0, 0], scores[2, 1] = 1.0, 2.0
    assert_agree(player.values["attention.scores"], scores, 0)


def test_a_masked_score_beside_a_set_one_stays_minus_infinity(player):
    player.set("masked_scores", (0, 0), 30.0)
    assert np.isneginf(player.values["attention.masked_scores"][:, 2]).all()
    assert player.values["attention.weights"][0, 0] > 0.99


def test_a_set_result_is_what_the_edits_before_it_made_of_it(player):
    player.set("query", (0, 0), 9.0)
    player.set("scores", (1, 1), 7.0)
    query = TRACE["query"].copy()
    query[0, 0] = 9.0
    scores = TRACE.run({"query": query})["scores"].copy()
    scores[1, 1] = 7.0
    assert_agree(player.values["attention.scores"], scores, 0)


def test_breaks_that_the_page_switched_on_count(player):
    player.state = {"step": 0, "breaks": ["hard"]}
    assert set(np.unique(player.values["attention.weights"])) == {0.0, 1.0}
    player.set("src", (0,), 0)
    assert_agree(player.values["attention.weights"], np.tile([0.0, 1.0, 0.0], (4, 1)), 0)


def test_reset_takes_back_edits_and_breaks_and_keeps_the_step(player):
    player.state = {"step": 5, "breaks": ["hard"]}
    player.set("query", (0, 1), 2.5)
    player.reset()
    assert (player.edits, player.state) == ([], {"step": 5, "breaks": []})
    assert_agree(player.values["attention.weights"], TRACE["weights"], 0)


@pytest.mark.parametrize(
    ("name", "index", "value", "error", "message"),
    [
        ("nobody", (0, 0), 1.0, KeyError, "nobody"),
        ("query", (4, 0), 1.0, TraceError, r"index \[4, 0\] is outside 'query', which has shape \(4, 5\)"),
        ("query", (0, -1), 1.0, TraceError, "outside"),
        ("query", (0,), 1.0, TraceError, "outside"),
        ("query", (0, 0, 0), 1.0, TraceError, "outside"),
        ("query", (), 1.0, TraceError, "outside"),
        ("query", (0, 1.5), 1.0, TraceError, "whole numbers"),
        ("query", (0, 0), np.nan, TraceError, "not a finite number"),
        ("query", (0, 0), np.inf, TraceError, "not a finite number"),
        ("query", (0, 0), "1", TraceError, "not a finite number"),
        ("query", (0, 0), None, TraceError, "not a finite number"),
        ("allowed", (0, 0), 0.5, TraceError, "'allowed' holds values of kind bool; 0.5 is none"),
        ("allowed", (0, 0), 2, TraceError, "is none"),
        ("src", (0,), 1.5, TraceError, "'src' holds values of kind int64; 1.5 is none"),
        ("src", (0,), 4, TraceError, "ids must lie in 0 … 3"),
        ("src", (0,), -1, TraceError, "ids must lie in"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_changes_nothing(player, name, index, value, error, message):
    player.set("query", (0, 1), 2.5)
    before = state_of(player)
    with pytest.raises(error, match=message):
        player.set(name, index, value)
    assert state_of(player) == before


@pytest.mark.parametrize(
    "edit",
    [
        "query",
        ["query", [0, 0]],
        ["nobody", [0, 0], 1.0],
        [3, [0, 0], 1.0],
        ["query", 0, 1.0],
        ["query", [0, -1], 1.0],
        ["query", [0, 0.5], 1.0],
        ["query", [0, 0], "1"],
        ["query", [0, 0], None],
        ["query", [0, 0], float("nan")],
    ],
)
def test_edits_of_another_form_are_refused_when_they_arrive(player, edit):
    player.set("query", (0, 1), 2.5)
    before = state_of(player)
    with pytest.raises(traitlets.TraitError, match="edits: "):
        player.set_state({"edits": [edit]})
    assert state_of(player) == before


@pytest.mark.parametrize("state", [{"step": 99}, {"step": -1}, {"step": "0"}, {"step": True}, {"breaks": ["soft"]},
                                   {"breaks": "hard"}, {"breaks": [["hard"]]}])  # fmt: skip
def test_a_state_that_the_program_does_not_have_is_refused_when_it_arrives(player, state):
    before = state_of(player)
    with pytest.raises(traitlets.TraitError, match="state: "):
        player.set_state({"state": state})
    assert state_of(player) == before


@pytest.mark.parametrize(
    ("edit", "message"),
    [(["query", [9, 0], 1.0], "outside 'query'"), (["src", [0], 1.5], "holds values of kind int64")],
)
def test_an_edit_that_does_not_fit_the_values_is_an_error_in_plain_words(player, edit, message):
    player.edits = [edit]
    with pytest.raises(TraceError, match=f"edits: .*{message}"):
        player.values  # noqa: B018


# ---- what is stored -----------------------------------------------------------------------------------------------


@fault("VIZ-04")
def test_numpy_scalars_become_plain_numbers_wherever_they_are_given():
    with record(np.str_("T"), fixed={"tgt": np.int32(4)}) as trace:
        x = leaf("x", np.float32(f(4, 3)), ("tgt", "src"), {"src": np.array(["a", "b", "c"])})
        ops.softmax(x, axis=np.int64(-1), name="weights")
    edit = Edit("weights", attributes={"axis": np.int64(-2)})
    values = Edit("x", value=np.zeros((4, 3), dtype=np.float32))
    player = show(trace, breaks=[Break("b", (edit, values), "", "")], start=np.int64(0))
    player.set("x", np.array([0, 1]), np.float32(0.5))
    player.set("x", (np.int64(2), np.uint8(2)), np.int8(3))
    assert json.loads(json.dumps(player.edits)) == [["x", [0, 1], 0.5], ["x", [2, 2], 3.0]]
    assert {type(part) for edit in player.edits for part in (*edit[1], edit[2])} == {int, float}
    json.loads(json.dumps(player.get_state(["edits", "state", "payload", "kind"])))


def test_the_bundle_carries_the_live_view_and_html_and_a_stable_text(player):
    data, _ = player._repr_mimebundle_()
    assert set(data) >= {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert data["text/plain"] == repr(player) == "Player(Trace('Attention', 3 leaves, 9 steps))"
    assert "0x" not in data["text/plain"]
    assert data["text/html"] == show(TRACE, breaks=[HARD])._repr_mimebundle_()[0]["text/html"]


def test_a_long_title_is_not_cut_in_the_text():
    with record("A long title. " * 20) as trace:
        ops.relu(leaf("x", f(2), "n"))
    assert show(trace)._repr_mimebundle_()[0]["text/plain"] == repr(show(trace))


def test_the_html_is_an_element_with_the_program_and_readable_tables(player):
    html = player.html()
    assert html.startswith('<stepformer-player><script type="application/json">{')
    assert html.endswith("</stepformer-player>")
    payload = html.split(">", 2)[2].split("</script>")[0]
    assert json.loads(payload) == json.loads(player.payload)
    assert '<div class="stepformer-fallback">' in html.split("</script>")[1]


@fault("VIZ-01")
def test_no_text_of_a_trace_can_leave_its_place_in_the_html():
    evil = "</script><script>alert(1)</script><!--"
    with record(evil) as trace:
        ops.padding_mask(leaf(evil, [0], evil, vocabulary=[evil]), pad_id=1)
    html = show(trace, breaks=[Break(evil, Edit("padding_mask", value=[[True]]), evil, evil)]).html()
    assert html.count("<script") == html.count("</script>") == 1
    assert "<!--" not in html


# ---- who listens ----------------------------------------------------------------------------------------------------


def page_sends(player, **state):
    """What the page sends arrives as one message, edits and state at once."""
    player.set_state(state)


def test_whoever_observes_the_values_hears_of_each_change_of_them_once(player):
    heard = []
    player.observe(heard.append, names="values")
    player.set("query", (0, 0), 3.5)
    assert [change["new"]["query"][0, 0] for change in heard] == [3.5]
    assert_agree(heard[0]["new"]["attention.scores"], player.values["attention.scores"], 0)
    assert (heard[0]["name"], heard[0]["owner"]) == ("values", player)

    page_sends(player, edits=[["query", [0, 0], -1.0]], state={"step": 1, "breaks": ["hard"]})
    assert len(heard) == 2, "edits and switches that come together are one change"
    assert heard[1]["new"]["query"][0, 0] == -1.0
    assert sorted(heard[1]["new"]["attention.weights"][0]) == [0.0, 0.0, 1.0]

    page_sends(player, state={"step": 2, "breaks": ["hard"]})
    assert len(heard) == 2, "a step changes no value"
    player.reset()
    assert_agree(heard[-1]["new"]["attention.weights"], TRACE["weights"], 0)
    player.unobserve(heard.append, names="values")
    player.set("query", (0, 0), 4.0)
    assert heard[-1]["new"]["query"][0, 0] == TRACE["query"][0, 0]


def test_edits_and_state_are_observed_under_their_names_and_values_beside_them(player):
    edits, states, both = [], [], []
    player.observe(lambda change: edits.append(change["new"]), names="edits")
    player.observe(lambda change: states.append(change["new"]), names="state")
    player.set("query", (0, 0), 3.5)
    page_sends(player, state={"step": 2, "breaks": []})
    assert edits == [[["query", [0, 0], 3.5]]]
    assert states == [{"step": 2, "breaks": []}]

    player.observe(lambda change: both.append(change["name"]), names=["edits", "values"])
    page_sends(player, state={"step": 3, "breaks": []})
    assert both == [], "what was edited before somebody listened is no news"
    player.set("query", (0, 0), 4.5)
    assert sorted(both) == ["edits", "values"]


def test_values_that_nobody_observes_are_not_computed(player, monkeypatch):
    monkeypatch.setattr(Player, "current", lambda self: pytest.fail("computed for nobody"))
    player.observe(lambda change: None, names="edits")
    player.edits = [["query", [0, 0], 3.5]]
    player.state = {"step": 1, "breaks": ["hard"]}
