"""``history``: what is kept of poems and conversations, to list, show, search, export, rename
and delete."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corpora.errors import UserError
from tui.cli.options import Json, argument, option, switch

if TYPE_CHECKING:
    from tui.history import History, Hit, Turn, Work

KINDS = ("poem", "chat")
Id = Annotated[str, argument("ID", "The work's id, or its beginning; `history list` shows them.")]
Kind = Annotated[str | None, option("--kind", metavar="poem|chat", text="Only works of this kind.")]


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    group = typer.Typer(rich_markup_mode=None, help="Poems and conversations that are kept.")
    app.add_typer(group, name="history")
    _register_reading(group)
    _register_changing(group)


def _register_reading(group: typer.Typer) -> None:
    @group.command("list")
    def list_works(kind: Kind = None, json: Json = False) -> int:
        """List what is kept, the newest first."""
        with opened() as history:
            _print_works(history.works(_kind(kind)), json)
        return 0

    @group.command()
    def show(work: Id, json: Json = False) -> int:
        """Print a poem with its branches, or a conversation."""
        with opened() as history:
            _print_work(history, history.find(work), json)
        return 0

    @group.command()
    def search(
        query: Annotated[str, argument("TEXT", "Words that must all occur, in any place.")],
        kind: Kind = None,
        json: Json = False,
    ) -> int:
        """Find poems and turns by what stands in them or in their title."""
        with opened() as history:
            _print_hits(found(history, query, _kind(kind)), json)
        return 0

    @group.command()
    def export(
        work: Annotated[
            str | None, argument("ID", "One work; all of them where none is given.")
        ] = None,
        out: Annotated[
            str | None,
            option("--out", "-o", metavar="FILE", text="A .md or .json file. [standard output]"),
        ] = None,
        json: Annotated[bool, switch("--json", "JSON in place of Markdown.")] = False,
    ) -> int:
        """Write works as Markdown, or as JSON with every branch."""
        with opened() as history:
            _export(history, work, out, json)
        return 0


def _register_changing(group: typer.Typer) -> None:
    @group.command()
    def rename(
        work: Id, title: Annotated[str, argument("TITLE", "Empty: its text stands for it again.")]
    ) -> int:
        """Give a work a title."""
        from tui.cli.output import say

        with opened() as history:
            named = history.find(work)
            history.rename(named.id, title)
            say(f"{named.id} is now: {history.work(named.id).name}")
        return 0

    @group.command()
    def delete(
        works: Annotated[list[str], argument("ID...", "The works' ids, or their beginnings.")],
        yes: Annotated[bool, switch("--yes", "Without being asked.")] = False,
    ) -> int:
        """Delete works for good, with all their branches."""
        with opened() as history:
            _delete(history, works, yes)
        return 0


@contextmanager
def opened() -> Iterator[History]:
    """The user's history. Raises ``UserError`` where it cannot be used, and where it had to be
    set aside because it was damaged: nothing that was asked for is there then."""
    from tui.history import open_history

    history = open_history()
    try:
        if history.notice:
            raise UserError(history.notice)
        yield history
    finally:
        history.close()


def found(history: History, query: str, kind: Any) -> list[Hit]:
    """What ``query`` finds as it is written, and in the characters in which poems are kept."""
    from tui.history import search

    queries = [query]
    if not query.isascii():
        from model.script import read_verse

        queries.append(read_verse(query).text)
    return search(history, *dict.fromkeys(queries), kind=kind)


def _kind(kind: str | None) -> Any:
    if kind is not None and kind not in KINDS:
        raise UserError(f"--kind is {kind!r}; it takes {' or '.join(KINDS)}")
    return kind


def _print_works(works: list[Work], as_json: bool) -> None:
    from tui.cli.output import print_json, print_table, say
    from tui.history.export import summary

    if as_json:
        print_json({"works": [summary(work) for work in works]})
        return
    if not works:
        say("Nothing is kept yet. What the window writes is kept by itself.")
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("id", "kind", "changed", "state", "branches", "name"):
        table.add_column(
            heading,
            no_wrap=True,
            overflow="ellipsis",
            justify="right" if heading == "branches" else "left",
        )
    for work in works:
        table.add_row(
            work.id, work.kind, _when(work), work.state or "–", str(work.turns), work.name
        )
    print_table(table)


def _when(work: Work) -> str:
    from tui.history.records import local_time

    return f"{local_time(work.updated):%Y-%m-%d %H:%M}"


def _print_work(history: History, work: Work, as_json: bool) -> None:
    from tui.cli.output import print_json, say
    from tui.history.export import as_document

    if as_json:
        print_json(as_document(history, work))
        return
    say(f"{work.id} · {work.kind} · {work.name} · {work.model} · {_when(work)}")
    turns = history.turns(work.id) if work.kind == "poem" else history.active_path(work.id)
    for number, turn in enumerate(turns, 1):
        if number > 1:
            print()
        say(_heading(turn, number, turns))
        print(_plain(turn))


def _heading(turn: Turn, number: int, turns: list[Turn]) -> str:
    from tui.history.export import ENDINGS, SPEAKERS

    state = f" · {ENDINGS[turn.state]}" if turn.state in ENDINGS else ""
    if turn.role != "poem":
        return f"— {turn.model or SPEAKERS[turn.role]}{state}"
    origin = next((n for n, each in enumerate(turns, 1) if each.id == turn.origin), None)
    fork = f" · from {origin} at {turn.fork + 1}" if origin else ""
    return f"— branch {number} of {len(turns)}{fork}{state}"


def _plain(turn: Turn) -> str:
    """The text with its control characters visible: a model may have written any."""
    from tui.history.export import verse_lines

    text = verse_lines(turn.text) if turn.role == "poem" else turn.text
    return "".join(
        char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text
    )


def _print_hits(hits: list[Hit], as_json: bool) -> None:
    from tui.cli.output import print_json, print_lines, say
    from tui.history.export import summary

    if as_json:
        documents = [
            {
                **summary(hit.work),
                "turn": hit.turn,
                "role": hit.role,
                "snippet": hit.snippet,
                "marks": hit.marks,
            }
            for hit in hits
        ]
        print_json({"hits": documents})
        return
    if not hits:
        say("Nothing was found")
    for hit in hits:
        head = f"{hit.work.id}  {hit.work.kind}  {_when(hit.work)}  "
        print_lines([[(head, "quiet"), *_marked(hit)]])


def _marked(hit: Hit) -> Iterator[tuple[str, str]]:
    from tui.cli.guard import one_line

    at = 0
    for start, end in hit.marks:
        yield one_line(hit.snippet[at:start]), ""
        yield one_line(hit.snippet[start:end]), "strong"
        at = end
    yield one_line(hit.snippet[at:]), ""


def _export(history: History, prefix: str | None, out: str | None, as_json: bool) -> None:
    from tui.cli.output import say
    from tui.files import write_whole
    from tui.history.export import rendered

    path = Path(out) if out else None
    works = history.works() if prefix is None else [history.find(prefix)]
    suffix = path.suffix.lower() if path else ".json" if as_json else ".md"
    text = rendered(history, works, suffix, listed=prefix is None)
    if path is None:
        sys.stdout.write(text)
    else:
        write_whole(path, text)
        say(f"wrote {path}")


def _delete(history: History, prefixes: list[str], yes: bool) -> None:
    from tui.cli.output import say

    works = {work.id: work for work in map(history.find, prefixes)}
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError("delete asks before it deletes, and there is no terminal; give --yes")
    for work in works.values():
        if work.state == "writing":
            raise UserError(f"{work.id} ({work.name}) is being written; stop it first")
    for work in works.values():
        if yes or typer.confirm(f"Delete {work.id} ({work.kind}) {work.name}?", err=True):
            history.delete(work.id)
            say(f"deleted {work.id}")
