"""A program of many steps in one player: blocks that fold, the way back from a number, and the room they take."""

import json

import numpy as np
import pytest
from chromium import PHONE
from helpers import ROOT, require_node
from probe import DEEP_FOCUS, api

from stepformer import examples as example_programs
from stepformer import leaf, ops, record, scope
from stepformer.formatting import format_number
from stepformer.reference.multi_head_attention import multi_head_attention
from stepformer.widgets import player_html

FOLDED = ["attention", "feed_forward"]
TERMS = ".terms:first-of-type > li"


def two_layers():
    """Two layers of self-attention and a feed-forward network over three words, ten columns wide."""
    generator = np.random.default_rng(4)

    def given(name, *sizes):
        axes = [{3: "src", 10: "d_model", 14: "d_ff"}[size] for size in sizes]
        return leaf(name, (generator.normal(size=sizes) / 3).round(2), axes)

    with record("Two layers") as trace:
        x = given("x", 3, 10)
        mask = ops.causal_mask(x, x, name="mask")
        for i in range(2):
            path = f"model.layers.{i}"
            params = {}
            for name in ("w_q", "w_k", "w_v", "w_o"):
                for part, sizes in (("weight", (10, 10)), ("bias", (10,))):
                    params[f"{name}.{part}"] = given(f"{path}.{name}.{part}", *sizes)
            wide = [given(f"{path}.w_1.weight", 10, 14), given(f"{path}.w_1.bias", 14)]
            back = [given(f"{path}.w_2.weight", 14, 10), given(f"{path}.w_2.bias", 10)]
            with scope("model"), scope(f"layers.{i}"):
                attended = multi_head_attention(x, x, x, params, n_heads=2, mask=mask).output
                x = ops.add(x, attended, name="added")
                with scope("feed_forward"):
                    hidden = ops.relu(ops.linear(x, *wide, name="wide"), name="hidden")
                    x = ops.linear(hidden, *back, name="output")
        ops.softmax(x, name="probabilities")
    return trace


TRACE = two_layers()
NAMES = [TRACE.tensors[step.output].name for step in TRACE.steps]
SCOPES = [step.scope for step in TRACE.steps]


def last_of(path):
    """The position of the last step inside a scope."""
    return max(i for i, name in enumerate(SCOPES) if f"{name}.".startswith(f"{path}."))


@pytest.fixture
def folded(show_on_page):
    """A page with the two layers, attention and feed-forward folded in both."""
    return show_on_page(player_html(TRACE, fold=FOLDED))


def step(page):
    return int(page.locator("stepformer-player").get_attribute("data-step"))


def row(page, name, kind="scope"):
    """The first entry of the step list with this name."""
    return page.locator(f"button.{kind}").filter(has_text=name).first


def twist(page, name):
    return page.get_by_role("button", name=f"fold {name}").first


# ---- folding -------------------------------------------------------------------------------------------------------


def test_a_folded_block_is_stepped_over_as_one_from_its_inputs_to_its_last_result(folded):
    seen = []
    for _ in range(40):
        seen.append(step(folded))
        folded.get_by_role("button", name="Next step").press("Enter")
    attention, network = (last_of(f"model.layers.0.{name}") for name in ("multi_head_attention.attention", FOLDED[1]))
    assert attention in seen
    assert network in seen
    assert not set(range(attention - 5, attention)) & set(seen), "steps inside were shown"
    assert seen[-1] == len(NAMES) - 1
    assert sorted(set(seen)) == list(dict.fromkeys(seen)), "it went back"

    api(folded, f"player.goto({network - 3})")
    folded.get_by_role("button", name="Next step").press("Enter")
    assert step(folded) == network
    assert folded.locator(".position").inner_text() == f"Steps {network - 1} to {network + 1} of {len(NAMES)}"
    assert folded.locator(".formula:visible").inner_text() == "output = feed_forward(added)"
    grids = folded.locator("[role=grid]:visible")
    assert [text.split(":")[0] for text in grids.evaluate_all("all => all.map((e) => e.ariaLabel)")] == [
        "added", "output"]  # fmt: skip
    assert folded.get_by_text("Not shown: 4 more inputs, such as weights.").is_visible()
    shown = grids.nth(1).locator("[role=gridcell]").all_inner_texts()
    assert shown == [format_number(x) for x in TRACE.arrays[TRACE.steps[network].output].ravel()]
    folded.get_by_role("button", name="Previous step").press("Enter")
    assert step(folded) == network - 3


