"""Selection, splitting and writing."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.build import BuildProgress, Built, build
from corpora.errors import UserError
from corpora.places import BUILT_NAMES, built_folder
from corpora.poems import read_built
from corpora.split import LeakIndex, is_held_out, shingles
from tests.corpora.helpers import FIVE, built_from, ci, record, write_source


def made_poem(number: int, lines: int = 4, width: int = 5) -> str:
    """A poem of random characters that simplification leaves alone; one for each number."""
    rng = random.Random(number)
    rows = ["".join(rng.choices("山水风月花鸟云天日夜春江人心", k=width)) for _ in range(lines)]
    return "".join(row + ("。" if index % 2 else "，") for index, row in enumerate(rows))


def first(wanted: Callable[[str], bool]) -> str:
    return next(text for text in map(made_poem, range(10_000)) if wanted(text))


HELD = first(is_held_out)
TRAINED = first(lambda text: not is_held_out(text))


def texts(root: Path) -> dict[str, set[str]]:
    return {name: {poem.text for poem in read_built(name, root)} for name in BUILT_NAMES}


def row(built: Built, part: str, rule: str) -> tuple[int, int, int, int]:
    found = next(r for r in built.rows if (r.part, r.rule) == (part, rule))
    return (found.seen, found.repaired, found.dropped, found.elsewhere)


def test_a_held_out_poem_is_held_out_and_nowhere_else(tmp_path: Path) -> None:
    built_from(tmp_path, tang=[record(HELD), record(TRAINED)], song=[record(HELD)], ci=[ci(HELD)])
    sets = texts(tmp_path)
    assert sets["tang.heldout"] == {HELD}
    assert sets["tang.train"] == {TRAINED}
    assert not sets["song.train"] | sets["ci.train"] | sets["tang.irregular"]


def test_about_one_in_forty_is_held_out() -> None:
    share = sum(is_held_out(made_poem(number)) for number in range(8000)) / 8000
    assert share == pytest.approx(0.025, abs=0.006)


def test_the_choice_looks_at_normalised_text_only() -> None:
    assert is_held_out(HELD) and is_held_out(HELD.replace("，", "。"))


def test_a_poem_that_shares_two_lines_with_a_held_out_one_is_dropped(tmp_path: Path) -> None:
    quoting = HELD[:11] + TRAINED[11:]
    half = HELD[:5] + TRAINED[5:]
    tang = [record(HELD), record(quoting, id="q"), record(half, id="h")]
    built = built_from(
        tmp_path, tang=tang, song=[record("山" * 7 + "，" + HELD[:12] + "水" * 7 + "。")]
    )
    assert texts(tmp_path)["tang.train"] == {half}
    assert row(built, "tang", "leak") == (1, 0, 1, 0)


def test_song_poems_and_ci_that_quote_a_held_out_poem_are_dropped(tmp_path: Path) -> None:
    quoting = HELD[:12] + TRAINED[12:]
    built = built_from(
        tmp_path, tang=[record(HELD)], song=[record(quoting)], ci=[ci(quoting + "无。")]
    )
    assert not texts(tmp_path)["song.train"] | texts(tmp_path)["ci.train"]
    assert row(built, "song", "leak") == row(built, "ci", "leak") == (1, 0, 1, 0)


def test_irregular_poems_that_quote_a_held_out_poem_are_dropped_too(tmp_path: Path) -> None:
    built_from(tmp_path, tang=[record(HELD), record(HELD + "无三字。")])
    assert texts(tmp_path)["tang.irregular"] == set()


def test_duplicates_are_found_after_normalisation(tmp_path: Path) -> None:
    copies = [
        record("爲君疎劒氣，爲君疎劒氣。", id="b"),
        record("为君疏剑气。为君（一作「我」）疏剑气。", id="a"),
        record("为君疏剑气为君疏剑气。", id="0"),
    ]
    built = built_from(tmp_path, tang=copies, song=[record("為君疎劍氣，為君疏劍氣。")])
    every = [p for name in BUILT_NAMES for p in read_built(name, tmp_path)]
    # The copy in regular lines wins over the one without marks, then the lower id.
    assert [(p.id, p.text) for p in every] == [("a", "为君疏剑气。为君疏剑气。")]
    assert row(built, "tang", "duplicate")[2] == 2
    assert row(built, "song", "duplicate")[2] == 1


def test_irregular_tang_is_set_apart_and_irregular_song_left_out(tmp_path: Path) -> None:
    mixed = "山山山山山，水水水水水水水。"
    built = built_from(
        tmp_path, tang=[record(mixed)], song=[record("风风风，" + mixed)], ci=[ci("月，" + mixed)]
    )
    sets = texts(tmp_path)
    assert sets["tang.irregular"] == {mixed}
    assert sets["song.train"] == set()
    assert sets["ci.train"] == {"月，" + mixed}
    assert row(built, "song", "irregular") == (1, 0, 1, 0)


def test_the_table_adds_up(tmp_path: Path) -> None:
    tang = [
        record("冰□已（注）鏤津。"),
        record("紫紱（一作「綬」）換征衣，紫紱換征衣。", title="題（注）"),
        record("𨣧酒𨣧酒山，𨣧酒𨣧酒山。"),
        record("。"),
    ]
    built = built_from(tmp_path, tang=tang)
    assert row(built, "tang", "notes") == (2, 1, 0, 1)
    assert row(built, "tang", "lost") == (1, 0, 1, 0)
    assert row(built, "tang", "emptied") == (1, 0, 1, 0)
    assert row(built, "tang", "nonbmp") == (1, 1, 0, 0)
    assert row(built, "tang", "titles") == (1, 1, 0, 0)
    for line in built.rows:
        assert line.seen == line.repaired + line.dropped + line.elsewhere
    dropped = sum(line.dropped for line in built.rows)
    assert built.manifest["parts"]["tang"] == {"poems": 4, "kept": 4 - dropped}


@settings(max_examples=15)
@given(st.lists(st.integers(0, 400), max_size=60), st.randoms())
def test_the_split_has_no_leak_and_does_not_depend_on_order(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], rng: random.Random
) -> None:
    poems = [record(HELD), *(record(made_poem(n), id=str(i)) for i, n in enumerate(numbers))]
    shuffled = rng.sample(poems, len(poems))
    one, other = (tmp_path_factory.mktemp("split") for _ in range(2))
    built_from(one, tang=poems)
    built_from(other, tang=shuffled)
    sets = texts(one)
    assert sets == texts(other)
    index = LeakIndex(sets["tang.heldout"])
    assert not any(map(index.leaks, sets["tang.train"]))
    ids = [{p.id for name in BUILT_NAMES for p in read_built(name, root)} for root in (one, other)]
    assert ids[0] == ids[1]


def test_shingles_of_a_short_text_are_the_text() -> None:
    assert list(shingles("山，水。")) == ["山水"]
    assert list(shingles("山" * 11)) == ["山" * 10] * 2


# Writing ---------------------------------------------------------------------------------------


def test_the_manifest_holds_the_files_hashes_and_counts(tmp_path: Path) -> None:
    built = built_from(tmp_path, tang=[record(HELD), record(TRAINED)])
    assert json.loads((built.folder / "manifest.json").read_text("utf-8")) == built.manifest
    for name, facts in built.manifest["files"].items():
        data = (built.folder / f"{name}.jsonl").read_bytes()
        assert facts["sha256"] == hashlib.sha256(data).hexdigest()
        assert facts["poems"] == data.count(b"\n")
    assert built.manifest["source"]["integrity"] is None


def test_progress_counts_files_and_ends_with_built(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source", tang=[record(FIVE)])
    *steps, last = build(root=tmp_path, source=source)
    assert isinstance(last, Built) and not last.already_there
    assert all(isinstance(step, BuildProgress) and step.done <= step.total for step in steps)
    assert [s.stage for s in steps if s.done == s.total] == ["tang", "song", "ci", "write"]


def test_a_second_build_does_nothing_unless_told_to(tmp_path: Path) -> None:
    before = built_from(tmp_path, tang=[record(FIVE)])
    (again,) = build(root=tmp_path, source=tmp_path / "nowhere")
    assert isinstance(again, Built) and again.already_there
    assert (again.rows, again.manifest) == (before.rows, before.manifest)


def test_a_rebuild_replaces_what_was_there(tmp_path: Path) -> None:
    built_from(tmp_path, tang=[record(TRAINED)])
    built_from(tmp_path, tang=[record(HELD)])
    assert texts(tmp_path)["tang.train"] == set()
    assert sorted(p.name for p in tmp_path.iterdir()) == [built_folder(tmp_path).name, "source"]


def test_without_a_source_it_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="corpus fetch"):
        list(build(root=tmp_path))


def test_a_build_broken_off_leaves_the_old_corpus(tmp_path: Path) -> None:
    built_from(tmp_path, tang=[record(TRAINED)])
    steps = build(root=tmp_path, source=tmp_path / "source", rebuild=True)
    for step in steps:
        if isinstance(step, BuildProgress) and step.stage == "write":
            break
    steps.close()
    assert texts(tmp_path)["tang.train"] == {TRAINED}
    assert not list(tmp_path.glob(".build-*"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source", tang=[record(FIVE)])
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="file"):
        list(build(root=tmp_path / "file", source=source))


def test_a_manifest_that_cannot_be_read_means_not_built(tmp_path: Path) -> None:
    built = built_from(tmp_path, tang=[record(FIVE)])
    for content in ("{", "[]", "null"):
        (built.folder / "manifest.json").write_text(content)
        *_, last = build(root=tmp_path, source=tmp_path / "source")
        assert isinstance(last, Built) and not last.already_there


def test_records(tmp_path: Path) -> None:
    built = built_from(
        tmp_path, tang=[record(FIVE, id="x", title="登鸛雀樓", author="王之渙")], ci=[ci(FIVE[12:])]
    )
    lines = [
        json.loads(line)
        for name in ("tang.train", "tang.heldout", "ci.train")
        for line in (built.folder / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]
    expected: list[dict[str, Any]] = [
        {
            "id": "x",
            "title": "登鹳雀楼",
            "author": "王之涣",
            "text": "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。",
        },
        {
            "id": "ci.song.0.0",
            "title": "望江南",
            "author": "某",
            "text": "欲穷千里目，更上一层楼。",
        },
    ]
    assert lines == expected
