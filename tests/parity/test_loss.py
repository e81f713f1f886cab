"""Cross-entropy and its gradient: the reference equals torch's own function and what autograd makes of it."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from torch.nn import functional as F

from stepformer import examples
from stepformer.reference.loss import cross_entropy, cross_entropy_gradient

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
