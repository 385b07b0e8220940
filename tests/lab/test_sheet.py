"""A result in cells and in Markdown: straight columns, nothing read as markup."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.lab.base import Plot, Series, table
from tests.lab.scripted import HOSTILE, IMPOSSIBLE, SMALL, result, scripted
from tui.cells import cell_len
from tui.lab.markdown import anchor, escaped, plot_text, section, table_text
from tui.lab.outcome import Outcome, method
from tui.lab.sheet import sheet, table_lines


def plain(lines):
    return ["".join(text for text, _ in line) for line in lines]


@pytest.mark.parametrize("width", [40, 54, 80, 120])
def test_a_sheet_has_everything_and_stays_within_its_width(width):
    lines = plain(sheet(result(), width))
    assert all(cell_len(line) <= width for line in lines)
    text = "\n".join(lines)
    for said in ("A table of 春风", "note on 春风", "12,000", "50.0%", "–", "Bars", "✓ the claim",
                 "· A finding", "prompts 「春风」, 「」", "seed 3"):  # fmt: skip
        assert said in text


def test_numbers_stand_to_the_right_and_text_to_the_left_whatever_its_width():
    rows = [("漢字", 1), ("e\u0301", 1000), ("\U0001f468\u200d\U0001f469", 20), ("𨣧", 3)]
    made = table("t", {"name": "", "n": ","}, rows)
    lines = plain(table_lines(made, 60))
    assert {cell_len(line) for line in lines[2:]} == {cell_len(lines[2])}
    assert [line.split()[-1] for line in lines[2:]] == ["1", "1,000", "20", "3"]


def test_a_long_text_is_broken_and_a_number_never():
    made = table("t", {"poem": "", "n": ","}, [("春" * 60, 1_234_567)])
    lines = plain(table_lines(made, 40))
    assert all(cell_len(line) <= 40 for line in lines)
    assert sum(line.count("春") for line in lines) == 60
    assert sum("1,234,567" in line for line in lines) == 1


def test_a_table_too_wide_for_the_sheet_keeps_its_numbers_whole():
    heads = {f"column {n}": "," for n in range(12)}
    made = table("t", heads, [[1_000_000 + n for n in range(12)]])
    assert all(f"1,000,{n:03}" in plain(table_lines(made, 40))[-1] for n in range(12))


def test_what_looks_like_markup_is_text():
    for text in (
        "\n".join(plain(sheet(result(text=HOSTILE), 200))),
        "".join(plain(table_lines(table("t", {HOSTILE: ""}, [(HOSTILE,)]), 200))),
    ):
        assert HOSTILE in text


@given(st.text(max_size=40))
def test_no_cell_breaks_a_table_of_markdown(text):
    made = table("t", {"a": "", text or "b": ""}, [(text, "x"), ("y", text)])
    lines = table_text(made).split("\n")
    assert len(lines) == 4
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3
        assert "<" not in re.sub(r"\\<", "", line)


@given(st.text(max_size=40))
def test_escaping_is_one_line_and_loses_nothing_that_is_seen(text):
    line = escaped(text)
    assert "\n" not in line
    assert not re.match(r"\s*(#|>|[-+] |\d+[.)] )", line)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1. After a title", "1\\. After a title"),
        ("- no list", "\\- no list"),
        ("---", "\\---"),
        ("0.5 of them", "0.5 of them"),
        ("-0.5", "-0.5"),
        ("# [/red] *b* `c`", "\\# \\[/red\\] \\*b\\* \\`c\\`"),
        ("a\nb", "a b"),
    ],
)
def test_only_what_markdown_would_read_is_escaped(text, written):
    assert escaped(text) == written


def test_a_section_says_claim_measure_result_and_checks():
    outcome = Outcome(SMALL, "done", 1.25, result())
    text = section(outcome, "By ``counting`` <b>.", lambda plot: f"{len(plot.title)}.png")
    assert text.startswith("## The small one\n")
    for said in ("What small claims.", "By `counting` \\<b\\>.", "| --- | ---: | ---: | --- |",
                 "![Lines of 春风](11.png)", "- ✓ the claim of 春风: 1.0 against 1.0",
                 "- A finding about 春风.", "`run.py lab small`, 1.2 s"):  # fmt: skip
        assert said in text


def test_a_section_without_a_result_says_why():
    outcome = Outcome(IMPOSSIBLE, "impossible", 0.0, None, ValueError("no *corpus*"))
    assert "It cannot run here: no \\*corpus\\*." in section(outcome, "", lambda plot: None)


def test_without_pictures_a_plot_is_text_between_fences():
    plot = Plot("``` title", "x", "y", (Series("s", ((1, 1), (2, 2))),))
    text = plot_text(plot, None)
    fence = text.split("\n")[0].removesuffix("text")
    assert fence == "````" and text.endswith(fence)
    assert any("⠀" < c <= "⣿" for c in text)


def test_the_contents_link_to_the_headings():
    assert anchor("How wide: the 核 nucleus, (k)") == "how-wide-the-核-nucleus-k"


def test_a_method_is_read_from_the_experiments_module():
    told = method(scripted("nucleus", lambda request: iter(())))
    assert "Holtzman" in told
    assert all("\n" not in paragraph for paragraph in told.split("\n\n"))
    assert method(SMALL) == ""
