"""Every page of the table of contents, from a server: quiet, local, complete, computing; and the site as a whole."""

import re

import pytest
from chromium import ELEMENTS
from helpers import calls_of_show, fault, finished_chapters, toc_files
from normalise_notebook import read
from probe import load_deferred

PAGES = toc_files()
CHAPTERS = {f"chapters/{path.stem}": path for path in finished_chapters()}

every_page = pytest.mark.parametrize("name", PAGES)
every_chapter = pytest.mark.parametrize("path", finished_chapters(), ids=lambda path: path.stem)


@pytest.fixture(params=["http", "file"])
def base(request, site):
    """The site's address, once on a server and once as a folder on disk."""
    return request.getfixturevalue("served") if request.param == "http" else site.as_uri()


@pytest.fixture(scope="module", params=PAGES)
def served_page(request, served, opener):
    """A page from a server, opened once for all tests of it; what it said until then is judged at the end."""
    with opener() as open_page:
        page = open_page(f"{served}/{request.param}.html", until="networkidle")
        load_deferred(page)
        page.name = request.param
        yield page


def not_ready(page):
    """The players and exercises of a page that did not mount, with their error."""
    return page.eval_on_selector_all(ELEMENTS, """all => all.filter((e) => !e.hasAttribute('data-ready'))
      .map((e) => e.dataset.error || e.outerHTML.slice(0, 80))""")  # fmt: skip


@fault("BOOK-05", "BOOK-06")
def test_a_page_loads_without_a_word_or_a_foreign_request_and_all_its_players_mount(served_page):
    assert not_ready(served_page) == []
    assert served_page.locator("main").inner_text().strip()


def stored_elements(path):
    """How many players and exercises the stored outputs of a chapter hold."""
    html = [output.data.get("text/html", "") for cell in read(path).cells for output in cell.get("outputs", [])
            if "data" in output]  # fmt: skip
    return len(re.findall(r"<stepformer-(?:player|exercise|word-map|ledger|timeline)\b", "".join(html)))


@fault("BOOK-02", "BOOK-08")
def test_each_player_of_a_notebook_is_live_on_its_page_without_any_stored_widget_state(served_page, site):
    path = CHAPTERS.get(served_page.name)
    if path is None:
        assert served_page.name.startswith("book/")
        return
    players = served_page.locator("stepformer-player[data-ready]").count()
    assert players >= calls_of_show(path) >= 1
    assert served_page.locator(ELEMENTS).count() == stored_elements(path)
    html = (site / "chapters" / f"{path.stem}.html").read_text(encoding="utf-8")
    assert "vnd.jupyter.widget" not in html
    assert "widgets" not in read(path).metadata


@fault("BOOK-01")
def test_every_player_computes_on_the_page(served_page):
    for player in served_page.locator("stepformer-player").all():
        report = player.evaluate(DRIVE)
        assert report["stepped"] == report["steps"] - 1 >= 0
        assert report["changed"], f"no leaf of {report['title']!r} changes a result"
        assert report["silent breaks"] == []
        assert report["restored"]


# Drives one player through its API: to the last step, edits of leaves until one changes a result, every break
# alone, and back to what it was. `values()` is compared as text, so that −0 and 0 count as equal.
DRIVE = """element => {
  const player = element.player;
  const payload = JSON.parse(element.querySelector('script[type="application/json"]').textContent);
  const results = payload.steps.map((step) => payload.tensors[step.output].name);
  const all = () => JSON.stringify(results.map((name) => player.values(name)));
  player.reset();
  const start = all();
  player.fold([]);
  player.goto(0);
  let stepped = 0;
  for (let i = 1; i < payload.steps.length; i++) {
    player.next();
    stepped += Number(element.dataset.step) === i;
  }
  // Not every cell matters (the row of a word that is not in the sentence does not), but in a leaf one of the first,
  // the middle and the last does.
  const leaves = payload.tensors.filter((tensor) => 'data' in tensor);
  const others = {float: [3.25], int: [1, 2], bool: [true, false]};
  const changes = (leaf, share, value) => {
    player.set(leaf.name, leaf.shape.map((length) => Math.floor((length - 1) * share)), value);
    const differs = all() !== start;
    player.reset();
    return differs;
  };
  const changed = leaves.some((leaf) => [0, 0.5, 1].some((share) =>
    others[leaf.dtype].some((value) => changes(leaf, share, value))));
  const silent = [];
  for (const {name} of payload.breaks ?? []) {
    player.break(name);
    if (all() === start) silent.push(name);
    player.break(name, false);
  }
  player.reset();
  return {title: payload.title, steps: Number(element.dataset.steps), stepped, changed, 'silent breaks': silent,
          restored: all() === start};
}"""


