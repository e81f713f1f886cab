"""Exercises of the chapter on scaling up. Every accepted number is computed by the package or from its formula."""

import numpy as np

from stepformer.examples import pipeline
from stepformer.exercises.exercise import Choice, Code, Number, Wrong
from stepformer.reference.attention import scaled_dot_product_attention

_MEANS, _COUNTS = np.array([2.0, 6.0]), np.array([3, 1])

SHARES = Number(
    id="scaling_up.shares",
    question="Worker 1 has 3 words of a batch, and the mean of a gradient over them is 2. Worker 2 has 1 word, and its "
    "gradient is 6. Which gradient does one process compute that has all four words?",
    answer=_MEANS @ _COUNTS / _COUNTS.sum(),
    wrong=[
        Wrong(_MEANS.mean(), "That is the mean of the two means. The one word of worker 2 then counts three times."),
        Wrong(_MEANS.sum(), "That is their sum. A mean over the batch is asked for."),
        Wrong(_MEANS @ _COUNTS, "That is the sum over the words. Divide by how many words there are."),
        Wrong(_MEANS @ _COUNTS / 2, "Divide by the number of words, not by the number of workers."),
    ],
    right="Yes: (3 · 2 + 1 · 6) / 4 = 3. Each word counts once, wherever it is.",
    hint="What is the sum over the words of worker 1?",
)

_TIMETABLE = pipeline(4, 8)

BUBBLE = Number(
    id="scaling_up.bubble",
    question="A pipeline has 4 stages, and a batch is cut into 8 micro-batches. Which share of the time does a stage "
    "wait, as a number between 0 and 1?",
    answer=np.isinf(_TIMETABLE).mean(),
    wrong=[
        Wrong(3 / 8, "That is waiting divided by working. The whole time is both: 8 + 3 steps one way."),
        Wrong(4 / 12, "The first micro-batch reaches the last stage after 3 steps, not after 4: p − 1."),
        Wrong(3 / 12, "The whole time one way is m + p − 1 = 11 steps."),
        Wrong(8 / 11, "That is the share in which a stage works."),
    ],
    right="Yes: 3 of 11 steps, on the way there and on the way back. With 32 micro-batches it would be 3 of 35.",
    hint="Draw the timetable: how long does the last stage wait before its first micro-batch comes?",
)

_OLD_MAX, _OLD_SUM, _SCORE = 2.0, 1.5, 3.0
_RESCALED = _OLD_SUM * np.exp(_OLD_MAX - _SCORE) + 1

ONLINE = Number(
    id="scaling_up.online",
    question="After some tiles a query has kept the maximum 2 and the sum 1.5. The next tile has a single score, 3. "
    "Which sum does it keep now? (e to the power of −1 is 0.368.)",
    answer=_RESCALED,
    wrong=[
        Wrong(_OLD_SUM + 1, "The old sum was measured from 2, the new weight from 3. They can not be added like this."),
        Wrong(
            _OLD_SUM + np.exp(_SCORE - _OLD_MAX), "That is the sum measured from the old maximum. The maximum is 3 now."
        ),
        Wrong(_OLD_SUM * np.exp(1) + 1, "The factor is e to the power of old minus new: the old sum becomes smaller."),
        Wrong(_OLD_SUM * np.exp(-1), "The new score counts too: measured from the new maximum it weighs 1."),
    ],
    right="Yes: 1.5 · e^(2 − 3) + e^(3 − 3) = 0.552 + 1.",
    hint="First measure the old sum from the new maximum.",
)

_MIB = 2**20
_CACHE = 2 * 32 * 8 * 128 * 4096 * 2 / _MIB

CACHE = Number(
    id="scaling_up.cache",
    question="A decoder has 32 layers and 32 heads with d_k = d_v = 128. Groups of 4 heads share their keys and "
    "values. How many MiB (2 to the power of 20 bytes) does its KV cache take for one text of 4,096 tokens, at 2 "
    "bytes a number?",
    answer=_CACHE,
    tolerance=0.5,
    wrong=[
        Wrong(
            4 * _CACHE, "That is the cache of 32 heads with keys and values of their own. 32 / 4 = 8 pairs are kept."
        ),
        Wrong(_CACHE / 2, "Keys and values are both kept, and a number takes 2 bytes: two factors of 2."),
        Wrong(_CACHE / 32, "Every layer keeps its own keys and values."),
        Wrong(_CACHE * _MIB / 1e6, "That is in millions of bytes. Divide by 2 to the power of 20."),
    ],
    right="Yes: 2 · 32 · 8 · 128 · 4096 numbers of 2 bytes are 512 MiB. Without groups it would be 2 GiB for each "
    "text.",
    hint="Two (keys and values) · layers · groups · width · tokens · bytes.",
)

_BILLIONS, _DEVICES = 7.5, 64
_STAGE_1 = _BILLIONS * (2 + 2 + 12 / _DEVICES)

ZERO = Number(
    id="scaling_up.zero",
    question="A model has 7.5 billion parameters. Mixed-precision training with Adam keeps 2 bytes for each weight, 2 "
    "for its gradient, and 12 for the state of the optimiser. 64 devices share the optimiser's state alone (ZeRO, "
    "stage 1). How many billion bytes does each device keep?",
    answer=_STAGE_1,
    tolerance=0.05,
    wrong=[
        Wrong(_BILLIONS * 16, "That is without sharing: 16 bytes for each parameter on every device."),
        Wrong(_BILLIONS * 16 / _DEVICES, "That is stage 3, where weights and gradients are shared as well."),
        Wrong(_BILLIONS * (2 + 14 / _DEVICES), "That is stage 2, where the gradients are shared as well."),
        Wrong(_BILLIONS * 12 / _DEVICES, "Each device still keeps all weights and all gradients: 4 bytes a parameter."),
    ],
    right="Yes: 7.5 · (2 + 2 + 12/64) = 31.4, in place of 120.",
    hint="What is not shared, each device keeps as a whole.",
)

