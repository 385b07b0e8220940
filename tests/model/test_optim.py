"""Muon's orthogonal step, and which weights get which optimizer."""

from __future__ import annotations

import pytest
import torch

from model.config import GPTConfig
from model.gpt import GPT
from model.optim import (
    Muon,
    build_optimizers,
    clip_gradients,
    fill_optimizer,
    optimizer_tensors,
    orthogonalise,
    scale_learning_rates,
)


@pytest.mark.parametrize("shape", [(16, 64), (64, 16), (32, 96), (128, 512), (96, 32)])
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_singular_values_become_about_one(shape: tuple[int, int], size: float) -> None:
    matrix = size * torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))
    values = torch.linalg.svdvals(orthogonalise(matrix))
    assert float(values.min()) > 0.5 and float(values.max()) < 1.5


@pytest.mark.parametrize("shape", [(24, 24), (24, 60), (60, 24)])
def test_the_direction_is_that_of_the_nearest_orthogonal_matrix(shape: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(1)
    matrix = torch.randn(shape, generator=generator)
    u, values, vh = torch.linalg.svd(matrix, full_matrices=False)
    result = orthogonalise(matrix)
    nearest = u @ vh
    cosine = (result * nearest).sum() / (result.norm() * nearest.norm())
    assert cosine > 0.97
    raw = (matrix * nearest).sum() / (matrix.norm() * nearest.norm())
    assert cosine > raw, "closer than the gradient itself"
    # it shares the singular vectors: in their basis it is diagonal
    inside = u.t() @ result @ vh.t()
    assert (inside - torch.diag(inside.diagonal())).abs().max() < 1e-3
    assert len(values) == min(shape)


def test_bfloat16_gives_nearly_the_same_step() -> None:
    matrix = torch.randn(48, 96, generator=torch.Generator().manual_seed(3))
    low = orthogonalise(matrix, torch.bfloat16)
    assert low.dtype == torch.bfloat16
    values = torch.linalg.svdvals(low.float())
    assert float(values.min()) > 0.5 and float(values.max()) < 1.5


def test_zero_stays_zero() -> None:
    assert torch.equal(orthogonalise(torch.zeros(4, 6)), torch.zeros(4, 6))


def test_a_step_moves_against_the_gradient_by_the_rate() -> None:
    weight = torch.nn.Parameter(torch.zeros(8, 8))
    optimizer = Muon([weight], lr=0.1)
    weight.grad = torch.eye(8) * 1e-6
    optimizer.step()
    moved = weight.detach()
    assert -0.13 < float(moved.diagonal().min()) <= float(moved.diagonal().max()) < -0.06
    assert (moved - torch.diag(moved.diagonal())).abs().max() < 1e-6


def test_matrices_of_blocks_go_to_muon_and_the_rest_to_adamw() -> None:
    gpt = GPT(GPTConfig(20, 8, 2, 2, 8))
    muon, adam = build_optimizers(gpt, muon_lr=0.02, adam_lr=3e-3, weight_decay=0.0)
    first = {id(p) for group in muon.param_groups for p in group["params"]}
    second = {id(p) for group in adam.param_groups for p in group["params"]}
    assert first | second == {id(p) for p in gpt.parameters()} and not first & second
    assert first == {id(p) for n, p in gpt.named_parameters() if "blocks" in n and p.dim() == 2}
    scale_learning_rates([muon, adam], 0.5)
    assert [o.param_groups[0]["lr"] for o in (muon, adam)] == [0.01, 1.5e-3]
    scale_learning_rates([muon, adam], 1.0)
    assert [o.param_groups[0]["lr"] for o in (muon, adam)] == [0.02, 3e-3]


def test_state_goes_out_and_back_in() -> None:
    gpts = [GPT(GPTConfig(20, 8, 1, 2, 8)) for _ in range(2)]
    sets = [build_optimizers(g, muon_lr=0.02, adam_lr=3e-3, weight_decay=0.1) for g in gpts]
    for p in gpts[0].parameters():
        p.grad = torch.ones_like(p)
    for optimizer in sets[0]:
        optimizer.step()
    for ours, theirs in zip(*sets, strict=True):
        fill_optimizer(theirs, optimizer_tensors(ours))
        before, after = optimizer_tensors(ours), optimizer_tensors(theirs)
        assert before and before.keys() == after.keys()
        assert all(torch.equal(before[k], after[k]) for k in before)


def test_gradients_are_clipped_to_a_norm() -> None:
    layer = torch.nn.Linear(4, 4)
    for p in layer.parameters():
        p.grad = torch.full_like(p, 3.0)
    before = clip_gradients(layer, 1.0)
    assert before == pytest.approx(3 * 20**0.5)
    norm = sum(float(p.grad.pow(2).sum()) for p in layer.parameters() if p.grad is not None)
    assert norm == pytest.approx(1.0, abs=1e-4)
