"""A long session with the player: its memory stays as it is."""

import pytest
from probe import api

from stepformer import examples as example_programs
from stepformer import mistakes
from stepformer.widgets import player_html

EDITS = 1000
WARM_UP = 2500
"""Until then the browser compiles; every matrix has its cells, and the hundred steps back are filled."""
MOST_GROWTH = 0.02

# A reader who edits given values and results, steps, compares, undoes and flips switches.
SESSION = """
  const steps = player.session.steps.length;
  for (let i = from; i < from + count; i++) {
    if (i % 7 === 3) player.set('scores', [i % 4, i % 3], (i % 50) / 10);
    else player.set(i % 2 ? 'query' : 'key', [i % 3, i % 5], (i % 100) / 25 - 2, i % 5 ? undefined : 'slide');
    if (i % 4 === 0) player.goto(i % steps);
    if (i % 20 === 0) player.compare(i % 40 === 0);
    if (i % 50 === 10) { player.undo(); player.undo(); player.redo(); }
    if (i % 100 === 30) player.break(player.session.program.breaks[i % 3].name, i % 200 === 30);
    if (i % 250 === 200) player.reset();
  }
  player.reset(); player.compare(false); player.goto(0);
"""


@pytest.mark.slow
def test_a_thousand_edits_leave_the_memory_as_it_was(show_on_page):
    page = show_on_page(player_html(example_programs.attention().with_breaks(*mistakes.ATTENTION)))
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")

    def edit(start, count):
        api(page, f"const from = {start}, count = {count}; {SESSION}")

    def used():
        page.wait_for_timeout(300)
        for _ in range(3):
            session.send("HeapProfiler.collectGarbage")
        return session.send("Runtime.getHeapUsage")["usedSize"], session.send("Memory.getDOMCounters")

    edit(0, WARM_UP)
    before, counters = used()
    edit(WARM_UP, EDITS)
    after, counters_after = used()
    assert after <= before * (1 + MOST_GROWTH), f"the heap went from {before / 1e6:.2f} to {after / 1e6:.2f} MB"
    for kind in ("nodes", "jsEventListeners"):
        assert counters_after[kind] <= counters[kind] * (1 + MOST_GROWTH), kind
