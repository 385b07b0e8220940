"""Past the block: the window is a function of the text, so every cache mode agrees."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.config import Controls, SamplerConfig
from model.generate import Generator, Prompt
from model.window import next_start
from tests.helpers import CHARACTERS, HAN, Endless, Ran, Toggling, collect, tiny_gpt

ENDS = frozenset({0, 1})
TEXTS = st.lists(st.integers(0, 6), min_size=1, max_size=120)
GREEDY = SamplerConfig(temperature=0)
BLOCK = 32


@given(TEXTS, st.integers(2, 24))
def test_step_by_step_and_from_scratch_agree(ids: list[int], block: int) -> None:
    start = 0
    for length in range(1, len(ids) + 1):
        start = next_start(ids[:length], start, length, block, ENDS)
        assert start == next_start(ids, 0, length, block, ENDS)


@given(TEXTS, st.integers(2, 24), st.randoms(use_true_random=False))
def test_from_any_earlier_length_too(ids: list[int], block: int, rng: random.Random) -> None:
    start, length = 0, 0
    while length < len(ids):
        length = rng.randint(length + 1, len(ids))
        start = next_start(ids, start, length, block, ENDS)
    assert start == next_start(ids, 0, len(ids), block, ENDS)


@given(TEXTS, st.integers(2, 24))
def test_what_comes_later_decides_nothing(ids: list[int], block: int) -> None:
    length = (len(ids) + 1) // 2
    longer = [*ids[:length], *([0] * 50)]
    assert next_start(ids, 0, length, block, ENDS) == next_start(longer, 0, length, block, ENDS)


@given(TEXTS, st.integers(4, 24))
def test_the_window_never_overflows_and_keeps_at_least_a_quarter(
    ids: list[int], block: int
) -> None:
    start = 0
    for length in range(1, len(ids) + 1):
        before, start = start, next_start(ids, start, length, block, ENDS)
        assert length - start <= block
        if start == before:
            continue
        assert length - before == block + 1, "it moves only when it is full"
        assert block // 4 < length - start <= block // 2 + 1
        if length - start <= block // 2:
            assert ids[start - 1] in ENDS, "cut short only for a line end"


def test_the_window_drops_to_the_newest_half_at_the_first_line_end_in_it() -> None:
    plain = [5] * 40
    assert next_start(plain, 0, 16, 16, ENDS) == 0
    assert next_start(plain, 0, 17, 16, ENDS) == 8
    with_ends = list(plain)
    with_ends[9] = with_ends[11] = 0
    assert next_start(with_ends, 0, 17, 16, ENDS) == 10
    late = list(plain)
    late[12] = 0  # would leave less than a quarter of the block
    assert next_start(late, 0, 17, 16, ENDS) == 8


def written(prompt: str, controls: Controls | Toggling) -> Ran:
    model = Endless(tiny_gpt(block_size=BLOCK))
    return collect(Generator(model, CHARACTERS, Prompt(prompt), controls, inspected=False))


PROMPTS = {
    "short": HAN[:3],
    "block-2": (HAN * 2)[: BLOCK - 2],
    "block-1": (HAN * 2)[: BLOCK - 1],
    "block": (HAN * 2)[:BLOCK],
    "longer": (HAN * 3)[: 2 * BLOCK + 5],
}


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
@pytest.mark.parametrize("sampler", [GREEDY, SamplerConfig(temperature=1.2)], ids=["greedy", "1.2"])
def test_three_blocks_are_the_same_in_every_cache_mode(prompt: str, sampler: SamplerConfig) -> None:
    def controls(cache: str) -> Controls:
        return Controls(sampler, cache=cache, seed=4, max_tokens=3 * BLOCK)  # type: ignore[arg-type]

    cached = written(prompt, controls("on"))
    assert len(cached.tokens) == 3 * BLOCK
    assert sum(step.phase == "re-prefill" for step in cached.steps) >= 4, "it slid"
    for cache in ("off", "race"):
        assert written(prompt, controls(cache)).tokens == cached.tokens
    rng = random.Random(7)
    for _ in range(3):
        modes = {rng.randrange(3 * BLOCK): rng.choice(["on", "off", "race"]) for _ in range(12)}
        toggled = written(prompt, Toggling(controls("on"), modes))  # type: ignore[arg-type]
        assert toggled.tokens == cached.tokens


def test_a_race_measures_that_the_logits_agree() -> None:
    raced = written(HAN[:5], Controls(GREEDY, cache="race", max_tokens=3 * BLOCK))
    races = [step.race for step in raced.steps]
    assert all(race is not None and race.argmax_agrees for race in races)
    assert max(race.max_logit_difference for race in races if race) <= 1e-4
    assert all(race.cached_s > 0 and race.uncached_s > 0 for race in races if race)
