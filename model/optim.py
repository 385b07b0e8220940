"""Muon for the blocks' matrices, AdamW for the rest.

``torch.optim.Muon`` orthogonalises in bfloat16, which a processor without
bfloat16 units emulates at a tenth of its float32 speed: on the small model it took
as long as the forward and backward passes. This one works in the dtype that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from model.gpt import GPT


class Muon(Optimizer):
    """Momentum whose update is made orthogonal (Jordan et al. 2024, "Muon").

    For two-dimensional weights of hidden layers. ``lr`` is the spectral size of a
    step; about 0.02. ``weight_decay`` is decoupled. ``precision``: the dtype in which updates
    are made orthogonal; momentum and weights keep their own.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        precision: torch.dtype = torch.float32,
    ) -> None:
        self.precision = precision
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["momentum"] = torch.zeros_like(p)
                buffer = state["momentum"].lerp_(p.grad, 1 - group["momentum"])
                update = p.grad.lerp(buffer, group["momentum"])  # Nesterov
                update = orthogonalise(update, self.precision).to(p.dtype)
                scale = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-group["lr"] * scale)


def orthogonalise(
    matrix: Tensor, precision: torch.dtype = torch.float32, iterations: int = 5
) -> Tensor:
    """About the nearest matrix with singular values of one, by a quintic Newton-Schulz
    iteration (coefficients of Jordan et al., which reach [0.7, 1.2] in five rounds), in
    ``precision``."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x: Tensor = matrix.t() if tall else matrix
    x = (x / (x.norm() + 1e-7)).to(precision)
    for _ in range(iterations):
        gram = x @ x.t()
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.t() if tall else x


def build_optimizers(
    model: GPT,
    *,
    muon_lr: float,
    adam_lr: float,
    weight_decay: float,
    precision: torch.dtype = torch.float32,
) -> list[Optimizer]:
    """Muon on the matrices inside blocks, AdamW on embeddings, gains and biases.

    Each group remembers its ``base_lr``, which the schedule scales.
    """
    matrices = [p for p in model.blocks.parameters() if p.dim() == 2]
    held = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in held]
    optimizers: list[Optimizer] = [
        Muon(matrices, lr=muon_lr, weight_decay=weight_decay, precision=precision),
        AdamW(rest, lr=adam_lr, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["base_lr"] = group["lr"]
    return optimizers


def scale_learning_rates(optimizers: list[Optimizer], factor: float) -> None:
    """Set every group's learning rate to ``factor`` of its base."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = factor * group["base_lr"]


def clip_gradients(model: nn.Module, most: float) -> float:
    """Scale the gradients down to a norm of ``most`` where it is larger; the norm before."""
    return float(nn.utils.clip_grad_norm_(model.parameters(), most))


def optimizer_tensors(optimizer: Optimizer) -> dict[str, Tensor]:
    """What ``optimizer`` remembers of each parameter, as ``number.name``: to be saved."""
    state = optimizer.state_dict()["state"]
    return {
        f"{index}.{key}": value.contiguous() if isinstance(value, Tensor) else torch.tensor(value)
        for index, values in state.items()
        for key, value in values.items()
    }


def fill_optimizer(optimizer: Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give ``optimizer`` back what ``optimizer_tensors`` returned."""
    document = optimizer.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({**document, "state": state})
