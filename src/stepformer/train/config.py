"""What is trained, on what, how and for how long: one TOML file, checked by name. All budgets are in steps.

    title = "My model"
    seed = 0

    [model]
    kind = "transformer"        # the other keys are arguments of that kind
    d_model = 64

    [data]
    source = "grammar"          # or "hsk", or the path of a TSV file
    …

`stepformer train --preset small --show` prints a whole one. A key that does not exist, or a value that does not fit, is
refused by name, with what is allowed.
"""

import dataclasses
import difflib
import inspect
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PRESETS = Path(__file__).parent / "presets"
KINDS_OF_SCHEDULE = ("inverse_sqrt", "linear", "constant")
TOKENIZERS = ("word", "character", "bpe")
# What the data or another section decides, so that it stands in one place only.
NOT_OF_THE_MODEL = ("src_vocab_size", "tgt_vocab_size", "pad_id", "dropout", "generator")


class ConfigError(ValueError):
    """A configuration that can not be used; the message names the key."""


def _setting(default: Any, meaning: str, check: Callable[[Any], bool] | None = None, must: str = "") -> Any:
    """A field with its meaning, and what its value must be."""
    note = {"meaning": meaning, "check": check, "must": must}
    if callable(default):
        return field(default_factory=default, metadata=note)
    return field(default=default, metadata=note)


def _one_of(*values: str) -> tuple[Callable[[Any], bool], str]:
    return (lambda x: x in values), "one of " + ", ".join(json.dumps(v) for v in values)


SEED = (lambda x: 0 <= x < 2**63), "from 0 to 9,223,372,036,854,775,807"
AT_LEAST_0 = (lambda x: x is None or x >= 0), "0 or more"
AT_LEAST_1 = (lambda x: x is None or x >= 1), "1 or more"
POSITIVE = (lambda x: x is None or 0 < x < float("inf")), "above 0"
SHARE = (lambda x: 0 <= x < 1), "from 0 to below 1"


@dataclass(frozen=True)
class Model:
    """The kind of model, and the arguments of its class but for those that other sections give."""

    kind: str = _setting("transformer", "a kind of stepformer.model_kinds")
    arguments: Mapping[str, Any] = _setting(dict, "arguments of that kind")


@dataclass(frozen=True)
class Data:
    """What the model learns from."""

    source: str = _setting(
        "grammar",
        '"grammar", "hsk", or the path of a TSV file',
        lambda x: x != "",
        '"grammar", "hsk" or a file that exists',
    )
    n_train: int | None = _setting(
        None, "training pairs at most; all, or the grammar's 20,000, if not given", *AT_LEAST_1
    )
    n_dev: int = _setting(500, "pairs held out to measure on during training, at most", *AT_LEAST_1)
    seed: int = _setting(0, "of the grammar, and of what is held out of a file", *SEED)
    script: str = _setting("simplified", "of the grammar", *_one_of("simplified", "traditional"))
    phenomena: tuple[str, ...] = _setting(("all",), 'of the grammar: "core", "all", or their names')
    clauses: tuple[float, ...] | None = _setting(
        None, "of the grammar: shares of sentences with 1, 2, 3 … clauses; its own if not given",
        lambda x: x is None or (len(x) > 0 and all(share >= 0 for share in x) and sum(x) > 0), "shares of 0 or more",
    )  # fmt: skip
    src_tokenizer: str = _setting("word", "of the source", *_one_of(*TOKENIZERS))
    tgt_tokenizer: str = _setting("word", "of the target", *_one_of(*TOKENIZERS))
    src_vocab_size: int | None = _setting(None, "words of the source at most; all if not given", *AT_LEAST_1)
    tgt_vocab_size: int | None = _setting(None, "words of the target at most; all if not given", *AT_LEAST_1)
    min_count: int = _setting(1, "how often a word must be seen to be known", *AT_LEAST_1)
    lower: bool = _setting(False, "whether capital letters of the source become small ones")
    max_len: int = _setting(64, "tokens of a sentence at most; longer pairs are left out, and counted", *AT_LEAST_1)
    batch_size: int | None = _setting(None, "pairs in a batch", *AT_LEAST_1)
    tokens_per_batch: int | None = _setting(
        None, "target tokens in a batch at most, instead of batch_size", *AT_LEAST_1
    )


@dataclass(frozen=True)
class Start:
    """What the weights are before the first step."""

    lexical: float = _setting(0.0, "share of the embeddings that train/lexical.py gives; 0: random", *SHARE)