def test_a_block_folds_and_unfolds_by_mouse_and_the_panel_unfolds_what_is_on_show(folded):
    wide = row(folded, "wide", "step")
    button = twist(folded, "feed_forward")
    assert (button.get_attribute("aria-expanded"), wide.is_visible()) == ("false", False)
    button.click()
    assert (button.get_attribute("aria-expanded"), wide.is_visible()) == ("true", True)
    wide.click()
    at = step(folded)
    button.click()
    assert not wide.is_visible()
    assert step(folded) == at + 2, "the block takes the place of the step it hides"
    assert folded.locator("[aria-current=step]").all_inner_texts() == [row(folded, "feed_forward").inner_text()]
    assert folded.get_by_text("Made by the 3 steps inside.").is_visible()
    folded.get_by_role("group", name="How the chosen cell").get_by_role("button", name="Unfold feed_forward").click()
    assert step(folded) == at
    assert wide.is_visible()
    row(folded, "feed_forward").click()
    assert (step(folded), wide.is_visible()) == (at + 2, False), "its name shows a block as one step"


def test_each_block_of_its_name_and_each_depth_can_be_folded_and_players_fold_by_themselves(show_on_page):
    html = player_html(TRACE, fold=0)
    page = show_on_page(html, player_html(TRACE))
    assert api(page, "return player.folded") == [
        "model",
        *[f"model.layers.{i}{rest}" for i in range(2)
          for rest in ("", ".multi_head_attention", ".multi_head_attention.attention", ".feed_forward")],
    ]  # fmt: skip
    for _ in range(5):
        api(page, "player.next()")
    assert page.locator("stepformer-player").first.get_attribute("data-step") == str(len(NAMES) - 1)
    assert api(page, "return [player.step, player.folded]", nth=1) == [0, []]


def test_goto_shows_the_step_itself_and_unfolds_what_hides_it(folded):
    for i in range(len(NAMES)):
        api(folded, f"player.goto({i})")
        assert step(folded) == i
        assert folded.locator(".step[aria-current]").get_attribute("title") == NAMES[i]
    assert api(folded, "return player.folded") == []
    told = api(folded, "try { player.fold(['nothing']) } catch (error) { return error.message }")
    assert "not a scope" in told
    assert api(folded, "return player.folded") == []


def test_the_step_list_by_keyboard_alone(folded):
    api(folded, "player.goto(0)")
    for _ in range(20):
        folded.keyboard.press("Tab")
        if folded.locator("stepformer-player").evaluate("e => e.shadowRoot.activeElement?.matches('.step, .scope')"):
            break
    focus = "e => e.shadowRoot.activeElement.innerText"
    at = lambda: folded.locator("stepformer-player").evaluate(focus)  # noqa: E731
    assert at() == "mask\ncausal_mask"
    heard = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft", "ArrowDown"):
        folded.keyboard.press(key)
        heard.append(at())
    # visible_key is a step before multi_head_attention; the second ArrowLeft folds layers.0.
    assert heard[:2] == ["model", "layers.0"]
    assert heard[-2:] == ["layers.0", "layers.1"]
    assert api(folded, "return player.folded.includes('model.layers.0')")
    folded.keyboard.press("ArrowUp")
    folded.keyboard.press("Enter")
    assert step(folded) == last_of("model.layers.0")
    folded.keyboard.press("ArrowRight")
    assert not api(folded, "return player.folded.includes('model.layers.0')")
    folded.keyboard.press("Home")
    assert at() == "mask\ncausal_mask"
    folded.keyboard.press("End")
    assert at().startswith("probabilities")
    reached = folded.locator(".steps [tabindex='0']").count()
    assert reached == 1, "Tab reaches one entry of the list"


def test_an_edit_marks_folded_blocks_that_hold_a_change(folded):
    name = "model.layers.1.w_2.bias"
    api(folded, f"player.set({name!r}, [0], 9)")
    marked = folded.locator(".scope.changed")
    assert [text.split(",")[0].strip() for text in marked.all_inner_texts()] == ["model", "layers.1", "feed_forward"]
    told = folded.locator("stepformer-player").get_by_role("button", name="holds changes by your edits").all()
    assert [button.inner_text() for button in told] == marked.all_inner_texts(), "no other block is called changed"
    api(folded, "player.reset()")
    assert folded.locator(".scope.changed").count() == 0


# ---- where a number comes from -------------------------------------------------------------------------------------


def walk_to_the_end(page, most=60):
    """Follow the largest share from the chosen cell by keyboard until it ends; return what was passed."""
    passed = []
    page.keyboard.press("w")
    for _ in range(most):
        passed.append(page.locator(".answer").inner_text().split(" = ")[0])
        if not page.locator(".terms .go").count():
            return passed
        page.keyboard.press("Enter")
    raise AssertionError(f"no end after {passed}")


