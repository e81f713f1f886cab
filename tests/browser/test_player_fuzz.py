"""Five hundred spoiled payloads, drawn from a seed: each leaves a readable message or a player that works, and nothing
else on the page notices."""

import json
import random

import pytest
from probe import api

from stepformer import examples as example_programs
from stepformer import mistakes
from stepformer.widgets import player_html
from stepformer.widgets.player import player_payload

COUNT, BATCH = 500, 50
HTML = "<img src=x onerror=\"window.injected='yes'\"><script>window.injected='yes'</script>"
BASES = [
    json.loads(player_payload(trace, start, fold))
    for trace, start, fold in (
        (example_programs.attention().with_breaks(*mistakes.ATTENTION), "scores", 0),
        (example_programs.padded_input(), 0, ()),
        (example_programs.temperature(), 1, ()),
    )
]
STRANGE = [
    None, True, False, -1, 0, 1.5, 2**31, 2**53, 1e308, "", "x", "__proto__", "constructor", "toString", "\x00", HTML,
    [], [[]], {}, {"length": 3}, [None], [[1, 2], [3]], {"base64": "AAAA", "type": "float64"}, list(range(40)),
]  # fmt: skip
"""What stands where it must not."""


def places(value, path=()):
    """Every place in a JSON value, as paths of keys."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from places(item, (*path, key))


def holder(value, path):
    """What holds the item at a path."""
    for key in path[:-1]:
        value = value[key]
    return value


def with_html(value):
    """The same value with markup in every text and every key that is free."""
    if isinstance(value, str):
        return value + HTML
    if isinstance(value, list):
        return [with_html(item) for item in value]
    return {key: with_html(item) for key, item in value.items()} if isinstance(value, dict) else value


# ---- one way to spoil a payload each; they change the document in place, or return a text --------------------------
def truncated(document, rng):
    text = json.dumps(document)
    return text[: rng.randrange(len(text))]


def garbled(document, rng):
    text = json.dumps(document)
    i = rng.randrange(len(text))
    return text[:i] + rng.choice('{}[],:"\\e9-') + text[i + rng.randrange(3) :]


def deep(document, rng):
    return '{"tensors":' + "[" * rng.choice([10, 10_000, 200_000])


def wrong_type(document, rng):
    path = rng.choice(list(places(document)))
    holder(document, path)[path[-1]] = rng.choice(STRANGE)


def wrong_types_high_up(document, rng):
    path = rng.choice([path for path in places(document) if len(path) <= 3])
    holder(document, path)[path[-1]] = rng.choice(STRANGE)


def missing(document, rng):
    path = rng.choice(list(places(document)))
    del holder(document, path)[path[-1]]


def huge_shape(document, rng):
    leaf = rng.choice([tensor for tensor in document["tensors"] if "shape" in tensor])
    length = rng.choice([10**9, 2**53 - 1, 2**64, 1e308, 65_536, -3])
    leaf["shape"] = [length] * rng.choice([1, 2, 9, 1_000])
    leaf["axes"] = ["a"] * len(leaf["shape"]) if rng.random() < 0.5 else leaf["axes"]
    if rng.random() < 0.3:
        leaf["data"] = {"base64": "", "type": "float64"}


def huge_result(document, rng):
    step = rng.choice(document["steps"])
    step["op"] = rng.choice(["one_hot", "sinusoids", "split_heads", "convolve_1d", "convolve_2d"])
    keys = rng.sample(["vocab_size", "d_model", "n_heads", "before", "after", "padding", "stride", "index"], 3)
    step["attributes"] = {key: rng.choice([10**9, 10**6, -1, 1e308, HTML, None]) for key in keys}


def cycle(document, rng):
    steps = document["steps"]
    one, other = rng.choice(steps), rng.choice(steps)
    change = rng.randrange(5)
    if change == 0:
        one["inputs"] = [one["output"]] * len(one["inputs"])
    elif change == 1:
        one["inputs"] = [steps[-1]["output"]] * len(one["inputs"])
    elif change == 2:
        rng.shuffle(steps)
    elif change == 3:
        steps.append(dict(one))
    else:
        one["output"], other["output"] = other["output"], one["output"]


def unknown_op(document, rng):
    rng.choice(document["steps"])["op"] = rng.choice(["system", "__proto__", "constructor", "hasOwnProperty", "", HTML])


def other_op(document, rng):
    rng.choice(document["steps"])["op"] = rng.choice(
        ["matmul", "softmax", "embed", "stack", "layer_norm", "copy", "row"]
    )


def other_names(document, rng):
    tensors = document["tensors"]
    change = rng.randrange(3)
    if change == 0:
        rng.choice(tensors)["name"] = tensors[0]["name"]
    elif change == 1:
        rng.choice(tensors)["axes"] = ["x"] * rng.choice([0, 1, 5, 5_000])
    else:
        rng.choice(tensors)["dtype"] = rng.choice(["int", "bool", "complex", HTML])


def markup(document, rng):
    kept = {key: document[key] for key in ("format", "start", "fold") if key in document and rng.random() < 0.9}
    steps, spoiled = document["steps"], with_html(document)
    document |= spoiled | kept
    for tensor, given in zip(document["tensors"], spoiled["tensors"], strict=True):
        tensor["dtype"] = given["dtype"].removesuffix(HTML)
    if rng.random() < 0.8:
        document["steps"] = steps
        document["breaks"] = [item | {"edits": [{"tensor": document["tensors"][-1]["name"], "op": "copy"}]}
                              for item in document["breaks"]]  # fmt: skip


def view(document, rng):
    document[rng.choice(["start", "fold"])] = rng.choice([*STRANGE, ["attention"] * 100_000, "scores" * 10_000])


WAYS = [
    truncated, garbled, deep, wrong_type, wrong_type, wrong_types_high_up, missing, huge_shape, huge_result, cycle,
    unknown_op, other_op, other_names, markup, view,
]  # fmt: skip


def spoiled(count, seed):
    """So many spoiled payloads, each with the name of the way it was spoiled."""
    rng = random.Random(seed)
    found = []
    for i in range(count):
        way = WAYS[i % len(WAYS)]
        document = json.loads(json.dumps(rng.choice(BASES)))
        text = way(document, rng)
        text = json.dumps(document) if text is None else text
        found.append((way.__name__, text.replace("<", "\\u003c")))
    return found


MOUNT = """(payloads) => payloads.map(([way, text]) => {
  const element = document.createElement('stepformer-player');
  const script = Object.assign(document.createElement('script'), {type: 'application/json', textContent: text});
  const tables = Object.assign(document.createElement('div'), {className: 'stepformer-fallback', textContent: 'T'});
  element.append(script, tables);
  const start = performance.now();
  document.querySelector('main').append(element);
  const told = {way, ready: element.hasAttribute('data-ready'), error: element.getAttribute('data-error')};
  told.message = element.shadowRoot.querySelector('[role=alert]')?.textContent ?? '';
  try {
    if (told.ready) {
      const {player} = element;
      for (let i = 0; i < player.session.steps.length; i++) {
        player.goto(i);
        element.shadowRoot.querySelector('[role=gridcell]')?.focus();
        const id = player.scene.step.output;
        const {shape, dtype} = player.scene.value(id);
        if (!shape.includes(0)) {
          player.set(player.session.program.tensors[id].name, shape.map(() => 0), dtype === 'bool' ? true : 0);
          player.contributions(player.session.program.tensors[id].name, shape.map(() => 0));
        }
      }
      for (const {name} of player.session.program.breaks) player.break(name);
      player.compare(); player.undo(); player.redo(); player.reset();
    }
  } catch (error) { told.thrown = String(error.stack); }
  told.markup = element.shadowRoot.querySelectorAll('img, script').length;
  told.wide = document.documentElement.scrollWidth - innerWidth;
  told.time = performance.now() - start;
  element.remove();
  return told;
})"""

# What an engine says of a programming error, as against what our own checks say of the data.
INTERNAL = (
    "undefined",
    "Cannot read",
    "is not a function",
    "not iterable",
    "call stack",
    "Invalid array",
    "NaN",
    "[object",
)


@pytest.mark.slow
def test_no_spoiled_payload_breaks_the_page(show_on_page):
    good = player_html(example_programs.attention(), start="scores")
    page = show_on_page(good, good)
    before = api(page, "return player.values('output')", nth=1)
    payloads = spoiled(COUNT, seed=8)
    told = [one for i in range(0, COUNT, BATCH) for one in page.evaluate(MOUNT, payloads[i : i + BATCH])]
    wrong = [one for one in told if one["ready"] == bool(one["error"]) or one.get("thrown") or one["markup"]]
    assert wrong == []
    unreadable = [one for one in told if not one["ready"] and (len(one["message"]) < 40
                  or any(word in one["error"] for word in INTERNAL) or len(one["message"]) > 600)]  # fmt: skip
    assert unreadable == []
    assert [one for one in told if one["wide"] > 0] == [], "a message or a player is wider than the page"
    assert [one for one in told if one["time"] > 5_000] == [], "a payload froze the page"
    assert page.evaluate("window.injected ?? null") is None
    failed = sum(not one["ready"] for one in told)
    assert 0.5 * COUNT < failed < COUNT, "nearly all must be refused, and some must still be shown"
    assert {one["way"] for one in told if one["ready"]} >= {"markup"}, "markup in texts is text"
    api(page, "player.next(); player.set('query', [0, 0], 3)", nth=0)
    assert api(page, "return player.values('output')", nth=1) == before
    assert page.locator("stepformer-player[data-ready]").count() == 2
