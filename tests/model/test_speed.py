"""The meter's figures are the medians of what it was fed, mode by mode, length by length."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from model.config import CacheMode, Controls
from model.generate import Generator, Prompt
from model.speed import BUCKETS, KEPT, LIVE, WARM_UP, Bucket, Median, Reading, SpeedMeter
from model.steps import Race, Step
from tests.helpers import CHARACTERS, Toggling, collect, tiny_gpt

STEP = Step(
    position=1,
    token=5,
    text="春",
    probability=0.5,
    logprob=-1.0,
    u=0.25,
    forced=False,
    phase="decode",
    context=10,
    recomputed=0,
    forward_s=0.003,
    sampling_s=0.001,
    cache_bytes=0,
    controls=Controls(),
)


def step(cache: CacheMode = "on", ms: float = 4.0, **changes: Any) -> Step:
    """A step of ``ms`` milliseconds, a quarter of it sampling."""
    seconds = {"forward_s": ms * 0.00075, "sampling_s": ms * 0.00025}
    return replace(STEP, controls=Controls(cache=cache), **{**seconds, **changes})


def warm(meter: SpeedMeter | None = None) -> SpeedMeter:
    """A meter whose warm-up is over."""
    meter = meter or SpeedMeter("tiny", 128)
    for _ in range(WARM_UP):
        meter.update(step("on", 999.0))
        meter.update(step("off", 999.0))
    meter.update(step(phase="prefill", ms=999.0))
    return meter


def test_a_fresh_meter_has_no_figures_at_all() -> None:
    assert SpeedMeter("tiny", 128).reading() == Reading(
        model="tiny",
        live_tokens_per_s=None,
        on=None,
        off=None,
        prefill=None,
        re_prefill=None,
        buckets=(),
        compared=None,
        context=0,
        recomputed=0,
        cache_bytes=0,
        race=None,
    )


def test_warm_up_of_each_mode_is_left_out() -> None:
    meter = SpeedMeter("tiny", 128)
    for _ in range(WARM_UP):
        meter.update(step("on"))
    assert meter.reading().on is None
    meter.update(step("on", 2.0))
    meter.update(step("off", 7.0))
    reading = meter.reading()
    assert (reading.on, reading.off) == (Median(pytest.approx(0.002), 1), None)


def test_modes_have_medians_of_their_own_with_the_number_of_samples() -> None:
    meter = warm()
    for ms in (1.0, 100.0, 2.0):
        meter.update(step("on", ms))
    for ms in (8.0, 10.0):
        meter.update(step("off", ms))
    reading = meter.reading()
    assert reading.on == Median(pytest.approx(0.002), 3)
    assert reading.on.tokens_per_s == pytest.approx(500)
    assert reading.off == Median(pytest.approx(0.009), 2)
    assert Median(0.0, 3).tokens_per_s is None


def test_prefill_and_re_prefill_stay_out_of_the_decode_medians() -> None:
    meter = warm()
    meter.update(step(ms=1.0))
    meter.update(step(phase="prefill", ms=50.0))
    meter.update(step(phase="re-prefill", ms=30.0))
    meter.update(step(phase="re-prefill", ms=40.0))
    reading = meter.reading()
    assert reading.on == Median(pytest.approx(0.001), 1)
    assert reading.prefill == Median(pytest.approx(0.050), 1), "the warm-up prefill is left out"
    assert reading.re_prefill == Median(pytest.approx(0.035), 2)


def test_speed_up_is_taken_at_equal_context_lengths_only() -> None:
    meter = warm()
    meter.update(step("on", 1.0, context=10))
    meter.update(step("off", 2.0, context=10))
    meter.update(step("on", 1.5, context=100))
    reading = meter.reading()
    assert reading.compared is not None
    assert (reading.compared.low, reading.compared.high) == (9, 16)
    assert reading.compared.speed_up == pytest.approx(2.0)
    assert [bucket.speed_up is None for bucket in reading.buckets] == [False, True]
    meter.update(step("off", 9.0, context=100))
    compared = meter.reading().compared
    assert compared == Bucket(
        97, 104, Median(pytest.approx(0.0015), 1), Median(pytest.approx(0.009), 1)
    )
    assert compared.speed_up == pytest.approx(6.0)


def test_of_two_equally_near_lengths_the_longer_is_compared() -> None:
    meter = warm(SpeedMeter("tiny", 16))  # a bucket for each length
    for context in (4, 6):
        for mode in ("on", "off"):
            meter.update(step(mode, context=context))
    meter.update(step(context=5))
    compared = meter.reading().compared
    assert compared is not None and compared.low == compared.high == 6


@pytest.mark.parametrize("block_size", [1, 2, 15, 16, 17, 100, 128, 500, 8192])
def test_buckets_cover_every_context_once(block_size: int) -> None:
    meter = warm(SpeedMeter("tiny", block_size))
    for context in range(1, block_size + 1):
        meter.update(step(context=context))
    covered = [n for b in meter.reading().buckets for n in range(b.low, b.high + 1)]
    assert covered == list(range(1, block_size + 1))
    assert len(meter.reading().buckets) <= BUCKETS


def test_a_block_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="block_size is 0"):
        SpeedMeter("tiny", 0)


def test_a_race_feeds_both_modes_and_itself() -> None:
    meter = warm()
    agreeing = Race(0.001, 0.005, 2e-6, True)
    meter.update(step("race", forward_s=0.001, sampling_s=0.001, race=agreeing, position=7))
    split = Race(0.003, 0.009, 5e-6, False)
    meter.update(step("race", forward_s=0.003, sampling_s=0.001, race=split, position=8))
    meter.update(step("race", race=replace(split, max_logit_difference=1e-6), position=9))
    reading = meter.reading()
    assert reading.on == Median(pytest.approx(0.004), 3)
    assert reading.off == Median(pytest.approx(0.010), 3)
    race = reading.race
    assert race is not None
    assert (race.cached, race.uncached) == (Median(0.003, 3), Median(0.009, 3))
    assert (race.steps, race.agreements, race.first_divergence) == (3, 1, 8)
    assert race.max_logit_difference == 5e-6


def test_a_difference_that_is_no_number_is_not_covered_up() -> None:
    meter = warm()
    for difference in (1e-6, math.nan, 1e-3):
        meter.update(step("race", race=Race(0.001, 0.002, difference, True)))
    race = meter.reading().race
    assert race is not None and math.isnan(race.max_logit_difference)


def test_live_speed_is_that_of_the_newest_steps_whatever_they_did() -> None:
    meter = SpeedMeter("tiny", 128)
    for _ in range(LIVE):
        meter.update(step("off", 1000.0))
    assert meter.reading().live_tokens_per_s == pytest.approx(1.0)
    for _ in range(LIVE // 2):
        meter.update(step("on", 0.0))
    assert meter.reading().live_tokens_per_s == pytest.approx(2.0)
    for _ in range(LIVE):
        meter.update(step("race", forward_s=0.1, sampling_s=0.1, race=Race(0.1, 0.3, 0.0, True)))
    assert meter.reading().live_tokens_per_s == pytest.approx(2.0), "a race costs both passes"


def test_a_run_has_counts_of_its_own_and_the_medians_stay() -> None:
    meter = warm()
    meter.update(step("off", 3.0, recomputed=9, context=10))
    meter.update(step("on", 3.0, recomputed=1, context=11, cache_bytes=44))
    meter.update(step("race", race=Race(0.1, 0.2, 0.0, False)))
    before = meter.reading()
    assert (before.recomputed, before.context, before.cache_bytes) == (10, 10, 0)
    meter.begin_run()
    after = meter.reading()
    assert (after.recomputed, after.context, after.cache_bytes) == (0, 0, 0)
    assert after.live_tokens_per_s is None and after.race is None
    assert (after.on, after.off, after.buckets) == (before.on, before.off, before.buckets)


def test_another_model_starts_from_nothing_warm_up_included() -> None:
    meter = warm()
    meter.update(step())
    meter.reset("other", 64)
    assert meter.reading() == SpeedMeter("other", 64).reading()
    meter.update(step())
    assert meter.reading().on is None


def test_a_reading_does_not_change() -> None:
    meter = warm()
    meter.update(step())
    reading = meter.reading()
    copy = replace(reading)
    for _ in range(10):
        meter.update(step("off", 50.0))
    assert reading == copy
    with pytest.raises(FrozenInstanceError):
        reading.context = 5  # type: ignore[misc]


def test_medians_follow_the_newest_samples_and_memory_stays_flat() -> None:
    meter = warm()

    def feed(count: int) -> int:
        for i in range(count):
            context, mode = i % 128 + 1, ("on", "off")[i % 2]
            race = Race(0.1, 0.2, 0.0, True) if i % 3 == 0 else None
            meter.update(step(mode, context=context, race=race, position=100_000 + i))
        return len(pickle.dumps(meter))

    after_4000 = feed(4000)
    assert feed(20_000) <= after_4000 + 32  # a count may take more digits
    for _ in range(KEPT):
        meter.update(step("on", 123.0))
    assert meter.reading().on == Median(pytest.approx(0.123), KEPT)


def test_the_steps_of_a_real_run_come_out_where_they_belong() -> None:
    controls = Controls(max_tokens=40)
    source = Toggling(controls, {10: "off", 20: "on", 30: "race"})
    # nothing random about the count: the end token is as good as any other to the meter
    ran = collect(Generator(tiny_gpt(block_size=64), CHARACTERS, Prompt("春眠"), source))
    meter = SpeedMeter("tiny", 64)
    for each in ran.steps:
        meter.update(each)
    reading = meter.reading()
    decodes = [each for each in ran.steps if each.phase == "decode"]
    races = [each for each in decodes if each.race]
    off = [each for each in decodes if each.controls.cache == "off"]
    assert len(ran.steps) == 40 and races and off, "the run must show every mode"
    assert reading.off is not None and reading.off.n == len(off) + len(races) - WARM_UP
    assert reading.on is not None and reading.on.n == len(decodes) - len(off) - WARM_UP
    assert reading.re_prefill is not None and reading.re_prefill.n == 1, "on again at step 20"
    assert reading.race is not None and reading.race.steps == len(races)
    assert reading.race.agreements == len(races)
    assert reading.race.max_logit_difference <= 1e-4
    assert reading.recomputed == sum(each.recomputed for each in ran.steps) > 0
    assert reading.cache_bytes == ran.steps[-1].cache_bytes > 0
