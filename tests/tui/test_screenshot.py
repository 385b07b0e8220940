"""The picture that the README shows is of the running app."""

from __future__ import annotations

import re
from html import unescape

import pytest

from model.errors import InputError
from model.registry import find
from tui.screenshot import CELL, HAN, Scene, in_cells, take


def test_the_picture_shows_a_poem_of_the_form_and_its_tables(tmp_path):
    assert find("tang-small").available
    picture = tmp_path / "window.svg"
    take(picture, Scene(model="tang-small", back=2))
    svg = picture.read_text(encoding="utf-8")
    assert "url(http" not in svg
    shown = re.sub(r"<[^>]+>", "", svg)
    for words in ("春", "眠", "looking", "drawn", "top-k", "race", "七律", "chūn"):
        assert words in shown


def test_a_wide_character_stands_in_two_cells_and_what_follows_it_behind_them():
    svg = (
        '<text class="a" x="12.2" y="20" textLength="61" clip-path="url(#l)">a春&#160;&lt;眠</text>'
    )
    drawn = re.findall(r'x="([\d.]+)" y="20"[^>]*>([^<]*)<', in_cells(svg))
    assert [unescape(text) for _, text in drawn] == ["a", "春", "\xa0<", "眠"]
    starts = [float(x) for x, _ in drawn]
    margin = CELL - HAN / 2  # on either side of a wide character
    expected = [CELL, 2 * CELL + margin, 4 * CELL, 6 * CELL + margin]
    assert starts == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("name", ["window.gif", "window"])
def test_another_kind_of_picture_is_refused_by_name(tmp_path, name):
    with pytest.raises(InputError, match=name):
        take(tmp_path / name, Scene())
