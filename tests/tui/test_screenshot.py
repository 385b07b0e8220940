"""The picture that the README shows is of the running app."""

from __future__ import annotations

import re

import pytest

from model.errors import InputError
from model.registry import find
from tui.screenshot import Scene, take


def test_the_picture_shows_a_poem_of_the_form_and_its_tables(tmp_path):
    assert find("tang-small").available
    picture = tmp_path / "window.svg"
    take(picture, Scene(model="tang-small", back=2))
    shown = re.sub(r"<[^>]+>", "", picture.read_text(encoding="utf-8"))
    for words in ("春", "眠", "looking", "drawn", "top-k", "race", "七绝"):
        assert words in shown


@pytest.mark.parametrize("name", ["window.gif", "window"])
def test_another_kind_of_picture_is_refused_by_name(tmp_path, name):
    with pytest.raises(InputError, match=name):
        take(tmp_path / name, Scene())
