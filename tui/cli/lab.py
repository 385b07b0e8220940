"""``lab``: the list of experiments, one of them run and printed, or all with a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpora.errors import UserError
from model.errors import InputError
from tui.cli.guard import FAILED, TRACEBACK_VARIABLE
from tui.cli.options import Json, Model, Threads, argument, flags_named, option, switch, whole

if TYPE_CHECKING:
    from model.lab.base import Progress, Request
    from model.lab.catalogue import Experiment
    from tui.cli.interrupt import Interrupt
    from tui.lab.outcome import Outcome

ALL = "all"


Name = Annotated[
    str | None, argument("NAME", "An experiment, or all; without one they are listed.")
]
OwnPrompt = Annotated[
    str | None,
    option("--prompt", metavar="TEXT", text="Instead of the experiment's own prompts."),
]
Saved = Annotated[
    str | None, option("--trace", metavar="FILE", text="A saved run to look at, for whatif.")
]
Seed = Annotated[str | None, option("--seed", text="Of everything that is drawn. [1]")]
Quick = Annotated[bool, switch("--quick", "Fewer samples: rough figures.")]
Picture = Annotated[
    str | None, option("--plot", metavar="FILE", text="Draw its plots there: .png or .svg.")
]
Folder = Annotated[
    str | None,
    option("--report", metavar="DIR", text="Write a Markdown report with all plots there."),
]


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""

    @app.command("lab")
    def command(
        name: Name = None,
        model: Model = None,
        prompt: OwnPrompt = None,
        trace: Saved = None,
        seed: Seed = None,
        quick: Quick = False,
        plot: Picture = None,
        report: Folder = None,
        threads: Threads = "1",
        json: Json = False,
    ) -> int:
        """Run the experiments of the lab: every claim about decoding, measured."""
        with flags_named():
            flags = Flags(
                model,
                prompt,
                None if trace is None else Path(trace),
                None if seed is None else whole("seed", seed, 0, 2**64 - 1),
                quick,
                None if plot is None else Path(plot),
                None if report is None else Path(report),
                whole("threads", threads, 1, 1024),
                json,
            )
        if name is None:
            from tui.cli.lab_list import listing

            return listing(flags.json)
        return run(name, flags)


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags, checked."""

    model: str | None
    prompt: str | None
    trace: Path | None
    seed: int | None
    quick: bool
    plot: Path | None
    report: Path | None
    threads: int
    json: bool


def run(name: str, flags: Flags) -> int:
    """Run one experiment, or all; 0 where every check holds, else 1.

    Ctrl-C ends the experiment at hand at its next record; what was found before is kept.
    """
    from model.lab.catalogue import EXPERIMENTS, find

    experiments = EXPERIMENTS if name == ALL else (find(name),)
    _refuse(name, experiments, flags)
    from tui.cli.interrupt import interruptible
    from tui.cli.lab_report import Report
    from tui.cli.loading import Models, spec_of
    from tui.cli.output import say

    if flags.model is not None:
        spec_of(flags.model)
    models = Models(flags.threads)
    request = _request(models, flags)
    report = Report(flags.report, models, flags.quick) if flags.report else None
    outcomes: list[Outcome] = []
    with interruptible() as interrupt:
        for outcome in _outcomes(experiments, request, interrupt):
            outcomes.append(outcome)
            if report:
                report.add(outcome)
            elif not flags.json:
                _print(outcome, alone=name != ALL)
        if flags.plot and outcomes[0].result:
            _draw(outcomes[0], flags.plot)
    if flags.json:
        _print_json(name, outcomes)
    if report:
        told = f"{report.summary()}; {report.path}"
        say(told) if flags.json else print(told)  # one document on standard output
    return interrupt.code or (0 if all(outcome.good for outcome in outcomes) else FAILED)


def _refuse(name: str, experiments: Sequence[Experiment], flags: Flags) -> None:
    """Raises ``InputError`` for flags that mean nothing here, before anything is run."""
    if flags.plot is not None:
        _refuse_plot(name, experiments, flags.plot)
    for flag, value, means_something, why in (
        ("--model", flags.model, lambda one: one.models != "none", "asks no model"),
        ("--prompt", flags.prompt, lambda one: one.reads_prompt, "reads no prompt"),
        ("--trace", flags.trace, lambda one: one.reads_trace, "looks at no saved run"),
        ("--seed", flags.seed, lambda one: one.draws, "draws nothing"),
    ):
        if value is not None and not any(map(means_something, experiments)):
            raise InputError(f"{name} {why}: leave {flag} out")
    if flags.trace is not None and name != ALL:
        for flag, value in (("--prompt", flags.prompt), ("--seed", flags.seed)):
            if value is not None:
                raise InputError(f"the saved run has its own {flag[2:]}: leave {flag} out")


