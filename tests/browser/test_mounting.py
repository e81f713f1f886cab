"""Elements mount in the order of the page, in slices between which the page answers."""

from stepformer import examples
from stepformer.widgets import player_html

# Every look at the clock finds that a slice is over; each mount is noted with the number of the task it happened in.
WATCH = """
  <script>
    let now = 0, task = 0;
    performance.now = () => (now += 1000);
    window.mounts = [];
    document.addEventListener('DOMContentLoaded', () => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => { task += 1; if (task < 500) port2.postMessage(null); };
      port2.postMessage(null);
      const players = [...document.querySelectorAll('stepformer-player')];
      const watch = new MutationObserver((all) => all.forEach(({ target }) => {
        if (target.hasAttribute('data-ready')) mounts.push([players.indexOf(target), task]);
      }));
      // The first may have come before this listener.
      players.forEach((one, place) => one.hasAttribute('data-ready') && mounts.push([place, -1]));
      players.forEach((one) => watch.observe(one, { attributeFilter: ['data-ready'] }));
    });
  </script>
"""


def test_players_mount_in_order_and_the_page_answers_in_between(show_on_page):
    # So many that no computer mounts them all within one slice.
    page = show_on_page(WATCH, *[player_html(examples.encoder_layer())] * 12)
    order, tasks = zip(*page.evaluate("mounts"), strict=True)
    assert order == tuple(range(12))
    assert list(tasks) == sorted(tasks)
    assert len(set(tasks)) > 1, "all in one task: the page could not answer in between"


def test_a_player_that_comes_later_is_mounted_at_once(show_on_page):
    page = show_on_page(player_html(examples.attention()))
    assert page.evaluate("""() => {
      const copy = document.querySelector('stepformer-player').cloneNode(true);
      copy.removeAttribute('data-ready');
      document.body.append(copy);
      return copy.hasAttribute('data-ready') && copy.player.step === 0;
    }""")
