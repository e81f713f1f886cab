"""The live widget without Jupyter: what anywidget promises to any host, such as VS Code, is all that it needs.

A host imports the module from a blob address, calls `render({model, el})` of its default export for each view, and
calls what that returned when the view has gone. It may pass `signal` as well, which is aborted then.
"""

import json
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from helpers import PACKAGE

from stepformer import examples, exercises, mistakes, training_ledger, word_map
from stepformer.data import vectors
from stepformer.timeline import timeline
from stepformer.widgets import show

WIDGET = PACKAGE / "widgets" / "static" / "widget.js"

# No eval, no script of any other place, no request: what a strict host allows.
POLICY = "default-src 'none'; script-src 'nonce-probe' blob:; style-src 'unsafe-inline'; img-src data:"

# A model with the methods of the contract alone; any other access is an error. `log` holds what reaches Python.
HOST = """
window.makeModel = (traits) => {
  const log = [], listeners = new Map(), dirty = {};
  const tell = (name, ...args) => [...(listeners.get(name) ?? [])].forEach((listener) => listener(...args));
  const put = (name, value) => {
    if (JSON.stringify(traits[name]) === JSON.stringify(value)) return false;
    traits[name] = structuredClone(value);
    return true;
  };
  const methods = {
    get: (name) => traits[name],
    set(name, value) { if (put(name, value)) { dirty[name] = value; tell(`change:${name}`); tell('change'); } },
    save_changes() { log.push(structuredClone(dirty)); for (const name in dirty) delete dirty[name]; },
    on(name, listener) { listeners.set(name, (listeners.get(name) ?? new Set()).add(listener)); },
    off(name, listener) { listeners.get(name)?.delete(listener); },
    send(content) { log.push({ sent: content }); },
  };
  const model = new Proxy(methods, { get(methods, name) {
    if (!(name in methods)) throw new Error(`the contract has no ${String(name)}`);
    return methods[name];
  } });
  const python = (name, value) => { if (put(name, value)) { tell(`change:${name}`); tell('change'); } };
  const listening = () => [...listeners.values()].reduce((sum, set) => sum + set.size, 0);
  return { model, log, python, listening };
};
window.load = async () => {
  const source = document.querySelector('script[type="text/widget"]').textContent;
  const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  const module = await import(address);
  URL.revokeObjectURL(address);
  return module.default;
};
"""


@contextmanager
def strict_host():
    """A server for one page that holds the module as text, under the policy."""
    source = WIDGET.read_text(encoding="utf-8").replace("</script", "<\\/script")
    page = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Host</title></head><body>
