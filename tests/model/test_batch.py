"""Each poem of a batch is the poem it would be alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from corpora.forms import FORMS
from model.batch import BatchGenerator
from model.config import STAGES, Controls, SamplerConfig
from model.constraints import Acrostic, Constraint, FixedForm
from model.generate import Generator, LanguageModel, Prompt
from model.gpt import GPT
from model.sampling import apply_stages
from tests.helpers import (
    CHARACTERS,
    HAN,
    Endless,
    HostileConstraint,
    Ran,
    collect,
    collect_rows,
    tiny_gpt,
)

SEEDS = [3, 1, 4, 15, 9]
WARM = SamplerConfig(temperature=1.2, top_p=0.95)
PENALISED = SamplerConfig(repetition=1.6, presence=0.4, frequency=0.3, window=6)


def both(
    prompt: Prompt = Prompt("春眠"),  # noqa: B008  frozen
    controls: Controls = Controls(WARM, max_tokens=20),  # noqa: B008
    *,
    model: LanguageModel | None = None,
    constraint: Constraint | None = None,
    **changes: Any,
) -> tuple[list[Ran], list[Ran]]:
    """The rows of a batch, and the same seeds one by one."""
    model = model or Endless(tiny_gpt())
    batch = BatchGenerator(
        model, CHARACTERS, prompt, controls, SEEDS, constraint=constraint, **changes
    )
    alone = [
        collect(
            Generator(
                model,
                CHARACTERS,
                prompt,
                Controls(controls.sampler, "on", seed, controls.max_tokens, controls.stop),
                constraint=constraint,
                **changes,
            )
        )
        for seed in SEEDS
    ]
    return collect_rows(batch, len(SEEDS)), alone


def same(rows: list[Ran], alone: list[Ran]) -> None:
    """Tokens, text and ends, row by row; logits differ in their last bits only."""
    for seed, row, single in zip(SEEDS, rows, alone, strict=True):
        assert row.tokens == single.tokens
        assert row.text == single.text
        assert (row.end.reason, row.end.tokens) == (single.end.reason, single.end.tokens)
        assert {step.controls.seed for step in row.steps} <= {seed}
        for a, b in zip(row.steps, single.steps, strict=True):
            assert (a.u, a.position, a.forced, a.context) == (
                b.u,
                b.position,
                b.forced,
                b.context,
            )
            assert a.probability == pytest.approx(b.probability, abs=1e-5)
            assert a.logprob == pytest.approx(b.logprob, abs=1e-4)
            assert a.cache_bytes == b.cache_bytes


def test_rows_differ_from_each_other() -> None:
    rows, _ = both()
    assert len({tuple(row.tokens) for row in rows}) == len(SEEDS)


@pytest.mark.parametrize("sampler", [WARM, PENALISED, SamplerConfig(temperature=0, repetition=1.3)])
def test_each_row_is_what_it_would_be_alone(sampler: SamplerConfig) -> None:
    same(*both(controls=Controls(sampler, max_tokens=25)))


@pytest.mark.parametrize("sampler", [WARM, PENALISED])
def test_rows_that_end_at_different_times(sampler: SamplerConfig) -> None:
    rows, alone = both(controls=Controls(sampler, max_tokens=28), model=tiny_gpt(seed=5))
    same(rows, alone)
    assert len({row.end.tokens for row in rows}) > 2
    assert {"end_of_poem"} < {row.end.reason for row in rows}


def test_rows_that_stop_at_stop_strings() -> None:
    rows, alone = both(controls=Controls(WARM, max_tokens=25, stop=("光", "花", "不", "，", "雨")))
    same(rows, alone)
    assert {"stop_string"} <= {row.end.reason for row in rows}
    assert len({row.end.tokens for row in rows}) > 1


@pytest.mark.parametrize("sampler", [WARM, PENALISED])
@pytest.mark.parametrize(
    ("constraint", "opening"),
    [
        (FixedForm(FORMS["五绝"]), ""),
        (FixedForm(FORMS["五绝"]), "床前明"),
        (Acrostic("春夜", 7), ""),
    ],
)
def test_rows_under_a_constraint(
    constraint: Constraint, opening: str, sampler: SamplerConfig
) -> None:
    controls = Controls(sampler, max_tokens=30)
    rows, alone = both(Prompt(opening), controls, constraint=constraint)
    same(rows, alone)
    assert {row.end.reason for row in rows} == {"form_complete"}


@pytest.mark.parametrize("sampler", [WARM, PENALISED])
def test_rows_past_the_block(sampler: SamplerConfig) -> None:
    rows, alone = both(controls=Controls(sampler, max_tokens=75, stop=("春眠春",)))
    same(rows, alone)
    for row, single in zip(rows, alone, strict=True):
        assert [s.phase for s in row.steps] == [s.phase for s in single.steps]
        assert [s.recomputed for s in row.steps] == [s.recomputed for s in single.steps]
        spent = sum(s.forward_s + s.sampling_s for s in row.steps)
        assert row.end.prefill_s + row.end.decode_s == pytest.approx(spent)


def test_a_prompt_longer_than_the_block() -> None:
    same(*both(Prompt((HAN * 2)[:40]), Controls(WARM, max_tokens=12)))


def test_a_fragment() -> None:
    same(*both(Prompt("春风".replace("风", "雨"), fragment=True)))


def test_inspection_of_a_row_is_its_own() -> None:
    rows, alone = both(controls=Controls(PENALISED, max_tokens=8), inspected=True)
    for row, single in zip(rows, alone, strict=True):
        for a, b in zip(row.steps, single.steps, strict=True):
            assert a.inspection is not None and b.inspection is not None
            assert [c.token for c in a.inspection.candidates] == [
                c.token for c in b.inspection.candidates
            ]
            assert a.inspection.entropy == pytest.approx(b.inspection.entropy, abs=1e-4)


@pytest.mark.parametrize("after", [0, 3])
def test_a_dead_end_of_all_rows(after: int) -> None:
    rows, alone = both(Prompt(""), constraint=HostileConstraint(after))
    same(rows, alone)
    assert all(row.end.reason == "dead_end" and row.end.detail for row in rows)


def test_one_rows_dead_end_is_not_anothers() -> None:
    # truncation before the mask: a row dies where none of its best tokens fits the form
    order = ("top_k", *(stage for stage in STAGES if stage != "top_k"))
    sampler = SamplerConfig(temperature=1.2, top_k=20, order=order)
    controls = Controls(sampler, max_tokens=30)
    rows, alone = both(Prompt(""), controls, constraint=FixedForm(FORMS["七绝"]))
    same(rows, alone)
    assert len({row.end.tokens for row in rows}) > 1, "the rows must not all die at once"
    assert "dead_end" in {row.end.reason for row in rows}


def test_cancelling_ends_every_row() -> None:
    seen: list[int] = []
    batch = BatchGenerator(
        Endless(tiny_gpt()),
        CHARACTERS,
        Prompt("春"),
        Controls(max_tokens=30),
        SEEDS,
        cancelled=lambda: len(seen) >= 4 * len(SEEDS),
    )
    rows: list[list[object]] = [[] for _ in SEEDS]
    for event in batch:
        rows[event.row].append(event.event)
        seen.append(event.row)
    ends = [collect(row) for row in rows]  # type: ignore[arg-type]
    assert {(end.end.reason, end.end.tokens) for end in ends} == {("cancelled", 4)}


def test_what_a_batch_cannot_do_is_said() -> None:
    with pytest.raises(ValueError, match="cache on"):
        BatchGenerator(tiny_gpt(), CHARACTERS, Prompt(), Controls(cache="off"), [1])
    assert list(BatchGenerator(tiny_gpt(), CHARACTERS, Prompt(), Controls(), [])) == []


def test_the_logits_of_a_row_lie_within_the_margin_that_is_documented() -> None:
    """Rows of a batch are summed in another order: no draw flips unless ``u`` falls that
    close to an edge, and here is how close that is."""
    gpt: GPT = tiny_gpt()
    ids = torch.randint(3, gpt.config.vocab_size, (32, 32), generator=torch.Generator())
    with torch.inference_mode():
        together = gpt(ids)[:, -1]
        alone = torch.cat([gpt(row[None])[:, -1] for row in ids])
    probabilities = apply_stages(together, WARM).softmax(-1)
    difference = (probabilities - apply_stages(alone, WARM).softmax(-1)).abs().max()
    assert difference <= 1e-5
