"""Penalties: what is counted, what must not change, what a structure is."""

from __future__ import annotations

import pytest

from model.config import Controls, SamplerConfig
from model.generate import Prompt
from model.lab.base import Progress, Result, collect
from model.lab.measures import full_lines, repeats_its_shape, until_last_mark, whole_rows
from model.lab.penalties import NONE, QUICK_STEPS, SETTINGS, altered, run, sampler_of
from model.lab.structure import CODE, TABLE, TASKS, Answer, findings
from model.lab.writing import Written, write_one
from model.registry import ModelHandle
from model.steps import Step
from model.subjects import Endless
from tests.helpers import CHARACTERS
from tests.lab.helpers import tiny_handle, tiny_request
from tests.lab.test_degeneration import looping


def written(handle: ModelHandle, sampler: SamplerConfig) -> Written:
    controls = Controls(sampler, max_tokens=12)
    records = write_one(
        handle,
        controls,
        Progress(0, 1),
        prompt=Prompt("春"),
        constraint=Endless(),
        inspected=True,
    )
    while True:
        try:
            next(records)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "sampler",
    [
        SamplerConfig(temperature=0.0),
        SamplerConfig(temperature=0.0, presence=0.0, frequency=0.0, repetition=1.0),
    ],
)
def test_a_penalty_of_nothing_alters_nothing(sampler: SamplerConfig):
    assert altered(written(tiny_handle(), sampler)) == 0


def test_a_model_more_certain_than_the_penalty_is_strong_is_not_altered():
    """Its best token leads by 80: no presence of 2 takes it away, a CTRL of 10 does."""
    sure = looping("春眠")
    assert altered(written(sure, SamplerConfig(temperature=0.0, presence=2.0))) == 0
    text = written(sure, SamplerConfig(temperature=0.0, repetition=10.0))
    assert altered(text) == 0  # 40 / 10 is still above -40
    assert set(text.tokens) == set(CHARACTERS.encode("春眠"))


def test_every_altered_step_is_one_that_the_plain_model_would_take_otherwise():
    """Counted again by hand: the likeliest allowed token of the raw scores at each step."""
    text = written(tiny_handle(), SamplerConfig(temperature=0.0, presence=2.0, frequency=1.0))
    by_hand = 0
    for step in text.steps:
        assert isinstance(step, Step)
        assert step.inspection is not None
        allowed = [c for c in step.inspection.candidates if c.masked > 0]
        by_hand += max(allowed, key=lambda c: (c.raw, -c.token)).token != step.token
    assert altered(text) == by_hand > 0


def test_a_setting_changes_one_penalty():
    assert sampler_of(NONE) == SamplerConfig(temperature=0.0)
    assert sampler_of(("repetition", 1.2)) == SamplerConfig(temperature=0.0, repetition=1.2)


def test_rows_of_a_table():
    assert whole_rows("| 5 | 10 | 25 |\n| 6 | 12 | 36 |\n", 3) == 1
    assert whole_rows("| 5 | 10 | 25 |\n| 6 | 12      | 36 |\n", 3) == 1 / 2  # padded unlike
    assert whole_rows("| 5 | 10 |\n```\n", 3) == 0
    assert whole_rows("| 5 | 10 | 25 |", 3) == 0  # no line was finished
    assert whole_rows(TABLE.split("\n", 2)[2], 3) == 1


def test_code_must_have_the_shape_of_the_code_before():
    like = " i in range(1, n + 1):\n        total += i ** 3\n    return total\n"
    assert repeats_its_shape(CODE + like)
    assert not repeats_its_shape(CODE + like.replace("n + 1", "n + 1, 2"))  # a stride
    assert not repeats_its_shape(CODE + like.replace("return total", "total += 1"))
    assert not repeats_its_shape(CODE + " i in range(1, n +\n")
    assert not repeats_its_shape("def alone():\n    pass\n")
    assert not repeats_its_shape("\0")


def test_a_line_that_was_cut_does_not_count():
    assert until_last_mark("白日依山尽，黄河") == "白日依山尽，"
    assert until_last_mark("白日") == ""
    assert full_lines(until_last_mark("白日依山尽，黄河")) == 1


def test_what_is_said_of_a_structure():
    plain, broken = Answer("a", 3, 0, 1.0), Answer("b", 5, 2, 0.0)
    (said,) = findings({"Code": {"no penalty": plain, "presence 0.5": plain, "CTRL 1.2": broken}})
    assert "100% same shape without a penalty, 0% under CTRL 1.2. Another text under CTRL" in said
    (said,) = findings({"Code": {"no penalty": plain, "presence 0.5": plain}})
    assert "no less under any. The same text under all." in said


@pytest.fixture(scope="module")
def result() -> Result:
    return collect(run(tiny_request(prose=True)))


def test_both_kinds_of_model(result: Result):
    assert result.holds, result.checks
    verse, prose, *tasks = result.tables
    assert verse.column(f"altered of {QUICK_STEPS}")[0] == 0
    assert len(verse.rows) == len(prose.rows) == len(SETTINGS)
    assert "lines of 5 or 7" not in [column.name for column in prose.columns]
    assert [table.title for table in tasks] == [f"{task.name} continued, smollm2" for task in TASKS]
    assert result.settings["models"] == ["tiny", "smollm2"]


def test_without_a_model_of_prose_it_says_so():
    assert "not here" in collect(run(tiny_request())).findings[-1]
