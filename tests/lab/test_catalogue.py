"""The list of experiments: in parts, with exercises that can be typed, and honest about what
each can run on and gives back."""

from __future__ import annotations

import re
from itertools import groupby

import pytest
import typer

from model.errors import InputError
from model.lab.base import collect
from model.lab.catalogue import EXPERIMENTS, Experiment
from tests.lab.helpers import tiny_request

QUICK = [one for one in EXPERIMENTS if one.models != "none" and "corpus" not in one.uses]


def test_parts_are_whole_and_every_chapter_is_in_one():
    parts = [part for part, _ in groupby(EXPERIMENTS, key=lambda one: one.part)]
    assert None not in parts
    assert len(parts) == len(set(parts)) == 6


@pytest.mark.parametrize("one", EXPERIMENTS, ids=lambda one: one.name)
def test_an_exercise_can_be_typed(one: Experiment):
    """Each command is there, and takes the flags that are named."""
    from tui.cli.main import app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert one.exercise and one.exercise.count("``") % 2 == 0
    for typed in re.findall(r"``run\.py (.*?)``", one.exercise):
        command, *words = typed.split()
        known = {flag for parameter in commands[command].params for flag in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, typed


@pytest.mark.parametrize(
    "one", [one for one in EXPERIMENTS if one.models == "verse"], ids=lambda one: one.name
)
def test_what_is_about_verse_refuses_a_model_of_prose(one: Experiment):
    with pytest.raises(InputError, match=f"{one.name} runs on .* not on smollm2: take tang-base"):
        collect(one.run(tiny_request(prose=True, model="smollm2")))


@pytest.mark.parametrize("one", QUICK, ids=lambda one: one.name)
def test_plots_are_there_where_the_list_says_so(one: Experiment):
    result = collect(one.run(tiny_request(model="tiny")))
    assert bool(result.plots) == one.plots
    assert all(plot.note for plot in result.plots)
    assert result.tables and result.findings and result.checks
