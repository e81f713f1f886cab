"""The step that may come next is drawn out of sight: nobody meets it there, and what comes on show is right."""

import random

import numpy as np
import pytest
from probe import SHOWN, api

from stepformer import examples as example_programs
from stepformer import leaf, mistakes, record
from stepformer.formatting import format_number
from stepformer.ops import add, multiply
from stepformer.widgets import player_html

PAINTED = "() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => setTimeout(resolve))))"
# All that a reader sees and hears of the matrices on show, and what can be told of it: places, marks and titles.
LOOK = f"""(host) => {{
  const shown = host.shadowRoot.querySelectorAll('{SHOWN}');
  if (shown.length !== 1) return `${{shown.length}} equations are on show`;
  const frame = shown[0].getBoundingClientRect();
  const seen = (one) => one.checkVisibility() && !one.matches('.slice *');
  const parts = [...shown[0].querySelectorAll('*')].filter(seen);
  return parts.map((one) => {{
    const {{ x, y, width, height }} = one.getBoundingClientRect();
    const place = [x - frame.x, y - frame.y, width, height].map((pixels) => Math.round(pixels * 10) / 10);
    const text = one.children.length ? '' : one.textContent;
    const names = ['aria-label', 'title', 'role', 'aria-rowindex', 'aria-colindex'];
    const said = names.map((name) => one.getAttribute(name));
    return [one.className, text, ...place, ...said].join('|');
  }});
}}"""
# The attribute that puts an equation out of sight is all in which it may differ from the same one on show.
WAITING = "(host) => host.shadowRoot.querySelector('.equation[data-waiting]')?.innerHTML"
ON_SHOW = f"(host) => host.shadowRoot.querySelector('{SHOWN}').innerHTML"


def look(page, nth=0):
    return page.locator("stepformer-player").nth(nth).evaluate(LOOK)


def stepped(page):
    """Step on by key from the first cell, and wait until the next step is drawn."""
    page.locator("[role=gridcell]:visible").first.focus()
    page.keyboard.press("]")
    page.evaluate(PAINTED)


@pytest.fixture
def scrolled(workloads, show_on_page):
    """A page with the scores of 64 tokens, scrolled away from their corner; their box, and what must hold of it."""
    trace = workloads.programs()["64x64"]
    page = show_on_page(player_html(trace, start="scores"))
    grid = page.locator("[role=grid]:visible[aria-label^='scores:']")
    grid.evaluate("(box) => { box.scrollTo(900, 1000); }")
    page.evaluate(PAINTED)

    def assert_as_before():
        assert grid.evaluate("(box) => [box.scrollLeft, box.scrollTop]") == [900, 1000]
        cell = grid.locator("[aria-rowindex='42'] [aria-colindex='32']")
        assert cell.inner_text() == format_number(trace["scores"][40, 30])

    return page, assert_as_before


@pytest.fixture
def heads(show_on_page):
    return show_on_page(player_html(example_programs.multi_head_attention(), start="scores"))


def test_the_next_step_is_drawn_before_it_is_asked_for_and_so_is_the_one_before_when_going_back(heads):
    api(heads, "player.redraw(player.session.step = 0)")
    player = heads.locator("stepformer-player")
    assert player.evaluate(WAITING) is None, "a player that is never stepped draws nothing ahead"
    for act in ["next"] * 3 + ["previous"] * 3:
        api(heads, f"player.{act}()")
        heads.evaluate(PAINTED)
        ready = player.evaluate(WAITING)
        api(heads, f"player.{act}()")
        assert player.evaluate(ON_SHOW) == ready, f"drawn anew by player.{act}()"
        heads.evaluate(PAINTED)


def test_nobody_meets_what_is_drawn_ahead(heads):
    player = heads.locator("stepformer-player")
    stepped(heads)
    weights = heads.locator("[role=grid][aria-label^='weights:']")
    assert weights.count() == 1, "drawn"
    assert not weights.is_visible()
    assert heads.get_by_role("grid", name="weights:").count() == 0
    assert player.locator(".equation[data-waiting]").evaluate("(one) => one.offsetHeight") == 0
    nodes = heads.context.new_cdp_session(heads).send("Accessibility.getFullAXTree")["nodes"]
    names = " ".join(str(node.get("name", {}).get("value", "")) for node in nodes)
    assert "scaled_scores:" in names, "what is on show is read"
    assert "weights:" not in names
    reached = set()
    for _ in range(40):
        heads.keyboard.press("Tab")
        reached.add(player.evaluate("({ shadowRoot }) => Boolean(shadowRoot.activeElement?.closest('[data-waiting]'))"))
    assert reached == {False}


