"""``models``: list, describe and fetch what can be loaded. The flags; the bodies are imported
when they are called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tui.cli.options import Json, argument, option

_LISTS = "list"


class _NameOrCommand(TyperGroup):
    """A group whose commands may be left out: any other word is the name of a model."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command in front where it was left out."""
        first = next((word for word in args if not word.startswith("-")), None)
        if first not in self.commands and not {"-h", "--help"} & {*args}:
            args = [_LISTS, *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    group = typer.Typer(
        cls=_NameOrCommand,
        rich_markup_mode=None,
        help="List the models that can be used; with a NAME or a path, tell all about that one.",
    )
    app.add_typer(group, name="models")

    @group.command(_LISTS)
    def list_models(
        name: Annotated[
            str | None, argument("NAME", "One model, or the path of one: all about it.")
        ] = None,
        json: Json = False,
    ) -> int:
        """What is done where no command is given: list, or tell all about NAME."""
        from tui.cli import model_tables

        return model_tables.models(name, json)

    @group.command()
    def fetch(
        name: Annotated[str, argument("NAME", "smollm2, a chat model.")],
    ) -> int:
        """Get a model that does not come with the program, once, with pip."""
        from tui.cli import fetching

        return fetching.fetch_model(name)

    @group.command()
    def average(
        files: Annotated[list[Path], argument("FILES", "Checkpoints of one shape.")],
        out: Annotated[Path, option("--out", metavar="FILE", text="The checkpoint.")],
        share: Annotated[
            list[float] | None,
            option("--share", text="Once a file, in their order; else all are equal."),
        ] = None,
    ) -> int:
        """Write the mean of checkpoints that were trained from one another, and measure it on
        the held-out poems."""
        from tui.cli import averaging

        return averaging.average_models(files, share or [], out)