TOKENS = Number(
    id="scaling_up.tokens",
    question="A language model has 1 billion parameters. Following the rule of thumb of 20 tokens for each parameter, "
    "and 6 FLOPs for each parameter and token: how many FLOPs does its training take? Answer with the power of ten: "
    "20.1 means 10 to the power of 20.1.",
    answer=np.log10(6 * 1e9 * 20e9),
    wrong=[
        Wrong(np.log10(2 * 1e9 * 20e9), "That is the forward pass. The backward pass takes twice as much again."),
        Wrong(np.log10(6 * 1e9), "That is for a single token."),
        Wrong(np.log10(20e9), "That is the number of tokens."),
        Wrong(6 * 1e9 * 20e9, "That is the number itself. The power of ten is asked for."),
    ],
    tolerance=0.02,
    right="Yes: 6 · 10⁹ · 20 · 10⁹ = 1.2 · 10²⁰, so 20.08.",
    hint="6 · parameters · tokens.",
)

CUT = Choice(
    id="scaling_up.cut",
    question="The first matrix of a feed-forward network is cut between two devices. Which cut lets each device apply "
    "ReLU without asking the other?",
    choices=[
        "By rows: each device multiplies half of the columns of x, and has half of each sum.",
        "By columns: each device computes some of the hidden units as a whole.",
        "Either: ReLU acts number by number.",
        "Neither: ReLU needs the whole row.",
    ],
    answer=1,
    wrong=[
        Wrong(
            0, "Then each has a part of a sum, and ReLU of two parts is not the ReLU of their sum: relu(3) + relu(−2)."
        ),
        Wrong(2, "Number by number, yes, but the numbers must be complete: relu(3) + relu(−2) is not relu(3 − 2)."),
        Wrong(3, "ReLU looks at one number at a time. Softmax and a norm need the whole row."),
    ],
    right="Yes. The second matrix is then cut by rows, and the two halves of the sum meet once, at the end.",
    hint="ReLU may be applied as soon as a number is complete.",
)

TURNED = Choice(
    id="scaling_up.turned",
    question="Somebody applies rotary positions to queries, keys and values. What happens?",
    choices=[
        "Nothing changes: what is turned can be turned back.",
        "The scores depend on absolute positions.",
        "The scores are right, but what is fetched depends on where the key stands, not on how far away it is.",
        "Attention fails, because the widths no longer fit.",
    ],
    answer=2,
    wrong=[
        Wrong(0, "Nobody turns it back: the output is an average of rows that are turned by different angles."),
        Wrong(1, "Values do not enter the scores. These depend on distances, as they should."),
        Wrong(3, "A turned row is as wide as before. That is why nobody notices."),
    ],
    right="Yes. In a score the two turns meet and only their difference is left. A value meets no second turn.",
    hint="Where do queries and keys meet, and whom do values meet?",
)


def _in_tiles(query, key, value):
    return scaled_dot_product_attention(query, key, value).output


def _online(query, key, value, rescale_sum=True, rescale_output=True, divide=True, root=True):
    """Attention key by key, with steps that can be left out."""
    scores = query @ key.T / (query.shape[-1] ** 0.5 if root else 1.0)
    largest = scores[:, :1]
    total, output = np.zeros((len(query), 1)), np.zeros((len(query), value.shape[-1]))
    for column, row in zip(scores.T, value, strict=True):
        new = np.maximum(largest, column[:, None])
        shrink, weight = np.exp(largest - new), np.exp(column[:, None] - new)
        total = total * (shrink if rescale_sum else 1.0) + weight
        output = output * (shrink if rescale_output else 1.0) + weight * row
        largest = new
    return output / total if divide else output


def _without(**left_out):
    return lambda query, key, value: _online(query, key, value, **left_out)


def _cases() -> list[tuple]:
    draws = np.random.default_rng(0)
    shapes = [(2, 3, 4, 2), (1, 6, 3, 5), (3, 1, 2, 2)]
    cases = [(draws.normal(size=(q, d)), draws.normal(size=(k, d)), draws.normal(size=(k, v))) for q, k, d, v in shapes]
    rising = (np.array([[9.0, 1.0]]), np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 0.5]]), np.array([[1.0], [2.0], [3.0]]))
    return [*cases, rising]


WRITE = Code(
    id="scaling_up.write",
    question="Write online(query, key, value): scaled dot-product attention that takes one key after the other, in a "
    "loop, and keeps for each query a maximum, a sum and an output. It returns the output (n_q, d_v).",
    solution=_in_tiles,
    cases=_cases(),
    wrong=[
        Wrong(
            _without(rescale_sum=False), "The old sum was measured from the old maximum. Multiply it by exp(old − new)."
        ),
        Wrong(
            _without(rescale_output=False),
            "The old output was measured from the old maximum. Multiply it by exp(old − new), like the sum.",
        ),
        Wrong(_without(divide=False), "At the end the output is divided by the sum."),
        Wrong(_without(root=False), "Divide the scores by the root of d_k."),
        Wrong(
            _without(rescale_sum=False, rescale_output=False),
            "Neither the old sum nor the old output is measured from the new maximum.",
        ),
    ],
    right="Your output is that of attention over all keys at once, and you never held more than one column of scores.",
)

EXERCISES = (SHARES, CUT, BUBBLE, ZERO, TOKENS, TURNED, CACHE, ONLINE, WRITE)
