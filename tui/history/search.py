"""Finding turns by what stands in them.

What is typed has no syntax: its words, as blanks part them, must all stand in a turn, each
anywhere, even inside other words.
"""

from __future__ import annotations

from collections.abc import Iterable

from tui.history.folding import fold, phrase
from tui.history.reading import Reading
from tui.history.records import Hit, Kind, Turn, Work, storable

BEFORE, LENGTH = 12, 60
"""Characters of a snippet before the first place, and in all."""
MOST = 200


def search(
    history: Reading, *queries: str, kind: Kind | None = None, most: int = MOST
) -> list[Hit]:
    """Turns in which all words of any of ``queries`` stand, and works that have them in
    their title; the newest first, at most ``most``. Blank queries find nothing.

    What is being written is found once it has ended. Raises ``HistoryError``.
    """
    wanted = [query for query in map(storable, queries) if query.strip()]
    if not wanted:
        return []
    works = {work.id: work for work in history.works(kind)}
    hits = [*_titles(history, works, wanted), *_texts(history, works, wanted, kind, most)]
    return hits[:most]


def _titles(history: Reading, works: dict[str, Work], queries: list[str]) -> Iterable[Hit]:
    for work in works.values():
        found = first_marks(work.title, queries)
        if found and work.active:
            snippet, places = excerpt(work.title, found)
            yield Hit(work, work.active, history.turn(work.active).role, snippet, places)


def _texts(
    history: Reading, works: dict[str, Work], queries: list[str], kind: Kind | None, most: int
) -> Iterable[Hit]:
    expression = " OR ".join(f"({phrase(query)})" for query in queries)
    rows = history.query(
        "SELECT turns.id FROM found JOIN turns ON turns.key = found.rowid "
        "JOIN works ON works.id = turns.work WHERE found MATCH ?1 AND (?2 IS NULL OR kind = ?2) "
        "ORDER BY turns.updated DESC, turns.key DESC LIMIT ?3",
        expression, kind, most,
    )  # fmt: skip
    for turn in map(history.turn, (turn_id for (turn_id,) in rows)):
        if turn.work in works:  # a new one may have come meanwhile
            yield _hit(turn, works, queries)


def _hit(turn: Turn, works: dict[str, Work], queries: list[str]) -> Hit:
    snippet, places = excerpt(turn.text, first_marks(turn.text, queries))
    return Hit(works[turn.work], turn.id, turn.role, snippet, places)


def first_marks(text: str, queries: list[str]) -> list[tuple[int, int]]:
    """``marks`` of the first of ``queries`` that stands in ``text``; empty where none does."""
    return next(filter(None, (marks(text, query) for query in queries)), [])


def marks(text: str, query: str) -> list[tuple[int, int]]:
    """Where the words of ``query`` stand in ``text``: [start, end), in order, none that
    overlap; empty unless all of them do."""
    folded, places = fold(text)
    line = "".join(folded)
    found: list[tuple[int, int]] = []
    for word in query.split():
        small = "".join(fold(word)[0])
        at = line.find(small)
        if at < 0:
            return []
        while at >= 0:
            found.append((places[at], places[at + len(small) - 1] + 1))
            at = line.find(small, at + len(small))
    return _apart(sorted(found))


def _apart(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    result: list[tuple[int, int]] = []
    for start, end in found:
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def excerpt(text: str, found: list[tuple[int, int]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A line around the first of the places ``found``, with those that are within it."""
    first = max(0, found[0][0] - BEFORE) if found and len(text) > LENGTH else 0
    last = min(len(text), first + LENGTH)
    lead, trail = "…" if first else "", "…" if last < len(text) else ""
    # line feeds become blanks one by one, so that the places stay
    line = "".join(" " if char.isspace() else char for char in text[first:last])
    shift = len(lead) - first
    within = tuple((start + shift, min(end, last) + shift) for start, end in found if start < last)
    return f"{lead}{line}{trail}", within
