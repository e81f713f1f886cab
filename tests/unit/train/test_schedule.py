"""The learning rate of each step."""

import math

import pytest
from helpers import fault
from small_training import TABLES

from stepformer.train import Config, constant, inverse_sqrt, linear, schedule_of
from stepformer.train.schedule import inverse_sqrt_to


@fault("TR-01")
def test_step_0_is_taken_for_step_1():
    assert inverse_sqrt(0, 512, 4000) == pytest.approx(1.746928e-07, rel=1e-6)
    assert inverse_sqrt(0, 512, 4000) == inverse_sqrt(1, 512, 4000)


@fault("TR-03")
def test_the_paper_s_schedule_has_the_paper_s_peak():
    rates = [inverse_sqrt(step, 512, 4000) for step in range(1, 12_001)]
    assert rates.index(max(rates)) == 3999
    assert rates[3999] == pytest.approx(6.987712e-04, rel=1e-6)
    assert rates[3999] == pytest.approx((512 * 4000) ** -0.5, rel=1e-12)
    assert rates[4000] < rates[3999] > rates[3998]
    # Four times as many steps, half the rate.
    assert inverse_sqrt(16_000, 512, 4000) == pytest.approx(rates[3999] / 2, rel=1e-12)


def test_both_branches_meet_at_the_end_of_warmup():
    for step in (1, 399, 400, 401, 5000):
        assert inverse_sqrt_to(step, (64 * 400) ** -0.5, 400) == pytest.approx(inverse_sqrt(step, 64, 400), rel=1e-12)


def test_the_linear_schedule_by_hand():
    assert [linear(step, 6.0, 3, 8) for step in range(10)] == [2.0, 2.0, 4.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    assert [linear(step, 4.0, 0, 4) for step in (1, 2, 3, 4, 5, 6)] == [4.0, 3.0, 2.0, 1.0, 0.0, 0.0]
    assert linear(5, 1.0, 5, 5) == 1.0


def test_the_constant_schedule_by_hand():
    assert [constant(step, 2.0, 4) for step in (0, 1, 2, 4, 5, 1000)] == [0.5, 0.5, 1.0, 2.0, 2.0, 2.0]
    assert constant(1, 2.0, 0) == 2.0


def test_a_configuration_gets_its_schedule():
    without_rate = {name: table for name, table in TABLES.items() if name != "optimiser"}
    for kind, rate, expected in [
        ("inverse_sqrt", None, lambda step: inverse_sqrt(step, 8, 2)),
        ("inverse_sqrt", 0.01, lambda step: inverse_sqrt_to(step, 0.01, 2)),
        ("linear", 0.01, lambda step: linear(step, 0.01, 2, 12)),
        ("constant", 0.01, lambda step: constant(step, 0.01, 2)),
    ]:
        tables = without_rate | {"schedule": {"kind": kind, "warmup": 2}}
        tables |= {} if rate is None else {"optimiser": {"lr": rate}}
        schedule = schedule_of(Config.from_dict(tables))
        assert [schedule(step) for step in range(1, 13)] == [expected(step) for step in range(1, 13)]
        assert all(math.isfinite(schedule(step)) and schedule(step) > 0 for step in range(13))


def test_numbers_out_of_range_are_refused():
    for call in (lambda: inverse_sqrt(-1, 8, 4), lambda: inverse_sqrt(1, 0, 4), lambda: inverse_sqrt(1, 8, 0),
                 lambda: linear(1, 1.0, 0, 0)):  # fmt: skip
        with pytest.raises(ValueError, match=r"it must be 1 or more|steps count from 1"):
            call()
