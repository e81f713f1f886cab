"""Which words of the source does a word of the translation depend on? Take each away and see what it costs."""

import numpy as np
import torch

from stepformer.data.tokenizer import PAD
from stepformer.evaluate.forced import Ids
from stepformer.looking_inside.reading import read
from stepformer.nn import Transformer


def cost_of_words(model: torch.nn.Module, pair: Ids) -> np.ndarray:
    """How much less probable each right word becomes when one word of the source is hidden.

    Formula: `cost[i, j] = log p(tgt[i] | src) - log p(tgt[i] | src without word j)`. Padding takes the place of word j,
    so no attention sees it, in the encoder or from the decoder; the others keep their positions.

    Args:
        model: a Transformer, from `src` and `tgt` to logits.
        pair: (n_src, n_tgt) token ids, without <bos> and <eos>.

    Returns:
        (n_tgt, n_src) in nats; negative where a word stood in the way. The row of <eos> is left out.

    Raises:
        TypeError: the model is no Transformer: others read no further than to the first padding.
    """
    if not isinstance(model, Transformer):
        raise TypeError(f"{type(model).__name__} does not hide a word behind padding, as a Transformer does.")
    source, target = pair
    hidden = [[*source[:j], PAD, *source[j + 1 :]] for j in range(len(source))]
    log_p = np.array(read(model, [(list(source), target), *((one, target) for one in hidden)]).log_p)
    return (log_p[0] - log_p[1:])[:, :-1].T
