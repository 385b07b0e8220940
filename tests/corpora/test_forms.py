"""Forms are found by any of their names, and a text fills one exactly or not at all."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import UserError
from corpora.forms import FORMS, LINE_ENDS, STOP, UnknownForm, VerseForm, form, is_han, shape_of

SPRING_DAWN = "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"


def test_the_four_forms_have_their_lines_and_characters() -> None:
    shapes = {f.name: (f.lines, f.characters, f.length) for f in FORMS.values()}
    assert shapes == {
        "五绝": (4, 5, 24),
        "七绝": (4, 7, 32),
        "五律": (8, 5, 48),
        "七律": (8, 7, 64),
    }


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("五绝", "五绝"),
        ("五絕", "五绝"),
        ("七絕", "七绝"),
        ("七律", "七律"),
        ("wujue", "五绝"),
        ("QIJUE", "七绝"),
        (" qilv ", "七律"),
        ("wulü", "五律"),
        ("WULÜ", "五律"),
        ("qilu\u0308", "七律"),
    ],
)
def test_a_form_is_found_by_any_of_its_names(name: str, found: str) -> None:
    assert form(name) is FORMS[found]


@pytest.mark.parametrize("name", ["", "jue", "五", "七绝七绝", "[/", "sonnet"])
def test_an_unknown_form_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownForm) as refused:
        form(name)
    assert isinstance(refused.value, UserError)
    assert repr(name) in str(refused.value)
    for known in (*FORMS, "wujue", "qijue", "wulv", "qilv"):
        assert known in str(refused.value)


@pytest.mark.parametrize(("lines", "characters"), [(0, 5), (4, 0), (-1, 7)])
def test_an_empty_form_is_refused(lines: int, characters: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        VerseForm("x", lines, characters)


def test_a_poem_has_a_shape() -> None:
    assert shape_of(SPRING_DAWN) is FORMS["五绝"]
    assert shape_of(SPRING_DAWN * 2) is FORMS["五律"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        SPRING_DAWN[:-1],  # no last end
        SPRING_DAWN[:-1] + "，",  # the last end is no full stop
        SPRING_DAWN[:-1] + "！",
        SPRING_DAWN + STOP,
        SPRING_DAWN + "\n",
        SPRING_DAWN.replace("。夜", "。\n夜"),
        SPRING_DAWN.replace("，", ","),
        SPRING_DAWN.replace("眠", "□"),
        SPRING_DAWN.replace("眠", "a"),
        SPRING_DAWN.replace("眠", "，"),
        SPRING_DAWN.replace("眠", ""),
        SPRING_DAWN.replace("眠", "眠眠"),
        SPRING_DAWN.replace("晓，", "，晓"),
        SPRING_DAWN * 3,
    ],
)
def test_a_text_that_is_off_by_anything_has_none(text: str) -> None:
    assert shape_of(text) is None


@given(
    st.sampled_from(list(FORMS.values())),
    st.integers(min_value=0),
    st.sampled_from("春，。！ a□\n"),
)
def test_one_character_changed_leaves_the_shape_only_where_it_still_fits(
    verse: VerseForm, place: int, char: str
) -> None:
    poem = ("春" * verse.characters + "，") * (verse.lines - 1) + "春" * verse.characters + STOP
    assert shape_of(poem) is verse
    place %= len(poem)
    at_end = place % (verse.characters + 1) == verse.characters
    last = place == len(poem) - 1
    fits = char == STOP if last else char in LINE_ENDS if at_end else char == "春"
    assert verse.holds(poem[:place] + char + poem[place + 1 :]) == fits


@pytest.mark.parametrize("char", ["春", "〇", "㐀", "鿿", "𨣧", "\U00030000", "\uf900"])
def test_han_characters_are_han(char: str) -> None:
    assert is_han(char)


@pytest.mark.parametrize(
    "char",
    ["", "，", "。", "a", "1", "１", " ", "\u3000", "\n", "□", "⿰", "々", "あ", "\ue829", "春风"],
)
def test_nothing_else_is(char: str) -> None:
    assert not is_han(char)


def test_forms_do_not_import_torch() -> None:
    code = "import sys, corpora.forms; print('torch' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert answer.stdout.strip() == "False"
