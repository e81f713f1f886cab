"""Traces as strict JSON, format `stepformer.trace/1`. CONTRIBUTING.md describes every field."""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stepformer.trace import (
    DTYPES,
    MAX_CELLS,
    OPS,
    TOKEN_RULES,
    Break,
    Edit,
    Step,
    Tensor,
    Trace,
    TraceError,
    as_value,
    check_inputs,
)

FORMAT = "stepformer.trace/1"
BASE64_ABOVE = 1000
"""Leaves with more numbers than this are stored as base64 instead of decimals."""
STORED_TYPES = {"float64": "<f8", "float16": "<f2", "int32": "<i4", "uint8": "|u1"}
STORED_AS = {"float64": "float", "float16": "float", "int32": "int", "uint8": "bool"}


def to_json(trace: Trace) -> str:
    """Write a trace as JSON that is safe inside an HTML script element.

    Args:
        trace: any trace.

    Returns:
        Strict JSON on one line; `<` is escaped, so no text in it can end the element.
    """
    leaves = set(trace.leaves)
    document = {"format": FORMAT, "title": trace.title}
    document["labels"] = {axis: list(labels) for axis, labels in trace.labels.items()}
    document["fixed"] = dict(trace.fixed)
    document["tensors"] = [
        _tensor_fields(tensor, trace.arrays[i] if i in leaves else None) for i, tensor in enumerate(trace.tensors)
    ]
    document["steps"] = [
        {"op": s.op, "inputs": list(s.inputs), "output": s.output, "scope": s.scope, "attributes": dict(s.attributes)}
        for s in trace.steps
    ]
    document["breaks"] = [_break_fields(b) for b in trace.breaks]
    return dumps(document)


