"""``lab`` without a name: every experiment, what it shows, claims and reads."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from model.lab import catalogue
from model.lab.catalogue import Experiment
from tui.cli.output import print_json, print_table

NEEDS = {"corpus": "the corpus", "chat": "a chat model"}


def listing(as_json: bool) -> int:
    """Print every experiment: name, title, needs, claim; the exit code."""
    if as_json:
        print_json({"experiments": [_described(one) for one in catalogue.EXPERIMENTS]})
        return 0
    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    for heading in ("what it shows", "reads", "claim"):
        table.add_column(heading)
    for one in catalogue.EXPERIMENTS:
        table.add_row(one.name, one.title, needs_words(one), one.claim)
    print_table(table)
    print("run.py lab NAME runs one, run.py lab all --report DIR all of them.")
    return 0


def needs_words(experiment: Experiment) -> str:
    """What it takes besides a model of verse, in a few words."""
    words = [NEEDS[need] for need in experiment.uses]
    words += ["--prompt"] if experiment.reads_prompt else []
    words += ["--trace"] if experiment.reads_trace else []
    return ", ".join(words) or "–"


def _described(experiment: Experiment) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "claim": experiment.claim,
        "part": experiment.part.title if experiment.part else None,
        "uses": list(experiment.uses),
        "models": experiment.models,
        "draws": experiment.draws,
        "plots": experiment.plots,
        "reads_prompt": experiment.reads_prompt,
        "reads_trace": experiment.reads_trace,
    }
