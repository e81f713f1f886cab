"""Several processes that train one model: each computes a share of every batch, and their gradients are added up.

    torchrun --nproc-per-node 2 --no-python stepformer train --preset small --out runs/a

Every process holds the whole model and walks through the same batches; of each batch it reads the sentences that are
its own. The loss is the mean over the tokens of the whole batch, wherever they are, so the number of processes changes
last digits and what dropout draws, and nothing else. Training makes much of last digits, though. For the small model of
the tests, the losses of 200 steps in two processes are those of one to a part in ten thousand. With d_model 128, in
float32, those of two processes and of one that takes its batches whole come to differ by 15 percent within 200 steps
(`bench/data_parallel.json`). One process that cuts its batches in two, `compute.parts = 2`, gives the same bits as two,
for both models. The first process alone writes.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import NamedTuple

import numpy as np
import torch
from torch import distributed

from stepformer.data.batches import Batch, Batches, Position, batch

PATIENCE = timedelta(minutes=10)
"""How long a process waits for the others. The first one writes checkpoints meanwhile, so it must not be short."""


class WorkerError(RuntimeError):
    """Another process has ended, or does not answer."""


class Share(NamedTuple):
    """What one process computes of a batch.

    Attributes:
        position: the place after the whole batch.
        n_tokens: answers in the whole batch, which the mean is over.
        parts: the number of each part, and the part itself.
    """

    position: Position
    n_tokens: int
    parts: list[tuple[int, Batch]]


class Workers:
    """The processes of a training as one of them sees them; this one is alone, and has nobody to ask.

    Attributes:
        rank: number of this process, from 0.
        size: how many there are.
    """

    rank, size = 0, 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def add_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Give every process the sum of the gradients of all.

        Args:
            parameters: the same ones in every process; their gradients are changed in place.

        Raises:
            WorkerError: another process has ended.
        """

    def total(self, *numbers: float) -> tuple[float, ...]:
        """Add numbers up over all processes.

        Args:
            *numbers: as many in every process.

        Returns:
            The sums.

        Raises:
            WorkerError: another process has ended.
        """
        return numbers

    def from_first(self, tensors: Sequence[torch.Tensor]) -> None:
        """Give every process the numbers of the first.

        Args:
            tensors: of the same shapes in every process; changed in place.

        Raises:
            WorkerError: another process has ended.
        """


class _Several(Workers):
    """One of several processes, joined through torch.distributed."""

    def __init__(self, device: torch.device) -> None:
        self.rank, self.size, self._device = distributed.get_rank(), distributed.get_world_size(), device

    def add_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        # One call for all: a call costs more than its numbers do. Who had no sentence of the batch adds zeros.
        given = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = torch.cat([gradient.flatten() for gradient in given])
        with self._listening():
            distributed.all_reduce(flat)
        for parameter, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
            parameter.grad = part.view_as(parameter)

    def total(self, *numbers: float) -> tuple[float, ...]:
        sums = torch.tensor(numbers, dtype=torch.float64, device=self._device)
        with self._listening():
            distributed.all_reduce(sums)
        return tuple(sums.tolist())

    def from_first(self, tensors: Sequence[torch.Tensor]) -> None:
        with self._listening():
            for tensor in tensors:
                distributed.broadcast(tensor.detach(), src=0)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """What torch.distributed says when a connection breaks, in words of ours."""
        try:
            yield
        except RuntimeError as error:
            raise WorkerError(
                f"process {self.rank} of {self.size}: another process has ended, or has not answered for "
                f"{PATIENCE.seconds // 60} minutes. What it said is the reason."
            ) from error


ALONE = Workers()
"""The only process."""


@contextmanager
def joined(device: str = "cpu") -> Iterator[Workers]:
    """Join the other processes that torchrun has started, if it has.

    Args:
        device: "cpu", where they talk through gloo, or "cuda", through nccl; each process then takes a GPU of its own.

    Yields:
        The processes; `ALONE` where torchrun has started none or one.

    Raises:
        WorkerError: not all came.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if size == 1:
        yield ALONE
        return
    try:
        distributed.init_process_group("nccl" if device == "cuda" else "gloo", timeout=PATIENCE)
    except RuntimeError as error:
        raise WorkerError(f"The {size} processes of this training did not find each other: {error}") from error
    try:
        yield _Several(torch.device(device))
    finally:
        distributed.destroy_process_group()


def shares(batches: Batches, position: Position, workers: Workers = ALONE, parts: int | None = None) -> Iterator[Share]:
    """Walk through the batches, and read of each what this process is to compute.

    Formula: part k of a batch are its rows k, k + parts, k + 2 · parts, …; a process has `parts / size` parts in a row.
    A batch is sorted by length, so the parts are about equally long.

    Args:
        batches: the same ones in every process.
        position: where to begin.
        workers: the processes.
        parts: into how many parts each batch is cut; as many as there are processes if not given. A part is the same,
            down to what dropout draws, in whichever process it is computed.

    Yields:
        The shares of this process. A part without a row is left out.

    Raises:
        ValueError: the parts can not be dealt out evenly.
    """
    n_parts = workers.size if parts is None else parts
    if n_parts % workers.size:
        raise ValueError(
            f"compute.parts is {n_parts}; {workers.size} processes need a multiple of {workers.size}, so that each has "
            "as many as the others."
        )
    own = range(workers.rank * n_parts // workers.size, (workers.rank + 1) * n_parts // workers.size)
    for after, rows in batches.walk(position):
        chosen = {k: rows[k::n_parts] for k in own if k < len(rows)}
        n_tokens = int(np.sum(batches.lengths[rows, 1] + 1))  # with <eos>
        yield Share(after, n_tokens, [(k, batch([batches.pairs[int(r)] for r in x], x)) for k, x in chosen.items()])
