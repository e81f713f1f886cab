"""Trained models in directories: `model.json` says what the model is, `weights.safetensors` holds its parameters.

Nothing is unpickled: a directory from a stranger can be wrong, but it can run nothing. Whatever does not fit is refused
with a message that says which file, what is in it and what is expected. Directories are written completely or not at
all. `read_model` needs neither torch nor a tokenizer: it is for those who want the arrays.

`model.json` (strict JSON) holds

| Field | Holds |
|---|---|
| `format` | `"stepformer.model/1"` |
| `kind` | a key of `stepformer.model_kinds.KINDS` |
| `arguments` | what the class of that kind is called with, every argument by name |
| `src_tokenizer`, `tgt_tokenizer` | what `to_json` of each tokenizer gave |
| `record` | what there is to say: title, data, licence, and anything else |
| `weights` | object, see below |

and `weights` has the `file`, its `sha256`, its `dtype` ("float32" or "float16"), the number of `parameters`, and
`tied`: name -> name, the first a parameter that is not in the file because it is the other one.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stepformer import params

FORMAT = "stepformer.model/1"
MODEL_FILE, WEIGHTS_FILE = "model.json", "weights.safetensors"
SHIPPED = Path(__file__).parent / "models"
NAMES = ("small", "base", "gru", "gru_attention")
"""The models that come with the package."""
LONGEST = 2**20
"""The most positions of a model: their table is computed and not in the file, so its size says nothing."""
DTYPES = ("float32", "float16")
FIELDS = {"kind": str, "arguments": dict, "src_tokenizer": dict, "tgt_tokenizer": dict, "record": dict, "weights": dict}


class CheckpointError(ValueError):
    """A directory is not what it should be; the message says which file and why."""


class Stored(NamedTuple):
    """What a model directory holds, before anything is built of it.

    Attributes:
        info: the content of `model.json`.
        arrays: name -> array, all parameters, oriented as `stepformer.params` has them; float32.
    """

    info: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Loaded(NamedTuple):
    """A model that is ready to translate.

    Attributes:
        model: in evaluation mode, float32.
        src_tokenizer: from text to ids.
        tgt_tokenizer: from ids to text.
        record: what was noted when the model was saved: title, data, licence, scores.
    """

    model: Any
    src_tokenizer: Any
    tgt_tokenizer: Any
    record: dict[str, Any]


def save_model(
    directory: str | Path,
    model: Any,
    src_tokenizer: Any,
    tgt_tokenizer: Any,
    record: Mapping[str, Any] | None = None,
    dtype: str = "float32",
    replace: bool = False,
) -> Path:
    """Write a model directory, completely or not at all.

    Args:
        directory: where; the folder above it is made if need be.
        model: of a kind of `stepformer.model_kinds`.
        src_tokenizer: with `to_json`.
        tgt_tokenizer: likewise.
        record: title, data, licence …; anything JSON can hold.
        dtype: "float32", or "float16" for half the size.
        replace: a model directory that is there already may be replaced.

    Returns:
        The directory.

    Raises:
        FileExistsError: something is there, and `replace` is not set or it is no model directory.
        TypeError: the model is of no kind that can be stored, or the record is not JSON.
        ValueError: a parameter is not finite, or too large for float16.
    """
    directory = Path(directory)
    if directory.exists() and not (replace and (directory / MODEL_FILE).is_file()):
        what = "replace=True replaces it" if (directory / MODEL_FILE).is_file() else "it is no model directory"
        raise FileExistsError(f"{directory} exists already, and {what}.")
    write_directory(directory, lambda part: write_model(part, model, src_tokenizer, tgt_tokenizer, record or {}, dtype))
    return directory


def write_model(
    directory: Path,
    model: Any,
    src_tokenizer: Any,
    tgt_tokenizer: Any,
    record: Mapping[str, Any],
    dtype: str = "float32",
) -> None:
    """Write the two files of a model into a directory that is there: for those who write more into it.

    Args:
        directory: an empty folder.
        model: as in `save_model`.
        src_tokenizer: as in `save_model`.
        tgt_tokenizer: as in `save_model`.
        record: as in `save_model`.
        dtype: as in `save_model`.

    Raises:
        TypeError: as in `save_model`.
        ValueError: as in `save_model`.
    """
    from stepformer.model_kinds import kind_of

    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}; it must be one of {', '.join(DTYPES)}.")
    kind, arguments = kind_of(model)
    state = model.state_dict()
    arrays, tied = params.to_arrays(state), _tied(state)
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds numbers that are not finite; such a model is not saved.")
        if dtype == "float16" and np.abs(array).max(initial=0) > np.finfo(np.float16).max:
            raise ValueError(f"{name} holds {np.abs(array).max():.3g}, too large for float16; save as float32.")
    kept = {name: array.astype(dtype) for name, array in arrays.items() if name not in tied}
    params.save(directory / WEIGHTS_FILE, kept, {"kind": kind})
    weights = {
        "file": WEIGHTS_FILE,
        "sha256": hashlib.sha256((directory / WEIGHTS_FILE).read_bytes()).hexdigest(),
        "dtype": dtype,
        "parameters": sum(array.size for array in kept.values()),
        "tied": tied,
    }
    info = {
        "format": FORMAT,
        "kind": kind,
        "arguments": arguments,
        "src_tokenizer": src_tokenizer.to_json(),
        "tgt_tokenizer": tgt_tokenizer.to_json(),
        "record": dict(record),
        "weights": weights,
    }
    write_json(directory / MODEL_FILE, info)


def read_model(directory_or_name: str | Path) -> Stored:
    """Read and check a model directory without building the model: NumPy is enough.

    Args:
        directory_or_name: the folder, or one of `NAMES`, a model that comes with the package. Write "./small" for a
            folder of that name.

    Returns:
        The content of `model.json`, and all parameters by name.

    Raises:
        CheckpointError: there is no such folder, a file is missing, damaged, of another version or of something else,
            or the weights are not those that `model.json` was written with.
    """
    directory = find(directory_or_name)
    info = read_json(directory / MODEL_FILE, FORMAT, FIELDS)
    path = directory / MODEL_FILE
    weights = info["weights"]
    check_fields(path, weights, {"sha256": str, "dtype": str, "tied": dict}, "weights.")
    if weights.get("file") != WEIGHTS_FILE:  # a name from a file must not lead anywhere else
        raise CheckpointError(f"{path}: weights.file is {weights.get('file')!r}; it must be {WEIGHTS_FILE!r}.")
    if weights["dtype"] not in DTYPES:
        raise CheckpointError(f"{path}: weights.dtype is {weights['dtype']!r}; it must be one of {', '.join(DTYPES)}.")
    arrays = read_arrays(directory / WEIGHTS_FILE, weights["sha256"])
    for name, array in arrays.items():
        if array.dtype != weights["dtype"]:
            raise CheckpointError(
                f"{directory / WEIGHTS_FILE}: {name} is {array.dtype}; {MODEL_FILE} says {weights['dtype']}."
            )
        if not np.isfinite(array).all():
            raise CheckpointError(f"{directory / WEIGHTS_FILE}: {name} holds numbers that are not finite.")
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    for name, other in weights["tied"].items():
        if other not in arrays or name in arrays:
            raise CheckpointError(f"{path}: weights.tied says that {name} is {other!r}, which does not fit the file.")
        arrays[name] = params.turned(name, params.turned(other, arrays[other]))
    return Stored(info, arrays)


def load_model(directory_or_name: str | Path) -> Loaded:
    """Read a model directory and build the model and its tokenizers.

    Args:
        directory_or_name: the folder, or one of `NAMES`, a model that comes with the package. Write "./small" for a
            folder of that name.

    Returns:
        The model in evaluation mode, both tokenizers and the record.

    Raises:
        CheckpointError: as `read_model`, or the kind, an argument, a tokenizer or a parameter is unknown, missing or
            does not fit.
    """
    from stepformer.data.tokenizer import tokenizer_from_json

    info, arrays = read_model(directory_or_name)
    directory = find(directory_or_name)
    tokenizers = {}
    for side in ("src_tokenizer", "tgt_tokenizer"):
        try:
            tokenizers[side] = tokenizer_from_json(info[side])
        except (ValueError, TypeError, KeyError) as error:
            raise CheckpointError(f"{directory / MODEL_FILE}: {side}: {_said(error)}") from error
    _check_sizes(directory, info["arguments"], arrays)
    model = build_model(directory, info)
    fill(model, arrays, directory / WEIGHTS_FILE)
    for side in ("src", "tgt"):
        known, rows = len(tokenizers[f"{side}_tokenizer"].vocabulary), info["arguments"].get(f"{side}_vocab_size")
        if known != rows:
            raise CheckpointError(
                f"{directory / MODEL_FILE}: {side}_tokenizer knows {known} words, and the model has {rows}."
            )
    return Loaded(model.eval(), tokenizers["src_tokenizer"], tokenizers["tgt_tokenizer"], info["record"])


def _check_sizes(directory: Path, arguments: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse numbers that the parameters in the file contradict, before a model of that size fills the memory."""
    n_parameters = sum(array.size for array in arrays.values())
    for name, value in arguments.items():
        most = len(arrays) if "layers" in name else LONGEST if name == "max_len" else n_parameters
        if isinstance(value, int) and value > most and name != "pad_id":
            raise CheckpointError(
                f"{directory / MODEL_FILE}: arguments.{name} is {value!r:.40}; {WEIGHTS_FILE} holds {len(arrays)} "
                f"parameters with {n_parameters:,} numbers, so it can be {most:,} at most."
            )


