"""The player on other pages: damaged payloads by the hundred, paper, reduced motion, forced colours, and axe."""

import copy
import json
import random

import pytest
from helpers import ROOT, require_node
from probe import api

from stepformer import examples as example_programs
from stepformer import mistakes
from stepformer.trace_json import dumps
from stepformer.widgets import player_html

# Mounts each payload, and uses whatever mounts: every step, every mistake, an edit, a click on some cells.
MOUNT_ALL = """payloads => payloads.map((text) => {
  const host = document.createElement('stepformer-player');
  const script = document.createElement('script');
  script.type = 'application/json';
  script.textContent = text;
  host.append(script, Object.assign(document.createElement('p'), {textContent: 'fallback'}));
  document.body.append(host);
  const {player, shadowRoot} = host;
  let result = 'ready';
  if (!host.hasAttribute('data-ready')) {
    const said = shadowRoot.querySelector('[role=alert]')?.textContent.trim() && host.dataset.error;
    result = said && shadowRoot.querySelector('slot') ? 'refused' : 'neither ready nor refused';
  } else {
    for (let k = 0; k < Number(host.dataset.steps); k++) player.goto(k);
    const payload = JSON.parse(text);
    for (const {name} of payload.breaks ?? []) player.break(name);
    player.set(payload.tensors[0].name, payload.tensors[0].shape.map(() => 0), 1);
    player.goto(0);
    for (const cell of [...shadowRoot.querySelectorAll('[role=gridcell]')].slice(0, 20)) cell.click();
    if (player.element.textContent.includes('NaN')) result = 'shows NaN';
  }
  if (shadowRoot.querySelector('img, script, iframe')) result = 'markup came out of the data';
  host.remove();
  return result;
})"""

JUNK = [0, 1, -1, 0.5, 1e9, 1e308, None, True, "x", "", "<img src=x onerror=alert(1)>", [], {}, [0], "constructor",
        "__proto__", 99]  # fmt: skip


def places(node, path=()):
    """The paths to everything inside a JSON document."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in items:
        yield (*path, key)
        yield from places(child, (*path, key))


def mutated(document, rng):
    """A JSON text with one to three things wrong: a part replaced, a part left out, or the end cut off."""
    document = copy.deepcopy(document)
    if rng.random() < 0.1:
        text = dumps(document)
        return text[: rng.randrange(len(text))]
    for _ in range(rng.randint(1, 3)):
        *way, key = rng.choice(list(places(document)))
        parent = document
        for part in way:
            parent = parent[part]
        if rng.random() < 0.2:
            del parent[key]
        else:
            parent[key] = rng.choice(JUNK)
    return json.dumps(document).replace("<", "\\u003c")


def test_a_hundred_damaged_payloads_are_refused_or_shown_and_nothing_else(show_on_page):
    rng = random.Random(11)
    traces = [
        example_programs.attention().with_breaks(*mistakes.ATTENTION),
        example_programs.attention_over_words(),
        example_programs.multi_head_attention(),
    ]
    documents = [json.loads(trace.to_json()) for trace in traces]
    page = show_on_page(player_html(traces[0]))
    results = page.evaluate(MOUNT_ALL, [mutated(rng.choice(documents), rng) for _ in range(100)])
    assert set(results) == {"ready", "refused"}
    assert results.count("refused") > 30
    assert api(page, "return player.step") == 0


@pytest.fixture
def broken_attention():
    """A player with a break, for everything the player can show."""
    return player_html(example_programs.attention().with_breaks(*mistakes.ATTENTION), start="scores")


def test_paper_shows_the_current_step_its_arithmetic_and_the_mistakes_that_are_on(broken_attention, show_on_page):
    page = show_on_page(broken_attention, player_html(example_programs.attention(), start="weights"))
    api(page, "player.break(player.session.program.breaks[0].name)")
    page.emulate_media(media="print")
    first, second = page.locator("stepformer-player").all()
    assert first.locator("[role=grid]:visible").count() == 3
    assert first.get_by_role("group", name="How the chosen cell is computed").is_visible()
    assert first.locator(".symptom").get_by_text(mistakes.ATTENTION[0].symptom).is_visible()
    assert not second.get_by_text("Break it").is_visible()
    for control in ("button:has-text('Reset')", "[aria-label='Next step']", "input[type=range]", "summary"):
        assert not first.locator(control).first.is_visible(), control
    assert first.locator("ol").first.is_visible() is False
    assert first.locator("[role=grid]").first.evaluate("e => getComputedStyle(e).overflowY") == "visible"


def test_nothing_moves_for_readers_who_ask_for_that(broken_attention, show_on_page):
    page = show_on_page(broken_attention, reduced_motion="reduce")
    page.locator("summary").first.click()
    page.get_by_role("button", name="Next step").click()
    moving = page.locator("stepformer-player").evaluate("""({shadowRoot}) => ({
      running: shadowRoot.getAnimations().length,
      moves: [...shadowRoot.querySelectorAll('*')].filter((e) => [null, '::before', '::after'].some((part) => {
        const {transitionDuration, animationName, scrollBehavior} = getComputedStyle(e, part);
        return transitionDuration !== '0s' || animationName !== 'none' || scrollBehavior === 'smooth';
      })).length})""")
    assert moving == {"running": 0, "moves": 0}


def test_with_forced_colours_the_chosen_cell_and_its_parts_are_still_told_apart(broken_attention, show_on_page):
    page = show_on_page(broken_attention, forced_colors="active")
    outline = "e => { const {outlineStyle, outlineWidth} = getComputedStyle(e); return outlineStyle + outlineWidth }"
    looks = {name: page.locator(f"[role=gridcell]{name}").first.evaluate(outline)
             for name in (".chosen", ".lit", ":not(.chosen, .lit)")}  # fmt: skip
    assert len(set(looks.values())) == 3, looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_step_also_with_an_edit_a_mistake_and_the_help_open(
    scheme, broken_attention, show_on_page
):
    require_node("axe-core")
    colours = "<style>:root { color-scheme: light dark; background: Canvas }</style><h1>Probe</h1>"
    page = show_on_page(colours + broken_attention, color_scheme=scheme)
    page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"]}
    for step in range(5):
        api(page, f"player.goto({step})")
        if step == 2:
            api(page, "player.set('query', [0, 0], 5); player.break(player.session.program.breaks[1].name)")
            page.get_by_role("button", name="Keyboard").click()
        result = page.evaluate("(options) => axe.run('stepformer-player', options)", options)
        found = [f"{rule['id']}: {node['target']} {node['failureSummary']}"
                 for rule in result["violations"] for node in rule["nodes"]]  # fmt: skip
        assert found == [], f"step {step}"
        page.keyboard.press("Escape")
        assert len(result["passes"]) > 10, "axe looked at nothing"
