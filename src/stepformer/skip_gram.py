"""word2vec: skip-gram with negative sampling, trained on sentences (Mikolov et al. 2013).

A word is to tell its neighbours apart from words drawn at random. Each word has two vectors: one as the centre, which
is kept, and one as a neighbour, which only helps.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from stepformer.nn import Embedding

Sentences = Sequence[Sequence[str]]


class SkipGram(nn.Module):
    """Two tables: how well does a word fit as the neighbour of another?

    Formula: `score = u[context] · v[centre]`; v is `embedding`, u is `context_embedding` (Mikolov et al. 2013b,
    section 2.2).

    Args:
        vocab_size: number of words.
        d_model: width of a vector.
        generator: the source of the first vectors, small and uniform; those of neighbours start at zero.
    """

    def __init__(self, vocab_size: int, d_model: int, generator: torch.Generator) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # their own first numbers, from the global generator, are not used
            self.embedding = Embedding(vocab_size, d_model)
            self.context_embedding = Embedding(vocab_size, d_model)
        nn.init.uniform_(self.embedding.weight, -0.5 / d_model, 0.5 / d_model, generator=generator)
        nn.init.zeros_(self.context_embedding.weight)

    def forward(self, centre: torch.Tensor, context: torch.Tensor, negatives: torch.Tensor) -> torch.Tensor:
        """The loss: minus the log probability of telling real neighbours from drawn ones.

        Formula: `mean of −log σ(u[context] · v[centre]) − sum over negatives of log σ(−u[negative] · v[centre])`
        (Mikolov et al. 2013b, equation 4).

        Args:
            centre: (n,) ids.
            context: (n,) ids, a real neighbour of each.
            negatives: (n, k) ids, drawn at random.

        Returns:
            One number, in nats per pair.
        """
        v = self.embedding(centre)
        real = (self.context_embedding(context) * v).sum(dim=-1)
        drawn = (self.context_embedding(negatives) * v.unsqueeze(-2)).sum(dim=-1)
        log_sigmoid = nn.functional.logsigmoid
        return -(log_sigmoid(real) + log_sigmoid(-drawn).sum(dim=-1)).mean()


def vocabulary(sentences: Sentences) -> tuple[list[str], np.ndarray]:
    """The words of some sentences and how often each comes.

    Args:
        sentences: lists of words.

    Returns:
        The words, most frequent first, then by the alphabet; and their counts (vocab_size,).
    """
    counts = Counter(word for sentence in sentences for word in sentence)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return words, np.array([counts[word] for word in words])


def pairs(sentences: Sentences, window: int = 2) -> list[tuple[str, str]]:
    """Every word with each word that stands at most `window` places from it in its sentence.

    Args:
        sentences: lists of words.
        window: how far a neighbour may be.

    Returns:
        (centre, context) pairs, in the order of the text.

    Raises:
        ValueError: the window is smaller than 1.
    """
    if window < 1:
        raise ValueError(f"window is {window}; it must be 1 or more.")
    return [
        (sentence[i], sentence[j])
        for sentence in sentences
        for i in range(len(sentence))
        for j in range(max(0, i - window), min(len(sentence), i + window + 1))
        if i != j
    ]


def train(
    sentences: Sentences,
    seed: int,
    d_model: int = 12,
    window: int = 2,
    n_negatives: int = 5,
    epochs: int = 4,
    batch_size: int = 512,
    learning_rate: float = 0.02,
) -> tuple[list[str], np.ndarray, list[float]]:
    """Learn a vector for each word from the words it stands beside.

    Negatives are drawn in proportion to count^0.75, so that rare words are drawn a little more often than they come
    (Mikolov et al. 2013b, section 2.2).

    Args:
        sentences: lists of words.
        seed: of the one generator for first vectors, order and negatives.
        d_model: width of a vector.
        window: how far a neighbour may be.
        n_negatives: random words for each pair.
        epochs: how often every pair is seen.
        batch_size: pairs per step.
        learning_rate: of Adam.

    Returns:
        The words, their vectors (vocab_size, d_model), and the mean loss of each epoch, in nats per pair.

    Raises:
        ValueError: there is no pair to learn from.
    """
    words, counts = vocabulary(sentences)
    ids = {word: i for i, word in enumerate(words)}
    data = torch.tensor([[ids[centre], ids[context]] for centre, context in pairs(sentences, window)])
    if not len(data):
        raise ValueError("There is no pair of neighbours: every sentence has fewer than two words.")
    generator = torch.Generator().manual_seed(seed)
    model = SkipGram(len(words), d_model, generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    chances = torch.as_tensor(counts**0.75)
    losses = []
    for _ in range(epochs):
        total = 0.0
        for batch in data[torch.randperm(len(data), generator=generator)].split(batch_size):
            negatives = torch.multinomial(
                chances, len(batch) * n_negatives, replacement=True, generator=generator
            ).reshape(len(batch), n_negatives)
            loss = model(batch[:, 0], batch[:, 1], negatives)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        losses.append(total / len(data))
    return words, model.embedding.weight.detach().double().numpy(), losses