def dumps(document: Any) -> str:
    """Write strict JSON on one line with `<` escaped: no NaN or Infinity, safe inside a script element.

    Args:
        document: anything JSON can hold.

    Returns:
        The text.
    """
    return json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _tensor_fields(tensor: Tensor, array: np.ndarray | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": tensor.name, "axes": list(tensor.axes), "dtype": tensor.dtype}
    if array is not None:
        fields |= {"shape": list(array.shape), "data": _data(array, tensor.dtype)}
    if tensor.vocabulary:
        fields |= {"vocabulary": list(tensor.vocabulary), "token_rule": tensor.token_rule}
    return fields


def _data(array: np.ndarray, dtype: str) -> Any:
    if dtype == "float" and not np.isfinite(array).all():
        raise TraceError("to_json: a tensor that was given holds an infinity, which JSON can not store.")
    if array.size <= BASE64_ABOVE:
        return array.ravel().tolist()
    if dtype == "float":
        half = array.astype("<f2") if np.abs(array).max() < 65504 else None
        stored = "float16" if half is not None and np.array_equal(half.astype(float), array) else "float64"
    else:
        stored = {"int": "int32", "bool": "uint8"}[dtype]
    raw = np.ascontiguousarray(array).astype(STORED_TYPES[stored])
    if not np.array_equal(raw.astype(array.dtype), array):
        raise TraceError("to_json: ids above 2147483647 can not be stored.")
    return {"base64": base64.b64encode(raw.tobytes()).decode("ascii"), "type": stored}


def _break_fields(b: Break) -> dict[str, Any]:
    edits = []
    for edit in b.edits:
        fields: dict[str, Any] = {"tensor": edit.tensor}
        if edit.value is not None:
            fields["value"] = edit.value
        if edit.op is not None:
            fields["op"] = edit.op
        if edit.inputs is not None:
            fields["inputs"] = list(edit.inputs)
        if edit.attributes is not None:
            fields["attributes"] = dict(edit.attributes)
        edits.append(fields)
    return {"name": b.name, "edits": edits, "symptom": b.symptom, "caught_by": b.caught_by}


def from_json(text: str) -> Trace:
    """Read a trace that `to_json` wrote, check it and run it.

    Args:
        text: the JSON text.

    Returns:
        A trace equal to the one that was stored.

    Raises:
        TraceError: the text is broken, of an unknown version, or not a well-formed program; the message says what.
    """
    if not isinstance(text, str):
        raise TraceError(f"from_json reads JSON text; this is {type(text).__name__}.")
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    except TraceError:
        raise
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a plain ValueError
        raise TraceError(f"The trace is not JSON, or was cut off: {error}.") from None
    if not isinstance(document, dict):
        raise TraceError(f"A trace is a JSON object; this is {type(document).__name__}.")
    if document.get("format") != FORMAT:
        raise TraceError(f"The trace has format {document.get('format')!r}; this version reads {FORMAT!r}.")
    try:
        return _read(document)
    except TraceError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        raise TraceError(f"The trace is not well formed: {type(error).__name__}: {error}") from error


def _refuse_constant(text: str) -> None:
    raise TraceError(f"The trace holds {text}, which is not JSON.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON lets a key stand twice, and readers differ in which of the two they take."""
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        raise TraceError(f"The trace holds an object with the key {max(keys, key=keys.count)!r} more than once.")
    return result


def _read(document: Mapping[str, Any]) -> Trace:
    title = _typed(document, "title", str, "")
    trace = Trace(title, {k: _whole(v, f"fixed[{k}]") for k, v in _typed(document, "fixed", dict, {}).items()})
    for axis, labels in _typed(document, "labels", dict, {}).items():
        trace.labels[axis] = _texts(labels, f"labels[{axis}]")
    for i, fields in enumerate(_typed(document, "tensors", list)):
        tensor, array = _read_tensor(fields, i)
        if any(other.name == tensor.name for other in trace.tensors):
            raise TraceError(f"Two tensors are named {tensor.name!r}.")
        trace.tensors.append(tensor)
        trace.arrays.append(array)
    trace.steps = [_read_step(fields, i, trace) for i, fields in enumerate(_typed(document, "steps", list))]
    _check_order(trace)
    trace._compute()
    breaks = [_read_break(fields) for fields in _typed(document, "breaks", list, [])]
    return trace.with_breaks(*breaks) if breaks else trace


def _read_tensor(fields: Mapping[str, Any], i: int) -> tuple[Tensor, np.ndarray | None]:
    where = f"tensors[{i}]"
    if not isinstance(fields, dict):
        raise TraceError(f"{where} is not an object.")
    name = _typed(fields, "name", str, where=where)
    dtype = _typed(fields, "dtype", str, where=where)
    if not name or dtype not in DTYPES:
        raise TraceError(f"{where}: name is {name!r}, dtype is {dtype!r}; a dtype is one of {', '.join(DTYPES)}.")
    axes = _texts(fields.get("axes"), f"{where}.axes")
    vocabulary = _texts(fields.get("vocabulary", []), f"{where}.vocabulary")
    token_rule = _typed(fields, "token_rule", str, "", where)
    if vocabulary and (dtype != "int" or len(axes) != 1 or "data" not in fields):
        raise TraceError(f"{where} ({name}): only a leaf of token ids along one axis has a vocabulary.")
    if token_rule not in (TOKEN_RULES if vocabulary else ("",)):
        raise TraceError(f"{where} ({name}): token_rule is {token_rule!r}; it must be one of {TOKEN_RULES}.")
    tensor = Tensor(name, axes, dtype, vocabulary, token_rule)
    if "data" not in fields:
        return tensor, None
    shape = tuple(_whole(n, f"{where}.shape") for n in _typed(fields, "shape", list, where=where))
    size = math.prod(shape)
    if size > MAX_CELLS:
        raise TraceError(f"{where}: {size:,} cells; a program holds at most {MAX_CELLS:,} a tensor.")
    numbers = _numbers(fields["data"], dtype, where)
    if numbers.size != size:
        raise TraceError(f"{where} ({name}): shape {shape} needs {size} numbers, but there are {numbers.size}.")
    return tensor, as_value(numbers.reshape(shape), tensor)


def _numbers(data: Any, dtype: str, where: str) -> np.ndarray:
    if isinstance(data, list):
        kinds = {"float": (int, float), "int": (int,), "bool": (bool,)}[dtype]
        if not all(isinstance(x, kinds) and (dtype == "bool" or not isinstance(x, bool)) for x in data):
            raise TraceError(f"{where}.data must hold only numbers of kind {dtype}.")
        return np.array(data, dtype=DTYPES[dtype])
    if not isinstance(data, dict) or STORED_AS.get(data.get("type")) != dtype:
        types = ", ".join(stored for stored, kind in STORED_AS.items() if kind == dtype)
        raise TraceError(f"{where}.data must be a list, or for {dtype} base64 of type {types}.")
    stored = np.dtype(STORED_TYPES[data["type"]])
    raw = base64.b64decode(_typed(data, "base64", str, where=where), validate=True)
    if len(raw) % stored.itemsize:
        raise TraceError(f"{where}.data: {len(raw)} bytes are not a whole number of {data['type']} values.")
    return np.frombuffer(raw, dtype=stored).astype(DTYPES[dtype])


def _read_step(fields: Mapping[str, Any], i: int, trace: Trace) -> Step:
    where = f"steps[{i}]"
    if not isinstance(fields, dict) or fields.get("op") not in OPS:
        raise TraceError(f"{where}: no known op: {fields.get('op') if isinstance(fields, dict) else fields!r}.")
    op = OPS[fields["op"]]
    inputs = tuple(_whole(n, f"{where}.inputs") for n in _typed(fields, "inputs", list, where=where))
    output = _whole(fields.get("output"), f"{where}.output")
    if any(n >= len(trace.tensors) for n in (*inputs, output)):
        raise TraceError(f"{where} names a tensor that is not there.")
    check_inputs(op, len(inputs), where)
    attributes = _typed(fields, "attributes", dict, {}, where)
    for key, value in attributes.items():
        plain = isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))
        if key not in op.attributes or not plain:
            raise TraceError(f"{where}: {op.name} has no attribute {key!r} with a value like {value!r}.")
    return Step(op.name, inputs, output, _typed(fields, "scope", str, "", where), attributes)


