"""A trace that is read equals the one written; anything else is refused by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model.config import Controls, SamplerConfig
from model.errors import InputError
from model.generate import Generator, Prompt
from model.steps import Finished, Step
from model.trace import Trace, TraceHeader, read_trace, write_trace
from tests.helpers import CHARACTERS, tiny_gpt


def traced(seed: int, cache: str = "race") -> Trace:
    """A short run with everything that a step can carry."""
    controls = Controls(
        SamplerConfig(temperature=1.3, top_k=12, presence=0.5),
        cache=cache,  # type: ignore[arg-type]
        seed=seed,
        max_tokens=9,
        stop=("囧\n", "[/b]"),
    )
    steps: list[Step] = []
    finished = None
    for event in Generator(tiny_gpt(), CHARACTERS, Prompt("春眠"), controls):
        if isinstance(event, Finished):
            finished = event
        else:
            steps.append(event)
    header = TraceHeader("春眠", (1, 4, 5), False, None, "tiny", cache, seed, {"torch": "2"})
    return Trace(header, tuple(steps), finished)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def test_what_is_read_equals_what_was_written(file: Path) -> None:
    runs = (traced(1), traced(2, "off"), Trace(traced(3).header))
    write_trace(file, runs)
    assert read_trace(file) == runs
    assert runs[0].steps[3].inspection is not None
    assert runs[0].steps[3].race is not None


def test_every_line_is_a_json_record_of_a_kind(file: Path) -> None:
    run = traced(1)
    write_trace(file, [run])
    kinds = [json.loads(line)["kind"] for line in file.read_text(encoding="utf-8").splitlines()]
    assert kinds == ["run", *["step"] * len(run.steps), "finished"]


def test_a_run_that_was_cut_short_is_kept(file: Path) -> None:
    whole = traced(1)
    cut = Trace(whole.header, whole.steps[:4])
    write_trace(file, [cut])
    assert read_trace(file) == (cut,)
    assert cut.text == "春眠" + "".join(step.text for step in whole.steps[:4])


@pytest.mark.parametrize(
    ("line", "change", "told"),
    [
        (2, lambda text: "{" + text, "line 2"),
        (2, lambda _: "[1]", "line 2"),
        (2, lambda text: text.replace('"position": ', '"position": "x'), "line 2"),
        (3, lambda text: text.replace('"u": ', '"v": '), "u, v"),
        (3, lambda text: text.replace('"temperature": 1.3', '"temperature": -1.3'), "temperature"),
        (3, lambda text: text.replace('"cache": "race"', '"cache": "x"'), "cache"),
        (3, lambda text: text.replace('"forced": false', '"forced": 0'), "forced"),
        (3, lambda text: text.replace('"kind": "step"', '"kind": "[/b]"'), "[/b]"),
        (1, lambda text: text.replace('"version": 1', '"version": 2'), "version 1"),
        (1, lambda text: text.replace('"kind": "run"', '"kind": "step"'), "line 1"),
    ],
)
def test_a_damaged_line_is_refused_by_its_number(file: Path, line: int, change, told: str) -> None:
    write_trace(file, [traced(1)])
    lines = file.read_text(encoding="utf-8").splitlines()
    changed = change(lines[line - 1])
    assert changed != lines[line - 1]
    lines[line - 1] = changed
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_trace(file)
    assert told in str(error.value)
    assert f"line {line}" in str(error.value)


def test_steps_after_the_end_are_refused(file: Path) -> None:
    write_trace(file, [traced(1)])
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([*lines, lines[1]]), encoding="utf-8")
    with pytest.raises(InputError, match=f"line {len(lines) + 1}"):
        read_trace(file)


def test_files_that_cannot_be_read_or_written_are_named(file: Path, tmp_path: Path) -> None:
    for content in (None, b"", b"\xff\xfe"):
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(InputError, match=r"run\.jsonl"):
            read_trace(file)
    with pytest.raises(InputError, match="folder"):
        write_trace(tmp_path / "folder" / "x.jsonl", [traced(1)])


def test_a_failed_write_leaves_the_old_file(file: Path) -> None:
    write_trace(file, [traced(1)])
    before = file.read_bytes()

    def broken():
        yield traced(2)
        raise RuntimeError("the source of the traces failed")

    with pytest.raises(RuntimeError):
        write_trace(file, broken())
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]
