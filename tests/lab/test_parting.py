"""Two texts that part, and how far u is from the other one's token."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from model.cache import KVCache
from model.config import Controls, GPTConfig
from model.lab.parting import ROUNDING, Parting, parting
from tests.helpers import CHARACTERS

V = CHARACTERS.vocab_size
FIRST, SECOND, THIRD = CHARACTERS.encode("春眠不")


class Three:
    """Gives three tokens .5, .3 and .2, whatever it has read."""

    config = GPTConfig(V, 64, 1, 1, 1)

    def new_cache(self, batch: int = 1) -> KVCache:
        return KVCache(self.config, batch)

    def __call__(self, ids: Tensor, cache: KVCache | None = None, *, last: bool = False) -> Tensor:
        if cache is not None:
            cache.advance(ids.shape[1])
        logits = torch.full((1, 1, V), -60.0)
        logits[..., [FIRST, SECOND, THIRD]] = torch.tensor([0.5, 0.3, 0.2]).log()
        return logits


def u_of(seed: int) -> float:
    """u of the first draw."""
    from model.run import Run

    return Run(CHARACTERS, [CHARACTERS.start_id]).uniform(seed)


def part(one: list[int], other: list[int], seed: int) -> Parting | None:
    return parting(Three(), CHARACTERS, (one, other), Controls(seed=seed))  # type: ignore[arg-type]


def test_texts_that_are_the_same_do_not_part():
    assert part([FIRST, SECOND], [FIRST, SECOND], 1) is None


@pytest.mark.parametrize("seed", range(6))
def test_how_far_the_other_token_lies(seed: int):
    """On the bar .5 | .3 | .2."""
    u = u_of(seed)
    for token, low, high in ((FIRST, 0.0, 0.5), (SECOND, 0.5, 0.8), (THIRD, 0.8, 1.0)):
        expected = max(0.0, low - u, u - high)
        mine = next(t for t in (FIRST, SECOND) if t != token)
        found = part([mine], [token], seed)
        assert found is not None and found.at == 0
        assert found.apart == pytest.approx(expected, abs=1e-6)
        assert found.rounding == (expected <= ROUNDING)


def test_a_text_that_stops_before_the_other_was_not_stopped_by_rounding():
    found = part([FIRST], [FIRST, SECOND], 1)
    assert found == Parting(1, 1.0) and not found.rounding
    assert replace(found, apart=ROUNDING).rounding
