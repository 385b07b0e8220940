"""A block made longer, and stretches of a text whose times are made up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from model.lab.base import collect
from model.lab.block512 import BLOCK, lengthened, long_enough, run, stretches
from model.lab.timing import Pair, Timed
from tests.helpers import tiny_gpt
from tests.lab.helpers import tiny_handle, tiny_request


@torch.inference_mode()
def test_within_its_own_block_a_longer_model_is_the_same():
    model = tiny_gpt()
    longer = lengthened(model, 80)
    ids = torch.randint(4, 40, (1, 32))
    assert torch.allclose(longer(ids), model(ids), atol=1e-5)
    assert longer.config.block_size == 80
    positions = longer.positions.weight
    assert torch.equal(positions[32:64], positions[:32])
    assert torch.equal(positions[64:], positions[:16])
    assert model.config.block_size == 32  # the original stays as it was


def test_a_model_that_is_long_enough_stays_as_it_is():
    handle = tiny_handle(block_size=BLOCK)
    model, note = long_enough(handle)
    assert model is handle.model
    assert "repeat" not in note
    other: Any = SimpleNamespace(model=SimpleNamespace(config=SimpleNamespace(block_size=100)))
    assert long_enough(other)[0] is other.model


def test_stretches_of_a_hundred():
    ids = tuple(range(150))
    off = Timed(ids, tuple([0.002] * 100 + [0.004] * 50))
    on = Timed(ids, (0.001,) * 150)
    first, second = stretches(Pair(150, {"off": (off,), "on": (on,)}))
    assert (first.first, first.last, second.first, second.last) == (1, 100, 101, 150)
    assert (first.off, second.off, second.on) == pytest.approx((2.0, 4.0, 1.0))
    assert second.ratio == pytest.approx(4.0)


def test_both_modes_write_the_same_past_the_learnt_block():
    result = collect(run(tiny_request()))
    same, _ = result.checks  # how much faster is for the clock to say
    assert same.holds
    assert result.tables[0].column("identical") == ["yes"]
    assert result.settings["tokens"] > tiny_handle().model.config.block_size
    assert "repeat" in result.settings["weights"]