@dataclass(frozen=True)
class Optimiser:
    """Adam (Kingma and Ba 2015), with the numbers of Vaswani et al. 2017, section 5.3."""

    lr: float | None = _setting(None, "the highest learning rate; the paper's for inverse_sqrt if not given", *POSITIVE)
    beta1: float = _setting(0.9, "how much of the mean gradient is kept each step", *SHARE)
    beta2: float = _setting(0.98, "how much of the mean squared gradient is kept each step", *SHARE)
    eps: float = _setting(1e-9, "keeps the division away from zero", *POSITIVE)
    clip: float | None = _setting(None, "largest norm of the gradient; no limit if not given", *POSITIVE)


@dataclass(frozen=True)
class Schedule:
    """How the learning rate goes with the steps."""

    kind: str = _setting("inverse_sqrt", "the form", *_one_of(*KINDS_OF_SCHEDULE))
    warmup: int = _setting(400, "steps until the highest rate", *AT_LEAST_0)


@dataclass(frozen=True)
class Regularisation:
    """What keeps a model from learning by heart."""

    dropout: float = _setting(0.1, "share of numbers set to zero", *SHARE)
    label_smoothing: float = _setting(0.1, "share of the probability spread over all words", *SHARE)
    average: int = _setting(1, "how many of the last snapshots of the weights are averaged; 1: none", *AT_LEAST_1)
    average_every: int = _setting(50, "steps between these snapshots", *AT_LEAST_1)


@dataclass(frozen=True)
class Budget:
    """How long, in steps."""

    steps: int = _setting(3000, "updates of the weights", *AT_LEAST_1)
    dev_every: int = _setting(200, "steps between two measurements on dev", *AT_LEAST_1)
    patience: int = _setting(0, "measurements without a lower dev loss before training stops; 0: never", *AT_LEAST_0)
    final: str = _setting("last", "which weights become the model", *_one_of("last", "best"))
    checkpoint_every: int = _setting(500, "steps between two checkpoints", *AT_LEAST_1)
    keep: int = _setting(2, "how many checkpoints are kept", *AT_LEAST_1)


@dataclass(frozen=True)
class Compute:
    """Where and how it is computed. Only precision changes more than last digits, and than what dropout draws."""

    device: str = _setting("cpu", "where", *_one_of("cpu", "cuda"))
    parts: int | None = _setting(
        None, "into how many parts a batch is cut, one after the other or in processes; one a process if not given",
        *AT_LEAST_1,
    )  # fmt: skip
    precision: str = _setting("float32", "of products; weights and loss stay float32", *_one_of("float32", "bfloat16"))
    compile: bool = _setting(False, "let torch.compile write kernels for the model; it needs a C++ compiler")
    recompute: bool = _setting(False, "keep less of each layer, and compute it again on the way back")


@dataclass(frozen=True)
class Config:
    """A whole training."""

    title: str = _setting("", "what the model is called")
    seed: int = _setting(0, "of the first weights, the order of the batches and dropout", *SEED)
    model: Model = field(default_factory=Model)
    data: Data = field(default_factory=Data)
    start: Start = field(default_factory=Start)
    optimiser: Optimiser = field(default_factory=Optimiser)
    schedule: Schedule = field(default_factory=Schedule)
    regularisation: Regularisation = field(default_factory=Regularisation)
    budget: Budget = field(default_factory=Budget)
    compute: Compute = field(default_factory=Compute)

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> "Config":
        """Make a configuration from nested tables, as TOML or JSON give them.

        Args:
            tables: section -> key -> value; what is missing takes its default.

        Returns:
            The configuration.

        Raises:
            ConfigError: a key is unknown, or a value does not fit.
        """
        return _table(cls, tables, "")

    @classmethod
    def from_toml(cls, path_or_text: str | Path) -> "Config":
        """Read a configuration.

        Args:
            path_or_text: a file, or TOML itself if it is a text with more than one line.

        Returns:
            The configuration.

        Raises:
            ConfigError: the file can not be read or is no TOML, a key is unknown, or a value does not fit.
        """
        text, where = path_or_text, "The text"
        if isinstance(path_or_text, Path) or "\n" not in path_or_text:
            where = str(path_or_text)
            try:
                text = Path(path_or_text).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                reason = (isinstance(error, OSError) and error.strerror) or error
                raise ConfigError(f"{where} can not be read: {reason}.") from error
        try:
            tables = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ConfigError(f"{where} is no TOML: {error}.") from error
        return cls.from_dict(tables)

    @classmethod
    def preset(cls, name: str) -> "Config":
        """A configuration that comes with the package.

        Args:
            name: one of `preset_names()`.

        Returns:
            The configuration.

        Raises:
            ConfigError: there is no such preset.
        """
        if name not in preset_names():
            raise ConfigError(f"preset is {name!r}; it must be one of {', '.join(preset_names())}.")
        return cls.from_toml(PRESETS / f"{name}.toml")

    def with_settings(self, settings: Mapping[str, Any]) -> "Config":
        """The same configuration with some values changed.

        Args:
            settings: path -> value, such as "optimiser.lr" -> 0.002. A text is read as a value of TOML where it is one,
                and None takes the default.

        Returns:
            A new configuration.

        Raises:
            ConfigError: a path leads nowhere, or a value does not fit.
        """
        tables = self.to_dict()
        for path, value in settings.items():
            *sections, key = path.split(".")
            table = tables
            for section in sections:
                table = table.get(section) if isinstance(table, dict) else None
            if not isinstance(table, dict) or (not sections and isinstance(table.get(key), dict)):
                raise ConfigError(f"{path} is no setting; {_known(path.split('.')[0])}")
            if value is None:
                table.pop(key, None)
            else:
                table[key] = _value(value) if isinstance(value, str) else value
        return Config.from_dict(tables)

    def to_dict(self) -> dict[str, Any]:
        """Nested tables, as `from_dict` takes them and JSON can hold them.

        Returns:
            Section -> key -> value; without what is not set.
        """
        tables = dataclasses.asdict(self)
        tables["model"] = {"kind": self.model.kind, **self.model.arguments}
        for table in (value for value in tables.values() if isinstance(value, dict)):
            for key, value in list(table.items()):
                if value is None:
                    del table[key]
                elif isinstance(value, tuple):
                    table[key] = list(value)
        return tables

    def to_toml(self) -> str:
        """The configuration as a file, every value written out and explained.

        Returns:
            TOML.
        """
        lines = []
        tables = self.to_dict()
        for one in dataclasses.fields(self):
            value = tables[one.name]
            if not isinstance(value, dict):
                lines.append(_line(one.name, value, one.metadata["meaning"]))
                continue
            section = type(getattr(self, one.name))
            meanings = {f.name: f.metadata["meaning"] for f in dataclasses.fields(section)}
            lines += ["", f"[{one.name}]"]
            lines += [_line(key, x, meanings.get(key, "")) for key, x in value.items()]
            unset = [key for key in meanings if key not in value and getattr(getattr(self, one.name), key) is None]
            lines += [f"{f'# {key} =':<31} # {meanings[key]}" for key in unset]
        return "\n".join(lines) + "\n"


