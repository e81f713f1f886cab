"""Whoever kills a training loses the steps since the last checkpoint, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import LONG, PACKAGE, fault

SERIES = Path(__file__).with_name("kill_series.py")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@fault("TR-05", "TR-07")
def test_a_training_that_is_killed_again_and_again_is_the_one_that_was_never_stopped():
    """Three random moments and a few moments within a checkpoint; with STEPFORMER_LONG twenty, and many."""
    counts = (
        ["--kills", "20", "--every", "2"] if LONG else ["--kills", "3", "--every", "11"]
    )
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "OMP_NUM_THREADS": "1"}
    series = subprocess.run([sys.executable, str(SERIES), *counts], capture_output=True, text=True, env=environment)
    assert series.returncode == 0, series.stdout + series.stderr
    assert "all bit for bit equal" in series.stdout
