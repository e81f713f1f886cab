"""An exercise on a static page: what is typed or chosen is judged as Python judges it, and said to every reader."""

import pytest

from stepformer import exercises
from stepformer.formatting import format_number
from stepformer.widgets import ExerciseView


@pytest.fixture
def exercise_on_page(show_on_page):
    """Show an exercise by its id: returns the exercise and its element."""

    def exercise_on_page(exercise_id):
        exercise = exercises.find(exercise_id)
        page = show_on_page(ExerciseView(exercise).html())
        return exercise, page.locator("stepformer-exercise")

    return exercise_on_page


def answer(element, *texts):
    """Fill in the fields, press Check, and return what is said."""
    for field, text in zip(element.get_by_role("textbox").all(), texts, strict=True):
        field.fill(text)
    element.get_by_role("button", name="Check").click()
    return element.locator(".feedback").inner_text().split("\n", 1)[-1].strip()


@pytest.mark.parametrize("exercise_id", ["attention.score", "attention.weights"])
def test_numbers_right_known_wrong_other_and_unreadable(exercise_id, exercise_on_page):
    exercise, element = exercise_on_page(exercise_id)
    numbers = [exercise.answer, *(wrong.answer for wrong in exercise.wrong), [99.0] * len(exercise.fields)]
    verdicts = []
    for number in numbers:
        given = list(number) if hasattr(number, "__len__") else [number]
        expected = exercise.check(given)
        assert answer(element, *(repr(float(x)) for x in given)) == expected.message
        assert element.get_attribute("data-answered") == ("right" if expected.right else "wrong")
        verdicts.append(element.locator(".feedback").get_attribute("data-verdict"))
    assert verdicts == ["right", *["known"] * len(exercise.wrong), "other"]

    rest = ["0"] * (len(exercise.fields) - 1)
    assert answer(element, "two", *rest).startswith("“two” is not a number")
    assert answer(element, "", *rest).startswith("Fill in every field")
    assert element.locator(".feedback").get_attribute("data-verdict") == "unreadable"
    signs = element.locator(".feedback").locator("[aria-hidden=true]").all_inner_texts()
    assert signs == ["!"], "the verdict must not be told by colour alone"


def test_a_decimal_comma_a_fraction_and_the_enter_key(exercise_on_page):
    exercise, element = exercise_on_page("attention.score")
    field = element.get_by_role("textbox")
    text = format_number(exercise.answer).replace("−", "-")
    for typed in (text.replace(".", ","), f"{round(100 * float(text))}/100"):
        field.fill(typed)
        field.press("Enter")
        assert element.locator(".feedback").get_attribute("data-verdict") == "right", typed
        answer(element, "")


def test_a_choice_and_its_hint(exercise_on_page):
    exercise, element = exercise_on_page("attention.why_scale")
    element.get_by_role("button", name="Check").click()
    assert "Choose an answer first." in element.locator(".feedback").inner_text()
    for i, choice in enumerate(exercise.choices):
        element.get_by_role("radio", name=choice).check()
        element.get_by_role("button", name="Check").click()
        assert exercise.check(i).message in element.locator(".feedback").inner_text()
    hint = element.get_by_text(exercise.hint)
    assert not hint.is_visible()
    element.get_by_text("Hint", exact=True).click()
    assert hint.is_visible()
    assert element.get_by_role("radio").first.evaluate("e => e.name") == "answer"


def test_a_damaged_exercise_says_so_and_leaves_its_question(show_on_page):
    html = ExerciseView(exercises.find("attention.score")).html()
    page = show_on_page(html.replace('"key"', '"lock"'), html)
    broken = page.locator("stepformer-exercise").first
    assert "the key is missing or damaged" in broken.get_by_role("alert").inner_text()
    assert broken.locator(".stepformer-fallback p").first.is_visible()
    assert page.locator("stepformer-exercise[data-ready]").count() == 1