def preset_names() -> list[str]:
    """The presets that come with the package.

    Returns:
        Their names.
    """
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def arguments_of_kind(kind: str) -> dict[str, Any]:
    """What can be set in the section `model` for a kind.

    Args:
        kind: a key of `stepformer.model_kinds.KINDS`.

    Returns:
        Name -> default; `inspect.Parameter.empty` where there is none.

    Raises:
        ConfigError: there is no such kind.
    """
    from stepformer.model_kinds import KINDS

    if kind not in KINDS:
        raise ConfigError(f"model.kind is {kind!r}; it must be one of {', '.join(json.dumps(k) for k in KINDS)}.")
    parameters = inspect.signature(KINDS[kind].model).parameters
    # Which network the encoder-decoder is made of is called kind there too.
    return {
        ("network" if name == "kind" else name): parameter.default
        for name, parameter in parameters.items()
        if name not in NOT_OF_THE_MODEL
    }


def model_arguments(config: Config, src_vocab_size: int, tgt_vocab_size: int) -> dict[str, Any]:
    """All arguments of the model that a configuration describes.

    Args:
        config: its sections model and regularisation are used.
        src_vocab_size: words of the source.
        tgt_vocab_size: words of the target.

    Returns:
        What `stepformer.model_kinds.build` takes.
    """
    kind = config.model.kind
    arguments = {("kind" if name == "network" else name): value for name, value in config.model.arguments.items()}
    arguments |= {"src_vocab_size": src_vocab_size, "tgt_vocab_size": tgt_vocab_size}
    return arguments | ({"dropout": config.regularisation.dropout} if has_dropout(kind) else {})


def has_dropout(kind: str) -> bool:
    """Tell whether a kind of model takes dropout.

    Args:
        kind: a key of `stepformer.model_kinds.KINDS`.

    Returns:
        True if it does.
    """
    from stepformer.model_kinds import KINDS

    return "dropout" in inspect.signature(KINDS[kind].model).parameters


def differences(one: Config, other: Config) -> dict[str, tuple[Any, Any]]:
    """Where two configurations differ.

    Args:
        one: a configuration.
        other: another.

    Returns:
        Path -> both values, None where one is not set.
    """
    flat = [_flat(config.to_dict()) for config in (one, other)]
    paths = sorted(flat[0].keys() | flat[1].keys())
    return {p: (flat[0].get(p), flat[1].get(p)) for p in paths if flat[0].get(p) != flat[1].get(p)}


