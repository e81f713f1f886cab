"""Convolution: the reference equals the torch twin, and the twin torch's own modules, in values and gradients."""

import numpy as np
import pytest
import torch
from agreement import assert_agree
from attention_cases import GRADIENTS, VALUES, assert_same

from stepformer import nn, params
from stepformer.reference.convolution import convolution_1d, convolution_2d

D_IN, D_OUT = 5, 4
PADDINGS = ["same", "causal", "none"]


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def sentence_cases():
    for width, stride, dilation in ((1, 1, 1), (2, 1, 1), (3, 1, 1), (3, 2, 1), (3, 1, 2), (4, 3, 2)):
        for padding in PADDINGS:
            for n in (1, 2, 7):
                if padding != "none" or n > dilation * (width - 1):
                    yield width, padding, stride, dilation, n


def image_cases():
    for window, padding, stride in ((1, 0, 1), (3, 0, 1), (3, 1, 1), (2, 0, 2), (3, 1, 2), (2, 2, 3)):
        yield from ((window, padding, stride, size) for size in ((7, 5), (3, 3), (4, 9)))


# ---- the reference and the twin -----------------------------------------------------------------------------------


@pytest.mark.parametrize("leading", [(), (1,), (2,), (3, 2)])
@pytest.mark.parametrize(("width", "padding", "stride", "dilation", "n"), [*sentence_cases()])
def test_over_words_the_reference_agrees_with_its_twin(width, padding, stride, dilation, n, leading):
    torch.manual_seed(0)
    twin = nn.Convolution1d(D_IN, D_OUT, width, padding, stride, dilation).double()
    arrays = params.to_arrays(twin.state_dict())
    assert {name: array.shape for name, array in arrays.items()} == {"weight": (width, D_IN, D_OUT), "bias": (D_OUT,)}
    back = params.from_arrays(arrays, like=twin.state_dict())
    assert all(torch.equal(back[name], tensor) for name, tensor in twin.state_dict().items())
    x = draw(*leading, n, D_IN)
    mine = convolution_1d(x, arrays, padding, stride, dilation)
    assert mine.shape[:-2] == leading
    assert_agree(mine, twin(torch.as_tensor(x)), VALUES)


@pytest.mark.parametrize("leading", [(), (1,), (2,), (3, 2)])
@pytest.mark.parametrize(("window", "padding", "stride", "size"), [*image_cases()])
def test_over_images_the_reference_agrees_with_its_twin(window, padding, stride, size, leading):
    torch.manual_seed(0)
    twin = nn.Convolution2d(2, 3, window, padding, stride).double()
    arrays = params.to_arrays(twin.state_dict())
    assert {name: array.shape for name, array in arrays.items()} == {"weight": (3, 2, window, window), "bias": (3,)}
    x = draw(*leading, 2, *size)
    mine = convolution_2d(x, arrays, padding, stride)
    assert mine.shape[:-2] == (*leading, 3)
    assert_agree(mine, twin(torch.as_tensor(x)), VALUES)


# ---- the twin and torch's own -------------------------------------------------------------------------------------


# torch refuses padding="same" with a stride, and warns of a copy where the window is even.
TORCH_HAS = [case for case in sentence_cases() if case[1] != "same" or case[2] == 1]


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")
@pytest.mark.parametrize("batch", [(), (1,), (2,)])
@pytest.mark.parametrize(("width", "padding", "stride", "dilation", "n"), TORCH_HAS)
def test_over_words_the_twin_is_torchs_conv1d(width, padding, stride, dilation, n, batch):
    torch.manual_seed(0)
    twin = nn.Convolution1d(D_IN, D_OUT, width, padding, stride, dilation).double()
    reach = dilation * (width - 1)
    if padding == "same":
        own, cut = torch.nn.Conv1d(D_IN, D_OUT, width, padding="same", dilation=dilation), slice(None)
    elif padding == "none":
        own, cut = torch.nn.Conv1d(D_IN, D_OUT, width, stride=stride, dilation=dilation), slice(None)
    else:  # causal, which torch does not have: pad on both sides, then take the first results
        own = torch.nn.Conv1d(D_IN, D_OUT, width, stride=stride, padding=reach, dilation=dilation)
        cut = slice((n - 1) // stride + 1)
    own.double().load_state_dict(twin.state_dict())
    assert_same(twin, lambda x: own(x.mT).mT[..., cut, :], [torch.as_tensor(draw(*batch, n, D_IN))])
    x = torch.as_tensor(draw(*batch, n, D_IN))
    upstream = torch.as_tensor(draw(*twin(x).shape, seed=1))
    twin(x).backward(upstream)
    own(x.mT).mT[..., cut, :].backward(upstream)
    for mine, theirs in zip(twin.parameters(), own.parameters(), strict=True):
        assert_agree(mine.grad, theirs.grad.numpy(), GRADIENTS)


@pytest.mark.parametrize("batch", [(), (1,), (2,)])
@pytest.mark.parametrize(("window", "padding", "stride", "size"), [*image_cases()])
def test_over_images_the_twin_is_torchs_conv2d(window, padding, stride, size, batch):
    torch.manual_seed(0)
    twin = nn.Convolution2d(2, 3, window, padding, stride).double()
    own = torch.nn.Conv2d(2, 3, window, padding=padding, stride=stride).double()
    own.load_state_dict(twin.state_dict())
    x = torch.as_tensor(draw(*batch, 2, *size))
    assert_same(twin, own, [x])
    upstream = torch.as_tensor(draw(*twin(x).shape, seed=1))
    twin(x).backward(upstream)
    own(x).backward(upstream)
    for mine, theirs in zip(twin.parameters(), own.parameters(), strict=True):
        assert_agree(mine.grad, theirs.grad.numpy(), GRADIENTS)