<script type="text/widget" nonce="probe">{source}</script><script nonce="probe">{HOST}</script></body></html>"""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            found = self.path == "/"
            self.send_response(200 if found else 204)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            if found:
                self.wfile.write(page.encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@pytest.fixture(scope="module")
def strict_address():
    with strict_host() as address:
        yield address


@pytest.fixture
def host(strict_address, open_page):
    """A page with the module as `widget` and a model of the attention example as `made`."""

    def host(thing=None, permit=()):
        player = thing or show(examples.attention().with_breaks(*mistakes.ATTENTION), start="scores")
        names = [name for name in ("kind", "payload", "edits", "state") if player.has_trait(name)]
        traits = {name: getattr(player, name) for name in names}
        page = open_page(strict_address, permit=permit)
        page.evaluate("async (text) => { window.widget = await load(); window.made = makeModel(JSON.parse(text)); }",
                      json.dumps(traits))  # fmt: skip
        return page

    return host


def test_the_module_gives_what_the_contract_asks_for(host):
    page = host()
    assert page.evaluate("typeof widget.render") == "function"
    assert page.evaluate("Object.keys(widget).filter((name) => !['initialize', 'render'].includes(name))") == []


PLACES = {
    "an element that is not in the page yet": "const later = () => document.body.append(el);",
    "a shadow root": """const outer = document.createElement('div');
      document.body.append(outer);
      outer.attachShadow({ mode: 'open' }).append(el);
      const later = () => {};""",
}


@pytest.mark.parametrize("place", PLACES)
def test_edits_go_both_ways_wherever_the_host_renders(place, host):
    page = host()
    page.evaluate(f"""() => {{
      const el = document.createElement('div');
      {PLACES[place]}
      window.stop = widget.render({{ model: made.model, el }});
      later();
      window.view = el.querySelector('stepformer-player');
    }}""")
    assert page.evaluate("view.hasAttribute('data-ready')")
    assert page.evaluate("view.getBoundingClientRect().width") > 600
    assert page.locator("[role=grid]").count() == 3
    assert page.evaluate("made.log") == [], "a view that is only looked at sends nothing"

    page.evaluate("view.player.set('query', [0, 0], 2)")
    assert page.evaluate("made.log") == [{"edits": [["query", [0, 0], 2]]}]
    page.evaluate("made.python('edits', [['query', [0, 0], 2], ['key', [1, 1], -3]])")
    assert page.evaluate("view.player.values('key')[1][1]") == -3
    page.evaluate("made.python('state', { step: 0, breaks: [] })")
    assert page.evaluate("view.dataset.step") == "0"
    assert page.evaluate("made.log.length") == 1, "what came from Python is not sent back"


def test_a_view_that_has_gone_leaves_nothing_and_may_be_told_twice(host):
    page = host()
    page.evaluate("""() => {
      window.el = document.createElement('div');
      document.body.append(el);
      window.stop = widget.render({ model: made.model, el });
      el.querySelector('stepformer-player').player.play();
      window.player = el.querySelector('stepformer-player').player;
    }""")
    assert page.evaluate("made.listening()") == 2
    page.evaluate("stop()")
    assert page.evaluate("[made.listening(), el.childNodes.length, player.playing]") == [0, 0, False]
    page.evaluate("stop()")
    page.evaluate("made.python('edits', [['query', [0, 0], 5]])")
    assert page.evaluate("player.edits") == [], "nobody listens any more"
    assert page.evaluate("made.log") == []


def test_a_view_ends_with_the_signal_of_its_host(host):
    page = host()
    page.evaluate("""() => {
      window.el = document.createElement('div');
      document.body.append(el);
      window.controller = new AbortController();
      window.stop = widget.render({ model: made.model, el, signal: controller.signal });
    }""")
    assert page.evaluate("made.listening()") == 2
    page.evaluate("controller.abort()")
    assert page.evaluate("[made.listening(), el.childNodes.length]") == [0, 0]
    page.evaluate("stop()")


def test_two_views_of_one_model_show_the_same_and_send_each_change_once(host):
    page = host()
    page.evaluate("""() => {
      window.stops = [0, 1].map(() => {
        const el = document.createElement('div');
        document.body.append(el);
        return widget.render({ model: made.model, el });
      });
      [window.one, window.two] = [...document.querySelectorAll('stepformer-player')].map((host) => host.player);
      window.shown = (player) => [player.edits, player.breaks, player.step, player.values('attention.scores')];
    }""")
    name = mistakes.ATTENTION[0].name
    acts = {
        "one.set('query', [0, 0], 2)": {"edits": [["query", [0, 0], 2]]},
        "two.set('key', [1, 1], -3)": {"edits": [["query", [0, 0], 2], ["key", [1, 1], -3]]},
        f"two.break({json.dumps(name)})": {"state": {"step": 1, "breaks": [name]}},
        "one.goto(0)": {"state": {"step": 0, "breaks": [name]}},
        "two.undo()": {"state": {"step": 0, "breaks": []}},
        "one.undo()": {"state": {"step": 0, "breaks": [name]}},
        "one.reset()": {"edits": [], "state": {"step": 0, "breaks": []}},
    }
    for count, (act, sent) in enumerate(acts.items(), start=1):
        page.evaluate(act)
        one, two, log = page.evaluate("[shown(one), shown(two), made.log]")
        assert one == two, act
        assert len(log) == count, f"{act}: {log[count - 1:]}"
        assert log[-1] == sent, act
    page.evaluate("stops[0]()")
    page.evaluate("two.set('query', [0, 0], 9)")
    assert page.evaluate("[one.edits.length, two.edits.length, made.listening()]") == [0, 1, 2]


def test_a_folded_view_takes_a_step_inside_without_pulling_the_other_view_along(host):
    page = host()
    page.evaluate("""() => {
      for (let i = 0; i < 2; i++) {
        const el = document.createElement('div');
        document.body.append(el);
        widget.render({ model: made.model, el });
      }
      [window.one, window.two] = [...document.querySelectorAll('stepformer-player')].map((host) => host.player);
      one.fold(['attention']);
      two.goto(4);
    }""")
    for step in (2, 0, 3):
        page.evaluate("(step) => two.goto(step)", step)
        # Folding belongs to a view: the first one shows the block, whose last step is 4.
        assert page.evaluate("[one.step, two.step, made.model.get('state').step]") == [4, step, step]


GARBAGE = {
    "an unknown step": ("state", {"step": 99, "breaks": []}),
    "a step in words": ("state", {"step": "scores", "breaks": []}),
    "an unknown switch": ("state", {"step": 2, "breaks": ["nothing of the kind"]}),
    "switches that are no list": ("state", {"step": 2, "breaks": None}),
    "edits that are no list": ("edits", "query"),
    "an edit that is no list": ("edits", [7]),
    "an edit of no tensor": ("edits", [["nothing", [0, 0], 1]]),
    "an edit outside of its tensor": ("edits", [["query", [99, 0], 1]]),
    "an edit without a value": ("edits", [["query", [0, 0]]]),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_python_cannot_mean_leaves_the_view_as_it_was_and_says_so(name, host):
    page = host()
    page.evaluate("""() => {
      const el = document.createElement('div');
      document.body.append(el);
      widget.render({ model: made.model, el });
      window.player = el.querySelector('stepformer-player').player;
      player.set('query', [0, 0], 2);
      player.goto(1);
      window.shown = () => [player.edits, player.breaks, player.step, player.values('attention.scores')];
    }""")
    before = page.evaluate("shown()")
    assert page.locator("[role=alert] p").count() == 0
    trait, value = GARBAGE[name]
    page.evaluate("([trait, value]) => made.python(trait, value)", [trait, value])
    assert page.evaluate("shown()") == before
    message = page.locator("[role=alert] p")
    assert message.count() == 1
    assert len(message.inner_text()) > 40
    # Python is told what is on show, so that both are the same again.
    assert page.evaluate("made.model.get('edits')") == [["query", [0, 0], 2]]
    assert page.evaluate("made.model.get('state')") == {"step": 1, "breaks": []}
    page.evaluate("made.python('edits', [])")
    assert page.evaluate("player.edits") == [], "it goes on as before"
    assert message.count() == 0


OTHERS = {
    "exercise": lambda: exercises.show("attention.score"),
    "ledger": training_ledger.show,
    "timeline": partial(timeline, "small"),
    "word_map": lambda: word_map.show(vectors.load()),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OTHERS)
def test_the_other_widgets_keep_the_contract_too(kind, host):
    page = host(OTHERS[kind]())
    page.evaluate("""() => {
      window.el = document.createElement('div');
      document.body.append(el);
      window.stop = widget.render({ model: made.model, el });
    }""")
    assert page.evaluate("el.firstChild.hasAttribute('data-ready') && !el.firstChild.dataset.error")
    page.evaluate("stop(); stop();")
    assert page.evaluate("[made.listening(), el.childNodes.length]") == [0, 0]


THEMES = {
    ("data-jp-theme-light", "false"): "dark",
    ("data-jp-theme-light", "true"): "light",
    ("data-vscode-theme-kind", "vscode-dark"): "dark",
    ("data-vscode-theme-kind", "vscode-high-contrast-light"): "light",
    ("data-vscode-theme-kind", "of another year"): "normal",
}


def test_a_view_follows_the_theme_of_its_host(host):
    page = host()
    page.evaluate("() => { window.stop = widget.render({ model: made.model, el: document.body }); }")
    view = page.locator("stepformer-player")
    for (attribute, value), scheme in THEMES.items():
        page.evaluate("([name, value]) => { document.body.setAttribute(name, value); }", [attribute, value])
        assert view.evaluate("(element) => getComputedStyle(element).colorScheme") == scheme
        ink = view.locator(".player").evaluate("(element) => getComputedStyle(element).color")
        assert (sum(int(part) for part in ink.strip("rgb()").split(",")) > 380) == (scheme == "dark")
        page.evaluate("(name) => document.body.removeAttribute(name)", attribute)


def collected(page, weak):
    """How many of a list of WeakRefs are still alive after garbage collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    for _ in range(4):
        session.send("HeapProfiler.collectGarbage")
        page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
    alive = page.evaluate(f"{weak}.filter((ref) => ref.deref()).length")
    session.detach()
    return alive


@pytest.mark.slow
def test_thirty_views_that_have_gone_are_collected(host):
    page = host()
    page.evaluate("""() => {
      window.lifetime = new AbortController().signal; // of the model: it outlives its views
      window.weak = [];
      window.once = () => {
        const el = document.createElement('div');
        document.body.append(el);
        const stop = widget.render({ model: made.model, el, signal: AbortSignal.any([lifetime]) });
        const host = el.querySelector('stepformer-player');
        weak.push(new WeakRef(host), new WeakRef(host.player));
        return { el, host, stop };
      };
      window.kept = once();
    }""")
    for round in range(30):
        page.evaluate(f"""async () => {{
          const {{ el, host, stop }} = once();
          await new Promise((resolve) => requestAnimationFrame(resolve)); // its size is known, its fonts are asked for
          host.player.set('query', [0, 0], {round + 1});
          host.player.play();
          stop();
          el.remove();
        }}""")
    assert page.evaluate("weak.length") == 62
    assert collected(page, "weak") == 2, "the view that stays, and no other"
    assert page.evaluate("kept.host.player.values('query')[0][0]") == 30, "which heard of all of it"