def _flat(tables: Mapping[str, Any]) -> dict[str, Any]:
    pairs = {}
    for name, value in tables.items():
        pairs |= {f"{name}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {name: value}
    return pairs


def _table(cls: type, table: Any, path: str) -> Any:
    """One section, its keys and the types of its values checked."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{path[:-1]} is {table!r}; it must be a section, [{path[:-1]}].")
    if cls is Model:
        arguments = {key: _plain(value, f"model.{key}") for key, value in table.items() if key != "kind"}
        kind = table.get("kind", "transformer")
        if not isinstance(kind, str):
            raise ConfigError(f"model.kind is {kind!r}; it must be a text.")
        return Model(kind, arguments)
    known = {one.name: one for one in dataclasses.fields(cls)}
    values = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{path}{key} is no setting; {_suggestion(key, known)}there are {', '.join(known)}.")
        section = known[key].type
        values[key] = (
            _table(section, value, f"{key}.")
            if dataclasses.is_dataclass(section)
            else _typed(value, section, f"{path}{key}")
        )
    return cls(**values)


WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _typed(value: Any, kind: Any, path: str) -> Any:
    """The value in its type; whole numbers will do for numbers."""
    for one, name in ((str, "texts"), (float, "numbers")):
        if kind in (tuple[one, ...], tuple[one, ...] | None):
            value = [value] if isinstance(value, str) else value
            allowed = (int, float) if one is float else one
            if not isinstance(value, list | tuple) or not all(
                isinstance(x, allowed) and not isinstance(x, bool) for x in value
            ):
                raise ConfigError(f"{path} is {value!r}; it must be a list of {name}.")
            return tuple(map(one, value))
    kind = next((k for k in WORDS if kind in (k, k | None)), kind)
    fits = isinstance(value, (int, float) if kind is float else kind) and isinstance(value, bool) == (kind is bool)
    if not fits:
        raise ConfigError(f"{path} is {value!r}; it must be {WORDS[kind]}.")
    return kind(value)


def _plain(value: Any, path: str) -> Any:
    if isinstance(value, str | int | float | bool):
        return value
    raise ConfigError(f"{path} is {value!r}; it must be a number, a text, true or false.")


def _check(config: Config) -> None:
    """Refuse values out of range, and what does not go together."""
    _in_range(config, "")
    for one in dataclasses.fields(config):
        section = getattr(config, one.name)
        if dataclasses.is_dataclass(section):
            _in_range(section, f"{one.name}.")
    kind, arguments = config.model.kind, config.model.arguments
    allowed = arguments_of_kind(kind)
    for name in arguments:
        if name not in allowed:
            hint = " (it stands under regularisation)" if name == "dropout" else ""
            raise ConfigError(
                f"model.{name} is no setting of a {kind}{hint}; {_suggestion(name, allowed)}there are "
                f"{', '.join(allowed)}."
            )
    missing = [
        name for name, default in allowed.items() if default is inspect.Parameter.empty and name not in arguments
    ]
    if missing:
        raise ConfigError(f"model.{missing[0]} is missing; a {kind} needs {', '.join(missing)}.")
    if config.regularisation.dropout and not has_dropout(kind):
        raise ConfigError(
            f"regularisation.dropout is {config.regularisation.dropout}; a {kind} has none, so it must be 0."
        )
    if (config.data.batch_size is None) == (config.data.tokens_per_batch is None):
        raise ConfigError("data needs either batch_size or tokens_per_batch.")
    schedule, steps = config.schedule, config.budget.steps
    if schedule.kind == "inverse_sqrt" and schedule.warmup < 1:
        raise ConfigError("schedule.warmup is 0; with inverse_sqrt it must be 1 or more.")
    if schedule.kind == "linear" and schedule.warmup > steps:
        raise ConfigError(f"schedule.warmup is {schedule.warmup}, more than the {steps} steps of budget.steps.")
    if config.optimiser.lr is None and (schedule.kind != "inverse_sqrt" or "d_model" not in allowed):
        raise ConfigError(
            f'optimiser.lr is missing; only schedule.kind = "inverse_sqrt" with a model that has d_model computes it '
            f"(kind is {schedule.kind!r}, the model a {kind})."
        )


def _in_range(section: Any, path: str) -> None:
    for one in dataclasses.fields(section):
        check, value = one.metadata.get("check"), getattr(section, one.name)
        if check and not check(value):
            raise ConfigError(f"{path}{one.name} is {value!r}; it must be {one.metadata['must']}.")


def _suggestion(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]}? " if close else ""


def _known(section: str) -> str:
    sections = {one.name: one.type for one in dataclasses.fields(Config)}
    names = [one.name for one in dataclasses.fields(sections[section])] if section in sections and (
        dataclasses.is_dataclass(sections[section])
    ) else list(sections)  # fmt: skip
    return f"{'in ' + section + ' ' if section in sections else ''}there are {', '.join(names)}."


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def _line(key: str, value: Any, meaning: str) -> str:
    line = f"{key} = {_toml(value)}"
    return f"{line:<31} # {meaning}" if meaning else line


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return repr(value)