def test_from_a_probability_back_to_a_given_number_by_keyboard_through_folded_blocks_and_back_again(folded):
    api(folded, "player.goto(99); player.fold(['model'])")
    folded.locator("[role=grid]:visible").last.locator("[role=gridcell]").nth(4).click()
    start = folded.locator(".answer").inner_text()
    assert folded.get_by_text("It is no sum.").count() == 0
    passed = walk_to_the_end(folded)
    assert len(passed) > 5
    assert passed[0].startswith("probabilities[0, 4]")
    assert folded.get_by_text("A given value: the walk back ends here.").is_visible()
    end = passed[-1].split("[")[0]
    assert any(tensor.name.endswith(end) for i, tensor in enumerate(TRACE.tensors) if i in TRACE.leaves)
    trail = folded.locator(".trail button").all_inner_texts()
    assert len(trail) == len(passed) - 1
    folded.locator(".trail button").first.click()
    assert folded.locator(".answer").inner_text() == start
    assert folded.locator(".trail").count() == 0
    assert api(folded, "return player.folded") == ["model"], "what the walk unfolded is folded again"


def test_terms_are_listed_by_size_with_their_cells_and_lead_to_the_step_that_makes_them(show_on_page):
    trace = example_programs.attention()
    page = show_on_page(player_html(trace, start="output"))
    page.locator("[role=grid]:visible").last.locator("[role=gridcell]").nth(7).click()  # output[1, 0]
    page.get_by_role("button", name="Where does it come from?").click()
    products = trace["weights"][1] * trace["value"][:, 0]
    order = np.argsort(-np.abs(products), kind="stable")
    shown = page.locator(f"{TERMS} .amount").all_inner_texts()
    assert [text.strip() for text in shown] == [format_number(products[k]) for k in order]
    first = page.locator(f"{TERMS}").first.locator(".go")
    word = ["Tom", "chase", "Jerry"][order[0]]
    assert first.all_inner_texts() == [
        f"weights[追逐, {word}] {format_number(trace['weights'][1, order[0]])}",
        f"value[{word}, name] {format_number(trace['value'][order[0], 0])}",
    ]
    first.first.click()
    assert step(page) == NAMES_OF_ATTENTION.index("weights")
    assert page.locator(".answer").inner_text().startswith(f"weights[追逐, {word}]")
    assert page.get_by_text("It is no sum.").is_visible()
    page.get_by_role("button", name="Where does it come from?").click()
    assert not page.locator(".walk").is_visible()


NAMES_OF_ATTENTION = ["key_transposed", "scores", "scaled_scores", "weights", "output"]


def test_the_list_is_closed_until_it_is_asked_for_and_follows_the_chosen_cell(folded):
    assert not folded.locator(".walk").is_visible()
    folded.locator("[role=grid]:visible").last.locator("[role=gridcell]").nth(1).click()
    folded.keyboard.press("w")
    before = folded.locator(".walk").inner_text()
    assert "Its terms" in before or "no sum" in before or "decide" in before
    folded.get_by_role("button", name="Next step").click()
    assert folded.locator(".walk").is_visible()
    assert folded.locator(".walk").inner_text() != before


SUMS = """({player}) => {
  const cells = (values, index = []) =>
    Array.isArray(values) ? values.flatMap((value, i) => cells(value, [...index, i])) : [[index, values]];
  let count = 0;
  const wrong = [];
  for (const {output} of player.session.steps) {
    const {name} = player.session.program.tensors[output];
    for (const [index, value] of cells(player.values(name))) {
      const found = player.contributions(name, index);
      const total = found.reduce((sum, {term}) => sum + term, 0);
      const scale = found.reduce((sum, {term}) => sum + Math.abs(term), 1);
      const right = found.every((item) => item.tensor === null || [item, ...item.with].every((cell) =>
        cell.index.reduce((part, i) => part[i], player.values(cell.tensor)) == cell.value));
      count += 1;
      if (!right || (total !== Number(value) && !(Math.abs(total - value) <= 1e-12 * scale))) wrong.push([name, index]);
    }
  }
  return [count, wrong];
}"""


@pytest.mark.parametrize("name", ["multi_head_attention", "attention_over_words", "padded_attention", "gradient_step"])
def test_the_terms_of_every_cell_add_up_to_it_and_name_the_values_that_their_cells_have(name, show_on_page):
    trace = example_programs.EXAMPLES[name]()
    page = show_on_page(player_html(trace))
    count, wrong = page.locator("stepformer-player").evaluate(SUMS)
    assert count == sum(trace.arrays[step.output].size for step in trace.steps) > 0
    assert wrong == []


