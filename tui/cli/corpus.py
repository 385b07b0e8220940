"""``corpus fetch | build | stats``: bars and tables of what ``corpora`` does."""

from __future__ import annotations

from collections.abc import Iterable

from corpora import build as building
from corpora.build import Built
from corpora.package import POEMS
from corpora.places import BUILT_NAMES, built_folder, source_folder
from corpora.stats import Following, SetStats, corpus_stats, following, verse
from corpora.tally import RuleRow
from tui.cli.fetching import fetch_package, follow, progress
from tui.cli.interrupt import cut_short, ended
from tui.cli.output import print_table

WORDS = ("春风", "明月", "万里", "人间", "不知")
"""Two-character words whose followers ``stats`` counts; the first is the lesson's."""

STAGES = {
    "tang": "Cleaning Tang poems",
    "song": "Cleaning Song poems",
    "ci": "Cleaning Song ci",
    "write": "Writing",
}


def fetch() -> int:
    """Get the package of poems; the exit code."""
    fetched = fetch_package(POEMS)
    where = source_folder()
    print(f"The poems are in {where}" if fetched else f"The poems are there already: {where}")
    return 0


def build(again: bool) -> int:
    """Clean and split the poems; the exit code."""
    built: Built | None = None
    with (
        cut_short("Stopped; nothing was written."),
        progress() as bar,
        ended(building.build(rebuild=again)) as records,
    ):
        for record in records:
            if isinstance(record, Built):
                built = record
            else:
                follow(bar, STAGES, record.stage, record.done, record.total)
    if built is None:
        return 1
    _print_rules(built.rows)
    _print_files(built)
    there = " (there already; --again builds it anew)" if built.already_there else ""
    print(f"The corpus is in {built.folder}{there}")
    return 0


def stats() -> int:
    """Count the built corpus; the exit code."""
    sets = []
    with progress() as bar:
        task = bar.add_task("Counting", total=len(BUILT_NAMES))
        for figures in corpus_stats():
            sets.append(figures)
            bar.advance(task)
        poems = list(verse())
    _print_sets(sets)
    _print_forms(sets)
    _print_following([following(word, poems) for word in WORDS])
    print(f"Counted in {built_folder()}")
    return 0


def _print_rules(rows: Iterable[RuleRow]) -> None:
    from rich.table import Table

    table = Table(title="What cleaning met", title_justify="left", box=None, pad_edge=False)
    table.add_column("part")
    table.add_column("class")
    for heading in ("seen", "repaired", "dropped", "fell elsewhere"):
        table.add_column(heading, justify="right")
    for row in rows:
        counts = (row.seen, row.repaired, row.dropped, row.elsewhere)
        table.add_row(row.part, row.title, *(f"{count:,}" for count in counts))
    print_table(table)


def _print_files(built: Built) -> None:
    from rich.table import Table

    table = Table(title="What came out", title_justify="left", box=None, pad_edge=False)
    table.add_column("file")
    table.add_column("poems", justify="right")
    table.add_column("characters", justify="right")
    for name, entry in built.manifest["files"].items():
        table.add_row(name, f"{entry['poems']:,}", f"{entry['characters']:,}")
    print_table(table)


def _print_sets(sets: Iterable[SetStats]) -> None:
    from rich.table import Table

    table = Table(title="The built files", title_justify="left", box=None, pad_edge=False)
    table.add_column("file")
    headings = ("poems", "characters", "Han", "vocabulary", "once only", "cover 99 %")
    for heading in headings:
        table.add_column(heading, justify="right")
    for s in sets:
        cover = dict(s.covering)[0.99]
        counts = (s.poems, s.characters, s.han, s.vocabulary, s.once, cover)
        table.add_row(s.name, *(f"{count:,}" for count in counts))
    print_table(table)


def _print_forms(sets: Iterable[SetStats]) -> None:
    from rich.table import Table

    table = Table(title="Poems by form", title_justify="left", box=None, pad_edge=False)
    table.add_column("file")
    table.add_column("form")
    table.add_column("poems", justify="right")
    for s in sets:
        for count in s.forms:
            table.add_row(s.name, count.form, f"{count.poems:,}")
    print_table(table)


def _print_following(found: Iterable[Following]) -> None:
    from rich.table import Table

    table = Table(
        title="What follows, in Tang verse", title_justify="left", box=None, pad_edge=False
    )
    table.add_column("word")
    table.add_column("times", justify="right")
    table.add_column("then 。", justify="right")
    table.add_column("then ，", justify="right")
    table.add_column("most often")
    for word in found:
        often = " ".join(f"{char or 'end'} {count}" for char, count in word.after[:6])
        table.add_row(
            word.fragment,
            f"{word.count:,}",
            f"{word.share('。'):.1%}",
            f"{word.share('，'):.1%}",
            often,
        )
    print_table(table)
