"""The cache experiment: sizes that are known, and times that were made up."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from model.cache import KVCache
from model.config import GPTConfig
from model.errors import InputError
from model.lab.base import collect
from model.lab.cache import QUICK_LENGTHS, grows, run
from model.lab.handles import CHAT
from model.lab.memory import formula, gpt2_memory, held_memory, tensor_bytes
from model.lab.parting import Parting
from model.lab.timing import Line, Pair, Timed, clock, gains_more, is_flat, line, pace, pair
from model.registry import ModelSpec
from tests.helpers import CHARACTERS, tiny_gpt
from tests.lab.helpers import tiny_handle, tiny_request


def timed(*seconds: float, ids: tuple[int, ...] = (1, 2, 3)) -> Timed:
    return Timed(ids[: len(seconds)], seconds)


def result_of(generator: Generator[Any, None, Pair]) -> Pair:
    while True:
        try:
            next(generator)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]


def test_gpt2_small_in_float16():
    memory = gpt2_memory()
    assert memory.by_formula == memory.measured == 36_864
    assert memory.full == 36_864 * 1024


def test_the_lessons_own_model():
    assert formula(GPTConfig(6289), 4) == ("2 · 4 · 128 · 4", 4096)


def test_shared_heads_make_the_cache_smaller():
    """SmolLM2-135M: 9 query heads of 64 share 3 of keys and values."""
    shape = SimpleNamespace(n_layer=30, n_kv_head=3, head_size=64)
    assert formula(shape, 4) == ("2 · 30 · 3 heads · 64 · 4", 46_080)
    assert formula(object(), 4) == ("", None)


def test_what_a_cache_holds_is_weighed():
    model = tiny_gpt()  # 2 layers of 32
    memory = held_memory("tiny", model.new_cache(), model)
    assert memory.measured == memory.by_formula == 2 * 2 * 32 * 4
    assert memory.full == memory.measured * 32
    bfloat16 = KVCache(model.config, dtype=torch.bfloat16)
    bfloat16.advance(5)
    assert tensor_bytes(bfloat16.snapshot()) == 5 * 2 * 2 * 32 * 2


def test_tensors_are_found_wherever_they_stand():
    held = {"a": [torch.zeros(3), (torch.zeros(2, dtype=torch.float16), 7)], "b": "text"}
    assert tensor_bytes(held) == 3 * 4 + 2 * 2


def test_a_pair_compares_medians():
    measured = Pair(
        3,
        {
            "off": (timed(1.0, 2.0, 3.0), timed(1.0, 2.0, 9.0), timed(1.0, 2.0, 4.0)),
            "on": (timed(0.5, 0.5, 0.5),) * 3,
        },
    )
    assert measured.total("off") == 7.0
    assert measured.ratio == pytest.approx(7 / 1.5)
    assert measured.identical
    assert pace([measured], "off") == [1.0, 2.0, 4.0]


def test_another_text_is_noticed():
    runs = {"off": (timed(1.0, 1.0),), "on": (timed(1.0, 1.0, ids=(1, 9)),)}
    assert not Pair(2, runs).identical  # type: ignore[arg-type]


def test_a_pace_is_taken_over_texts_that_begin_alike():
    short = Pair(1, {"off": (timed(1.0),), "on": (timed(5.0),)})
    long = Pair(2, {"off": (timed(3.0, 4.0),), "on": (timed(5.0, 5.0),)})
    assert pace([short, long], "off") == [2.0, 4.0]


def test_a_line_is_found_and_one_outlier_is_not():
    seconds = [0.5 + 0.25 * context for context in range(2, 82)]
    exact = line(seconds, first=2)
    assert (exact.rise, exact.base) == pytest.approx((0.25, 0.5))
    assert exact.error == pytest.approx(0, abs=1e-12)
    seconds[17] = 100.0
    # the median of eight moves by half a step at most
    assert line(seconds, first=2).rise == pytest.approx(0.25, rel=0.02)
    assert line([3.0], first=2) == Line(0.0, 3.0, math.inf)


def test_the_error_of_a_line_is_the_scatter_of_its_fits():
    """Of 400 lines through the same scatter, against what one of them says of itself."""
    chance = np.random.default_rng(1)
    fits = [line([0.5 + 0.25 * n + e for n, e in enumerate(chance.normal(size=160))])
            for _ in range(400)]  # fmt: skip
    spread = float(np.std([fit.rise for fit in fits]))
    assert float(np.mean([fit.error for fit in fits])) == pytest.approx(spread, rel=0.1)


STEEP, FLAT = Line(20.0, 100.0, 0.5), Line(0.3, 40.0, 0.2)


@pytest.mark.parametrize(
    ("off", "on", "verdict"),
    [
        (STEEP, FLAT, True),
        (STEEP, STEEP, False),
        (STEEP, Line(0.3, 40.0, 3.0), None),  # scatters by more than a quarter of 20
        (STEEP, Line(0.3, 40.0, math.inf), None),  # two points
        (Line(0.0, 3.0, 0.0), Line(0.0, 3.0, 0.0), None),  # nothing was measured
    ],
)
def test_flat_is_said_only_where_the_scatter_allows_it(off: Line, on: Line, verdict: bool | None):
    assert is_flat(off, on) is verdict


def test_what_scatter_hides_is_not_given_a_figure():
    assert grows(Line(2e-6, 1e-3, 1e-7)) == "2.0 µs more"
    for fit in (Line(2e-6, 1e-3, 1e-6), Line(-2e-5, 1e-3, 1e-6), Line(0.0, 1e-3, math.inf)):
        assert "no more" in grows(fit)


def test_the_ratio_grows_where_the_slope_weighs_more():
    assert gains_more(STEEP, FLAT) is True
    assert gains_more(FLAT, STEEP) is False
    assert gains_more(STEEP, Line(0.3, 40.0, 5.0)) is None
    assert gains_more(STEEP, Line(0.3, -1.0, 0.1)) is None


@pytest.mark.parametrize(
    ("parted", "agrees", "same"),
    [
        (None, True, "yes"),
        (Parting(1, 1e-6), True, "1 tokens"),
        (Parting(1, 0.2), False, "1 tokens"),
    ],
)
def test_texts_may_part_where_u_is_at_an_edge(parted: Parting | None, agrees: bool, same: str):
    other = timed(1.0, 1.0, ids=(1, 2 if parted is None else 9))
    runs = {"off": (timed(1.0, 1.0),), "on": (other,)}
    found = Pair(2, runs, parted)  # type: ignore[arg-type]
    assert (found.agrees, found.same) == (agrees, same)


@pytest.mark.parametrize(("budget", "n"), [(0.0, 1), (1e6, 3)])
def test_repeats_follow_the_budget(budget: float, n: int):
    measured = result_of(pair(tiny_gpt(), CHARACTERS, 5, budget, "tiny", most=3))
    assert measured.n == n
    assert measured.identical
    assert len(measured.runs["on"][0].ids) == 5


def test_every_length_is_written_alike_in_both_modes():
    result = collect(run(tiny_request(model="tiny")))
    times = result.tables[0]
    assert times.column("tokens") == list(QUICK_LENGTHS)
    assert times.column("identical") == ["yes", "yes"]
    same, _, memory, gpt2 = result.checks  # not the second: a small model's times are noise
    assert same.holds and memory.holds and gpt2.holds


def test_too_long_a_text_is_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("model.lab.cache.QUICK_TOO_LONG", 0.0)
    result = collect(run(tiny_request(model="tiny")))
    assert result.tables[0].rows[1] == (64, *[None] * 8)
    assert "left out" in result.tables[0].note


def test_past_the_block_it_says_that_the_window_slides():
    assert tiny_handle().model.config.block_size < max(QUICK_LENGTHS)
    assert "slides" in collect(run(tiny_request(model="tiny"))).tables[0].note


def test_one_thread_is_timed_by_its_own_processor_time(monkeypatch: pytest.MonkeyPatch):
    assert clock() is time.thread_time
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    assert clock() is time.perf_counter


def test_what_happens_between_two_steps_is_not_timed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("model.lab.timing.QUIET", -1.0)  # progress at every step
    ticks = iter(range(10_000))
    monkeypatch.setattr("model.lab.timing.clock", lambda: lambda: float(next(ticks)))
    turns = pair(tiny_gpt(), CHARACTERS, 5, 0.0, "tiny")
    while True:
        try:
            next(turns)
            next(ticks)  # the listener takes its time
        except StopIteration as stop:
            measured = stop.value
            break
    assert measured.runs["on"][0].seconds == (1.0,) * 5


def test_a_model_that_cannot_be_loaded_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch):
    listed = [ModelSpec(name, Path(__file__)) for name in ("tiny", CHAT)]
    monkeypatch.setattr("model.lab.cache.specs", lambda: listed)
    result = collect(run(tiny_request()))
    assert result.settings["models"] == ["tiny"]
    assert result.findings[-1] == f"{CHAT} is left out: {CHAT} is not here yet"
    with pytest.raises(InputError):
        collect(run(tiny_request(model=CHAT)))
