"""The player's engine, web/*.js, as Python sees it: tensors go in and out of `web/test/evaluate.js` as JSON."""

import json
import subprocess
from typing import Any

import numpy as np
from helpers import ROOT, require_node

from stepformer.trace import DTYPES, dtype_name

NOT_IN_JSON = {"-Infinity": -np.inf, "Infinity": np.inf, "NaN": np.nan}
NAMES = {str(value): name for name, value in NOT_IN_JSON.items()}


def ask_engine(**document: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Run the engine once on many `cases`, `programs` and `numbers`; evaluate.js describes them and the answers."""
    return json.loads(_node(["test/evaluate.js"], json.dumps(document, allow_nan=False)))


def engine_ops() -> list[str]:
    """Return the names of the ops that the engine has."""
    script = 'import { OPS } from "./ops.js"; console.log(JSON.stringify(Object.keys(OPS)));'
    return json.loads(run_module(script))


def run_module(script: str, stdin: str = "") -> str:
    """Run a module that imports the engine's files, in the folder web; return what it prints."""
    return _node(["--input-type=module", "--eval", script], stdin)


def _node(arguments: list[str], stdin: str) -> str:
    command = [require_node(), *arguments]
    run = subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=ROOT / "web")
    assert run.returncode == 0, run.stderr
    return run.stdout


def to_engine(array: np.ndarray) -> dict[str, Any]:
    """Write a tensor for the engine."""
    array = np.asarray(array)
    data = array.ravel().tolist()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        data = [x if np.isfinite(x) else NAMES[str(x)] for x in data]
    return {"shape": list(array.shape), "data": data, "dtype": dtype_name(array)}


def from_engine(answer: dict[str, Any], key: str = "data") -> np.ndarray:
    """Read a tensor that the engine answered, or with `key="explained"` what its explanations evaluate to."""
    data = [NOT_IN_JSON.get(x, x) if isinstance(x, str) else x for x in answer[key]]
    return np.array(data, dtype=DTYPES[answer["dtype"]]).reshape(answer["shape"])
