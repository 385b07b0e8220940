"""The whatif experiment: on a poem that is written, and on traces good and bad."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from corpora.forms import FORMS
from model.config import Controls, SamplerConfig
from model.constraints import Acrostic, FixedForm
from model.errors import ConstraintError, InputError
from model.generate import Generator, Prompt
from model.lab.base import Request, Result, collect
from model.lab.finished import constraint_of
from model.lab.whatif import run
from model.steps import Finished, Step
from model.trace import Trace, TraceHeader, write_trace
from tests.helpers import CHARACTERS
from tests.lab.helpers import tiny_handle, tiny_request

FORM = Acrostic("春夜", 5)
CONTROLS = Controls(SamplerConfig(temperature=0.9, top_k=12), seed=5, max_tokens=20)


def written(controls: Controls = CONTROLS) -> Trace:
    """A tiny model's acrostic."""
    handle, prompt = tiny_handle(), Prompt("春")
    *steps, end = Generator(handle.model, handle.tokenizer, prompt, controls, constraint=FORM)
    assert isinstance(end, Finished)
    ids = tuple(prompt.encode(CHARACTERS))
    header = TraceHeader("春", ids, False, FORM.describe(), "tiny", "on", controls.seed)
    return Trace(header, tuple(s for s in steps if isinstance(s, Step)), end)


def look_at(trace: Trace, folder: Path, **asked: object) -> Result:
    path = folder / "poem.jsonl"
    write_trace(path, [trace])
    return collect(run(replace(tiny_request(**asked), trace=path)))


def test_a_poem_that_is_written():
    result = collect(run(tiny_request(prompt="春眠", seed=3)))
    assert result.holds, result.checks
    by_token = result.tables[0]
    assert by_token.rows
    for row in by_token.rows:
        cells = dict(zip((c.name for c in by_token.columns), row, strict=True))
        for knob in ("T", "k", "p"):
            assert (cells[knob] is None) == (cells[f"{knob} gives"] is None)
            assert cells[f"{knob} gives"] != cells["token"]
    flipped = result.tables[1].column("tokens that flip")
    for sign, count in zip(("T", "k", "p"), flipped, strict=True):
        assert count == sum(cell is not None for cell in by_token.column(sign))


def test_a_trace_is_looked_at_with_its_form(tmp_path: Path):
    """All of a line's end is forced, so nothing flips there; the seed's u is that of the file."""
    trace = written()
    result = look_at(trace, tmp_path)
    assert result.holds, result.checks
    rows = result.tables[0].rows
    assert [row[1] for row in rows] == [CHARACTERS.name(step.token) for step in trace.steps]
    assert [row[3] for row in rows] == [step.u for step in trace.steps]
    forced = [row for row, step in zip(rows, trace.steps, strict=True) if step.forced]
    assert forced
    assert all(row[4:] == (None,) * 6 for row in forced)
    assert result.settings["seed"] == 5


def test_a_token_chosen_by_hand_is_told(tmp_path: Path):
    trace = written()
    first = trace.steps[0]
    other = next(c.token for c in first.inspection.candidates if c.token != first.token)  # type: ignore
    result = look_at(
        replace(trace, steps=(replace(first, token=other), *trace.steps[1:])), tmp_path
    )
    assert not result.checks[0].holds
    assert "chosen by hand" in result.findings[-1]


def test_a_trace_of_another_model_is_refused(tmp_path: Path):
    trace = written()
    header = replace(trace.header, fingerprint={"tokenizer": "of another model"})
    with pytest.raises(InputError, match="was not written with tiny"):
        look_at(replace(trace, header=header), tmp_path)
    strange = replace(trace.steps[0], token=CHARACTERS.vocab_size)
    with pytest.raises(InputError, match="its tokens are others"):
        look_at(replace(trace, steps=(strange,)), tmp_path)


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path):
    path = tmp_path / "poem.txt"
    path.write_text("春眠不觉晓", encoding="utf-8")
    with pytest.raises(InputError, match="line 1 is not a line of a trace"):
        collect(run(Request(tiny_handle, trace=path)))


def test_a_trace_without_a_token(tmp_path: Path):
    empty = Trace(written().header, (), Finished("cancelled", "", 0, 0.0, 0.0))
    result = look_at(empty, tmp_path)
    assert result.tables[0].rows == ()
    assert result.findings == ("Nothing was written, so nothing could have been otherwise.",)


@pytest.mark.parametrize(
    "constraint", [FORM, Acrostic("春眠不觉"), *(FixedForm(form, "春") for form in FORMS.values())]
)
def test_what_describe_says_is_understood(constraint: Acrostic | FixedForm):
    assert constraint_of(constraint.describe()) == constraint


def test_other_words_are_no_constraint():
    assert constraint_of(None) is None
    with pytest.raises(ConstraintError, match="endless"):
        constraint_of("endless")
