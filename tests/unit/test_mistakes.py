"""Every known mistake that a reader can switch on changes a result, and the check that it names catches it."""

import itertools

import numpy as np
import pytest
from helpers import listed_faults

from stepformer import mistakes
from stepformer.checks import CHECKS
from stepformer.examples import EXAMPLES, VOCABULARY, attention, attention_over_words
from stepformer.mistakes.catalogue import FAULTS, PROGRAMS, catalogue

MISTAKES = [(entry.group, entry.mistake) for entry in catalogue()]
EACH = pytest.mark.parametrize(("group", "mistake"), MISTAKES, ids=lambda value: getattr(value, "name", value))


def test_every_group_of_mistakes_is_shown_in_an_example():
    assert sorted(PROGRAMS) == sorted(mistakes.__all__)


@EACH
def test_a_mistake_changes_a_result_and_its_check_catches_it(group, mistake):
    trace = EXAMPLES[PROGRAMS[group]]().with_breaks(*getattr(mistakes, group))
    broken = trace.broken(mistake.name)
    assert any(a.shape != b.shape or (a != b).any() for a, b in zip(broken.arrays, trace.arrays, strict=True))
    check = CHECKS[mistake.caught_by]
    check(trace)
    with pytest.raises(AssertionError, match=r".{20,}"):
        check(broken)


@EACH
def test_a_mistake_says_what_to_look_for(group, mistake):
    assert len(mistake.symptom) > 30
    assert mistake.symptom[-1] in ".”"
    assert mistake.name[0].isupper()
    assert mistake.name[-1] not in ".!?"


@pytest.mark.parametrize("program", dict.fromkeys(PROGRAMS.values()))
def test_any_two_mistakes_of_a_program_and_all_at_once_can_be_on_together(program):
    family = [entry.mistake for entry in catalogue() if entry.program == program]
    names = [mistake.name for mistake in family]
    trace = EXAMPLES[program]().with_breaks(*family)
    for on in [*itertools.combinations(names, 2), names]:
        broken = trace.broken(*on)
        assert broken == trace.broken(*reversed(on))
        assert any(not np.array_equal(a, b) for a, b in zip(broken.arrays, trace.arrays, strict=True)), on


def test_each_fault_that_a_mistake_stands_for_is_a_listed_one_of_a_mistake_that_exists():
    assert set(FAULTS) <= {(group, mistake.name) for group, mistake in MISTAKES}
    assert {identifier for ids in FAULTS.values() for identifier in ids} <= set(listed_faults())
    assert all(FAULTS.values())


def test_every_check_has_a_mistake_that_it_catches():
    assert sorted(CHECKS) == sorted({mistake.caught_by for _, mistake in MISTAKES})


def test_the_weights_of_the_running_example_are_as_designed():
    """汤姆 attends to Tom, 追逐 to chase and 杰瑞 to Jerry."""
    assert attention()["weights"][:3].argmax(axis=1).tolist() == [0, 1, 2]
    assert (attention()["weights"][:3].max(axis=1) > 0.5).all()


def test_another_sentence_moves_the_attention_with_its_words():
    again = attention_over_words().run({"src": "Jerry chase Tom"})
    assert again["weights"][:3].argmax(axis=1).tolist() == [2, 1, 0]
    assert again.axis_labels("weights")[1] == ["Jerry", "chase", "Tom"]
    assert "Spike" not in VOCABULARY


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_the_same_each_time_and_shares_nothing(name):
    first, second = EXAMPLES[name](), EXAMPLES[name]()
    assert first == second
    assert not any(np.shares_memory(a, b) for a, b in zip(first.arrays, second.arrays, strict=True) if a.size)
    assert type(first).from_json(first.to_json()) == first
    assert first.title