@fault("BOOK-01")
def test_every_exercise_answers_on_the_page(served_page):
    for exercise in served_page.locator("stepformer-exercise").all():
        verdicts = exercise.evaluate(ANSWER)
        assert all(verdict["message"].strip() for verdict in verdicts)
        choices = len(verdicts) > 1
        assert sum(verdict["right"] for verdict in verdicts) == (1 if choices else 0)


# Every choice of an exercise with choices, or a number that is never right.
ANSWER = """element => {
  const payload = JSON.parse(element.querySelector('script[type="application/json"]').textContent);
  if (payload.kind === 'choice') return payload.choices.map((_, i) => element.exercise.check([i]));
  return [element.exercise.check(payload.fields.map(() => -98765))];
}"""


@fault("BOOK-03", "BOOK-07")
@every_page
def test_no_page_asks_for_a_kernel_or_hides_text_in_a_widget(name, site):
    # Code that a reader is shown may speak of widgets; the page itself holds none.
    html = re.sub("<pre.*?</pre>", "", (site / f"{name}.html").read_text(encoding="utf-8").lower(), flags=re.S)
    for trace in ("kernel connection", "require.js", "requirejs", "html-manager", "thebe", "embed-amd", "ipywidgets"):
        assert trace not in html, f"the page mentions {trace}"


@fault("BOOK-07")
@every_chapter
def test_no_chapter_shows_anything_through_output_or_tab_widgets(path):
    source = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    assert not re.search(r"\bipywidgets\b|\bOutput\(|\bTab\(|\binteract\b", source)


@fault("BOOK-06")
def test_no_built_file_loads_anything_from_another_host(site):
    tag = r"<(?:script|link|img|source|iframe)\b[^>]*?(?:src|href)="
    loading = re.compile(rf"""(?:{tag}|@import\s*(?:url\()?|url\()["']?(?:https?:)?//""")
    found = []
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        for match in loading.finditer(path.read_text(encoding="utf-8")):
            # A canonical or licence link is a statement about the page; no browser fetches it.
            if 'rel="canonical"' not in match.group() and 'rel="license"' not in match.group():
                found.append(f"{path.relative_to(site)}: {match.group()}")
    assert found == []


@pytest.mark.parametrize("word", ["attention"])
def test_search_finds_a_chapter(word, base, open_page):
    page = open_page(f"{base}/search.html?q={word}")
    page.locator("#search-results li a[href*='05_attention']").first.wait_for()


@pytest.mark.parametrize("word", ["attention", "source"])  # the map above a chapter says both as well
def test_what_was_searched_for_is_marked_in_the_text(word, base, open_page):
    page = open_page(f"{base}/chapters/05_attention.html?highlight={word}")
    page.locator("article p span.highlighted").first.wait_for()


def test_a_reader_who_lets_nothing_be_stored_can_search_and_choose_the_colours(base, open_page):
    page = open_page("about:blank")
    page.add_init_script("Object.defineProperty(window, 'localStorage', {configurable: true, get() { throw Error() }})")
    page.goto(f"{base}/search.html?q=attention")
    page.locator("#search-results li a[href*='05_attention']").first.wait_for()
    page.wait_for_load_state("networkidle")  # it still reads the pages that it found
    page.goto(f"{base}/chapters/05_attention.html")
    page.wait_for_selector("html:not([data-scripts])", state="attached")
    button = page.locator(".theme-switch-button:visible").first
    modes = []
    for _ in range(3):
        button.click()
        modes.append(page.get_attribute("html", "data-mode"))
    assert sorted(modes) == ["auto", "dark", "light"]


def test_the_landing_page_is_where_the_site_opens(base, open_page):
    page = open_page(f"{base}/index.html")
    page.wait_for_url("**/book/intro.html")
    links = page.eval_on_selector_all("main a", "all => all.map((a) => a.getAttribute('href'))")
    assert any("05_attention.html" in (link or "") for link in links)


def test_every_built_page_has_a_title_a_language_and_an_icon(site):
    for path in site.rglob("*.html"):
        if "_static" not in path.parts:
            html = path.read_text(encoding="utf-8")
            for part in ('<html lang="en"', "<title>", 'rel="icon"'):
                assert part in html.replace('rel="shortcut icon"', 'rel="icon"'), f"{path.relative_to(site)}: no {part}"


def test_links_between_pages_lead_to_pages(site):
    lost = []
    for name in PAGES:
        page = site / f"{name}.html"
        for target in re.findall(r'<a\b[^>]*?href="([^"#?]+)', page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:|//", target) and not (page.parent / target).exists():
                lost.append(f"{name}: {target}")
    assert lost == []
