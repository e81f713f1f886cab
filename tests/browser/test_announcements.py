"""What a screen reader is told by the elements beside the player: for each act of a reader the exact words, once."""

import re
from datetime import UTC, datetime

import pytest
from probe import SCRIPT, page_text
from stepformer_book.ledger import model_ledger_html

from stepformer import examples as example_programs
from stepformer import exercises, timeline, translator_page, word_map
from stepformer.checkpoint import find, read_model
from stepformer.data import page as page_data
from stepformer.data import vectors
from stepformer.data.pair import Pair
from stepformer.formatting import format_number
from stepformer.model_ledger import PAPER, PRESETS, ledger, write_number
from stepformer.widgets import ExerciseView, player_html

# Longer than a reader must rest (web/player/voice.js), and than anything takes that was to be said at once.
REST = 700

# Each text that comes into a live region, when it comes: a text that is announced twice stands there twice.
LISTEN = """
<script>
window.said = [];
const LIVE = '[aria-live]:not([aria-live=off]), [role=status], [role=alert]';
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (options) {
  const root = attach.call(this, options);
  new MutationObserver((records) => {
    const regions = new Set();
    for (const { target, addedNodes } of records) {
      const around = (target instanceof Element ? target : target.parentElement)?.closest(LIVE);
      if (around) regions.add(around);
      for (const node of addedNodes)
        if (node instanceof Element)
          for (const one of [node, ...node.querySelectorAll('*')]) if (one.matches('[role=alert]')) regions.add(one);
    }
    for (const region of regions) {
      const heard = region.cloneNode(true);
      heard.querySelectorAll('[aria-hidden=true]').forEach((one) => one.remove());
      const text = heard.textContent.replace(/\\s+/g, ' ').trim();
      if (text && region.checkVisibility()) window.said.push(text);
    }
  }).observe(root, { childList: true, characterData: true, subtree: true });
  return root;
};
</script>
"""


@pytest.fixture(scope="module")
def small():
    return read_model(find("small"))


