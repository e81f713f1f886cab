"""Parameters between torch and NumPy, and in files: the only place where a weight is transposed.

torch stores the weight of a linear layer as (d_out, d_in); the reference computes `x @ weight + bias` on row
vectors, with (d_in, d_out). Names are the same on both sides. torch itself is not imported: a state_dict is
used through the methods of its tensors.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_safetensors
from safetensors.numpy import save as write_safetensors

FORMAT = "stepformer.params/1"


def to_arrays(state_dict: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Copy the parameters of a torch module into arrays for the reference.

    Args:
        state_dict: `module.state_dict()`: name -> tensor.

    Returns:
        Name -> array of the same kind; the weight of every linear layer is turned to (d_in, d_out). Tables
        named "…embedding.weight" are (vocab_size, d_model) on both sides and stay as they are.
    """
    return {name: _turned(name, tensor.detach().cpu().numpy()).copy() for name, tensor in state_dict.items()}


def from_arrays(arrays: Mapping[str, np.ndarray], like: Mapping[str, Any]) -> dict[str, Any]:
    """Make a state_dict from arrays: the inverse of `to_arrays`.

    Args:
        arrays: name -> array, as `to_arrays` gives them.
        like: the `state_dict()` of the module they are for; it gives the names, shapes, kinds and devices.

    Returns:
        Name -> tensor, to be handed to `module.load_state_dict`.

    Raises:
        ValueError: names are missing or unknown, or a shape differs; the message lists them.
    """
    missing, unknown = sorted(like.keys() - arrays.keys()), sorted(arrays.keys() - like.keys())
    if missing or unknown:
        raise ValueError(f"from_arrays: missing parameters: {missing}; unknown parameters: {unknown}.")
    state = {}
    for name, tensor in like.items():
        array = _turned(name, np.asarray(arrays[name]))
        if array.shape != tuple(tensor.shape):
            raise ValueError(
                f"from_arrays: {name!r} has shape {np.shape(arrays[name])}; the module needs "
                f"{_turned(name, np.empty(tensor.shape)).shape}."
            )
        state[name] = tensor.new_tensor(array.copy())
    return state


def _turned(name: str, array: np.ndarray) -> np.ndarray:
    """Swap the axes of a linear layer's weight; a turned weight turned again is what it was."""
    is_linear = name.split(".")[-1] == "weight" and not name.endswith("embedding.weight") and array.ndim == 2
    return array.T if is_linear else array


def save(
    path: str | Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any] | None = None
) -> None:
    """Write parameters to a safetensors file, completely or not at all.

    Args:
        path: the file; one that is there is replaced in a single step.
        arrays: name -> array.
        metadata: what the parameters belong to, for example the sizes of the model; anything JSON can hold.

    Raises:
        TypeError: the metadata are not JSON.
    """
    path = Path(path)
    note = {"format": FORMAT, "metadata": dict(metadata or {})}
    # One entry only: with several, safetensors writes them in an order that changes from run to run.
    header = {"stepformer": json.dumps(note, sort_keys=True)}
    # safetensors writes the memory as it lies there, so a transposed view must be copied first.
    content = write_safetensors({name: np.array(array, order="C") for name, array in arrays.items()}, header)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read parameters that `save` wrote.

    Args:
        path: the file.

    Returns:
        The arrays by name, and the metadata.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged or cut off, or something else wrote it.
    """
    content = Path(path).read_bytes()
    try:
        arrays = read_safetensors(content)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged, cut off, or not a file of parameters: {error}.") from None
    note = _note(content)
    if note.get("format") != FORMAT:
        raise ValueError(f"{path} has the format {note.get('format')!r}; this version reads {FORMAT!r}.")
    return arrays, note["metadata"]


def _note(content: bytes) -> dict[str, Any]:
    """What `save` noted in the header of a safetensors file: 8 bytes with its length, then JSON."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    try:
        note = json.loads(header["__metadata__"]["stepformer"])
        return note if isinstance(note, dict) and isinstance(note.get("metadata"), dict) else {}
    except (KeyError, TypeError, json.JSONDecodeError):
        return {}


def select(params: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The parameters of one part of a model, named as that part names them.

    Args:
        params: name -> array, for example "encoder.layers.0.self_attn.w_q.weight".
        prefix: the part's path without a final dot, for example "encoder.layers.0.self_attn".

    Returns:
        Name without the prefix -> the same array, not a copy.

    Raises:
        KeyError: no parameter lies under the prefix.
    """
    start = f"{prefix}."
    chosen = {name.removeprefix(start): array for name, array in params.items() if name.startswith(start)}
    if not chosen:
        known = ", ".join(sorted(params)) or "none"
        raise KeyError(f"No parameter lies under {prefix!r}. There are: {known}.")
    return chosen
