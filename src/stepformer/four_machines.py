"""One sentence through four trained machines: a fixed context, a GRU with attention, and two Transformers.

Each reads the sentence and writes its own translation, greedily; then all that it computed is recorded once more as one
program, which the player opens where the machine looks at the source: at the context, which is all that the first one
keeps, or at the weights of its cross-attention. Torch is not needed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from stepformer import recurrent_program, translation_program
from stepformer.checkpoint import WEIGHTS_FILE, CheckpointError, find, read_model
from stepformer.data.text import normalise
from stepformer.data.tokenizer import BOS, EOS, tokenizer_from_json
from stepformer.trace import Trace
from stepformer.widgets.player import Player, folded_scopes, player_html, show, step_position

MACHINES = {
    "gru": "GRU, fixed context",
    "gru_attention": "GRU with attention",
    "small": "Transformer, small",
    "base": "Transformer, base",
}
"""The models that come with the package, each with the name of its machine."""


class Machine(NamedTuple):
    """What one machine made of the sentence.

    Attributes:
        name: that of the model.
        title: that of the machine.
        parameters: how many numbers it has learnt.
        size: bytes of its weights as they are stored.
        translation: what it wrote; cut where it found no end.
        is_right: whether that is the right translation; None where nobody said which is.
        trace: the program, with the sentence as its title: "src" is the sentence, "tgt" what was written, with <bos>.
        start: the name of the result at which to look: where the machine looks at the source.
    """

    name: str
    title: str
    parameters: int
    size: int
    translation: str
    is_right: bool | None
    trace: Trace
    start: str

    @property
    def fold(self) -> list[str]:
        """The scopes to fold: all but the outermost and those around the step at which to look."""
        scope = self.trace.steps[step_position(self.trace, self.start)].scope
        return [path for path in folded_scopes(self.trace, 1) if not f"{scope}.".startswith(f"{path}.")]

    def show(self) -> Player:
        """The machine in the player, at the step where it looks at the source.

        Returns:
            A widget, as `stepformer.show` gives.
        """
        return show(self.trace, start=self.start, fold=self.fold)

    def html(self) -> str:
        """The same for a page without a kernel.

        Returns:
            A `stepformer-player` element.
        """
        return player_html(self.trace, self.start, self.fold)


def programs(
    sentence: str, right: str | None = None, models: Mapping[str, str | Path] | None = None
) -> tuple[Machine, ...]:
    """Let each machine translate a sentence, and record how.

    Formula: `tgt_{i+1} = argmax(logits_i)`, then `probabilities = softmax(logits)` for all positions at once.

    Args:
        sentence: an English sentence of the grammar.
        right: its right translation, if it is known.
        models: name -> the folder of a model, for others than those that come with the package.

    Returns:
        One for each machine, in the order of `MACHINES`.

    Raises:
        CheckpointError: a model is not there.
        ValueError: the sentence has no word, or a model is of a kind that can not be recorded.
    """
    folders = {name: name for name in MACHINES} if models is None else models
    return tuple(_machine(name, folder, sentence, right) for name, folder in folders.items())


def are_shipped() -> bool:
    """Whether all four models come with this installation.

    Returns:
        True if their folders are there.
    """
    try:
        return all(find(name) for name in MACHINES)
    except CheckpointError:
        return False


def _machine(name: str, folder: str | Path, sentence: str, right: str | None) -> Machine:
    stored = read_model(folder)
    src_tokenizer, tgt_tokenizer = (tokenizer_from_json(stored.info[f"{side}_tokenizer"]) for side in ("src", "tgt"))
    words = src_tokenizer.encode(normalise(sentence))
    if not words:
        raise ValueError(f"sentence is {sentence!r}; it needs a word.")
    source, title = [*words, EOS], sentence.strip()
    if stored.info["kind"] == "transformer":
        most = min(2 * len(words) + 10, stored.info["arguments"]["max_len"])
        ids = translation_program.translate_greedily(stored, source, max_len=most)
        trace = translation_program.translation_program(stored, source, _read(ids), title=title, breaks=False)
    else:
        ids = recurrent_program.translate_greedily(stored, source)
        trace = recurrent_program.recurrent_program(stored, source, _read(ids), title=title)
    text = tgt_tokenizer.decode([i for i in ids if i != EOS])
    return Machine(
        name,
        MACHINES.get(name, name),
        stored.info["weights"]["parameters"],
        (find(folder) / WEIGHTS_FILE).stat().st_size,
        text,
        None if right is None else text == right,
        trace,
        _where_it_looks(trace),
    )


def _read(ids: list[int]) -> list[int]:
    """What the decoder has read when it wrote these words: all but the last one."""
    return [BOS, *ids[:-1]]


def _where_it_looks(trace: Trace) -> str:
    """The weights of the last cross-attention; without one, the context, which is all that the decoder gets."""
    results = [trace.tensors[step.output].name for step in trace.steps]
    weights = [name for name in results if "cross_attention" in name and name.endswith("weights")]
    return weights[-1] if weights else "context"