def build_model(directory: Path, info: Mapping[str, Any]) -> Any:
    """Build the model that a `model.json` describes, with new parameters.

    Args:
        directory: for messages.
        info: the content of the file.

    Returns:
        The model, in training mode.

    Raises:
        CheckpointError: the kind or an argument is unknown, missing or out of range.
    """
    from stepformer.model_kinds import build

    try:
        return build(info["kind"], info["arguments"])
    except (TypeError, ValueError, RuntimeError, MemoryError) as error:
        raise CheckpointError(f"{directory / MODEL_FILE}: {_said(error)}") from error


def fill(model: Any, arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Give a model the parameters of a file.

    Args:
        model: built with the arguments that belong to the file; changed in place.
        arrays: name -> array, all parameters.
        path: of the file, for messages.

    Raises:
        CheckpointError: parameters are missing or unknown, or a shape differs.
    """
    try:
        model.load_state_dict(params.from_arrays(arrays, like=model.state_dict()))
    except ValueError as error:
        raise CheckpointError(f"{path} does not fit the model that {MODEL_FILE} describes: {_said(error)}") from error


def find(directory_or_name: str | Path) -> Path:
    """The folder of a model.

    Args:
        directory_or_name: a folder, or the name of a model that comes with the package.

    Returns:
        A folder that exists.

    Raises:
        CheckpointError: there is none.
    """
    if isinstance(directory_or_name, str) and directory_or_name in NAMES:
        directory = SHIPPED / directory_or_name
        if not (directory / MODEL_FILE).is_file():
            raise CheckpointError(
                f"The model {directory_or_name!r} is not in this installation ({SHIPPED.name}/{directory_or_name} of "
                f"the package is missing). Train one with `stepformer train --preset {directory_or_name}`, or write "
                f"./{directory_or_name} for a folder of that name."
            )
        return directory
    directory = Path(directory_or_name)
    try:
        is_directory = directory.is_dir()
    except OSError as error:  # such as a name that is too long
        raise CheckpointError(f"{directory!s:.80} can not be a model's folder: {error.strerror}.") from error
    if not is_directory:
        names = ", ".join(NAMES)
        what = "is a file; a model is a folder" if directory.exists() else "does not exist"
        raise CheckpointError(f"{directory} {what}. It must be a model's folder, or one of the names {names}.")
    if not (directory / MODEL_FILE).exists():
        inside = directory / "model"  # where a training leaves its model
        hint = f" There is one in {inside}." if (inside / MODEL_FILE).is_file() else ""
        raise CheckpointError(f"{directory} is no model: it has no {MODEL_FILE}.{hint}")
    return directory


# ---- files: written as a whole, read with suspicion; also for the checkpoints of a training -------------------------


def write_directory(directory: Path, write: Callable[[Path], None]) -> None:
    """Let a function write files into a folder that appears only when they are complete and on the disk.

    A folder that is there is replaced. Whoever is interrupted leaves at most a hidden folder `.<name>.…part` behind.

    Args:
        directory: the folder to be.
        write: writes the files into the folder that it is given.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=directory.parent, prefix=f".{directory.name}.", suffix=".part"))
    try:
        part.chmod(0o777 & ~_umask())
        write(part)
        for path in part.iterdir():
            path.chmod(0o666 & ~_umask())
            _to_disk(path)
        _to_disk(part)
        if directory.exists():
            # No system call swaps two folders everywhere, so there is a moment without: the old one waits beside.
            old = part.with_suffix(".old")
            os.replace(directory, old)
            os.replace(part, directory)
            shutil.rmtree(old)
        else:
            os.replace(part, directory)
        _to_disk(directory.parent)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write strict JSON, one field a line.

    Args:
        path: the file.
        content: what JSON can hold.

    Raises:
        TypeError: it is not JSON.
        ValueError: a number is not finite.
    """
    lines = (f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False, allow_nan=False)}" for k, v in content.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_json(path: Path, format: str, fields: Mapping[str, type | tuple[type, ...]]) -> dict[str, Any]:
    """Read a JSON file of ours.

    Args:
        path: the file.
        format: what its field `format` must say, such as "stepformer.model/1".
        fields: name -> type of what else it must have.

    Returns:
        Its content.

    Raises:
        CheckpointError: it is missing, unreadable, no JSON, of another format or version, or lacks a field.
    """
    try:
        content = json.loads(path.read_bytes().decode("utf-8"), parse_constant=_no_constant)
    except OSError as error:
        raise CheckpointError(f"{path} can not be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged or cut off: it is not JSON ({error}).") from error
    if not isinstance(content, dict) or "format" not in content:
        raise CheckpointError(f"{path} was written by something else: it has no field format.")
    if content["format"] != format:
        name, _, version = format.partition("/")
        found = content["format"]
        why = (
            f"version {found.partition('/')[2]}; this version of stepformer reads {version}"
            if isinstance(found, str) and re.fullmatch(re.escape(name) + r"/\w+", found)
            else f"something else; it must be {format!r}"
        )
        raise CheckpointError(f"{path}: its format is {found!r}, {why}.")
    check_fields(path, content, fields)
    return content


def check_fields(
    path: Path, content: Mapping[str, Any], fields: Mapping[str, type | tuple[type, ...]], prefix: str = ""
) -> None:
    """Refuse an object that lacks a field or has one of another type.

    Args:
        path: the file, for messages.
        content: the object.
        fields: name -> type, or types.
        prefix: the path of the object in the file, for messages.

    Raises:
        CheckpointError: a field is missing or of another type.
    """
    for name, kind in fields.items():
        if name not in content:
            raise CheckpointError(f"{path}: {prefix}{name} is missing.")
        if not isinstance(content[name], kind) or (isinstance(content[name], bool) and kind is not bool):
            wanted = " or ".join(JSON_TYPES[one] for one in (kind if isinstance(kind, tuple) else (kind,)))
            raise CheckpointError(f"{path}: {prefix}{name} is {content[name]!r:.60}; it must be {wanted}.")


JSON_TYPES = {str: "a text", dict: "an object", list: "a list", int: "a whole number", float: "a number",
              type(None): "null", bool: "true or false"}  # fmt: skip


def read_arrays(path: Path, sha256: str) -> dict[str, np.ndarray]:
    """Read a safetensors file of ours and compare its digest.

    Args:
        path: the file.
        sha256: what its bytes must hash to.

    Returns:
        Name -> array.

    Raises:
        CheckpointError: it is missing, damaged, of something else, or not the file that the digest was taken of.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} can not be read: {error.strerror}.") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise CheckpointError(
            f"{path} is damaged, cut off or from another model: its SHA-256 is not the one that was noted when it was "
            "written."
        )
    try:
        return params.load(path)[0]
    except ValueError as error:
        raise CheckpointError(_said(error)) from error


def _tied(state: Mapping[str, Any]) -> dict[str, str]:
    """Parameters that are another one: name -> the name under which it is stored."""
    first: dict[tuple, str] = {}
    tied = {}
    for name, tensor in state.items():
        place = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride())
        if first.setdefault(place, name) != name:
            tied[name] = first[place]
    return tied


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _said(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def _umask() -> int:
    """What new files of this process may not be: private folders of tempfile are to become like any others."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _to_disk(path: Path) -> None:
    """Wait until a file or the list of a folder has reached the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
