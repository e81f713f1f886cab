"""Exercises of the chapter on the whole model: which row writes and what it depends on, costs, a leak, the loop."""

import numpy as np

from stepformer import examples
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.transformer import decode, encode, project

_PARAMS = examples.TRANSFORMER_PARAMS
_SIDES = {
    side: sum(array.size for name, array in _PARAMS.items() if name.startswith(f"{side}."))
    for side in ("encoder", "decoder")
}
_CROSS = sum(array.size for name, array in _PARAMS.items() if "cross_attention." in name)
_CROSS_WEIGHTS = sum(array.size for name, array in _PARAMS.items() if "cross_attention." in name and array.ndim == 2)

_TARGET = ["<bos>", "汤姆", "追逐", "杰瑞"]

ROW = Number(
    id="transformer.row",
    level="recall",
    question="The rows of the probabilities are called <bos>, 汤姆, 追逐 and 杰瑞, and counted from 0. In which row "
    "does the model write 追逐?",
    answer=_TARGET.index("追逐") - 1,
    wrong=[
        Wrong(
            _TARGET.index("追逐"),
            "That is the row that has read 追逐. It says what comes after it: 杰瑞.",
        ),
        Wrong(0, "The row of <bos> has read nothing yet. It writes the first word."),
        Wrong(3, "The row of 杰瑞 has read the whole sentence, and ends it with <eos>."),
    ],
    right="Yes: the row that has just read 汤姆 writes the next word. Rows are named after what goes in.",
    tolerance=0.4,
    hint="A row is called after the word that has been read last.",
    near="There are four rows, 0 to 3. Which word has been read just before 追逐 is written?",
)

DEPENDS = Choice(
    id="transformer.depends",
    question="In the player, change only the source, to Jerry chase Tom. The target still reads <bos> 汤姆 追逐 杰瑞. "
    "What is now most probable in the row of <bos>, and in the row of 汤姆?",
    choices=[
        "汤姆 and 追逐, as before: the target has not been changed.",
        "杰瑞 and 追逐: each row looks at the source, and the first has read nothing else.",
        "杰瑞 and 杰瑞: the second row sees that the first has been contradicted.",
        "Nothing clear: source and target do not fit, so the probabilities are spread evenly.",
    ],
    answer=1,
    wrong=[
        Wrong(
            0, "The target is what the decoder reads. What it writes comes from the source, through cross-attention."
        ),
        Wrong(
            2, "No row knows what another has written. Row 汤姆 has read 汤姆, and asks the source for its second word."
        ),
        Wrong(3, "Try it. Nobody tells the model that they do not fit; each row just answers its own question."),
    ],
    right="Yes. Row <bos> says what comes first, and row 汤姆 what comes second, whatever was written before it. "
    "When the model writes by itself, the word it has written takes its place in the target.",
    hint="What does the row of <bos> depend on? On all of the source, and on the target up to <bos>.",
)

LARGER = Number(
    id="transformer.larger",
    question="By how many parameters is the decoder layer of the player larger than its encoder layer? d_model is 10.",
    answer=_SIDES["decoder"] - _SIDES["encoder"],
    wrong=[
        Wrong(_CROSS, "You have the cross-attention. It comes with an Add & Norm of its own: a gain and a bias."),
        Wrong(_CROSS_WEIGHTS, "Those are the weights of the cross-attention. Add its biases, and its norm."),
        Wrong(0, "The causal mask has no parameters, but the decoder layer has one sub-layer more: cross-attention."),
        Wrong(
            2 * (_SIDES["decoder"] - _SIDES["encoder"]),
            "Twice too many: masked self-attention has as many parameters as self-attention.",
        ),
    ],
    right="Yes: four linear layers of 10 · 10 + 10, and a norm with 10 gains and 10 biases.",
    tolerance=0.4,
    hint="A decoder layer is an encoder layer with one more sub-layer, and the norm after it.",
    near="Not yet. How many linear layers are there in an attention, of what size, and what does a norm hold?",
)

