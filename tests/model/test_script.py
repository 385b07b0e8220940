"""Conversion of what is typed to the characters that the models read."""

from __future__ import annotations

import pytest

from model.script import AMBIGUOUS, Choice, read_verse, to_simplified, to_traditional


def test_traditional_text_is_converted_and_every_change_reported_once() -> None:
    found = to_simplified("牀前明月光，頭上頭")
    assert found.text == "床前明月光，头上头"
    assert found.changed == (("牀", "床"), ("頭", "头"))
    assert found.ambiguous == ()
    assert found.describe() == "牀 → 床; 頭 → 头"


def test_simplified_text_is_left_alone_and_nothing_is_said() -> None:
    text = "床前明月光，疑是地上霜。举头望明月，低头思故乡。云后里干"
    found = to_simplified(text)
    assert found.text == text
    assert found.describe() == ""


@pytest.mark.parametrize(
    ("given", "text", "told"),
    [
        ("乾坤", "乾坤", "乾 was kept (it may also be 干)"),
        ("乾燥", "干燥", "乾 → 干 (it may also be 乾)"),
        ("餘花", "余花", "餘 → 余 (it may also be 馀)"),
        ("著花", "著花", "著 was kept (it may also be 着)"),
    ],
)
def test_where_there_are_several_the_choice_and_the_others_are_told(
    given: str, text: str, told: str
) -> None:
    found = to_simplified(given)
    assert found.text == text
    assert found.describe() == told


def test_an_ambiguous_character_is_reported_for_each_choice_made() -> None:
    assert to_simplified("乾坤乾燥").ambiguous == (
        Choice("乾", "乾", "干"),
        Choice("乾", "干", "乾"),
    )
    assert to_simplified("乾坤乾燥").describe().count("乾坤") == 0


@pytest.mark.parametrize("given", sorted(AMBIGUOUS))
def test_the_table_knows_what_the_converter_chooses_and_something_else(given: str) -> None:
    (choice,) = to_simplified(given).ambiguous
    assert choice.chosen in AMBIGUOUS[given]
    assert choice.others
    assert choice.chosen not in choice.others


def test_variants_go_the_way_of_the_corpus() -> None:
    assert to_simplified("爲疎劒鴈").text == "为疏剑雁"


def test_length_and_order_never_change() -> None:
    text = "𠮷（頭）\n[/髮]a ，,😀"
    assert to_simplified(text).text == "𠮷（头）\n[/发]a ，,😀"
    rare = "\U000288e7"  # beyond the BMP there and back
    assert len(to_simplified(rare + "乾坤" + rare).text) == 4


def test_ascii_marks_of_verse_become_full_width_and_are_reported() -> None:
    found = read_verse("牀前,明月.")
    assert found.text == "床前，明月。"
    assert found.describe() == "牀 → 床; , → ，; . → 。"


def test_display_in_traditional_characters_follows_the_phrase() -> None:
    assert to_traditional("白发三千丈，出发") == "白髮三千丈，出發"