def _check_order(trace: Trace) -> None:
    known = {i for i, array in enumerate(trace.arrays) if array is not None}
    for i, step in enumerate(trace.steps):
        missing = [trace.tensors[n].name for n in step.inputs if n not in known]
        if missing:
            raise TraceError(f"steps[{i}] ({step.op}) uses {missing[0]!r} before it is computed.")
        if step.output in known:
            raise TraceError(
                f"steps[{i}] ({step.op}) writes {trace.tensors[step.output].name!r}, which is there already."
            )
        known.add(step.output)
    lost = [tensor.name for i, tensor in enumerate(trace.tensors) if i not in known]
    if lost:
        raise TraceError(f"{lost[0]!r} has no data and no step that computes it.")


def _read_break(fields: Mapping[str, Any]) -> Break:
    edits = []
    for edit in _typed(fields, "edits", list):
        inputs = _texts(edit["inputs"], "edit.inputs") if "inputs" in edit else None
        edits.append(Edit(edit["tensor"], edit.get("value"), edit.get("op"), inputs, edit.get("attributes")))
    return Break(
        _typed(fields, "name", str), tuple(edits), _typed(fields, "symptom", str), _typed(fields, "caught_by", str)
    )


_REQUIRED = object()


def _typed(fields: Mapping[str, Any], key: str, kind: type, default: Any = _REQUIRED, where: str = "trace") -> Any:
    value = fields.get(key, default)
    if value is _REQUIRED:
        raise TraceError(f"{where} lacks {key!r}.")
    if not isinstance(value, kind):
        raise TraceError(f"{where}.{key} is {type(value).__name__}; it must be {kind.__name__}.")
    return value


def _whole(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TraceError(f"{where} is {value!r}; it must be a whole number, 0 or more.")
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TraceError(f"{where} must be a list of texts.")
    return tuple(value)
