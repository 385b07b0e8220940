"""Text that repeats because it must: a Markdown table and code, continued greedily under each
penalty, and whether they are still a table and code."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from model.config import Controls, SamplerConfig
from model.generate import Prompt
from model.lab.base import Cell, Progress, Table, table
from model.lab.measures import repeats_its_shape, whole_rows
from model.lab.writing import Written, write_one
from model.registry import ModelHandle

MOST = 70
"""Tokens of an answer."""
NOTHING = "no penalty"
SETTINGS: dict[str, SamplerConfig] = {
    NOTHING: SamplerConfig(temperature=0.0),
    "presence 0.5": SamplerConfig(temperature=0.0, presence=0.5),
    "frequency 0.5": SamplerConfig(temperature=0.0, frequency=0.5),
    "CTRL 1.2": SamplerConfig(temperature=0.0, repetition=1.2),
}


@dataclass(frozen=True, slots=True)
class Task:
    """Something to go on with."""

    name: str
    prompt: str
    stop: str
    measure: Callable[[str], float]
    """How much of a continuation has the structure, [0, 1]."""
    measured: str


TABLE = """\
| n | n + n | n * n |
| --- | --- | --- |
| 1 | 2 | 1 |
| 2 | 4 | 4 |
| 3 | 6 | 9 |
| 4 | 8 | 16 |
"""
CODE = """\
def sum_of_numbers(n):
    total = 0
    for i in range(1, n + 1):
        total += i
    return total


def sum_of_squares(n):
    total = 0
    for i in range(1, n + 1):
        total += i * i
    return total


def sum_of_cubes(n):
    total = 0
    for"""
TASKS = (
    Task("Table", TABLE, "\n\n", lambda text: whole_rows(text, 3), "whole rows"),
    Task("Code", CODE, "\n\n", lambda text: float(repeats_its_shape(CODE + text)), "same shape"),
)
MEASURED = {task.name: task.measured for task in TASKS}


@dataclass(frozen=True, slots=True)
class Answer:
    """A continuation under one setting."""

    text: str
    """Finished lines only."""
    tokens: int
    altered: int
    """Steps at which the penalty took another token."""
    kept: float


def answers(
    handle: ModelHandle, tasks: Sequence[Task], during: Progress
) -> Generator[Progress, None, dict[str, dict[str, Answer]]]:
    """Every task under every setting: by the task's name, by the setting's."""
    found: dict[str, dict[str, Answer]] = {}
    for task in tasks:
        found[task.name] = {}
        prompt = Prompt(task.prompt, fragment=True)
        for setting, sampler in SETTINGS.items():
            yield during
            controls = Controls(sampler, max_tokens=MOST, stop=(task.stop,))
            written = yield from write_one(handle, controls, during, prompt=prompt, inspected=True)
            found[task.name][setting] = _answer(task, written)
    return found


def _answer(task: Task, written: Written) -> Answer:
    text = written.text[len(task.prompt) :]
    if written.reason == "length":  # cut within a line
        text = text[: text.rfind("\n") + 1]
    elif not text.endswith("\n"):
        text += "\n"
    altered = sum(step.inspection.altered for step in written.steps if step.inspection)
    return Answer(text, len(written.steps), altered, task.measure(text))


def answers_table(task: Task, by_setting: dict[str, Answer], name: str) -> Table:
    """What became of one task."""
    rows: list[tuple[Cell, ...]] = [
        (setting, a.tokens, a.altered, a.kept, a.text.strip("\n").replace("\n", " ⏎ "))
        for setting, a in by_setting.items()
    ]
    return table(
        f"{task.name} continued, {name}",
        {"penalty": "", "tokens": ",", "altered": ",", task.measured: ".0%", "text": ""},
        rows,
        f"Greedy, at most {MOST} tokens, up to an empty line; altered: steps with another token.",
    )


def findings(found: dict[str, dict[str, Answer]]) -> list[str]:
    """Which penalties broke what held without one."""
    said = []
    for task, by_setting in found.items():
        plain = by_setting[NOTHING]
        worse = [s for s, a in by_setting.items() if s != NOTHING and a.kept < plain.kept]
        other = [s for s, a in by_setting.items() if s != NOTHING and a.text != plain.text]
        held = f"{task} continued: {plain.kept:.0%} {MEASURED[task]} without a penalty"
        lost = ", ".join(f"{by_setting[s].kept:.0%} under {s}" for s in worse)
        said.append(
            f"{held}, {lost or 'no less under any'}. "
            + (f"Another text under {', '.join(other)}." if other else "The same text under all.")
        )
    return said