def test_the_page_stays_where_it_is_and_the_player_lays_out_nothing_that_is_out_of_sight(show_on_page):
    text = "<p>Text. </p>" * 60
    page = show_on_page(text, player_html(example_programs.transformer(), fold=0), text)
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.evaluate("document.querySelector('stepformer-player').scrollIntoView({ block: 'center' })")
    page.evaluate("""() => {
      globalThis.seen = [];
      const player = document.querySelector('stepformer-player');
      new ResizeObserver(() => seen.push(Math.round(player.getBoundingClientRect().height))).observe(player);
    }""")
    before = page.evaluate("scrollY")
    for _ in range(12):
        api(page, "player.next()")
        page.evaluate(PAINTED)
        page.evaluate("seen.length = 0")
        page.evaluate(PAINTED)
        assert page.evaluate("seen") == [], "drawing ahead is seen as a change of height"
        assert page.evaluate("scrollY") == before
    assert said == []


@pytest.mark.parametrize("seed", [0, 1])
def test_whatever_was_done_before_a_step_looks_as_in_a_player_that_opens_with_it(seed, show_on_page):
    trace = example_programs.multi_head_attention().with_breaks(*mistakes.ATTENTION[:1])
    page = show_on_page(player_html(trace), player_html(trace))
    acts = dict.fromkeys(("undo", "reset", "break", "fold", "compare"), 1)
    acts |= dict.fromkeys(("goto", "edit", "head", "look"), 2) | {"next": 6, "previous": 3}
    draw = random.Random(seed)
    done = []
    for _ in range(60):
        act = draw.choices(list(acts), list(acts.values()))[0]
        script = {
            "goto": f"player.goto({draw.randrange(len(trace.steps))})",
            "edit": f"player.set('query', [0, {draw.randrange(3)}], {draw.randrange(-9, 9)})",
            "break": f"player.break(player.session.program.breaks[0].name, {draw.choice(['true', 'false'])})",
            "head": f"[...player.equation.element.querySelectorAll('.slice input')].at({draw.randrange(2)})?.click()",
            "look": f"player.look(player.cell[1].map((i) => Math.min(i, {draw.randrange(2)})))",
            "fold": "const { all } = player.session.blocks; all.length && player.toggle(all[0].path)",
            "compare": "player.compare(!player.comparing)",
        }.get(act, f"player.{act}()")
        done.append(script)
        api(page, script)
        if draw.random() < 0.7:
            page.evaluate(PAINTED)
        # The other one never turned: what it shows is drawn where it stands.
        state = api(page, """
          const { slices, chosen } = player.scene;
          return { edits: player.edits, breaks: player.breaks, step: player.step, folded: player.folded,
                   comparing: player.comparing, slices: [...slices], chosen };""")  # fmt: skip
        page.evaluate("""({ state }) => {
          const { player } = document.querySelectorAll('stepformer-player')[1];
          player.session.fold(state.folded);
          player.session.restore(state.edits, state.breaks);
          player.session.step = state.step;
          player.comparing = state.comparing;
          player.scene.slices = new Map(state.slices);
          player.scene.chosen = state.chosen;
          player.redraw();
        }""", {"state": state})  # fmt: skip
        assert look(page) == look(page, 1), done


def test_the_focus_stays_among_the_cells_and_at_the_choice_of_a_head(heads):
    focused = "({ shadowRoot: { activeElement: at } }) => at?.matches('.chosen') ? 'cell' : at?.parentNode.innerText"
    player = heads.locator("stepformer-player")
    heads.locator("[role=gridcell]:visible").first.focus()
    for _ in range(3):
        api(heads, "player.next()")
        heads.evaluate(PAINTED)
        assert player.evaluate(focused) == "cell"
    api(heads, "player.goto(0)")
    api(heads, "player.goto(player.session.positions.get(player.session.program.find('scores')))")
    radio = heads.locator(f"{SHOWN} .slice input").nth(1)
    radio.check(force=True)
    radio.focus()
    name = player.evaluate(focused)
    assert name not in ("cell", None, "")
    heads.keyboard.press("]")
    assert player.evaluate(focused) == name
    # A step without heads: the chosen cell takes the focus.
    api(heads, "player.goto(0)")
    assert heads.locator(f"{SHOWN} .slice input").count() == 0
    assert player.evaluate(focused) == "cell"


def test_a_choice_of_head_does_not_undo_the_one_that_waits(heads):
    stepped(heads)
    heads.locator(f"{SHOWN} .slice input").nth(1).check(force=True)
    stepped(heads)
    checked = heads.locator(".equation").evaluate_all(
        "all => all.map((one) => [...one.querySelectorAll('.slice input')].map((input) => input.checked))"
    )
    assert checked == [[False, True]] * 2


def test_a_large_tensor_stays_scrolled_where_it_was_from_step_to_step(scrolled):
    page, assert_as_before = scrolled
    for act in ("next", "previous") * 2:
        api(page, f"player.{act}()")
        page.evaluate(PAINTED)
        assert_as_before()


def test_a_cell_chosen_before_the_next_step_is_drawn_stays_chosen(heads):
    api(heads, "player.next(); player.look([1, 2, 1])")
    heads.evaluate(PAINTED)
    assert api(heads, "return player.cell") == ["output", [1, 2, 1]]
    assert heads.locator(f"{SHOWN} .formula b").first.inner_text() == "scaled_scores"