RUNS = Number(
    id="transformer.runs",
    level="think",
    question="The model translates Tom chase Jerry by itself, from <bos> to <eos>. How often must the encoder run, how "
    "often the decoder?",
    answer=[1, 4],
    fields=["encoder", "decoder"],
    wrong=[
        Wrong([4, 4], "The source stays the same while the target grows, so its memory can be kept."),
        Wrong([1, 3], "<eos> has to be written, too. Without it the model would not know that it is done."),
        Wrong([1, 1], "That is training, where the target is known. Here each word is needed before the next."),
        Wrong([3, 4], "The encoder reads all three words at the same time."),
        Wrong([4, 1], "It is the other way round: the source stays, the target grows."),
    ],
    right="Yes: the encoder once, the decoder for 汤姆, 追逐, 杰瑞 and <eos>.",
    tolerance=0.4,
    hint="What changes from one word to the next: the source, or the target?",
    near="Not yet. Count what must be written, <eos> included, and ask which side changes from one word to the next.",
)

LEAK = Choice(
    id="transformer.leak",
    level="recall",
    question="Somebody trains a Transformer without the causal mask. What will they see?",
    choices=[
        "The loss does not fall, because the model is confused by the future.",
        "An error, because the shapes of the scores and the mask do not fit.",
        "The loss falls to almost nothing, and the translations are useless.",
        "Nothing: the mask saves time, and makes no difference to the result.",
    ],
    answer=2,
    wrong=[
        Wrong(0, "On the contrary: the answer stands one place to the right in the input. Copying it is easy."),
        Wrong(1, "No shape changes. That is why this mistake is found so late."),
        Wrong(3, "The mask hides the answer. Without it, the task in training is another one than in use."),
    ],
    right="Yes. In training it copies the next word from its own input. When it writes, there is no next word to copy.",
    hint="In training the whole target is there. Where does the word stand that row i must predict?",
)

_BOS, _EOS = (examples.CHINESE_WORDS.index(word) for word in ("<bos>", "<eos>"))
_SENTENCES = ("Tom chase Jerry", "Jerry pay bank", "Jerry see Tom")


def _written(src: np.ndarray, row: int = -1, stop: bool = True) -> list[int]:
    """<bos>, what the designed model writes, and <eos>."""
    memory = encode(src, _PARAMS, n_heads=2).memory
    written = [_BOS]
    while len(written) <= 6 and not (stop and written[-1] == _EOS):
        top = decode(np.array(written), memory, _PARAMS, n_heads=2)
        written.append(int(project(top, _PARAMS)[row].argmax()))
    return written


def _words(written: list[int]) -> list[int]:
    return [word for word in written if word not in (_BOS, _EOS)]


WRITE = Code(
    id="transformer.write",
    question="Write translate_ids(src): from the ids of an English sentence the ids of the Chinese words that the "
    "model writes, without <bos> and <eos>, at most 6. Call encode once; decode and project make the logits of all "
    "rows from the ids written so far.",
    solution=lambda src: _words(_written(src)),
    cases=[(np.array([examples.ENGLISH_WORDS.index(word) for word in sentence.split()]),) for sentence in _SENTENCES],
    wrong=[
        Wrong(lambda src: _written(src)[:-1], "Leave out <bos>: it was given, the model has not written it."),
        Wrong(lambda src: _written(src)[1:], "Stop before <eos> is added: it ends the loop, and is no word."),
        Wrong(_written, "The loop is right. Now return the words alone, without <bos> and <eos>."),
        Wrong(
            lambda src: _words(_written(src, row=0)),
            "It says the first word again and again. Either you read the first row of the logits, which has seen <bos> "
            "alone: read the last. Or you hand decode the newest word alone: without a cache it needs all of them.",
        ),
        Wrong(
            lambda src: _written(src, stop=False)[1:],
            "The loop does not stop at <eos>, so the model goes on after the end of its sentence.",
        ),
    ],
    right="Your loop translates: the encoder runs once, and each word that is written is read in the next round.",
)

EXERCISES = (ROW, DEPENDS, LARGER, RUNS, LEAK, WRITE)
