"""Record a NumPy computation as a program: `record()`, `leaf()`, `scope()` and the `@op` decorator.

Outside `record()` an op is its plain function. Inside, each call appends a step to the trace, and every array an
op receives must be a declared leaf or the result of a recorded step; anything else would be frozen into the
program unseen and go wrong when it is re-run.
"""

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from stepformer.trace import (
    OPS,
    TOKEN_RULES,
    Op,
    Step,
    Tensor,
    Trace,
    TraceError,
    as_value,
    computed,
    dtype_name,
    frozen,
    given_array,
)


class _Recorder:
    """The trace under construction, the scopes that are open, and which array is which tensor."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.scopes: list[str] = []
        self.position: dict[int, int] = {}

    def add(self, tensor: Tensor, array: np.ndarray) -> int:
        # The trace keeps the array alive, so that its id() can not be given to another array meanwhile.
        self.trace.tensors.append(tensor)
        self.trace.arrays.append(array)
        self.position[id(array)] = len(self.trace.tensors) - 1
        return len(self.trace.tensors) - 1

    def full_name(self, name: str | None, default: str) -> str:
        """Put the open scopes before the name; a name that was not chosen gets a number when it is taken."""
        if name is not None and (not isinstance(name, str) or not name):
            raise TraceError(f"{default}: name is {name!r}; it must be a text that is not empty.")
        prefix = ".".join([*self.scopes, ""])
        taken = {tensor.name for tensor in self.trace.tensors}
        if name is None:
            candidates = (f"{prefix}{default}{'' if k == 1 else f'_{k}'}" for k in range(1, len(taken) + 2))
            return next(candidate for candidate in candidates if candidate not in taken)
        if prefix + name in taken:
            raise TraceError(f"Two tensors are named {prefix + name!r}. Name one of them otherwise, or open a scope.")
        return prefix + name


_recorder: ContextVar[_Recorder | None] = ContextVar("recorder", default=None)


@contextmanager
def record(title: str = "", fixed: Mapping[str, int] | None = None) -> Iterator[Trace]:
    """Record every op called inside the `with` block.

    Args:
        title: what is computed, for the player's heading.
        fixed: axis name -> length, for a program unrolled over time; re-running it with another length fails.

    Yields:
        The trace, complete when the block ends.

    Raises:
        TraceError: a recording is already open, or `title` or `fixed` could not be stored.
    """
    if _recorder.get() is not None:
        raise TraceError("record(): a recording is already open; a program can not be recorded inside another.")
    if not isinstance(title, str):
        raise TraceError(f"record(): title is {title!r}; it must be a text.")
    for axis, size in (fixed or {}).items():
        if not isinstance(axis, str) or not isinstance(size, (int, np.integer)) or size < 0:
            raise TraceError(f"record(): fixed is {fixed!r}; it must be axis name -> length, a whole number.")
    recorder = _Recorder(Trace(title, fixed))
    token = _recorder.set(recorder)
    try:
        yield recorder.trace
    finally:
        _recorder.reset(token)


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Put `name.` before the names of all results inside the block; the player folds them together.

    Args:
        name: one word of the field, for example "self_attn", or a dotted path.

    Raises:
        TraceError: the name is no text, or empty.
    """
    recorder = _recorder.get()
    if recorder is None:
        yield
        return
    if not isinstance(name, str) or not name:
        raise TraceError(f"scope: the name is {name!r}; it must be a text that is not empty.")
    recorder.scopes.append(name)
    try:
        yield
    finally:
        recorder.scopes.pop()


def leaf(
    name: str,
    array: Any,
    axes: Sequence[str],
    labels: Mapping[str, Sequence[str]] | None = None,
    vocabulary: Sequence[str] = (),
    token_rule: str = "space",
) -> np.ndarray:
    """Declare an input of the program. The array is copied; the copy is read-only.

    Args:
        name: full name, for example "query" or "encoder.layers.0.self_attn.w_q.weight".
        array: numbers, token ids (integers) or a mask (booleans), any shape.
        axes: one name per axis, for example ("tgt", "d_k"). Equal names share their labels.
        labels: axis name -> one text per position.
        vocabulary: for token ids of one sentence: the word of each id. Its words label the axis everywhere.
        token_rule: how a text is split into words of the vocabulary: "space" or "character".

    Returns:
        The copy, to be handed to ops. Outside `record()` as well.

    Raises:
        TraceError: number of axes or labels does not fit, a name is used twice, a value is not finite.
    """
    if not isinstance(name, str) or not name:
        raise TraceError(f"leaf: the name is {name!r}; it must be a text that is not empty.")
    array = given_array(array, f"leaf {name!r}")
    dtype = dtype_name(array)
    axes = _axis_names(axes, f"leaf {name!r}")
    if len(axes) != array.ndim:
        raise TraceError(f"leaf {name!r}: the array has shape {array.shape} but {len(axes)} axes are named: {axes}.")
    if vocabulary and (dtype != "int" or array.ndim != 1):
        raise TraceError(
            f"leaf {name!r}: a vocabulary goes with a 1-d array of token ids; given {dtype} {array.shape}."
        )
    if token_rule not in TOKEN_RULES:
        raise TraceError(f"leaf {name!r}: token_rule is {token_rule!r}; it must be one of {TOKEN_RULES}.")
    rule = token_rule if vocabulary else ""
    tensor = Tensor(name, axes, dtype, tuple(map(str, vocabulary)), rule)
    copy = as_value(array, tensor)
    recorder = _recorder.get()
    if recorder is not None:
        if any(tensor.name == name for tensor in recorder.trace.tensors):
            raise TraceError(f"leaf {name!r}: the name is taken.")
        _add_labels(recorder.trace, name, dict(zip(axes, array.shape, strict=True)), labels or {})
        recorder.add(tensor, copy)
    return copy


