"""The Poem record and the readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpora.errors import UserError
from corpora.places import built_folder
from corpora.poems import Poem, raw_files, read_built, read_raw
from tests.corpora.helpers import FIVE, built_from, record


def poem(text: str) -> Poem:
    return Poem("1", "题", "某", text)


def test_lines_are_without_marks() -> None:
    assert poem("问春桂，桃李、正芬华？年光！").lines == ("问春桂", "桃李", "正芬华", "年光")


@pytest.mark.parametrize(
    ("width", "lines", "form"),
    [
        (5, 4, "五绝"),
        (7, 4, "七绝"),
        (5, 8, "五律"),
        (7, 8, "七律"),
        (5, 2, "五言联"),
        (7, 6, "七言古体"),
        (5, 12, "五言排律/古体"),
        (5, 1, "杂言"),
        (6, 4, "杂言"),
    ],
)
def test_form_follows_from_the_lines(width: int, lines: int, form: str) -> None:
    assert poem("，".join(["山" * width] * lines) + "。").form == form


def test_mixed_widths_are_irregular() -> None:
    assert poem("山山山山山，水水水水水水水。").form == "杂言"


def test_built_poems_come_back_as_written(tmp_path: Path) -> None:
    built_from(tmp_path, tang=[record(FIVE, title="登鸛雀樓", author="王之渙")])
    found = [*read_built("tang.train", tmp_path), *read_built("tang.heldout", tmp_path)]
    assert [(p.title, p.author, p.form) for p in found] == [("登鹳雀楼", "王之涣", "五绝")]
    assert found[0].text == "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。"


def test_a_missing_corpus_is_told_before_the_first_poem(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"corpus fetch.*corpus build"):
        read_built("tang.train", tmp_path)


def test_an_unknown_name_is_told_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"tang\.train"):
        read_built("tang.test", tmp_path)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    folder = built_folder(tmp_path)
    folder.mkdir(parents=True)
    (folder / "tang.train.jsonl").write_text('{"id": "1", "tit\n', encoding="utf-8")
    with pytest.raises(UserError, match="line 1"):
        list(read_built("tang.train", tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        "[{",
        "7",
        '["poem"]',
        '[{"title": "x"}]',
        '[{"title": null, "author": "x", "paragraphs": []}]',
        '[{"title": "x", "author": "x", "paragraphs": [1]}]',
        r'[{"id": "\ud83d", "title": "x", "author": "x", "paragraphs": []}]',
    ],
)
def test_a_damaged_raw_file_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "poet.tang.0.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"poet\.tang\.0\.json"):
        list(read_raw(path))


def test_raw_files_come_in_numeric_order(tmp_path: Path) -> None:
    for number in (10000, 9000, 0):
        (tmp_path / f"poet.tang.{number}.json").write_text("[]", encoding="utf-8")
    names = [path.name for path in raw_files(tmp_path, "poet.tang.*.json")]
    assert names == ["poet.tang.0.json", "poet.tang.9000.json", "poet.tang.10000.json"]


def test_no_raw_files_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="corpus fetch"):
        raw_files(tmp_path, "poet.tang.*.json")
