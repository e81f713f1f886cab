"""Parameters between torch and NumPy, and in files: the only place where a weight is transposed.

torch stores the weight of a linear layer as (d_out, d_in); the reference computes `x @ weight + bias` on row
vectors, with (d_in, d_out). Names are the same on both sides. torch itself is not imported: a state_dict is
used through the methods of its tensors. safetensors is imported on use: the reference, which needs NumPy alone,
takes `select` from here.
"""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "stepformer.params/1"


def to_arrays(state_dict: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Copy the parameters of a torch module into arrays for the reference.

    Args:
        state_dict: `module.state_dict()`: name -> tensor.

    Returns:
        Name -> array of the same kind; the weight of every linear layer is turned to (d_in, d_out), that of every
        convolution over words to (width, d_in, d_out). Tables named "…embedding.weight" are (vocab_size, d_model) on
        both sides and stay as they are. The stacked parameters of a torch RNN, LSTM or GRU become one weight and one
        bias for each gate, under "layers.0.forward." and so on, as `stepformer.reference.recurrent` takes them.
    """
    arrays = {name: tensor.detach().cpu().numpy() for name, tensor in state_dict.items()}
    others = {name: turned(name, array).copy() for name, array in arrays.items() if not RECURRENT.fullmatch(name)}
    return others | _gates_of(arrays)


def from_arrays(arrays: Mapping[str, np.ndarray], like: Mapping[str, Any]) -> dict[str, Any]:
    """Make a state_dict from arrays: the inverse of `to_arrays`.

    Args:
        arrays: name -> array, as `to_arrays` gives them.
        like: the `state_dict()` of the module they are for; it gives the names, shapes, kinds and devices.

    Returns:
        Name -> tensor, to be handed to `module.load_state_dict`. Of the two biases that torch adds in a gate of a
        recurrent network, the first holds their sum and the second zeros.

    Raises:
        ValueError: names are missing or unknown, or a shape differs; the message lists them.
    """
    needed = {name: array.shape for name, array in to_arrays(like).items()}
    missing, unknown = sorted(needed.keys() - arrays.keys()), sorted(arrays.keys() - needed.keys())
    if missing or unknown:
        raise ValueError(f"from_arrays: missing parameters: {_some(missing)}; unknown parameters: {_some(unknown)}.")
    for name, shape in needed.items():
        if np.shape(arrays[name]) != shape:
            raise ValueError(f"from_arrays: {name!r} has shape {np.shape(arrays[name])}; the module needs {shape}.")
    given = {name: np.asarray(array) for name, array in arrays.items()}
    given |= _stacked_of(given, {name: tuple(tensor.shape) for name, tensor in like.items()})
    return {name: tensor.new_tensor(turned(name, given[name]).copy()) for name, tensor in like.items()}


def _some(names: list[str]) -> str:
    """All names, or the first and the last of many."""
    return str(names) if len(names) <= 40 else f"{names[:5]}, {len(names) - 6:,} more and {names[-1:]}"


def turned(name: str, array: np.ndarray) -> np.ndarray:
    """Reverse the axes of the weight of a layer on rows; a turned weight turned again is what it was.

    Linear layers have two axes, convolutions over words three. Convolutions over images, with four, have the same
    layout on both sides.

    Args:
        name: of the parameter, as in a state_dict.
        array: its numbers, as torch or as the reference has them.

    Returns:
        A view as the other side has them.
    """
    on_rows = name.split(".")[-1] == "weight" and not name.endswith("embedding.weight") and array.ndim in (2, 3)
    return array.T if on_rows else array


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
    from safetensors.numpy import save as write_safetensors

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
    from safetensors import SafetensorError
    from safetensors.numpy import load as read_safetensors

    content = Path(path).read_bytes()
    try:
        arrays = read_safetensors(content)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged, cut off, or not a file of parameters: {error}.") from None
    except KeyError as error:  # of types that NumPy has not
        raise ValueError(f"{path} holds numbers of the type {error.args[0]}, which NumPy does not know.") from None
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
    except (KeyError, TypeError, RecursionError, json.JSONDecodeError):
        return {}


def select(params: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The parameters of one part of a model, named as that part names them.

    Args:
        params: name -> array, for example "encoder.layers.0.self_attention.w_q.weight".
        prefix: the part's path without a final dot, for example "encoder.layers.0.self_attention".

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


# ---- recurrent networks: torch stacks the gates of a layer, (gates · d_hidden, d_in) and (…, d_hidden) -------------

RECURRENT = re.compile(r"(.*?)(weight|bias)_(ih|hh)_l(\d+)(_reverse)?")
GATES = {1: ("",), 3: ("reset.", "update.", "candidate."), 4: ("input.", "forget.", "candidate.", "output.")}
"""How many gates a layer stacks -> what they are called here, in torch's order."""


def _layers_of(shapes: Mapping[str, tuple[int, ...]]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Of each layer and direction: how its torch names end, how its names begin here, and its gates."""
    layers = []
    for name, shape in shapes.items():
        match = RECURRENT.fullmatch(name)
        if match and match[2] == "weight" and match[3] == "hh":
            direction = "backward" if match[5] else "forward"
            path, end = f"{match[1]}layers.{match[4]}.{direction}.", f"_l{match[4]}{match[5] or ''}"
            gates = shape[0] // shape[1] if len(shape) == 2 and shape[1] else 0
            lacks = [part for part in _torch_names(f"{match[1]}|{end}") if part not in shapes]
            if gates not in GATES or shape[0] % shape[1] or lacks:
                raise ValueError(
                    f"{name!r} has shape {tuple(shape)}, missing beside it: {', '.join(lacks) or 'nothing'}; a "
                    "recurrent layer must be whole, with biases and without a projection."
                )
            layers.append((f"{match[1]}|{end}", path, GATES[gates]))
    return layers


def _torch_names(layer: str) -> tuple[str, str, str, str]:
    """The four parameters of one layer and direction: what meets the input and what meets the state."""
    before, after = layer.split("|")
    weight_ih, weight_hh, bias_ih, bias_hh = (
        f"{before}{kind}_{side}{after}" for kind in ("weight", "bias") for side in ("ih", "hh")
    )
    return weight_ih, weight_hh, bias_ih, bias_hh


def _gates_of(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Torch's stacks, taken apart: for each gate the rows of the input above those of the state, and one bias."""
    found = {}
    for layer, path, gates in _layers_of({name: array.shape for name, array in arrays.items()}):
        parts = zip(*(np.split(arrays[name], len(gates)) for name in _torch_names(layer)), strict=True)
        for gate, (w_x, w_h, b_x, b_h) in zip(gates, parts, strict=True):
            if len(gates) == 3 and gate == "candidate.":  # the reset gate acts on one half: the two stay apart
                halves = {"w_x.weight": w_x.T, "w_x.bias": b_x, "w_h.weight": w_h.T, "w_h.bias": b_h}
            else:
                halves = {"weight": np.concatenate([w_x.T, w_h.T]), "bias": b_x + b_h}
            found |= {f"{path}{gate}{name}": array.copy() for name, array in halves.items()}
    return found


def _stacked_of(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """The inverse of `_gates_of`: the stacks as torch has them."""
    found = {}
    for layer, path, gates in _layers_of(shapes):
        parts = []
        names = _torch_names(layer)
        for gate in (f"{path}{gate}" for gate in gates):
            if f"{gate}weight" in arrays:
                d_in = shapes[names[0]][1]
                weight, bias = arrays[f"{gate}weight"], arrays[f"{gate}bias"]
                parts.append((weight[:d_in], weight[d_in:], bias, np.zeros_like(bias)))
            else:
                halves = ("w_x.weight", "w_h.weight", "w_x.bias", "w_h.bias")
                parts.append(tuple(arrays[f"{gate}{half}"] for half in halves))
        for name, part in zip(names, zip(*parts, strict=True), strict=True):
            found[name] = np.concatenate([array.T for array in part])
    return found