@pytest.fixture(scope="module")
def folder(small, tmp_path_factory):
    """A folder as a site has it: our scripts, and the data that they load beside them."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "data").mkdir()
    for script in SCRIPT.parent.glob("stepformer*.js"):
        (folder / script.name).write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "data" / "vectors.js").write_text(page_data.script("vectors"), encoding="utf-8")
    (folder / "data" / "translator.js").write_text(translator_page.script(small), encoding="utf-8")
    return folder


class Listener:
    """One element on a page, and what is said while a reader acts. Time stands still but for what an act waits."""

    def __init__(self, page, name):
        self.page = page
        self.element = page.locator(f"stepformer-{name}")
        self.opening = page.evaluate("said.splice(0)")
        page.clock.install(time=datetime(2030, 1, 1, tzinfo=UTC))
        page.clock.pause_at(datetime(2030, 1, 1, 1, tzinfo=UTC))

    def hear(self, act, until=None):
        """Return what is said after an act, until the reader has rested."""
        act()
        if until:
            self.page.wait_for_selector(until, state="attached")
        self.page.clock.run_for(REST)
        return self.page.evaluate("said.splice(0)")

    def button(self, name):
        return self.element.get_by_role("button", name=name, exact=True)

    def focused(self):
        """The name of what has the focus within the element."""
        at = "({shadowRoot}) => shadowRoot.activeElement"
        return self.element.evaluate(f"e => {{ const at = ({at})(e); return at?.ariaLabel ?? at?.textContent; }}")


@pytest.fixture
def listen(folder, open_page):
    """Open a page with an element: `listen("ledger", html)`."""

    def listen(name, html, **options):
        text = page_text(html).replace("<script defer", f"{LISTEN}<script defer", 1)
        (folder / "page.html").write_text(text, encoding="utf-8")
        page = open_page((folder / "page.html").as_uri(), **options)
        page.wait_for_selector(f"stepformer-{name}[data-ready]", state="attached")
        return Listener(page, name)

    return listen


# ---- exercises -------------------------------------------------------------------------------------------------------

ANSWERS = [
    ("attention.score", ["6.89"], "Yes. Five products, one sum: the two rows point the same way, "
                                  "so the score is large."),
    ("attention.score", ["3.08"], "Not right. That is the score after dividing by the square root of 5. "
                                  "The question asks for the dot product itself."),
    ("attention.score", ["99"], exercises.find("attention.score").near),
    ("attention.score", ["two"], "“two” is not a number. Write one such as 0.25, 0,25 or 1/4."),
    ("attention.weights", ["0.44", "", "0.28"], "Fill in every field with a number such as 0.25, 0,25 or 1/4."),
    ("self_attention.crossover", ["64"], "Not right. n equals d makes n² times d and n times d² equal. "
                                         "But there are two products with n² and three projections."),
]  # fmt: skip


@pytest.mark.parametrize(("exercise_id", "typed", "words"), ANSWERS)
def test_an_answer_is_judged_in_words(exercise_id, typed, words, listen):
    page = listen("exercise", ExerciseView(exercises.find(exercise_id)).html())
    assert page.opening == []
    fields = page.element.get_by_role("textbox").all()
    for field, text in zip(fields, typed, strict=True):
        assert page.hear(lambda field=field, text=text: field.fill(text)) == []
    assert page.hear(page.button("Check").click) == [words]
    assert page.hear(page.button("Check").click) == [words], "said again, when it is done again"
    invalid = [field.get_attribute("aria-invalid") == "true" for field in fields]
    assert invalid == [not re.fullmatch(r"[\d.]+", text) for text in typed]
    # Whoever comes back to the field hears the verdict there.
    assert described(page, fields[0]).endswith(page.element.locator(".feedback p").inner_text())


def described(page, control):
    """What a screen reader adds to the name of a control, as Chromium computes it."""
    client = page.page.context.new_cdp_session(page.page)
    control.evaluate("e => { window.asked = e; }")
    handle = client.send("Runtime.evaluate", {"expression": "window.asked"})["result"]["objectId"]
    (node,) = client.send("Accessibility.getPartialAXTree", {"objectId": handle, "fetchRelatives": False})["nodes"]
    return node.get("description", {}).get("value", "")


def test_a_choice_is_judged_in_words(listen):
    exercise = exercises.find("attention.why_scale")
    page = listen("exercise", ExerciseView(exercise).html())
    assert page.hear(page.button("Check").click) == ["Choose an answer first."]
    for place, words in ((0, f"Not right. {exercise.check(0).message}"), (1, exercise.right)):
        assert page.hear(page.element.get_by_role("radio").nth(place).check) == []
        assert page.hear(page.button("Check").click) == [words.replace("√d_k", "the square root of d_k")]


# ---- the map of words ------------------------------------------------------------------------------------------------

TABLE = vectors.load()


def nearest(query, words, known=TABLE.plane.words, exclude=True):
    """What is said of a sum of words, from what Python computes: `words` is the sum, said."""
    terms = [part for part in query.split() if part not in "+-"]
    signs = [-1 if f"- {word}" in query else 1 for word in terms]
    point = sum(sign * TABLE[word] for sign, word in zip(signs, terms, strict=True))
    found = TABLE.nearest(point, n=len(TABLE), exclude=terms if exclude else ())
    first = [(word, cosine) for word, cosine in found if word in known][:3]
    return f"Nearest to {words}: {', '.join(f'{word} {format_number(cosine)}' for word, cosine in first)}."


@pytest.fixture
def words(listen):
    page = listen("word-map", word_map.show(TABLE).html())
    assert page.opening == [], "what is there when the page opens is read by whoever comes there"
    return page


SUMS = [
    ("cat", "cat"),
    ("king - man + woman", "king minus man plus woman"),
    ("- man + king", "minus man plus king"),
]


@pytest.mark.parametrize(("text", "sum_in_words"), SUMS)
def test_the_nearest_words_are_said_once_and_not_all_of_them(text, sum_in_words, words):
    box = words.element.get_by_role("textbox")
    assert words.hear(lambda: box.press_sequentially(f" {text}")) == []
    box.fill(text)
    said = nearest(text, sum_in_words)
    assert words.hear(lambda: box.press("Enter")) == [said]
    assert words.hear(words.button("Show").click) == [said]


def test_what_the_map_does_not_know_is_said_with_words_that_it_knows(words):
    box = words.element.get_by_role("textbox")
    for text, said in (
        ("qeuen", "“qeuen” is not among the 79 words here. Spelt nearly like it: queen."),
        ("  ", "Type a word first."),
        (
            "king-man",
            "“king-man” is not among the 79 words here. To subtract, put spaces around the sign: king minus man.",
        ),
        ("king -- man", "The signs minus minus stand side by side. Put a word between them, or keep one of them."),
        ("king - king", "In king minus king everything cancels out, so there is no direction left to compare."),
    ):
        box.fill(text)
        assert words.hear(lambda: box.press("Enter")) == [said]
        assert box.get_attribute("aria-invalid") == "true"
    assert "everything cancels out" in described(words, box)
    box.fill("cat")
    box.press("Enter")
    assert box.get_attribute("aria-invalid") is None


def test_the_map_says_what_its_buttons_do_and_keeps_the_focus(words):
    box = words.element.get_by_role("textbox")
    all_words = nearest("king - man + woman", "king minus man plus woman", TABLE.words)
    load = words.element.get_by_role("button", name=re.compile("^Load all"))
    load.focus()
    loaded = words.hear(lambda: words.page.keyboard.press("Enter"), "[data-words='4000']")
    assert loaded == ["Loading …", all_words]
    assert words.focused() == "queen", "the button is gone; the first answer comes next"
    with_own = nearest("king - man + woman", "king minus man plus woman", TABLE.words, exclude=False)
    assert words.hear(words.element.get_by_role("checkbox").check) == [with_own]
    assert words.hear(words.element.get_by_role("checkbox").uncheck) == [all_words]
    words.element.get_by_role("listitem").get_by_role("button", name="queen", exact=True).focus()
    assert words.hear(lambda: words.page.keyboard.press("Enter")) == [nearest("queen", "queen", TABLE.words)]
    assert words.focused() == words.element.get_by_role("listitem").first.get_by_role("button").inner_text()
    words.element.get_by_text("All points as a table").click()
    table = words.element.locator(".wm-scroll tbody")
    table.get_by_role("button", name="king", exact=True).focus()
    assert words.hear(lambda: words.page.keyboard.press("Enter")) == [nearest("king", "king", TABLE.words)]
    assert words.focused() == "king"
    assert table.evaluate("e => e.contains(e.getRootNode().activeElement)")
    assert words.hear(words.button("Clear my words").click) == [all_words]
    assert box.evaluate("e => e === e.getRootNode().activeElement")


# ---- the ledger ------------------------------------------------------------------------------------------------------


def counted(settings):
    count = ledger(settings)
    return (
        f"{write_number(count.parameters)} parameters; {write_number(count.flops_per_token)} FLOPs for each token of "
        "the target."
    )


def test_the_ledger_says_its_sum_when_the_reader_rests(listen):
    page = listen("ledger", model_ledger_html())
    assert page.opening == []
    box = page.element.get_by_role("textbox", name="d_model", exact=True)
    box.fill("")
    page.hear(lambda: None)
    said = page.hear(lambda: box.press_sequentially("1024"))
    assert said == [counted(PAPER | {"d_model": 1024})], "not after each digit"
    for name in ("big", "base", "base"):
        assert page.hear(page.button(name).click) == [counted(PRESETS[name])]
    assert page.element.get_by_role("group", name="Start from").get_by_role("button").count() == len(PRESETS)
    page.element.get_by_text("More settings").click()
    switch = page.element.get_by_role("checkbox", name="tie_output", exact=True)
    assert page.hear(switch.uncheck) == [counted(PAPER | {"tie_output": 0})]


KEPT = "The counts below are still those of the last configuration that is possible."
PROBLEMS = [
    ("d_model", "0", "d_model is “0”; it must be a whole number from 1 to 1,000,000."),
    ("n_src", "many", "n_src is “many”; it must be a whole number from 1 to 10,000,000."),
    ("n_heads", "7", "d_model is 512 and n_heads 7; d_model must be divisible by n_heads, or d_k be given."),
]


@pytest.mark.parametrize(("name", "text", "problem"), PROBLEMS)
def test_the_ledger_says_what_can_not_be_and_keeps_it_at_the_field(name, text, problem, listen):
    page = listen("ledger", model_ledger_html())
    box = page.element.get_by_role("textbox", name=name, exact=True)
    assert page.hear(lambda: box.fill(text)) == [f"{problem} {KEPT}"]
    assert described(page, box).endswith(problem.removesuffix("."))
    assert page.hear(page.button("base").click) == [counted(PAPER)]
    assert "must be" not in described(page, box)


# ---- the training timeline -------------------------------------------------------------------------------------------

DOCUMENT = timeline.payload("small")
LAST = len(DOCUMENT["snapshots"]) - 1
IN_WORDS = {"< 0.01": "less than 0.01"}


def share(thousandths):
    text = "< 0.01" if 0 < thousandths < 5 else f"{thousandths / 1000 + 1e-9:.2f}"
    return IN_WORDS.get(text, text)


def looks(snapshot, sentence=0, position=0, head=None):
    """What is said of a word, from the numbers that were stored."""
    stored = DOCUMENT["snapshots"][snapshot]["sentences"][sentence]
    words = DOCUMENT["sentences"][sentence]
    expected, probability = stored["next"][position][0]
    heads = stored["attention"][-1] if head is None else [stored["attention"][-1][head]]
    weights = [sum(cells) / len(heads) for cells in zip(*(one[position] for one in heads), strict=True)]
    most = weights.index(max(weights))
    return (
        f"In the place of {words['tgt'][position]} it expects {expected}, {share(probability)}, and looks most at "
        f"{words['src'][most]}, {share(weights[most])}."
    )


@pytest.fixture
def training(listen):
    page = listen("timeline", timeline.timeline("small").html())
    assert page.opening == []
    return page


def test_the_slider_says_its_moment_and_then_what_is_expected_there(training):
    slider = training.element.get_by_role("slider", name="Moment of the training")
    assert slider.get_attribute("aria-valuetext") == "before the first step"
    assert training.hear(lambda: slider.press("End")) == [looks(LAST)]
    assert slider.get_attribute("aria-valuetext") == f"after step {DOCUMENT['snapshots'][-1]['step']:,}"

    def drag():
        for snapshot in range(LAST + 1):
            slider.evaluate("(e, to) => { e.value = to; e.dispatchEvent(new Event('input')); }", snapshot)

    assert training.hear(drag) == [looks(LAST)], "not at each moment that goes by"


def test_a_word_a_head_and_a_sentence_are_said(training):
    slider = training.element.get_by_role("slider")
    training.hear(lambda: slider.press("End"))
    word = DOCUMENT["sentences"][0]["tgt"][1]
    button = training.button(f"What is expected in the place of {word}").first
    assert training.hear(button.click) == [looks(LAST, position=1)]
    assert training.hear(button.click) == [looks(LAST, position=1)]
    head = training.element.get_by_role("group", name="head").get_by_role("radio", name="0")
    assert training.hear(head.check) == [looks(LAST, position=1, head=0)]
    average = training.element.get_by_role("group", name="head").get_by_role("radio", name="average")
    assert training.hear(average.check) == [looks(LAST, position=1)]
    chosen = training.element.get_by_label("Sentence")
    assert training.hear(lambda: chosen.select_option("1")) == [looks(LAST, sentence=1)]
    # A voice for Chinese reads what is Chinese.
    chinese = training.element.locator("[aria-live] [lang=zh]").all_text_contents()
    assert chinese[0] == DOCUMENT["sentences"][1]["tgt"][0]


def test_playing_is_said_where_it_stops(training):
    assert training.hear(training.button("Play").click) == []
    assert training.hear(lambda: training.page.clock.run_for(1000)) == []
    at = int(training.element.get_attribute("data-snapshot"))
    assert at >= 1
    stopped = training.hear(training.button("Pause").click)
    assert stopped == [f"Stopped after step {DOCUMENT['snapshots'][at]['step']:,}. {looks(at)}"]
    training.button("Play").click()
    heard = training.hear(lambda: training.page.clock.run_for(1000 * LAST))
    assert heard == [f"Stopped after step {DOCUMENT['snapshots'][-1]['step']:,}. {looks(LAST)}"]


# ---- the translator --------------------------------------------------------------------------------------------------

DONE = "stepformer-translator[data-position]:not([data-busy])"
PAIRS = [Pair(text, "", (), ()) for text, _ in translator_page.EXAMPLES]
SOURCE, TARGET = translator_page.EXAMPLES[0]
WRITTEN = "e => e.translator.model.tgt.decode(e.translator.result.target)"


@pytest.fixture
def translator(small, listen):
    page = listen("translator", translator_page.page_html(small, PAIRS))
    assert page.opening == []
    assert page.hear(page.button(SOURCE).click, DONE) == ["Loading the model …", f"Translation: {TARGET}"]
    return page


def bars(page, n=2):
    """The first words of the bars on show, in words."""
    shown = page.element.locator(".tr-bar").all()[:n]
    texts = [(bar.locator("button").inner_text(), bar.locator(".tr-number").inner_text()) for bar in shown]
    return ", ".join(f"{word} {IN_WORDS.get(number, number)}" for word, number in texts)


def most_looked_at(page):
    """The largest weight in the chosen row of the table on show, in words."""
    heads = page.element.locator(".tr-matrix thead th").all_text_contents()
    row = page.element.locator(".tr-matrix tr.tr-now")
    weights = [float(text) for text in row.locator("td").all_inner_texts()]
    most = weights.index(max(weights))
    return f"{row.locator('th').inner_text()} looks most at {heads[most]}, {weights[most]:.2f}."


def test_a_translation_is_said_each_time(translator):
    box = translator.element.get_by_role("textbox", name="An English sentence")
    assert translator.hear(lambda: box.press_sequentially(" Tom")) == []
    box.fill(SOURCE)
    assert translator.hear(lambda: box.press("Enter"), DONE) == [f"Translation: {TARGET}"]
    beam = translator.element.get_by_role("radio", name="Beam")
    assert translator.hear(beam.check, DONE) == [f"Translation: {TARGET}"]


def test_words_that_the_model_can_not_read_are_said_with_the_translation(translator):
    box = translator.element.get_by_role("textbox", name="An English sentence")
    box.fill("Tom chasess zzzzzzz Jerry.")
    first, *rest = translator.hear(lambda: box.press("Enter"), DONE)
    assert rest == []
    assert first.startswith("chasess is unknown. Spelt nearly like it: chases")
    assert "zzzzzzz is unknown; the model reads <unk> in its place. Translation: " in first
    assert "chasess is unknown" in described(translator, box)
    translator.element.get_by_role("button", name="chases", exact=True).click()
    assert translator.page.evaluate("said.splice(0)") == []
    box.fill(SOURCE)
    assert translator.hear(lambda: box.press("Enter"), DONE) == [f"Translation: {TARGET}"]


MISTYPED = [
    ("", "Type a sentence first, or choose one of the examples."),
    ("Tom " * 200, "This sentence has 200 words and signs; the model has learnt to read at most"),
    ("x" * 1001, "This text has 1001 characters."),
]


def test_what_can_not_be_translated_is_an_alert(translator):
    box = translator.element.get_by_role("textbox", name="An English sentence")
    for text, beginning in MISTYPED:
        box.fill(text)
        (said,) = translator.hear(lambda: box.press("Enter"), "stepformer-translator:not([data-busy])")
        assert said.startswith(beginning)
        assert said in described(translator, box)
    translator.element.get_by_role("radio", name="Beam").check()
    translator.page.wait_for_selector(DONE, state="attached")
    translator.hear(lambda: None)
    size = translator.element.get_by_label("Beam size")
    size.fill("many")
    assert translator.hear(lambda: size.press("Tab")) == ["The beam size must be a whole number from 1 to 8."]


def test_a_chosen_word_says_what_is_probable_and_where_it_looks(translator):
    word = translator.element.locator(".tr-out button").nth(1)
    said = translator.hear(word.click)
    prefix = translator.element.locator(".tr-out button").first.inner_text()
    assert said == [f"Most probable after {prefix}: {bars(translator)}. {most_looked_at(translator)}"]
    head = translator.element.get_by_role("group", name="head").first.get_by_role("radio", name="0")
    assert translator.hear(head.check) == [most_looked_at(translator)]
    # The same by the list of words beside the lines.
    said = translator.hear(translator.element.locator(".tr-to li").nth(2).click)
    assert said[0].endswith(f": {bars(translator)}. {most_looked_at(translator)}")
    assert len(said) == 1


def test_a_word_that_is_written_keeps_the_focus_in_the_list(translator):
    other = translator.element.locator(".tr-bar button").nth(1)
    other.focus()
    (said,) = translator.hear(lambda: translator.page.keyboard.press("Enter"), DONE)
    assert said == "Translation: " + translator.element.evaluate(WRITTEN)
    chosen = translator.element.locator(".tr-bar [aria-pressed=true]")
    assert chosen.evaluate("e => e === e.getRootNode().activeElement")
    free = translator.button("Let the model write all of it")
    free.focus()
    said = translator.hear(lambda: translator.page.keyboard.press("Enter"), DONE)
    assert said == [f"Translation: {TARGET}"]
    assert translator.focused() == f"Word 1: {translator.element.locator('.tr-out button').first.inner_text()}"


def test_a_part_that_is_away_is_said_with_what_it_changes(translator):
    translator.element.get_by_text("Take a part away").click()
    positions = translator.element.get_by_role("checkbox", name="Positions")
    (said,) = translator.hear(positions.uncheck, DONE)
    changed = re.fullmatch(rf"Translation: (?!{TARGET}).+; with everything: {TARGET}", said)
    assert changed or said == f"The translation stays the same: {TARGET}"
    everything = translator.button("Use everything again")
    everything.focus()
    said = translator.hear(lambda: translator.page.keyboard.press("Enter"), DONE)
    assert said == [f"Translation: {TARGET}"]
    assert translator.focused() == "Take a part away"


def test_a_right_translation_is_compared_when_the_reader_rests(translator):
    assert translator.hear(translator.element.get_by_text("Teacher forcing beside free running").click) == []
    right = translator.element.get_by_label("A right translation")
    right.fill("")
    translator.hear(lambda: None)
    (said,) = translator.hear(lambda: right.press_sequentially(TARGET))
    count = len(translator.element.locator(".tr-out button").all())
    pattern = (
        rf"After the right words it predicts \d+ of {count} right\. Logarithm of the probability of the right "
        r"translation: minus \d+\.\d\d\."
    )
    assert re.fullmatch(pattern, said)
    assert translator.hear(lambda: right.fill("zzz")) == [
        "The model cannot write zzz, so no probability of this translation can be given."
    ]


def test_the_player_of_a_prediction_says_its_cell_once(translator):
    (said,) = translator.hear(translator.button("Open this step in the player").click)
    assert re.match(r"probabilities, .*: 0\.\d\d, from ", said), said
    assert translator.hear(translator.button("Close the player").click) == []


# ---- the player ------------------------------------------------------------------------------------------------------


def test_the_player_answers_each_act_once_and_again_when_it_is_done_again(listen):
    page = listen("player", player_html(example_programs.attention(), start="scores"))
    assert page.opening == []
    assert page.hear(page.button("Next step").click) == ["Step 3 of 5: scaled_scores, by scale."]
    assert page.hear(page.button("Previous step").click) == ["Step 2 of 5: scores, by matmul."]
    for key, said in (
        ("Control+z", "There is nothing to undo."),
        ("c", "Nothing is changed yet, so there is nothing to compare."),
        ("r", "All edits and switches were undone."),
    ):
        for _ in range(2):
            assert page.hear(lambda key=key: page.page.keyboard.press(key)) == [said]


# ---- the menu "Share" ------------------------------------------------------------------------------------------------


def test_what_is_copied_or_saved_is_said_each_time(listen):
    page = listen("player", player_html(example_programs.attention(), start="scores"))
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.hear(lambda: None)
    assert page.hear(page.element.get_by_text("Share", exact=True).click) == []
    page.button("Copy as NumPy").wait_for()
    for name, said in (
        ("Copy as NumPy", "Copied. It also stands below."),
        ("Save matrix (CSV)", "Saved as attention.scores.csv."),
    ):
        for _ in range(2):
            page.button(name).click()
            page.page.wait_for_function("said.length")
            assert page.hear(lambda: None) == [said]


# ---- names -----------------------------------------------------------------------------------------------------------

CONTROLS = ("button", "link", "slider", "combobox", "textbox", "checkbox", "radio", "switch", "img", "region")


@pytest.mark.parametrize("kind", ["exercise", "choice", "word-map", "ledger", "timeline", "translator"])
def test_each_control_has_a_name_of_its_own(kind, small, listen):
    """Chromium's accessibility tree, as it hands it to a screen reader."""
    html = {
        "exercise": lambda: ExerciseView(exercises.find("attention.weights")).html(),
        "choice": lambda: ExerciseView(exercises.find("attention.why_scale")).html(),
        "word-map": lambda: word_map.show(TABLE).html(),
        "ledger": model_ledger_html,
        "timeline": lambda: timeline.timeline("small").html(),
        "translator": lambda: translator_page.page_html(small, PAIRS),
    }[kind]()
    page = listen("exercise" if kind == "choice" else kind, html)
    if kind == "translator":
        page.hear(page.button(SOURCE).click, DONE)
        page.hear(page.element.get_by_role("radio", name="Beam").check, DONE)
    page.element.evaluate("e => e.shadowRoot.querySelectorAll('details').forEach((one) => { one.open = true; })")
    tree = page.page.context.new_cdp_session(page.page).send("Accessibility.getFullAXTree")["nodes"]
    named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree
             if node.get("role", {}).get("value") in CONTROLS and not node.get("ignored")]  # fmt: skip
    assert len(named) >= 3
    assert [one for one in named if not one[1].strip() or re.search("undefined|NaN|null|object", one[1])] == []
    # Fields have a name each; the rest of what stands there is their description.
    fields = [name for role, name in named if role in ("textbox", "slider", "combobox")]
    assert len(fields) == len(set(fields))
    assert all(len(name) <= 80 for name in fields)
