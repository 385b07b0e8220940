"""Figures of a corpus small enough to count by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpora.errors import UserError
from corpora.poems import Poem
from corpora.stats import FormCount, corpus_stats, following, set_stats
from tests.corpora.helpers import FIVE, built_from, record

POEMS = [
    Poem("1", "", "", "春风春风春，山山山山山。"),
    Poem("2", "", "", "山山山春风。山山山山山！"),
]


def test_a_set_is_counted() -> None:
    stats = set_stats("made", POEMS)
    assert (stats.poems, stats.characters, stats.han) == (2, 24, 20)
    assert stats.vocabulary == 6  # 春 风 山 ， 。 ！
    assert stats.once == 2  # ， ！
    assert dict(stats.marks)["。"] == 2
    assert stats.forms == (FormCount("五言联", 2),)
    assert stats.covering[0] == (0.5, 1)  # 山 stands 13 times in 24
    assert stats.covering[-1] == (0.999, 6)


def test_what_follows_a_fragment() -> None:
    found = following("春风", POEMS)
    assert found.count == 3
    assert dict(found.after) == {"春": 2, "。": 1}
    assert found.share("。") == pytest.approx(1 / 3)
    assert found.share("月") == 0.0


def test_overlapping_occurrences_and_the_end_count() -> None:
    assert dict(following("山山", [Poem("1", "", "", "山山山")]).after) == {"山": 1, "": 1}


def test_a_fragment_that_does_not_occur() -> None:
    assert following("秋", POEMS).share("。") == 0.0
    with pytest.raises(ValueError, match="fragment"):
        following("", POEMS)


def test_an_empty_set() -> None:
    stats = set_stats("none", [])
    assert (stats.poems, stats.vocabulary, stats.covering[0]) == (0, 0, (0.5, 0))


def test_stats_of_the_built_files(tmp_path: Path) -> None:
    built_from(tmp_path, tang=[record(FIVE)])
    assert sum(stats.poems for stats in corpus_stats(tmp_path)) == 1


def test_stats_without_a_corpus(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="corpus build"):
        list(corpus_stats(tmp_path))
