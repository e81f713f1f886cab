"""The player's own tests, run by node, and its built files, which must be those of its sources."""

import subprocess

from helpers import ROOT, require_node

WEB = ROOT / "web"


def run_node(*arguments: str) -> str:
    result = subprocess.run([require_node(), *arguments], cwd=WEB, capture_output=True, text=True)
    assert result.returncode == 0, _failures(result.stdout) + result.stderr[-6000:]
    return result.stdout


def _failures(report: str) -> str:
    """Return the blocks of a TAP report that failed, or the end of any other output."""
    blocks = [block for block in report.split("# Subtest: ") if "\nnot ok " in block]
    return "\n".join(blocks) or report[-6000:]


def test_every_javascript_test_passes():
    report = run_node("--test", "--test-reporter=tap")
    count = int(next(line for line in report.splitlines() if line.startswith("# pass ")).split()[-1])
    assert count >= 20, f"node ran {count} tests only"


def test_the_built_player_is_up_to_date():
    require_node("esbuild")
    run_node("build.js", "--check")
