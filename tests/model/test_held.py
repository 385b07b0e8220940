"""A cache handed from one run to the next: what both texts share is not read again, and
nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.cache import KVCache
from model.config import Controls
from model.generate import Generator, Held, Prompt
from tests.helpers import CHARACTERS, HAN, Endless, Ran, Toggling, collect, tiny_gpt

MODEL = Endless(tiny_gpt(block_size=32))
CONTROLS = Controls(seed=3, max_tokens=6)


def turn(ids: tuple[int, ...], held: Held | None = None, controls=CONTROLS) -> tuple[Ran, Held]:
    run = Generator(MODEL, CHARACTERS, Prompt(ids=ids), controls, held=held)
    ran = collect(run)
    assert run.held is not None
    return ran, run.held


def ids_of(text: str) -> tuple[int, ...]:
    return (CHARACTERS.start_id, *CHARACTERS.encode(text))


def test_the_next_turn_reads_only_what_is_new() -> None:
    first, held = turn(ids_of("春眠不觉晓"))
    longer = (*ids_of("春眠不觉晓"), *first.tokens, *CHARACTERS.encode("，夜来"))
    second, _ = turn(longer, held)
    # the newest token of the first run was drawn, but never fed
    assert second.steps[0].reused == second.end.reused == 6 + 6 - 1
    assert [step.reused for step in second.steps[1:]] == [0] * 5
    assert [step.phase for step in second.steps[:2]] == ["prefill", "decode"]
    assert second.steps[0].recomputed == 0
    assert (first.steps[0].reused, first.end.reused) == (0, 0)


@given(st.text(HAN, max_size=20), st.text(HAN, max_size=20), st.integers(0, 20))
def test_a_taken_over_cache_changes_no_token(before: str, after: str, kept: int) -> None:
    _, held = turn(ids_of(before))
    ids = ids_of(before[:kept] + after)
    alone, _ = turn(ids)
    again, left = turn(ids, held)
    assert again.tokens == alone.tokens
    assert [s.text for s in again.steps] == [s.text for s in alone.steps]
    assert again.end.reused <= len(ids) - 1
    assert len(left.ids) == left.cache.position


def test_the_same_prompt_again_feeds_its_newest_token_alone() -> None:
    ids = ids_of("春眠不觉晓")
    _, held = turn(ids)
    again, _ = turn(ids, held)
    assert again.end.reused == len(ids) - 1


def test_nothing_in_common_saves_nothing() -> None:
    _, held = turn(ids_of("春眠"))
    other, left = turn(tuple(CHARACTERS.encode("白日依山")), held)
    assert other.end.reused == 0
    assert left.cache is held.cache, "the store is used again"


def test_a_window_that_slid_is_handed_on_as_it_stands() -> None:
    long = ids_of((HAN * 2)[:60])
    first, held = turn(long)
    assert held.cache.position < 32
    more = (*long, *first.tokens)
    alone, _ = turn(more)
    again, _ = turn(more, held)
    assert again.tokens == alone.tokens


def test_a_cache_that_is_switched_on_late_is_taken_over_then() -> None:
    ids = ids_of("春眠不觉晓")
    _, held = turn(ids)
    alone, _ = turn(ids)
    toggled = Toggling(replace(CONTROLS, cache="off"), {2: "on"})
    late, _ = turn(ids, held, toggled)
    assert late.tokens == alone.tokens
    assert [step.reused > 0 for step in late.steps] == [False, False, True, False, False, False]


def test_a_run_without_a_cache_leaves_none_and_loses_none() -> None:
    ids = ids_of("春眠")
    off = replace(CONTROLS, cache="off")
    run = Generator(MODEL, CHARACTERS, Prompt(ids=ids), off)
    collect(run)
    assert run.held is None
    _, held = turn(ids)
    run = Generator(MODEL, CHARACTERS, Prompt(ids=ids), off, held=held)
    collect(run)
    assert run.held is held


@pytest.mark.parametrize(
    ("held", "text", "common"),
    [
        ((), (1, 2), 0),
        ((1, 2), (), 0),
        ((1, 2), (1, 2), 2),
        ((1, 2, 3), (1, 2), 2),
        ((9,), (1,), 0),
    ],
)
def test_the_common_beginning(held: tuple[int, ...], text: tuple[int, ...], common: int) -> None:
    assert Held(KVCache(tiny_gpt().config), held).common(text) == common
