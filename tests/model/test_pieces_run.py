"""Runs whose tokens are pieces and bytes: text, stops, forks and cache modes."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.forms import FORMS, STOP
from model.batch import BatchGenerator
from model.config import CacheMode, Controls, SamplerConfig
from model.constraints import Acrostic, FixedForm
from model.generate import Generator, Prompt
from model.reader import line_end_ids
from model.steps import Finished, Step
from tests.helpers import (
    PIECES,
    Endless,
    Ran,
    ScriptedModel,
    Toggling,
    collect,
    collect_rows,
    tiny_gpt,
)

SAMPLER = SamplerConfig(temperature=1.2, top_p=0.97, repetition=1.3)
GPT = tiny_gpt(PIECES.vocab_size, block_size=48)
RARE = "春𨣧😀眠"
"""Characters of one piece, then of four bytes each."""


def says(text: str, controls: Controls | None = None, **kwargs: object) -> Generator:
    """A run of a model that writes ``text``, piece by piece, then ends."""
    script = [*PIECES.encode(text), PIECES.end_id]
    model = ScriptedModel(script, PIECES.vocab_size, prompt=1)
    return Generator(model, PIECES, Prompt(), controls or Controls(), **kwargs)  # type: ignore[arg-type]


def writes(controls: object, prompt: str = "白日", **kwargs: object) -> Generator:
    model = Endless(GPT, PIECES.end_id)
    return Generator(model, PIECES, Prompt(prompt), controls, inspected=False, **kwargs)  # type: ignore[arg-type]


# -- characters in bytes


def test_a_character_is_shown_when_its_last_byte_has_come() -> None:
    run = collect(says(RARE))
    assert run.text == RARE
    assert [s.text for s in run.steps] == ["春", "", "", "", "𨣧", "", "", "", "😀", "眠", ""]


@pytest.mark.parametrize("tokens", range(1, 12))
def test_a_limit_between_the_bytes_shows_one_replacement_at_the_end(tokens: int) -> None:
    run = collect(says(RARE, Controls(max_tokens=tokens)))
    shown = "".join(step.text for step in run.steps)
    assert "\ufffd" not in shown
    assert run.text == PIECES.decode(run.tokens)
    assert run.end.text == ("\ufffd" if tokens in (2, 3, 4, 6, 7, 8) else "")


@pytest.mark.parametrize("place", range(1, 11))
def test_cancelled_between_the_bytes_a_run_goes_on_to_the_same_text(place: int) -> None:
    asked: list[bool] = []
    run = says(RARE, cancelled=lambda: bool(asked))
    steps = [step for step in islice(iter(run), place) if isinstance(step, Step)]
    asked.append(True)
    (end,) = list(run)
    assert isinstance(end, Finished) and end.reason == "cancelled"
    assert "".join(s.text for s in steps) + end.text == PIECES.decode([s.token for s in steps])
    fork = says(RARE, given=[s.token for s in steps])
    assert fork.run.given_text + collect(fork).text == RARE


# -- stops within and across pieces


@pytest.mark.parametrize(
    ("text", "stop", "shown"),
    [
        ("白日花落处。", "花落", "白日"),  # the stop ends within a piece
        ("白日花落处。", "日花", "白"),  # across two, from within the first
        ("白日花落处。", "落处。", "白日花"),
        ("春𨣧眠", "𨣧", "春"),  # of bytes
        ("春𨣧眠", "春𨣧眠", ""),
    ],
)
def test_a_stop_string_anywhere_in_the_pieces_is_never_shown(
    text: str, stop: str, shown: str
) -> None:
    run = collect(says(text, Controls(stop=(stop,))))
    assert run.text == shown
    assert run.end.reason == "stop_string"


def test_what_might_have_become_a_stop_string_is_shown_at_the_end() -> None:
    run = collect(says("白日花落处", Controls(stop=("花落处也",))))
    assert run.text == "白日花落处"


# -- the same tokens in every cache mode, past the block


def test_every_cache_mode_gives_the_same_tokens_past_the_block() -> None:
    runs = [
        collect(writes(Controls(SAMPLER, mode, seed=4, max_tokens=150)))
        for mode in ("on", "off", "race")
    ]
    assert len(runs[0].tokens) == 150
    assert runs[0].tokens == runs[1].tokens == runs[2].tokens
    assert runs[0].text == PIECES.decode(runs[0].tokens)
    bytes_written = [t for t in runs[0].tokens if PIECES.name(t).startswith("<0x")]
    assert bytes_written, "byte pieces took part"
    races = [s.race for s in runs[2].steps if s.race]
    assert max(race.max_logit_difference for race in races) < 1e-3
    assert {PIECES.name(t) for t in line_end_ids(PIECES)} >= {"，", "。", "<end>"}


@settings(max_examples=8, deadline=None)
@given(st.dictionaries(st.integers(0, 40), st.sampled_from(["on", "off", "race"]), max_size=6))
def test_toggling_the_cache_under_a_form_changes_no_token(modes: dict[int, CacheMode]) -> None:
    form = FixedForm(FORMS["七绝"], "春𨣧")
    base = Controls(SAMPLER, seed=6)
    straight = collect(writes(base, "", constraint=form))
    toggled = collect(writes(Toggling(base, modes), "", constraint=form))
    assert toggled.tokens == straight.tokens
    assert FORMS["七绝"].holds(straight.text)


def test_each_row_of_a_batch_is_what_it_would_be_alone() -> None:
    seeds = range(12)
    constraint = Acrostic("白𨣧花千")
    controls = Controls(SAMPLER)
    batch = BatchGenerator(GPT, PIECES, Prompt(), controls, seeds, constraint=constraint)
    for seed, row in zip(seeds, collect_rows(batch, len(seeds)), strict=True):
        alone = collect(writes(Controls(SAMPLER, seed=seed), "", constraint=constraint))
        assert alone.tokens == row.tokens
        assert row.text[::8] == "白𨣧花千"


# -- constraints and penalties


def heavily_penalised(heads: str) -> Ran:
    sampler = SamplerConfig(temperature=1.5, repetition=2.0, presence=2.0, frequency=2.0)
    return collect(writes(Controls(sampler, seed=2), "", constraint=Acrostic(heads)))


@pytest.mark.parametrize("heads", ["白白白白", "𨣧𨣧𨣧𨣧", "花千花千"])
def test_the_strongest_penalties_leave_repeated_heads_exact(heads: str) -> None:
    run = heavily_penalised(heads)
    assert run.text[::8] == heads
    assert run.text[7::8] == "，。，。"


def test_what_the_constraint_leaves_no_choice_in_is_forced() -> None:
    run = heavily_penalised("𨣧白𨣧白")
    forced = [PIECES.name(step.token) for step in run.steps if step.forced]
    assert forced.count("<0xA8>") == forced.count("<0xF0>") == 2
    assert "白" not in forced, "白 or 白日: there was a choice"
    assert forced.count("，") == forced.count(STOP) == 2


def test_an_opening_of_pieces_and_bytes_begins_a_form() -> None:
    opening = "白日𨣧花落，不知"
    run = collect(writes(Controls(SAMPLER, seed=3), opening, constraint=FixedForm(FORMS["五绝"])))
    assert FORMS["五绝"].holds(opening + run.text)
