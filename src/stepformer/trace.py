"""A trace is a program: a recorded computation that can be re-run with other inputs, edited, broken and stored.

`stepformer.recording` makes traces, `stepformer.trace_json` stores them, and `web/program.js` runs the same
program in the page.
"""

import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}
TOKEN_RULES = ("space", "character")
"""How a text is split into words of a vocabulary."""
MAX_CELLS = 4_000_000
"""The largest tensor a program may hold: 32 MB of numbers, far more than a page can show."""

LARGEST_INT = 2**53 - 1
"""A page can not tell every whole number beyond it from the next one."""


class TraceError(ValueError):
    """A program that is not well formed, or an edit that does not fit it."""


@dataclass(frozen=True)
class Op:
    """One recorded operation: a plain function on plain arrays, and what the book needs to know about it."""

    name: str
    function: Callable[..., np.ndarray]
    latex: str
    axes: Callable[..., tuple[str, ...]]
    tensor_names: tuple[str, ...]
    variadic: bool
    attributes: Mapping[str, Any]
    """Attribute names with their defaults; `inspect.Parameter.empty` marks one that must be given."""

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        return inspect.getdoc(self.function).splitlines()[0]


OPS: dict[str, Op] = {}
"""Every registered op by name. `stepformer.ops` fills it; the list is closed, the player has a twin of each."""


@dataclass(frozen=True)
class Tensor:
    """A leaf or a result of a program: its full name, its axes and its kind."""

    name: str
    axes: tuple[str, ...]
    dtype: str
    vocabulary: tuple[str, ...] = ()
    token_rule: str = ""


@dataclass(frozen=True)
class Step:
    """One recorded call of an op. `inputs` and `output` are positions in `Trace.tensors`."""

    op: str
    inputs: tuple[int, ...]
    output: int
    scope: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Edit:
    """Another way to get one tensor: a given value, or another op, other inputs, other attributes.

    With `op` and no `inputs`, the new op receives as many of the old inputs as it takes.
    """

    tensor: str
    value: Any = None
    op: str | None = None
    inputs: tuple[str, ...] | None = None
    attributes: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        # Plain lists, so that two edits compare equal whether they were written in Python or read from JSON.
        if self.value is not None and not isinstance(self.value, str):
            object.__setattr__(self, "value", np.asarray(self.value).tolist())
        if self.inputs is not None:
            object.__setattr__(self, "inputs", tuple(self.inputs))
        if self.attributes is not None:
            plain = {key: x.item() if isinstance(x, np.generic) else x for key, x in self.attributes.items()}
            object.__setattr__(self, "attributes", plain)


@dataclass(frozen=True)
class Break:
    """A known mistake as a switch: the edits that make it, the symptom to look for, the check that catches it.

    `caught_by` names a function of `stepformer.checks`.
    """

    name: str
    edits: tuple[Edit, ...]
    symptom: str
    caught_by: str

    def __post_init__(self) -> None:
        edits = (self.edits,) if isinstance(self.edits, Edit) else tuple(self.edits)
        object.__setattr__(self, "edits", edits)


