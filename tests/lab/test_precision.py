"""Precision against bit patterns, and against texts whose divergence is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from model.errors import InputError
from model.lab.base import Request, collect
from model.lab.precision import TYPES, cast, run, spacing
from tests.helpers import tiny_gpt
from tests.lab.helpers import tiny_handle, tiny_request


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("value", [1.0, 1.5, 7.9, 8.0, 16.0, 31.9, 0.3])
def test_spacing_is_the_way_to_the_next_number(dtype: torch.dtype, value: float):
    held = torch.tensor(value, dtype=dtype)
    bits = {torch.float32: torch.int32}.get(dtype, torch.int16)
    following = (held.view(bits) + 1).view(dtype)
    assert spacing(dtype, float(held)) == float(following.double() - held.double())


def test_bfloat16_near_sixteen():
    assert spacing(torch.bfloat16, 16.0) == spacing(torch.bfloat16, -31.0) == 0.125


@torch.inference_mode()
def test_a_cast_model_computes_in_its_type():
    model = tiny_gpt()
    ids = torch.tensor([[1, 5, 9]])
    assert torch.equal(cast(model, torch.float32)(ids), model(ids))
    half = cast(model, torch.bfloat16)(ids)
    assert half.dtype == torch.bfloat16
    assert not torch.equal(half.float(), model(ids))
    assert model(ids).dtype == torch.float32  # the original stays as it was


def test_coarser_types_change_more():
    result = collect(run(tiny_request()))
    assert result.holds, result.checks
    spacings, divergences, *_ = result.tables
    assert spacings.column("spacing near 16") == [2.0**-19, 0.125, 2.0**-6]
    for texts, diverge in zip(
        divergences.column("texts"), divergences.column("diverge"), strict=True
    ):
        assert texts is None or 0 <= diverge <= texts  # type: ignore[operator]


def test_a_model_of_another_maker_is_refused_in_a_line():
    def load(name: str | None) -> Any:
        return SimpleNamespace(model=object(), spec=tiny_handle().spec)

    with pytest.raises(InputError, match="tang-small"):
        collect(run(Request(load, quick=True)))
