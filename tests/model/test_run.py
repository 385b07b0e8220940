"""What the penalties of a run act on: the right tokens, counted once."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from corpora.forms import FORMS
from model.config import Controls, SamplerConfig
from model.constraints import FixedForm
from model.run import Run
from tests.helpers import CHARACTERS

ENCODED = {c: CHARACTERS.encode(c)[0] for c in "春眠不觉晓，。夜来风"}
ON = Controls(SamplerConfig(repetition=1.2))


def run_of(prompt: str, written: str, **kwargs: object) -> Run:
    ids = [CHARACTERS.start_id, *CHARACTERS.encode(prompt)]
    run = Run(CHARACTERS, ids, constrained_from=1, **kwargs)  # type: ignore[arg-type]
    for token in CHARACTERS.encode(written):
        run.accept(token, ())
    return run


def characters(flags: Tensor) -> str:
    """The characters that are flagged, in vocabulary order."""
    return CHARACTERS.decode(flags.flatten().nonzero().flatten().tolist())


def counts(run: Run, controls: Controls = ON) -> dict[str, int]:
    history = run.history(controls)
    assert history is not None
    return {c: int(history.generated[0, i]) for c, i in ENCODED.items() if history.generated[0, i]}


def seen(run: Run, controls: Controls = ON) -> set[str]:
    history = run.history(controls)
    assert history is not None
    return set(characters(history.seen & ~history.exempt))


def test_a_text_does_not_end_before_it_begins() -> None:
    """A model may well give its end token a third of the probability at the start."""
    end = CHARACTERS.end_id
    assert not run_of("", "").allowed()[end]
    assert run_of("", "春").allowed()[end]
    assert run_of("春", "").allowed()[end]


def test_no_penalty_no_history() -> None:
    assert run_of("春眠", "不觉").history(Controls()) is None


def test_presence_and_frequency_count_what_was_generated_repetition_sees_the_prompt_too() -> None:
    run = run_of("春眠", "不觉不春")
    assert counts(run) == {"不": 2, "觉": 1, "春": 1}
    assert seen(run) == set("春眠不觉")


def test_special_tokens_are_exempt() -> None:
    history = run_of("", "春").history(ON)
    assert history is not None
    assert history.exempt[list(CHARACTERS.special_ids)].all()
    assert int(history.exempt.sum()) == len(CHARACTERS.special_ids)


def test_punctuation_is_exempt_in_a_form_and_only_there() -> None:
    free = run_of("", "春眠，春")
    assert "，" in seen(free)
    bound = run_of("", "春眠不觉晓，夜", constraint=FixedForm(FORMS["五绝"]))
    assert seen(bound) == set("春眠不觉晓夜")


def test_forced_heads_count_neither_as_generated_nor_as_seen() -> None:
    run = run_of("", "春眠不觉晓，春来风", constraint=FixedForm(FORMS["五绝"], "春春"))
    assert counts(run) == {"眠": 1, "不": 1, "觉": 1, "晓": 1, "，": 1, "来": 1, "风": 1}
    assert "春" not in seen(run)
    again = run_of("", "春眠不觉晓，春春风", constraint=FixedForm(FORMS["五绝"], "春春"))
    assert counts(again)["春"] == 1, "the same character by the model's own choice counts"


def test_the_window_narrows_repetition_alone() -> None:
    run = run_of("春眠", "不觉晓")
    narrow = Controls(SamplerConfig(repetition=1.2, window=2))
    assert seen(run, narrow) == set("觉晓")
    assert counts(run, narrow) == {"不": 1, "觉": 1, "晓": 1}
    assert seen(run, Controls(SamplerConfig(repetition=1.2, window=4))) == set("眠不觉晓")
    assert seen(run) == set("春眠不觉晓"), "back to all of it"


@pytest.mark.parametrize("heads", [None, "春夜"])
def test_counting_on_the_way_is_counting_at_the_end(heads: str | None) -> None:
    """History asked for at every step, and asked for once: the same."""
    constraint = None if heads is None else FixedForm(FORMS["五绝"], heads)
    text = "春眠不觉晓，夜来夜夜风"
    early = run_of("", "", constraint=constraint)
    for token in CHARACTERS.encode(text):
        early.history(ON)
        early.accept(token, ())
    late = run_of("", text, constraint=constraint)
    first, second = early.history(ON), late.history(ON)
    assert first is not None and second is not None
    assert torch.equal(first.generated, second.generated)
    assert torch.equal(first.seen, second.seen)


def test_asking_changes_nothing() -> None:
    run = run_of("春", "眠", constraint=FixedForm(FORMS["五绝"]))
    before = (list(run.ids), run.generated, run.full, run.forced, run.uniform(1))
    for _ in range(3):
        run.history(ON)
        run.allowed()
        run.uniform(1)
    assert (list(run.ids), run.generated, run.full, run.forced, run.uniform(1)) == before


def test_tokens_given_past_an_end_are_left_alone() -> None:
    ids = [CHARACTERS.start_id]
    given = [*CHARACTERS.encode("春"), CHARACTERS.end_id, *CHARACTERS.encode("眠")]
    run = Run(CHARACTERS, ids, given=given)
    assert (run.given_text, run.generated, run.reason) == ("春", 2, "end_of_poem")
