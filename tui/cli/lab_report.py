"""The lab's report: a Markdown file with a chapter an experiment, and the pictures beside it.

Written anew after every experiment, whole each time, so that what was found is kept
whatever happens next.
"""

from __future__ import annotations

import os
import platform
from datetime import datetime
from pathlib import Path

import torch

from model.errors import InputError
from model.lab.base import Plot
from tui.cli.loading import Models
from tui.files import write_whole
from tui.lab import pictures
from tui.lab.markdown import anchor, escaped, section
from tui.lab.outcome import Outcome, method

NAME = "report.md"
INTRODUCTION = """\
A language model turns what has been written into a number for every token that could come
next; everything after that, until a token is chosen, is decoding. Each chapter below takes one
claim about decoding or its cost, says how it was measured on the models of this program, and
shows what came out, with the plots and with the checks whose right answer is known beforehand.
Where a figure of the textbook was not reproduced, it stands beside ours with the reason."""


class Report:
    """Collects outcomes in a folder."""

    def __init__(self, folder: Path, models: Models, quick: bool) -> None:
        """Makes the folder. Raises ``InputError`` where it cannot be."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {folder} ({error.strerror})") from error
        self.path = folder / NAME
        self._folder = folder
        self._models = models
        self._quick = quick
        self._began = datetime.now().astimezone()
        self._outcomes: list[Outcome] = []
        self._sections: list[str] = []

    def add(self, outcome: Outcome) -> None:
        """Draw the outcome's plots and write the report with its chapter."""
        self._outcomes.append(outcome)
        count = 0

        def picture(plot: Plot) -> str | None:
            nonlocal count
            if not pictures.available():
                return None
            count += 1
            name = f"{outcome.experiment.name}-{count}.png"
            write_whole(self._folder / name, pictures.picture([plot], "png"))
            return name

        self._sections.append(
            section(outcome, method(outcome.experiment), picture, len(self._outcomes))
        )
        write_whole(self.path, self.text())

    def summary(self) -> str:
        """How many experiments and checks there were, and how they came out."""
        checks = [check for one in self._outcomes if one.result for check in one.result.checks]
        held = sum(check.holds for check in checks)
        parts = [
            f"{_count(len(self._outcomes), 'experiment')}, "
            f"{held} of {_count(len(checks), 'check')} hold"
        ]
        for state, words in (
            ("impossible", "cannot run here"),
            ("failed", "broke off"),
            ("stopped", "stopped"),
        ):
            names = [one.experiment.name for one in self._outcomes if one.state == state]
            if names:
                parts.append(f"{words}: {', '.join(names)}")
        return "; ".join(parts)

    def text(self) -> str:
        """The whole report as it is now."""
        parts = ["# What decoding does: a laboratory report", INTRODUCTION, self._head()]
        if not pictures.available():
            parts.append(
                "*Plots are drawn as text: pictures need matplotlib (`pip install "
                "'yinchuang[train]'`).*"
            )
        parts += ["## Contents", self._contents(), *self._sections, self._made_with()]
        return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"

    def _head(self) -> str:
        seconds = sum(one.seconds for one in self._outcomes)
        quick = " Made with `--quick`: fewer samples, rough figures." if self._quick else ""
        minutes = f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.0f} seconds"
        return (
            f"{self._began:%d %B %Y}, {minutes}.{quick} {escaped(self.summary())}."
            "\n\n✓ every check holds · ✗ a check does not, or the experiment broke off · "
            "○ no result"
        )

    def _contents(self) -> str:
        return "\n".join(
            f"{number}. [{escaped(one.experiment.title)}]"
            f"(#{anchor(f'{number}. {one.experiment.title}')}) {one.mark} {escaped(one.words())}"
            for number, one in enumerate(self._outcomes, 1)
        )

    def _made_with(self) -> str:
        lines = ["## What it was made with", ""]
        lines += ["| model | parameters | checkpoint | tokenizer |", "| --- | ---: | --- | --- |"]
        for handle in self._models.loaded:
            marks = handle.fingerprint
            lines.append(
                f"| {escaped(handle.spec.name)} | {handle.model.n_parameters:,} "
                f"| {_short(marks.get('checkpoint'))} | {_short(marks.get('tokenizer'))} |"
            )
        threads = torch.get_num_threads()
        lines += [
            "",
            f"Python {platform.python_version()}, torch {torch.__version__}, "
            f"{_count(threads, 'thread')}, {platform.system()} on {platform.machine()}{_load()}. "
            "Seeds and prompts stand under each chapter; the same ones on the same machine give "
            "the same figures, times apart.",
        ]
        return "\n".join(lines)


def _load() -> str:
    """How busy the machine is, which every time in the report depends on."""
    cores = os.cpu_count() or 1
    if not hasattr(os, "getloadavg"):
        return f", {_count(cores, 'core')}"
    busy = os.getloadavg()[1]
    more = ", so that times are longer than they need be" if busy > cores else ""
    return f", {_count(cores, 'core')} with {busy:.1f} programs at work{more}"


def _short(mark: object) -> str:
    return f"`{str(mark)[:12]}`" if mark else "–"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
