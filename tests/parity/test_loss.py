"""Cross-entropy and its gradient: the reference equals torch's own function and what autograd makes of it."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from torch.nn import functional as F

from stepformer import examples, nn
from stepformer.reference.loss import cross_entropy, cross_entropy_gradient, smoothed_cross_entropy

VALUES = 1e-10
GRADIENTS = 1e-8


def drawn(n, vocab_size=4, scale=1.0):
    rng = np.random.default_rng([n, vocab_size])
    return scale * rng.normal(size=(n, vocab_size)), rng.integers(vocab_size, size=n)


def of_torch(logits, targets):
    """The loss and its gradient, both from torch."""
    logits = torch.tensor(logits, requires_grad=True)
    loss = F.cross_entropy(logits, torch.as_tensor(targets))
    return loss, torch.autograd.grad(loss, logits)[0]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("vocab_size", [1, 2, 13])
def test_loss_and_gradient_equal_those_of_torch(n, vocab_size, scale):
    logits, targets = drawn(n, vocab_size, scale)
    loss, gradient = of_torch(logits, targets)
    assert_agree(cross_entropy(logits, targets), loss, VALUES, "loss")
    assert_agree(cross_entropy_gradient(logits, targets), gradient, GRADIENTS, "gradient")


def test_each_sentence_of_a_batch_has_its_own_loss():
    logits, targets = (np.stack(both) for both in zip(drawn(3), drawn(3, scale=5.0), strict=True))
    for k in range(2):
        loss, gradient = of_torch(logits[k], targets[k])
        assert_agree(cross_entropy(logits, targets)[k], loss, VALUES)
        assert_agree(cross_entropy_gradient(logits, targets)[k], gradient, GRADIENTS)


def batch(shape, vocab_size, scale=1.0):
    """Logits and targets of a padded batch, in which the first target is a word."""
    rng = np.random.default_rng([*shape, vocab_size])
    targets = rng.integers(vocab_size, size=shape)
    targets.flat[0] = vocab_size - 1
    return scale * rng.normal(size=(*shape, vocab_size)), targets


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize(("shape", "vocab_size"), [((7,), 4), ((1,), 2), ((3, 5), 13), ((2, 1, 3), 3)])
def test_the_loss_over_tokens_is_that_of_torch_with_padding_and_smoothing(shape, vocab_size, scale, smoothing):
    logits, targets = batch(shape, vocab_size, scale)
    free = torch.tensor(logits, requires_grad=True)
    rows, ids = free.reshape(-1, vocab_size), torch.tensor(targets).reshape(-1)
    own = F.cross_entropy(rows, ids, ignore_index=0, label_smoothing=smoothing)
    twin = nn.cross_entropy(free, torch.tensor(targets), pad_id=0, label_smoothing=smoothing)
    assert_agree(twin, own, VALUES)
    assert_agree(smoothed_cross_entropy(logits, targets, np.array(smoothing), pad_id=0), own, VALUES)
    gradients = [torch.autograd.grad(loss, free, retain_graph=True)[0] for loss in (twin, own)]
    assert_agree(*gradients, GRADIENTS)
    if smoothing == 0:
        assert_agree(cross_entropy(logits, targets, pad_id=0), own, VALUES)
        assert_agree(cross_entropy_gradient(logits, targets, pad_id=0), gradients[1], GRADIENTS)


def test_the_id_of_padding_may_be_any_word():
    logits, targets = batch((3, 5), 6)
    for pad_id in (0, 2, 5):
        targets.flat[0] = 1
        own = F.cross_entropy(torch.tensor(logits).flatten(0, 1), torch.tensor(targets).flatten(), ignore_index=pad_id)
        assert_agree(cross_entropy(logits, targets, pad_id), own, VALUES)
        assert_agree(nn.cross_entropy(torch.tensor(logits), torch.tensor(targets), pad_id), own, VALUES)


def test_a_batch_of_padding_is_refused_where_torch_gives_nan():
    logits, targets = torch.zeros(2, 3, 5), torch.zeros(2, 3, dtype=torch.long)
    assert F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0).isnan()
    with pytest.raises(ValueError, match="targets are all padding"):
        nn.cross_entropy(logits, targets, pad_id=0)


def test_the_twin_names_what_is_wrong():
    logits, targets = torch.zeros(2, 3, 5), torch.ones(2, 3, dtype=torch.long)
    with pytest.raises(ValueError, match=r"targets has shape \(3, 2\); for logits of shape \(2, 3, 5\) it must be"):
        nn.cross_entropy(logits, targets.T, pad_id=0)
    for smoothing in (-0.1, 1.1):
        with pytest.raises(ValueError, match=r"label_smoothing is .*from 0 to 1"):
            nn.cross_entropy(logits, targets, 0, smoothing)


@pytest.mark.parametrize("learning_rate", [0.1, 0.5, 20.0])
def test_the_step_of_the_chapter_is_that_of_torchs_linear_layer_and_optimiser(learning_rate):
    trace = examples.gradient_step().run({"learning_rate": learning_rate})
    layer = torch.nn.Linear(5, 4, dtype=torch.float64)
    # torch keeps the weight as (out, in)
    layer.load_state_dict({name: torch.tensor(trace[name].T) for name in ("weight", "bias")})
    optimiser = torch.optim.SGD(layer.parameters(), lr=learning_rate)
    x, targets = torch.tensor(trace["x"]), torch.tensor(trace["targets"])
    F.cross_entropy(layer(x), targets).backward()
    assert_agree(trace["weight_gradient"], layer.weight.grad.T, GRADIENTS)
    assert_agree(trace["bias_gradient"], layer.bias.grad, GRADIENTS)
    optimiser.step()
    assert_agree(trace["new_weight"], layer.weight.T, GRADIENTS)
    assert_agree(trace["new_bias"], layer.bias, GRADIENTS)
    assert_agree(trace["after.loss.mean"], F.cross_entropy(layer(x), targets), GRADIENTS)