def axes_of(array: np.ndarray) -> tuple[str, ...] | None:
    """How the open recording calls the axes of a tensor, for results whose axes are named after those of an input.

    Args:
        array: a declared leaf or the result of a recorded op.

    Returns:
        One name per axis; None outside `record()`, and for an array that the recording does not know.
    """
    recorder = _recorder.get()
    found = recorder.position.get(id(array)) if recorder is not None else None
    return None if found is None else recorder.trace.tensors[found].axes


def _axis_names(axes: Any, where: str) -> tuple[str, ...]:
    axes = (axes,) if isinstance(axes, str) else axes
    if not isinstance(axes, Sequence) or not all(isinstance(axis, str) for axis in axes):
        raise TraceError(f"{where}: axes are {axes!r}; they must be texts, one name per axis.")
    return tuple(axes)


def _add_labels(trace: Trace, name: str, sizes: Mapping[str, int], labels: Mapping[str, Sequence[str]]) -> None:
    if not isinstance(labels, Mapping):
        raise TraceError(f"leaf {name!r}: labels are {labels!r}; they must be a dictionary, axis name -> texts.")
    new = {}  # kept apart, so that a refusal leaves the trace as it was
    for axis, texts in labels.items():
        texts = tuple(map(str, texts))
        if axis not in sizes:
            raise TraceError(
                f"leaf {name!r}: labels are given for {axis!r}, which is not one of its axes {tuple(sizes)}."
            )
        if len(texts) != sizes[axis]:
            raise TraceError(
                f"leaf {name!r}: axis {axis!r} has {sizes[axis]} positions but {len(texts)} labels: {texts}."
            )
        if trace.labels.get(axis, texts) != texts:
            raise TraceError(f"leaf {name!r}: axis {axis!r} already has other labels: {trace.labels[axis]}.")
        new[axis] = texts
    trace.labels |= new


def op(
    latex: str, axes: Callable[..., tuple[str, ...]]
) -> Callable[[Callable[..., np.ndarray]], Callable[..., np.ndarray]]:
    """Make a plain function a recorded op. Positional parameters are tensors, keyword-only ones are attributes.

    Args:
        latex: the op's formula.
        axes: names of the result's axes from those of the inputs: `axes(*input_axes, **attributes)`.

    Returns:
        A decorator. The decorated function also takes `name=` (what the result is called) and `axes=` (names of
        the result's axes where the rule's are not the right ones); both matter only while recording.
    """

    def decorate(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        signature = inspect.signature(function)
        parameters = signature.parameters.values()
        OPS[function.__name__] = Op(
            name=function.__name__,
            function=function,
            latex=latex,
            axes=axes,
            tensor_names=tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY),
            variadic=any(p.kind is p.VAR_POSITIONAL for p in parameters),
            attributes={p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY},
        )

        @functools.wraps(function)
        def call(*tensors, name: str | None = None, axes: Sequence[str] | None = None, **attributes) -> np.ndarray:
            recorder = _recorder.get()
            if recorder is None:
                return function(*tensors, **attributes)
            return _record_step(recorder, OPS[function.__name__], signature, tensors, attributes, name, axes)

        return call

    return decorate


def _record_step(recorder, op, signature, tensors, attributes, name, axes) -> np.ndarray:
    bound = signature.bind(*tensors, **attributes)
    bound.apply_defaults()
    attributes = {key: _plain(op, key, bound.arguments[key]) for key in op.attributes}
    inputs = tuple(_position(recorder, op, i, array) for i, array in enumerate(bound.args))
    result = frozen(computed(op, bound.args, attributes), bound.args)
    input_axes = [recorder.trace.tensors[i].axes for i in inputs]
    result_axes = _axis_names(axes, op.name) if axes is not None else op.axes(*input_axes, **attributes)
    full_name = recorder.full_name(name, op.name)
    if len(result_axes) != result.ndim:
        raise TraceError(f"{full_name}: the result has shape {result.shape} but these axes: {result_axes}.")
    output = recorder.add(Tensor(full_name, result_axes, dtype_name(result)), result)
    recorder.trace.steps.append(Step(op.name, inputs, output, ".".join(recorder.scopes), attributes))
    return result


def _position(recorder: _Recorder, op: Op, i: int, array: Any) -> int:
    argument = f"{op.tensor_names[-1]}[{i}]" if op.variadic else op.tensor_names[i]
    found = recorder.position.get(id(array))
    if found is not None:
        return found
    what = f"an array of shape {array.shape}" if isinstance(array, np.ndarray) else f"{array!r}"
    raise TraceError(
        f"{op.name}: argument {argument!r} is {what} that this recording does not know. Inside record() an op takes "
        "declared leaves and results of recorded ops. Declare an input with leaf(...); for a slice, a .T or a number "
        "made from a shape, use the op that computes it."
    )


def _plain(op: Op, key: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise TraceError(f"{op.name}: attribute {key!r} is {value!r}; it must be finite, or it could not be stored.")
    if isinstance(value, (bool, int, float, str)):
        return value
    raise TraceError(f"{op.name}: attribute {key!r} is {value!r}; an attribute is a plain number, text or truth value.")
