"""The lab's report: a Markdown file with a chapter an experiment, the pictures beside it, and
everything that was measured as JSON.

Written anew after every experiment, whole each time, so that what was found is kept
whatever happens next.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import torch

from model.errors import InputError
from model.lab.base import Plot
from tui.cli.loading import Models
from tui.files import write_whole
from tui.lab import pictures
from tui.lab.document import document
from tui.lab.markdown import anchor, check_text, escaped, heading, made_with, minutes, section
from tui.lab.outcome import Outcome, method, tally

NAME, DATA = "report.md", "report.json"
INTRODUCTION = """\
A language model turns what has been written into a number for every token that could come
next; everything after that, until a token is chosen, is decoding. Each chapter below takes one
claim about decoding or its cost, says how it was measured on the models of this program, and
shows what came out, with the plots and with the checks whose right answer is known beforehand.
Where a figure of the textbook was not reproduced, it stands beside ours.

Every chapter can be read by itself, and run again by the command in its last line. The sentences
under *What we get* are made from the figures of this run: another model, another seed or another
machine gives other sentences."""
READING = """\
✓ every check holds · ✗ a check does not, or the experiment broke off · ○ no result, or a
check that so few samples, or this model, cannot decide"""
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")


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
        before = self._outcomes[-1].experiment.part if self._outcomes else None
        self._outcomes.append(outcome)
        part = outcome.experiment.part
        if part is not None and part is not before:
            title = f"## {self._part_heading(outcome)}"
            self._sections.append(f"{title}\n\n{escaped(part.introduction)}")
        how = method(outcome.experiment)
        number = len(self._outcomes)
        self._sections.append(section(outcome, how, self._pictures(outcome), number))
        write_whole(self.path, self.text())
        write_whole(self._folder / DATA, self._data())

    def summary(self) -> str:
        """How many experiments and checks there were, and how they came out."""
        checks = [check for one in self._outcomes if one.result for check in one.result.checks]
        parts = [f"{_count(len(self._outcomes), 'experiment')}, {tally(checks)}"]
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
        trouble = list(self._trouble())
        if trouble:
            parts += ["**What did not come out.**", "\n".join(trouble)]
        parts += ["## Contents", "\n".join(self._contents()), *self._sections]
        parts += ["## What it was made with", made_with(self._made())]
        return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"

    def _pictures(self, outcome: Outcome) -> Any:
        """What draws the outcome's plots into the folder, one after the other."""
        drawn = 0

        def picture(plot: Plot) -> str | None:
            nonlocal drawn
            if not pictures.available():
                return None
            drawn += 1
            name = f"{outcome.experiment.name}-{drawn}.png"
            write_whole(self._folder / name, pictures.picture([plot], "png"))
            return name

        return picture

    def _head(self) -> str:
        quick = " Made with `--quick`: fewer samples, rough figures." if self._quick else ""
        return (
            f"{self._began:%d %B %Y}, {minutes(self._seconds)}.{quick} "
            f"{escaped(self.summary())}.\n\n{READING}"
        )

    @property
    def _seconds(self) -> float:
        return sum(one.seconds for one in self._outcomes)

    def _part_heading(self, outcome: Outcome) -> str:
        parts = list(dict.fromkeys(one.experiment.part for one in self._outcomes))
        part = outcome.experiment.part
        number = [one for one in parts if one is not None].index(part) if part else 0
        return f"Part {ROMAN[number]}. {part.title}" if part else ""

    def _contents(self) -> Iterator[str]:
        shown = None
        for number, one in enumerate(self._outcomes, 1):
            part = one.experiment.part
            if part is not None and part is not shown:
                yield f"\n**{self._part_heading(one)}**\n"
            shown = part
            link = f"[{escaped(one.experiment.title)}](#{anchor(heading(one, number))})"
            yield f"{number}. {link} {one.mark} {escaped(one.words())}"

    def _trouble(self) -> Iterator[str]:
        """Every check that does not hold, and every experiment that broke off."""
        for number, one in enumerate(self._outcomes, 1):
            link = f"[{number}](#{anchor(heading(one, number))})"
            if one.state == "failed":
                yield f"- {link}: {escaped(one.experiment.name)} {escaped(one.words())}"
            for check in one.result.checks if one.result else ():
                if check.holds is False:
                    yield f"- {link}: {check_text(check).removeprefix('- ✗ ')}"

    def _data(self) -> str:
        whole = {"made": self._made(), "experiments": [document(o) for o in self._outcomes]}
        return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"

    def _made(self) -> dict[str, Any]:
        """When, with which models, and on what."""
        models = [
            {
                "name": handle.spec.name,
                "parameters": handle.model.n_parameters,
                "checkpoint": handle.fingerprint.get("checkpoint"),
                "tokenizer": handle.fingerprint.get("tokenizer"),
            }
            for handle in self._models.loaded
        ]
        return {
            "date": f"{self._began:%d %B %Y}",
            "seconds": round(self._seconds, 1),
            "quick": self._quick,
            "models": models,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "machine": f"{platform.system()} on {platform.machine()}",
            "cores": os.cpu_count() or 1,
            "busy": round(os.getloadavg()[1], 1) if hasattr(os, "getloadavg") else None,
        }


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
