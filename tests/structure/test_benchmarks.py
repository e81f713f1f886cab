"""What the chapters quote was measured with the settings as they are now."""

import json

import pytest
from helpers import ROOT

from stepformer.train import Config


@pytest.mark.parametrize("name", ["grammar", "training"])
def test_trainings_of_the_preset_had_its_steps_and_batches(name):
    how = json.loads((ROOT / "bench" / f"{name}.json").read_text(encoding="utf-8"))["how"]
    preset = Config.preset("core")
    assert f"{preset.budget.steps} steps of {preset.data.batch_size} pairs" in how, "measure it again"


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md"])
def test_the_steps_of_the_preset_stand_where_they_are_told(name):
    text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
    assert f"{Config.preset('core').budget.steps:,} steps o" in text