class Trace:
    """A program and the values of one run of it.

    Attributes:
        title: what the program computes, for the player's heading.
        tensors: leaves and results, in the order they came to be.
        steps: recorded calls, in order of execution.
        labels: axis name -> one label per position, for axes that no token leaf labels.
        fixed: axis name -> length, for axes along which the program was unrolled.
        breaks: known mistakes that this program can be switched to.
        arrays: the value of each tensor, read-only, in the order of `tensors`.
    """

    def __init__(self, title: str = "", fixed: Mapping[str, int] | None = None) -> None:
        self.title = title
        self.tensors: list[Tensor] = []
        self.steps: list[Step] = []
        self.labels: dict[str, tuple[str, ...]] = {}
        self.fixed: dict[str, int] = {axis: int(size) for axis, size in (fixed or {}).items()}
        self.breaks: tuple[Break, ...] = ()
        self.arrays: list[np.ndarray] = []

    # ---- reading -------------------------------------------------------------------------------------------

    def find(self, name: str) -> int:
        """Position of the tensor with this full name, or with this unambiguous end of a dotted name.

        Args:
            name: for example "attention.scores" or "scores".

        Returns:
            Index into `tensors` and `arrays`.

        Raises:
            KeyError: no tensor has the name, or several end in it; the message lists them.
        """
        names = [tensor.name for tensor in self.tensors]
        if name in names:
            return names.index(name)
        matches = [i for i, full in enumerate(names) if full.endswith(f".{name}")] if isinstance(name, str) else []
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise KeyError(f"{name!r} may be any of {', '.join(names[i] for i in matches)}; give more of the name.")
        raise KeyError(f"This trace has no tensor {name!r}. It has: {', '.join(names)}.")

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[self.find(name)]

    @property
    def values(self) -> dict[str, np.ndarray]:
        """Every tensor's value by full name."""
        return {tensor.name: array for tensor, array in zip(self.tensors, self.arrays, strict=True)}

    @property
    def leaves(self) -> list[int]:
        """Positions of the tensors that no step computes."""
        computed = {step.output for step in self.steps}
        return [i for i in range(len(self.tensors)) if i not in computed]

    def axis_labels(self, name: str) -> list[list[str]]:
        """Labels along each axis of one tensor, for its present value.

        Args:
            name: the tensor's name, as for `find`.

        Returns:
            One list of texts per axis: the words of the token leaf that has this axis, or the labels given for
            the axis, or the positions 0, 1, 2 …
        """
        i = self.find(name)
        words = self._token_labels()
        result = []
        for axis, size in zip(self.tensors[i].axes, self.arrays[i].shape, strict=True):
            labels = words.get(axis) or self.labels.get(axis, ())
            result.append(list(labels) if len(labels) == size else [str(k) for k in range(size)])
        return result

    def _token_labels(self) -> dict[str, list[str]]:
        return {
            tensor.axes[0]: [tensor.vocabulary[i] for i in array]
            for tensor, array in zip(self.tensors, self.arrays, strict=True)
            if tensor.vocabulary and array.ndim == 1
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        mine, theirs = self._definition(), other._definition()
        leaves = zip(self.leaves, other.leaves, strict=False)
        return mine == theirs and all(np.array_equal(self.arrays[i], other.arrays[j]) for i, j in leaves)

    __hash__ = None

    def _definition(self) -> tuple:
        return self.title, self.tensors, self.steps, self.labels, self.fixed, self.breaks

    def __repr__(self) -> str:
        return f"Trace({self.title!r}, {len(self.leaves)} leaves, {len(self.steps)} steps)"

    # ---- running -------------------------------------------------------------------------------------------

    def run(self, overrides: Mapping[str, Any] | None = None) -> "Trace":
        """Run the program again with some tensors replaced.

        Args:
            overrides: tensor name -> its new value. A replaced result cuts its inputs off. A leaf may have
                another length. A leaf of token ids with a vocabulary also takes a text, split by its token rule.

        Returns:
            A new trace; this one is left as it was.

        Raises:
            KeyError: a name fits no tensor.
            TypeError: the overrides are no dictionary.
            TraceError: a value does not fit (kind, number of axes, non-finite, fixed length).
            ValueError: an op refuses the new shapes.
        """
        if not isinstance(overrides or {}, Mapping):
            raise TypeError(f"run: overrides are {overrides!r}; they must be a dictionary, tensor name -> value.")
        return self._edited(overrides=overrides or {})

    def with_breaks(self, *breaks: Break) -> "Trace":
        """The same trace with known mistakes as switches, each tried once so that a wrong one fails here.

        Args:
            *breaks: known mistakes; names must differ.

        Returns:
            A new trace.

        Raises:
            TypeError: something is not a `Break`.
            TraceError: two breaks share a name, one has no edit, or an edit does not fit the program.
        """
        for b in breaks:
            if not isinstance(b, Break):
                raise TypeError(f"with_breaks: a known mistake is a Break; given {b!r}.")
        names = [b.name for b in breaks]
        for b in breaks:
            if not b.name or not b.edits:
                raise TraceError(f"with_breaks: a break needs a name and at least one edit; given {b}.")
        if len(set(names)) != len(names):
            raise TraceError(f"with_breaks: two breaks share a name: {names}.")
        for edit in itertools.chain.from_iterable(b.edits for b in breaks):
            self._check_order(edit)
        new = self._edited()
        new.breaks = tuple(replace(b, edits=tuple(self._in_numbers(edit) for edit in b.edits)) for b in breaks)
        for name in names:
            new.broken(name)
        return new

    def _check_order(self, edit: Edit) -> None:
        """Refuse inputs that are computed later in the program as it was recorded, as the player does."""
        place = {step.output: k for k, step in enumerate(self.steps)}
        target = self.find(edit.tensor)
        for name in edit.inputs or () if target in place else ():
            if place.get(self.find(name), -1) >= place[target]:
                raise TraceError(self._late(target, self.find(name)))

    def _late(self, target: int, other: int) -> str:
        return f"{self.tensors[target].name!r} needs {self.tensors[other].name!r}, which is computed later."

    def _in_numbers(self, edit: Edit) -> Edit:
        """The edit with the ids of a text in the place of the text: the stored program and the player know ids only."""
        if not isinstance(edit.value, str):
            return edit
        return replace(edit, value=as_value(edit.value, self.tensors[self.find(edit.tensor)]))

    def broken(self, *names: str) -> "Trace":
        """The trace with the named mistakes switched on.

        Args:
            *names: names of `breaks`. Several are applied in the order of `breaks`; where two edit one tensor, the
                later one counts. Two values for one given tensor both count where only one of them changes a cell.

        Returns:
            A new trace, computed with the mistakes.

        Raises:
            KeyError: no break has the name; the message lists those there are.
        """
        known = {b.name: b for b in self.breaks}
        for name in names:
            if name not in known:
                raise KeyError(f"This trace has no break {name!r}. It has: {', '.join(known) or 'none'}.")
        return self._edited([edit for b in self.breaks if b.name in names for edit in b.edits])

    def _edited(self, edits: Sequence[Edit] = (), overrides: Mapping[str, Any] | None = None) -> "Trace":
        new = Trace(self.title, self.fixed)
        new.tensors, new.steps = list(self.tensors), list(self.steps)
        new.labels, new.breaks = dict(self.labels), self.breaks
        new.arrays = [array if i in set(self.leaves) else None for i, array in enumerate(self.arrays)]
        # Each edit changes the step as it was recorded: of several that edit one tensor, the last one counts.
        chosen: dict[int, Edit] = {}
        for edit in edits:
            target = self.find(edit.tensor)
            chosen[target] = self._together(target, chosen.get(target), edit)
        for edit in chosen.values():
            new._apply(edit)
        for name, value in (overrides or {}).items():
            new._replace(new.find(name), value, masked=True)
        new._compute()
        return new

    def _together(self, target: int, earlier: Edit | None, later: Edit) -> Edit:
        """What counts of two edits of one tensor: the later, and of a leaf the cells that only the earlier one changes.

        So two heads can be taken away, one by each of two breaks.
        """
        if earlier is None or earlier.value is None or later.value is None or target not in self.leaves:
            return later
        recorded = self.arrays[target]
        first, second = (as_value(edit.value, self.tensors[target]) for edit in (earlier, later))
        if not recorded.shape == first.shape == second.shape:
            return later
        return replace(later, value=np.where(second == recorded, first, second))

    def _apply(self, edit: Edit) -> None:
        target = self.find(edit.tensor)
        tensor = self.tensors[target]
        if edit.value is not None:
            if edit.op or edit.inputs or edit.attributes:
                raise TraceError(f"The edit of {tensor.name!r} gives a value and a computation; give one of them.")
            self._replace(target, edit.value)
            return
        if edit.op is None and edit.inputs is None and edit.attributes is None:
            raise TraceError(f"The edit of {tensor.name!r} changes nothing; give a value, op, inputs or attributes.")
        positions = [i for i, step in enumerate(self.steps) if step.output == target]
        if not positions:
            raise TraceError(f"{tensor.name!r} is not computed by a step, so its op can not be changed; give a value.")
        self.steps[positions[0]] = self._changed_step(self.steps[positions[0]], edit)

    def _replace(self, target: int, value: Any, masked: bool = False) -> None:
        """Give a tensor another value and cut off the step that computed it, if one did.

        With `masked`, what replaces a result may hold minus infinity, as masked scores do. A break may not: its
        value is stored as JSON, which has no infinity.
        """
        computed = any(step.output == target for step in self.steps)
        self.steps = [step for step in self.steps if step.output != target]
        self.arrays[target] = as_value(value, self.tensors[target], masked=masked and computed)

    def _changed_step(self, step: Step, edit: Edit) -> Step:
        op = OPS.get(step.op if edit.op is None else edit.op)
        if op is None:
            raise TraceError(f"There is no op {edit.op!r}. There are: {', '.join(OPS)}.")
        if edit.inputs is not None:
            inputs = tuple(self.find(name) for name in edit.inputs)
        else:
            inputs = step.inputs if op.variadic else step.inputs[: len(op.tensor_names)]
        check_inputs(op, len(inputs), f"The edit of {edit.tensor!r}")
        unknown = [key for key in edit.attributes or {} if key not in op.attributes]
        if unknown:
            raise TraceError(f"The edit of {edit.tensor!r}: {op.name} has no attribute {unknown[0]!r}.")
        kept = {key: value for key, value in step.attributes.items() if key in op.attributes}
        given = {key: default for key, default in op.attributes.items() if default is not inspect.Parameter.empty}
        attributes = given | kept | dict(edit.attributes or {})
        missing = [key for key in op.attributes if key not in attributes]
        if missing:
            raise TraceError(f"The edit of {edit.tensor!r}: {op.name} needs the attribute {missing[0]!r}.")
        return replace(step, op=op.name, inputs=inputs, attributes=attributes)

    def _compute(self) -> None:
        """Fill `arrays` for every result by running the steps in order."""
        for axis, size in self._leaf_sizes():
            if self.fixed.get(axis, size) != size:
                raise TraceError(
                    f"This program was unrolled for {self.fixed[axis]} positions along {axis!r}; it was given {size}. "
                    "Record it again for another length."
                )
        for step in self.steps:
            inputs = [self.arrays[i] for i in step.inputs]
            if any(array is None for array in inputs):
                raise TraceError(self._late(step.output, step.inputs[[a is None for a in inputs].index(True)]))
            result = computed(OPS[step.op], inputs, step.attributes)
            self.arrays[step.output] = frozen(result, inputs)
            self._check_result(self.tensors[step.output], result)

    @staticmethod
    def _check_result(tensor: Tensor, array: np.ndarray) -> None:
        if np.ndim(array) != len(tensor.axes):
            raise TraceError(f"{tensor.name!r} has shape {np.shape(array)} but these axes: {tensor.axes}.")
        if dtype_name(array) != tensor.dtype:
            raise TraceError(f"{tensor.name!r} is called {tensor.dtype}, but it comes out as {dtype_name(array)}.")

    def _leaf_sizes(self) -> Iterator[tuple[str, int]]:
        for i in self.leaves:
            yield from zip(self.tensors[i].axes, self.arrays[i].shape, strict=True)

    # ---- storing -------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The program as strict JSON, format `stepformer.trace/1` (described in CONTRIBUTING.md).

        Returns:
            Text that is safe inside an HTML script element: every `<` is escaped.
        """
        from stepformer.trace_json import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str) -> "Trace":
        """Read a program that `to_json` wrote, and run it.

        Args:
            text: the JSON text.

        Returns:
            A trace equal to the one that was stored.

        Raises:
            TraceError: the text is broken, of an unknown version, or not a well-formed program.
        """
        from stepformer.trace_json import from_json

        return from_json(text)


def computed(op: Op, inputs: Sequence[np.ndarray], attributes: Mapping[str, Any]) -> np.ndarray:
    """Call an op as a program does: an overflow is shown as infinity, and a result too large for a page is refused.

    Args:
        op: the op.
        inputs: its tensors.
        attributes: its attributes.

    Returns:
        What the op returns.

    Raises:
        TraceError: the result would have more than `MAX_CELLS` cells.
    """
    if (cells := _most_cells(op.name, inputs, attributes)) > MAX_CELLS:
        shapes = ", ".join(str(np.shape(x)) for x in inputs)
        raise TraceError(
            f"{op.name}: of inputs {shapes} it would make {cells:,} cells; a program holds at most {MAX_CELLS:,} a "
            "tensor."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return op.function(*inputs, **attributes)


def _most_cells(name: str, inputs: Sequence[np.ndarray], attributes: Mapping[str, Any]) -> int:
    """How large a result can be, told before it is computed; 0 where the op itself will refuse the shapes.

    Most results are as large as what the inputs broadcast to, or smaller.
    """
    shapes = [np.shape(x) for x in inputs]
    if name in ("concat", "stack"):
        return sum(map(math.prod, shapes))
    if name == "one_hot":
        columns = attributes.get("vocab_size")
        return math.prod(shapes[0]) * columns if isinstance(columns, int) else 0
    if name == "embed":
        return math.prod(shapes[0]) * math.prod(shapes[1][1:])
    if name == "linear":
        return math.prod(shapes[0][:-1]) * math.prod(shapes[1][1:])
    if name in PAIRS and all(len(shape) > 1 for shape in shapes):
        (*left, n, d), (*right, m, k) = shapes
        if name in ("causal_mask", "distance_bias"):
            return n * m
        width, height = (d, m) if name == "add_pairs" else (k, 1)
        leading = _broadcast(left, right)
        return math.prod(leading) * n * width * height if leading is not None else 0
    if name.startswith("convolve"):
        return _padded_cells(shapes[0], attributes)
    if name == "zero_masked" and all(len(shape) > 1 for shape in shapes):
        leading = _broadcast(shapes[0][:-2], shapes[1][:-2])
        return math.prod(leading) * math.prod(shapes[0][-2:]) if leading is not None else 0
    if name in ("add", "subtract", "multiply", "divide", "both"):
        whole = _broadcast(*shapes)
        return math.prod(whole) if whole is not None else 0
    return 0


def _padded_cells(shape: Sequence[int], attributes: Mapping[str, Any]) -> int:
    """The cells of the input of a convolution with the zeros around it."""
    before, after, padding = (attributes.get(name, 0) for name in ("before", "after", "padding"))
    if len(shape) < 2 or not all(isinstance(size, int) for size in (before, after, padding)):
        return 0
    *others, rows, columns = shape
    return math.prod(others) * (rows + before + after + 2 * padding) * (columns + 2 * padding)


PAIRS = ("matmul", "add_pairs", "causal_mask", "distance_bias")
"""Ops that meet every row of one input with every row or column of another."""


def _broadcast(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """The common shape, or None; unlike `np.broadcast_shapes` it takes sizes that no array could have."""
    result = []
    for sizes in itertools.zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            return None
        result.append(others.pop() if others else 1)
    return tuple(reversed(result))


def frozen(array: np.ndarray, inputs: Sequence[np.ndarray] = ()) -> np.ndarray:
    """Make a result read-only; an op that hands an input back gets a copy of its own.

    Args:
        array: what an op returned.
        inputs: what the op received.

    Returns:
        The array, or a copy of it, read-only.
    """
    array = np.asarray(array)
    if any(array is given for given in inputs):
        array = array.copy()
    array.flags.writeable = False
    return array


def dtype_name(array: np.ndarray) -> str:
    """The kind of an array.

    Args:
        array: any array.

    Returns:
        "bool", "int" or "float"; for anything else, which no program holds, NumPy's own name.
    """
    return {"b": "bool", "i": "int", "u": "int", "f": "float"}.get(array.dtype.kind, str(array.dtype))


def check_inputs(op: Op, count: int, where: str) -> None:
    """Refuse a step that gives an op too few or too many tensors.

    Args:
        op: the op.
        count: how many tensors it is given.
        where: begins the message.

    Raises:
        TraceError: the op takes another number of tensors.
    """
    if count < 1 or (count != len(op.tensor_names) and not op.variadic):
        raise TraceError(f"{where}: {op.name} takes {', '.join(op.tensor_names)}; it is given {count} tensors.")


def as_value(value: Any, tensor: Tensor, masked: bool = False) -> np.ndarray:
    """Turn a given value into a read-only array that fits the tensor.

    Args:
        value: numbers, nested lists, or a text for a tensor with a vocabulary.
        tensor: what the value is for.
        masked: whether minus infinity, the score of a masked pair, is allowed.

    Returns:
        A copy of the kind of the tensor.

    Raises:
        TraceError: kind or number of axes differ, a number is not finite, an id or word is not in the vocabulary.
    """
    if isinstance(value, str):
        value = _ids_of(value, tensor)
    array = given_array(value, tensor.name)
    kind = dtype_name(array) if array.size else tensor.dtype  # an empty list is of every kind
    if kind not in DTYPES or (kind != tensor.dtype and not (kind == "int" and tensor.dtype == "float")):
        raise TraceError(f"{tensor.name}: the value is of kind {kind}; this tensor is {tensor.dtype}.{_hint(tensor)}")
    if array.ndim != len(tensor.axes):
        raise TraceError(f"{tensor.name}: the value has shape {array.shape}; it needs the axes {tensor.axes}.")
    if array.size > MAX_CELLS:
        raise TraceError(f"{tensor.name}: {array.size:,} cells; a program holds at most {MAX_CELLS:,} a tensor.")
    if tensor.dtype == "int" and (large := array[(array > LARGEST_INT) | (array < -LARGEST_INT)]).size:
        raise TraceError(f"{tensor.name}: {large[0]} is too large a whole number; the largest is 2**53 - 1.")
    if kind == "float":
        with np.errstate(over="ignore"):  # what float64 cannot hold becomes an infinity, which is refused below
            array = array.astype(np.float64)
    wrong = ~np.isfinite(array) & ~(np.isneginf(array) & masked) if kind == "float" else np.zeros(())
    if wrong.any():
        where = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise TraceError(f"{tensor.name}: the value at {where} is {array[where]}; every number must be finite.")
    if tensor.vocabulary and array.size and not (array.min() >= 0 and array.max() < len(tensor.vocabulary)):
        raise TraceError(f"{tensor.name}: ids must lie in 0 … {len(tensor.vocabulary) - 1}; given {array.tolist()}.")
    array = np.array(array, dtype=DTYPES[tensor.dtype], order="C")
    array.flags.writeable = False
    return array


def given_array(value: Any, name: str) -> np.ndarray:
    """What a caller gave, as an array.

    Args:
        value: numbers, nested lists, or whatever NumPy makes an array of.
        name: of the tensor it is for; begins the message.

    Returns:
        The array, not a copy where the value is one already.

    Raises:
        TraceError: the value is ragged, or NumPy makes no array of it (a torch tensor with a gradient).
    """
    try:
        return np.asarray(value)
    except ValueError as error:
        raise TraceError(f"{name}: the value is ragged: {error}.") from None
    except (TypeError, RuntimeError, OverflowError) as error:
        raise TraceError(f"{name}: the value is no array of numbers: {error}") from None


def _hint(tensor: Tensor) -> str:
    return " Masks are boolean: True means may attend." if tensor.dtype == "bool" else ""


def _ids_of(text: str, tensor: Tensor) -> list[int]:
    if not tensor.vocabulary:
        raise TraceError(f"{tensor.name}: a text was given, but this tensor has no vocabulary.")
    words = list(text) if tensor.token_rule == "character" else text.split()
    unknown = [word for word in words if word not in tensor.vocabulary]
    if unknown:
        raise TraceError(f"{tensor.name}: not in the vocabulary: {', '.join(unknown)}.")
    return [tensor.vocabulary.index(word) for word in words]