def test_no_cell_stays_pointed_at(heads):
    api(heads, "player.equation.matrices[0].point([0, 0, 0]); player.next(); player.previous()")
    assert heads.locator(".cell.pointed").count() == 0


def test_nothing_is_drawn_ahead_of_a_question(heads):
    api(heads, "player.next()")
    heads.evaluate(PAINTED)
    api(heads, "return player.ask()")
    heads.get_by_label("Ask at every step").check()
    api(heads, "player.next()")
    heads.evaluate(PAINTED)
    assert heads.locator(".cell.asked:visible").count() == 1
    waiting = heads.locator(".equation[data-waiting] .formula b").first
    assert waiting.text_content() == "scaled_scores", "the last step waits, not the next one"


def test_the_cell_that_tab_reaches_stays_while_a_tensor_stays(show_on_page):
    with record() as trace:
        x = leaf("x", np.arange(12.0).reshape(3, 4), ("src", "d_model"))
        add(x, x, name="twice")
        multiply(x, x, name="square")
    page = show_on_page(player_html(trace))
    api(page, "player.look([1, 2], 0); player.next()")
    tabbed = "return player.equation.matrices.map(({ tabbed: cell }) => [cell.row, cell.column, cell.tabIndex])"
    assert api(page, tabbed) == [[1, 2, 0], [0, 0, 0], [0, 0, 0]]


def test_a_reader_who_has_gone_on_is_not_fetched_back(show_on_page):
    page = show_on_page(player_html(example_programs.attention()), "<p>Text. </p>" * 99)
    page.locator("[role=gridcell]").first.focus()
    page.evaluate("scrollTo(0, 1500)")
    before = page.evaluate("scrollY")
    assert before == 1500
    for _ in range(3):
        api(page, "player.next()")
        page.evaluate(PAINTED)
        assert page.evaluate("scrollY") == before


def test_on_a_narrow_page_the_matrices_stay_where_they_are(show_on_page):
    trace = example_programs.multi_head_attention()
    viewport = {"width": 400, "height": 700}
    page = show_on_page("<p>Text. </p>" * 20, player_html(trace), "<p>Text. </p>" * 60, viewport=viewport)
    stage = "(host) => scrollTo(0, scrollY + host.shadowRoot.querySelector('.stage').getBoundingClientRect().top + {})"
    for offset in (40, 120, 200):
        api(page, "player.next()")
        page.evaluate(PAINTED)
        page.locator("stepformer-player").evaluate(stage.format(offset))
        page.evaluate(PAINTED)
        before = page.evaluate("scrollY")
        for act in ("next", "next", "previous", "next"):
            api(page, f"player.{act}()")
            page.evaluate(PAINTED)
            page.evaluate(PAINTED)
            assert page.evaluate("scrollY") == before


def test_after_a_lecture_a_matrix_is_scrolled_as_before_and_none_is_blank(scrolled):
    page, assert_as_before = scrolled
    page.locator(".steps button[aria-current]").focus()
    for there in (["next"], ["next", "next"]):
        api(page, "return player.present(true)")
        for act in [*there, "goto"]:
            api(page, f"player.{act}(player.session.positions.get(player.session.program.find('scores')))")
            page.evaluate(PAINTED)
        page.keyboard.press("Escape")
        page.locator("dialog[open]").wait_for(state="detached")
        page.evaluate(PAINTED)
        assert_as_before()


def test_a_place_that_the_next_step_does_not_have_is_not_chosen_ahead(heads):
    chosen = "return player.scene.chosenCell().index"
    before = api(heads, chosen)
    cell = api(heads, """
      const { scene, session } = player;
      for (const axis of session.axes(scene.step.output)) scene.slices.set(axis, 99);
      return scene.ahead(session.neighbour(true), () => scene.chosenCell().index);""")
    assert all(i < 99 for i in cell)
    assert api(heads, chosen)[1:] == before[1:]


def test_a_question_throws_away_what_waits(heads):
    stepped(heads)
    assert heads.locator(".equation").count() == 2
    api(heads, "return player.ask()")
    assert heads.locator(".equation").count() == 1


def test_a_field_with_what_is_no_number_stays_in_sight(heads):
    heads.locator("[role=gridcell]:visible").first.focus()
    heads.keyboard.type("1x")
    field = heads.locator(".field")
    heads.get_by_role("button", name="Next").click()
    assert field.is_visible()
    assert field.input_value() == "1x"
    assert heads.locator(".field-error").is_visible()
    field.fill("2")
    field.press("Enter")
    assert api(heads, "return player.edits.map(([, , value]) => value)") == [2]


def test_a_player_that_is_taken_away_draws_no_more(heads):
    api(heads, "globalThis.drawn = 0; player.turns.prepare = () => { drawn++; }; player.next(); player.destroy();")
    heads.evaluate(PAINTED)
    assert heads.evaluate("drawn") == 0