# ---- for everyone, and where there is little room ------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_folded_block_and_on_the_way_back(scheme, show_on_page):
    require_node("axe-core")
    colours = "<style>:root { color-scheme: light dark; background: Canvas }</style><h1>Probe</h1>"
    page = show_on_page(colours + player_html(TRACE, fold=FOLDED), color_scheme=scheme)
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))

    def found():
        options = {"resultTypes": ["violations"]}
        result = page.evaluate("(options) => axe.run('stepformer-player', options)", options)
        assert len(result["passes"]) > 10, "axe looked at nothing"
        return [f"{rule['id']}: {node['target']} {node['failureSummary']}"
                for rule in result["violations"] for node in rule["nodes"]]  # fmt: skip

    api(page, "player.set('x', [0, 0], 3); player.goto(99); player.fold(['model.layers.0']); player.previous()")
    row(page, "layers.0").click()
    assert found() == []
    page.locator("[role=grid]:visible").last.locator("[role=gridcell]").nth(1).click()
    page.keyboard.press("w")
    page.keyboard.press("Enter")
    assert page.locator(".trail button").count() == 1
    assert found() == []


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_nothing_sticks_out_and_every_control_can_be_touched(width, folded):
    folded.set_viewport_size({**PHONE, "width": width})
    folded.locator(".drawer").click()
    row(folded, "feed_forward").click()
    folded.locator("[role=grid]:visible").last.locator("[role=gridcell]").nth(1).click()
    folded.keyboard.press("w")
    folded.keyboard.press("Enter")
    assert folded.evaluate("document.documentElement.scrollWidth") <= width
    folded.locator(".drawer").click()
    small = folded.locator("stepformer-player").evaluate("""({shadowRoot}) =>
      [...shadowRoot.querySelectorAll('button')].filter((e) => {
        const {width, height} = e.getBoundingClientRect();
        return e.checkVisibility() && (width < 24 || height < 24);
      }).map((e) => e.className + ' ' + e.textContent)""")
    assert small == []


def long_labels(columns, most):
    """Columns of numbers under labels that are too long for them."""
    numbers = np.linspace(-most, 0.8 * most, 3 * columns).round(2).reshape(3, columns)
    labels = [f"a feature of number {i}" for i in range(columns)]
    with record() as trace:
        ops.tanh(leaf("x", numbers, ("src", "d_model"), {"d_model": labels}))
    return trace


@pytest.mark.parametrize(
    "trace",
    [TRACE, long_labels(10, 123.45), long_labels(18, 9.87)],
    ids=["two layers", "six digits", "eighteen columns"],
)
def test_matrices_of_ten_to_eighteen_columns_fit_beside_the_step_list_of_a_page(trace, show_on_page):
    font = (ROOT / "book" / "_static" / "fonts" / "sans.woff2").as_uri()
    style = f"""<style>@font-face {{ font-family: Ours; src: url("{font}"); font-weight: 400 700 }}
      main {{ width: 752px; --stepformer-font: Ours }}</style>"""
    page = show_on_page(style + player_html(trace))
    page.evaluate("document.fonts.ready")
    for i in range(len(trace.steps)):
        api(page, f"player.goto({i})")
        wide = page.locator("[role=grid]:visible").evaluate_all(
            "all => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.ariaLabel)"
        )
        cut = page.locator("[role=gridcell]:visible").evaluate_all(
            "all => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"
        )
        assert (wide, cut) == ([], []), f"step {i}"


def test_a_player_moved_to_another_document_keeps_its_looks_and_works(folded):
    looks = folded.evaluate("""() => {
      const frame = document.body.appendChild(document.createElement('iframe'));
      const host = document.querySelector('stepformer-player');
      frame.contentDocument.body.append(host);
      const {player, shadowRoot} = host;
      player.next();
      const cell = shadowRoot.querySelector('[role=gridcell]');
      return [shadowRoot.adoptedStyleSheets.length, frame.contentWindow.getComputedStyle(cell).cursor, player.step];
    }""")
    assert looks[:2] == [1, "cell"]
    assert looks[2] > 0


def test_a_payload_with_a_fold_that_names_no_scope_is_refused_with_a_message(show_on_page):
    html = player_html(TRACE, fold=["feed_forward"])
    folds = json.dumps([f"model.layers.{i}.feed_forward" for i in range(2)], separators=(",", ":"))
    assert folds in html
    page = show_on_page(html.replace(folds, '["elsewhere"]'), permit=())
    assert "elsewhere" in page.locator("stepformer-player").get_attribute("data-error")
    assert page.evaluate(DEEP_FOCUS) in ("body", None)
