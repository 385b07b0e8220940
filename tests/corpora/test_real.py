"""Figures of the real corpus, where it has been built on this machine."""

from __future__ import annotations

import re
from itertools import islice

import pytest

from corpora.build import read_manifest
from corpora.places import BUILT_NAMES, built_folder
from corpora.poems import IRREGULAR, PUNCTUATION, read_built
from corpora.split import LeakIndex
from corpora.stats import following, verse

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(
        read_manifest(built_folder()) is None,
        reason="the corpus is not built here: python run.py corpus fetch, then corpus build",
    ),
]


def test_spring_wind_as_measured() -> None:
    found = following("春风", verse())
    assert 950 <= found.count <= 1100
    assert 0.139 <= found.share("。") <= 0.145


def test_size_of_tang_verse() -> None:
    poems = list(verse())
    assert 48_000 < len(poems) < 52_000
    assert 2_400_000 < sum(len(poem.text) for poem in poems) < 3_000_000
    assert all(poem.form != IRREGULAR for poem in poems)


def test_share_held_out() -> None:
    held, train = (sum(1 for _ in read_built(name)) for name in ("tang.heldout", "tang.train"))
    assert held / (held + train) == pytest.approx(0.025, abs=0.003)


@pytest.mark.parametrize("name", [n for n in BUILT_NAMES if n != "tang.heldout"])
def test_no_file_shares_a_run_with_a_held_out_poem(name: str) -> None:
    index = LeakIndex(poem.text for poem in read_built("tang.heldout"))
    step = 20 if name == "song.train" else 1  # every twentieth of the largest file: a minute saved
    assert not any(index.leaks(poem.text) for poem in islice(read_built(name), 0, None, step))


@pytest.mark.parametrize("name", BUILT_NAMES)
def test_nothing_but_han_and_marks(name: str) -> None:
    clean = re.compile(rf"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af{PUNCTUATION}]+")
    assert all(clean.fullmatch(poem.text) for poem in read_built(name))


def test_the_table_adds_up() -> None:
    manifest = read_manifest(built_folder())
    assert manifest is not None
    for part, counts in manifest["parts"].items():
        dropped = sum(row["dropped"] for row in manifest["rules"] if row["part"] == part)
        assert counts["poems"] - dropped == counts["kept"]
