"""The poem's rows: where characters stand, how wide they are, what adding one costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.pane_app import AWKWARD, PaneApp, step
from tui.cells import cell_len
from tui.panes.poem import PoemPane
from tui.panes.verse import Verse
from tui.session import Branch, FormSettings


def set_all(verse, text):
    for index, char in enumerate(text):
        verse.add(char, index, "written")
    return verse


def lines(verse):
    return ["".join(glyph.text for glyph in row.glyphs) for row in verse.rows]


def test_rows_end_after_a_full_stop():
    verse = set_all(Verse(40), "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。")
    assert lines(verse) == ["白日依山尽，黄河入海流。", "欲穷千里目，更上一层楼。"]


def test_rows_break_after_a_comma_where_they_must():
    verse = set_all(Verse(24), "故人西辞黄鹤楼，烟花三月下扬州。")
    assert lines(verse) == ["故人西辞黄鹤楼，", "烟花三月下扬州。"]


def test_rows_break_at_the_width_where_there_is_no_comma():
    verse = set_all(Verse(12), "春" * 20)
    assert lines(verse) == ["春" * 6] * 3 + ["春" * 2]


def test_words_stay_whole_where_a_row_has_a_space():
    verse = Verse(14)
    verse.add("The Golden Rule, a tale", 0, "written")
    assert [row.rstrip() for row in lines(verse)] == ["The Golden", "Rule, a tale"]
    verse = Verse(14)
    verse.add("Unbreakableword", 0, "written")
    assert lines(verse)[0].startswith("Unbreakable")


def test_a_mark_does_not_begin_a_row():
    verse = set_all(Verse(22), "春" * 10 + "。")
    assert lines(verse) == ["春" * 10 + "。"]


def test_a_closing_bracket_stays_with_its_sentence():
    verse = set_all(Verse(40), "曰：“归。”春")
    assert lines(verse) == ["曰：“归。”", "春"]


@pytest.mark.parametrize("width", [1, 7, 12, 23, 60])
def test_no_row_is_wider_than_the_pane(width):
    verse = Verse(width)
    text = "春眠[/b]\x07\u200b" + "".join(AWKWARD) + "，处处。" * 5
    for index, char in enumerate(text * 3):
        verse.add(char, index, "written")
    widest = max(cell_len("".join(g.shown for g in row.glyphs)) for row in verse.rows)
    longest = max(glyph.width for glyph in verse.glyphs())
    assert widest <= max(4, width, longest)
    assert "".join(g.text for g in verse.glyphs()) == text * 3
    for row in verse.rows:
        assert row.width == sum(glyph.width for glyph in row.glyphs)


def test_an_accent_stands_on_its_letter():
    verse = set_all(Verse(20), "e\u0301n")
    assert [glyph.text for glyph in verse.rows[0].glyphs] == ["e\u0301", "n"]
    assert verse.rows[0].width == 2


def test_adding_touches_the_last_rows_only():
    verse = Verse(30)
    for index in range(20_000):
        before = len(verse.rows)
        first = verse.add("春夏秋冬，。"[index % 6], index, "written")
        assert first >= before - 1


def test_setting_in_pieces_is_setting_at_once():
    text = "白日依山尽，黄河入海流。\n欲穷千里目，更上一层楼。春" * 4
    whole = Verse(17)
    whole.add(text, 0, "written")
    assert lines(whole) == lines(set_all(Verse(17), text))


def test_a_step_is_found_by_its_index_and_a_glyph_by_its_cell():
    verse = Verse(24)
    verse.add("春眠", -1, "opening")
    set_all(verse, "不觉晓，处处闻啼鸟。夜来风雨声")
    for row in verse.rows:
        for glyph in row.glyphs:
            if glyph.index >= 0:
                assert verse.rows[verse.row_of(glyph.index)] is row
            assert verse.glyph_at(verse.rows.index(row), glyph.x + glyph.width - 1) is glyph
    assert verse.glyph_at(0, 500) is None
    assert verse.glyph_at(99, 0) is None


def test_traditional_characters_are_display_only():
    verse = set_all(Verse(30, traditional=True), "头发乱，发白日。")
    assert "".join(glyph.shown for glyph in verse.rows[0].glyphs).startswith("頭髮亂，")
    assert lines(verse) == ["头发乱，发白日。"]


def test_pinyin_stands_above_and_is_read_by_words():
    verse = set_all(Verse(60, pinyin=True), "银行，行人。")
    over = [glyph.over for glyph in verse.rows[0].glyphs]
    assert over == ["yín", "háng", "", "xíng", "rén", ""]
    assert all(glyph.width > cell_len(glyph.over) for glyph in verse.rows[0].glyphs)


def test_selected_text_is_the_written_text():
    verse = set_all(Verse(40, traditional=True), "白日依山尽。头发。")
    assert verse.text(None, None) == "白日依山尽。\n头发。"
    assert verse.text((0, 3), (1, 1)) == "山尽。\n头"
    assert verse.text((5, 0), (9, 9)) == ""


def drawn(pane):
    """The lines in sight."""
    return [pane.render_line(y).text for y in range(pane.size.height)]


async def test_appending_draws_what_setting_the_whole_poem_draws():
    text = "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。" * 6
    steps = [step(index, None) for index in range(len(text))]
    steps = [replace(one, text=char) for one, char in zip(steps, text, strict=True)]
    branch = Branch(0, "床前", FormSettings(), "tiny")
    app = PaneApp(PoemPane())
    async with app.run_test(size=(30, 12)) as pilot:
        app.pane.show_branch(branch, None)
        for index in range(0, len(steps), 7):
            branch.steps.extend(steps[index : index + 7])
            app.pane.append(steps[index : index + 7])
            await pilot.pause()
            assert not app.pane.more_below
        grown = drawn(app.pane)
        app.pane.show_branch(None, None)
        app.pane.show_branch(branch, None)
        await pilot.pause()
        assert drawn(app.pane) == grown
        assert grown[-1].strip().endswith("花落知多少。")
