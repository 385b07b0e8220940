"""One process or several: what ``torchrun`` sets up, behind one small type."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
import torch.distributed as dist

# Its functions take the group of the moment of their import as a default and keep it for ever.
# Imported before there is one: later (by DistributedDataParallel) the group's threads would
# outlive it, and one that wakes while Python shuts down aborts the process.
import torch.distributed.nn.functional
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from model.errors import InputError, UserError
from model.gpt import GPT


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among those that train together; alone it is 0 of 1."""

    rank: int
    world: int
    device: torch.device

    @property
    def main(self) -> bool:
        """True in the one process that reports and writes files."""
        return self.rank == 0

    def wrap(self, model: GPT) -> nn.Module:
        """The module to call in training: averages gradients where there are several."""
        if self.world == 1:
            return model
        return DistributedDataParallel(model)

    def accumulating(self, module: nn.Module, last: bool) -> AbstractContextManager[None]:
        """Gradients are exchanged once a step, in its last backward pass."""
        if isinstance(module, DistributedDataParallel) and not last:
            context: AbstractContextManager[None] = module.no_sync()
            return context
        return nullcontext()

    def checked(self, work: Callable[[], object]) -> None:
        """``work`` in the main process alone. Where it raises ``UserError`` there, all raise one,
        so that none is left waiting for the others."""
        refusal: UserError | None = None
        if self.main:
            try:
                work()
            except UserError as error:
                refusal = error
        refused = self.total(torch.tensor(float(refusal is not None), device=self.device))
        if refused:
            raise refusal or InputError("the main process refused")

    def total(self, value: Tensor) -> Tensor:
        """The sum of ``value`` over all processes."""
        if self.world > 1:
            dist.all_reduce(value)
        return value


@contextmanager
def processes() -> Iterator[Processes]:
    """Join the group that ``torchrun`` describes in the environment, if any; leave it after.

    Uses nccl where every process has a GPU of its own, gloo otherwise. Where nothing holds on to
    a wrapped module, the group's threads have ended when the block is left.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    device = _own_device()
    cuda = device.type == "cuda"
    if world == 1:
        yield Processes(0, 1, device)
        return
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    try:
        yield Processes(dist.get_rank(), world, device)
    finally:
        dist.destroy_process_group()


def _own_device() -> torch.device:
    """A GPU where there is one for each process of this machine, else the processor: all
    of them must come to the same answer, or they wait for each other for ever."""
    local = int(os.environ.get("LOCAL_RANK", "0"))
    here = int(os.environ.get("LOCAL_WORLD_SIZE", os.environ.get("WORLD_SIZE", "1")))
    if torch.cuda.is_available() and torch.cuda.device_count() >= here:
        return torch.device("cuda", local)
    return torch.device("cpu")