def _refuse_plot(name: str, experiments: Sequence[Experiment], path: Path) -> None:
    from tui.files import refuse_unwritable
    from tui.lab.pictures import SUFFIXES, available

    if name == ALL:
        raise InputError("--plot draws one experiment; lab all --report DIR draws them all")
    if not experiments[0].plots:
        raise InputError(f"{name} has no plots: leave --plot out")
    if path.suffix[1:] not in SUFFIXES:
        raise InputError(f"--plot is {str(path)!r}; it takes a .png or .svg file")
    if not available():
        raise InputError("--plot needs matplotlib: pip install 'yinchuang[train]'")
    refuse_unwritable(path)


def _request(models: Callable[[str | None], Any], flags: Flags) -> Request:
    from model.lab.base import Request

    prompt = None if flags.prompt is None else _prompt(flags.prompt, flags.model)
    seed = 1 if flags.seed is None else flags.seed
    return Request(models, flags.model, prompt, seed, flags.quick, flags.trace)


def _prompt(text: str, model: str | None) -> str:
    """``--prompt`` as the model reads it: as verse, or, for a model of another maker, as it was
    typed."""
    from tui.cli.inputs import STDIN, Reader, read_stdin
    from tui.cli.loading import spec_of
    from tui.cli.output import say

    if spec_of(model).kind == "pretrained":
        return read_stdin("prompt") if text == STDIN else text
    reader = Reader()
    prompt = reader.verse(text, "prompt")
    for note in reader.notes:
        say(note)
    return prompt


def _outcomes(
    experiments: Sequence[Experiment], request: Request, interrupt: Interrupt
) -> Iterator[Outcome]:
    """Each experiment's end; a single one that is refused is the command's refusal."""
    import os
    from dataclasses import replace

    from tui.lab.outcome import run_experiment

    for number, experiment in enumerate(experiments):
        asked = replace(
            request,
            prompt=request.prompt if experiment.reads_prompt else None,
            trace=request.trace if experiment.reads_trace else None,
        )
        place = f"{number + 1}/{len(experiments)} " if len(experiments) > 1 else ""
        with _progress(f"{place}{experiment.name}") as follow:
            outcome = run_experiment(experiment, asked, follow, interrupt)
        if outcome.error is not None:
            broken = outcome.state == "failed"
            if (broken and os.environ.get(TRACEBACK_VARIABLE)) or len(experiments) == 1:
                raise outcome.error
        yield outcome
        if interrupt():
            return


@contextmanager
def _progress(name: str) -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error, where that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from tui.cells import shown
    from tui.cli.output import console

    out = console(stderr=True)
    columns = (
        TextColumn("{task.fields[name]}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    silent = not out.is_terminal or out.is_dumb_terminal
    with Bar(*columns, console=out, transient=True, disable=silent) as bar:
        task = bar.add_task("", name=name, total=None)

        def follow(progress: Progress) -> None:
            doing = shown(progress.doing)
            bar.update(task, completed=progress.done, total=progress.total, description=doing)

        yield follow


def _print(outcome: Outcome, *, alone: bool) -> None:
    """The sheet of an experiment on standard output."""
    from tui.cli.output import console, print_lines
    from tui.lab.sheet import folded, sheet

    out = console()
    width = out.width if out.is_terminal else 120
    experiment = outcome.experiment
    lines: list[Any] = [] if alone else [[]]
    lines += [[(line, "strong")] for line in folded(experiment.title, width)]
    lines += [[(line, "quiet")] for line in folded(experiment.claim, width)]
    lines.append([])
    if outcome.result is None:
        lines += [[(f"{outcome.mark} {line}", "")] for line in folded(outcome.words(), width - 2)]
    else:
        lines += sheet(outcome.result, width)
    print_lines(lines)


def _draw(outcome: Outcome, path: Path) -> None:
    from tui.cli.output import say
    from tui.files import write_whole
    from tui.lab.pictures import picture

    plots = outcome.result.plots if outcome.result else ()
    if not plots:
        raise UserError(f"{outcome.experiment.name} has no plots: nothing is in {path}")
    write_whole(path, picture(plots, path.suffix[1:]))
    say(f"{path}: {len(plots)} plot{'s' if len(plots) > 1 else ''}")


def _print_json(name: str, outcomes: Sequence[Outcome]) -> None:
    """One document: of the experiment, or of all with how each ended."""
    from tui.cli.output import print_json
    from tui.lab.document import document

    documents = [document(outcome) for outcome in outcomes]
    print_json({"experiments": documents} if name == ALL else documents[0])
