"""A trained Transformer as a recorded program: the weights of a model directory, run by the NumPy reference.

The program has the token leaves `src` and `tgt`, so translating is a loop around it: run it, take the most probable
next word, put it at the end of `tgt`, run it again. The page does exactly that (`web/translate/`). Its breaks take a
head or the positions away.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from stepformer.checkpoint import Stored
from stepformer.ops import softmax
from stepformer.recording import leaf, record
from stepformer.reference.transformer import decode, encode, leaves, project, transformer
from stepformer.trace import Break, Edit, Trace

BOS, EOS = 1, 2
"""The ids that begin and end a sentence, the same in every vocabulary (`stepformer.data.tokenizer`)."""

NO_POSITIONS = "Without positions"


def parameters(stored: Stored, half: bool = True) -> dict[str, np.ndarray]:
    """The parameters of a stored Transformer as the reference takes them, in float64.

    Formula: `float64(float16(weight))`.

    Args:
        stored: what `checkpoint.read_model` returned.
        half: round to float16, as the page stores them.

    Returns:
        Name -> array; an output layer that is the table of the target is left out, as `project` expects.

    Raises:
        ValueError: the model is no Transformer.
    """
    kind, tied = stored.info["kind"], stored.info["weights"].get("tied", {})
    if kind != "transformer":
        raise ValueError(f"The model is of kind {kind!r}; only a transformer can be recorded as this program.")
    left_out = {"output.weight"} if "output.weight" in tied else set()
    # In the order of their names: that of a file may change from run to run.
    return {
        name: (array.astype(np.float16) if half else array).astype(np.float64)
        for name, array in sorted(stored.arrays.items())
        if name not in left_out
    }


def translation_program(
    stored: Stored,
    src: Sequence[int],
    tgt: Sequence[int] = (BOS,),
    half: bool = True,
    title: str = "",
    breaks: bool = True,
    then: Callable[[Trace, Mapping[str, np.ndarray]], None] | None = None,
) -> Trace:
    """Record how a trained Transformer predicts the next words of a translation.

    Formula: `softmax(transformer(src, tgt))`.

    Args:
        stored: what `checkpoint.read_model` returned.
        src: the ids of the source, <eos> included.
        tgt: the ids of what is written so far, <bos> included.
        half: round the parameters to float16, as the page stores them.
        title: for the player's heading.
        breaks: with the switches that take a head or the positions away; each is tried once, which takes time.
        then: is called at the end of the recording, with what was recorded and the parameters, and may compute more.

    Returns:
        A program with the leaves "src" and "tgt", every parameter, and for each attention "heads_in_use" (n_heads, 1,
        1), which nothing uses until a break is on. Its result is "probabilities" (n_tgt, tgt_vocab_size).

    Raises:
        ValueError: the model is no Transformer, or an id is in no vocabulary.
    """
    arrays, tied = parameters(stored, half), stored.info["weights"].get("tied", {})
    arguments, options = stored.info["arguments"], _options(stored)
    words = {side: stored.info[f"{side}_tokenizer"]["vocabulary"] for side in ("src", "tgt")}
    labels = {f"{side}_vocabulary": vocabulary for side, vocabulary in words.items()}
    with record(title or stored.info["record"].get("title", "A trained Transformer")) as trace:
        ids = [leaf(side, np.array(given, dtype=int), (side,), vocabulary=words[side])
               for side, given in (("src", src), ("tgt", tgt))]  # fmt: skip
        own = {name: array for name, array in arrays.items() if name not in tied}
        declared = leaves(own, labels)
        declared |= {name: declared[tied[name]] for name in arrays if name in tied}
        for path in _attentions(arrays):
            leaf(f"{path}.heads_in_use", np.ones((arguments["n_heads"], 1, 1), dtype=bool),
                 ("head", "any query", "any key"))  # fmt: skip
        softmax(transformer(*ids, declared, **options), name="probabilities")
        if then is not None:
            then(trace, declared)
    return trace.with_breaks(*_ablations(trace, arguments["n_heads"])) if breaks else trace


def translate_greedily(stored: Stored, src: Sequence[int], half: bool = True, max_len: int | None = None) -> list[int]:
    """Translate with the NumPy reference, without torch: always the most probable next word.

    Formula: `tgt_{i+1} = argmax(logits_i)`.

    Args:
        stored: what `checkpoint.read_model` returned.
        src: the ids of the source, <eos> included.
        half: round the parameters to float16, as the page stores them.
        max_len: the largest number of words; if not given, what the model can place, less the one for <bos>.

    Returns:
        The ids of the translation; the last one is <eos> if it was finished.
    """
    params, options = parameters(stored, half), _options(stored)
    most = stored.info["arguments"]["max_len"] - 1 if max_len is None else max_len
    memory, mask = encode(np.array(src), params, **options)
    ids = [BOS]
    while len(ids) <= most and ids[-1] != EOS:
        x = decode(np.array(ids), memory, params, memory_mask=mask, **options)
        ids.append(int(project(x, params)[-1].argmax()))
    return ids[1:]


def _options(stored: Stored) -> dict:
    arguments = stored.info["arguments"]
    for name, kind in {**OPTIONS, "max_len": int}.items():
        if type(arguments.get(name)) is not kind:  # a truth value is no number here
            raise ValueError(f"arguments.{name} is {arguments.get(name)!r:.60}; it must be of type {kind.__name__}.")
    return {name: arguments[name] for name in OPTIONS}


OPTIONS = {"n_heads": int, "pad_id": int, "norm_first": bool, "activation": str}
"""What the reference needs to know beside the parameters."""


def _attentions(params: dict[str, np.ndarray]) -> list[str]:
    return [name.removesuffix(".w_q.weight") for name in params if name.endswith(".w_q.weight")]


def _ablations(trace: Trace, n_heads: int) -> list[Break]:
    """One break for each head, and one for the positions. A head that may attend to nothing gives zeros."""
    breaks = []
    for step in trace.steps:
        output = trace.tensors[step.output].name
        if output.endswith(".mask_for_heads"):
            path = output.removesuffix(".mask_for_heads")
            gate = f"{path}.heads_in_use"
            cut = Edit(output, op="both", inputs=(trace.tensors[step.inputs[0]].name, gate))
            for head in range(n_heads):
                used = [[[k != head]] for k in range(n_heads)]
                breaks.append(
                    Break(
                        f"Without head {head} of {path}",
                        (cut, Edit(gate, value=used)),
                        "This head may attend to nothing, so it adds zeros. What changes is what only this head did.",
                        "",
                    )
                )
    placed = tuple(Edit(f"{side}_input.with_positions", op="copy") for side in ("src", "tgt"))
    symptom = "The order of the words is lost: Jerry chases Tom comes out like Tom chases Jerry, or as no sentence."
    return [*breaks, Break(NO_POSITIONS, placed, symptom, "")]
