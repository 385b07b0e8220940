"""Markdown in rows: the same while it grows as whole, at a cost that does not grow with it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.chat.typeset import MOST, Growing, markdown_lines, plain_lines

SAMPLE = (
    "# Head\n\nText *slanted*\nnext line\n\n- a\n- b\n\n```python\ndef f():\n    return 1\n```\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n1. one\n2. two\n\n> said\n\nlast [/b] <i>tag</i>"
)


def rows(lines):
    return ["".join(segment.text for segment in line).rstrip() for line in lines]


@pytest.mark.parametrize("chunk", [1, 3, 50])
def test_growing_comes_to_the_same_as_the_whole(chunk):
    growing = Growing(40)
    for at in range(0, len(SAMPLE), chunk):
        growing.add(SAMPLE[at : at + chunk])
    assert rows(growing.done + growing.tail) == rows(markdown_lines(SAMPLE, 40))


@given(st.text(max_size=200), st.integers(10, 60))
@settings(max_examples=25, deadline=None)
def test_any_text_can_be_set_and_obeys_no_terminal(text, width):
    for lines in (markdown_lines(text, width), plain_lines(text, width)):
        assert not any(char in row for row in rows(lines) for char in "\x1b\x07\r\n\t")


def test_what_looks_like_markup_or_a_definition_is_shown():
    shown = "\n".join(rows(markdown_lines("[bold]x[/bold] [/] <b>y</b>\n\n[z]: http://z", 60)))
    assert "[bold]x[/bold] [/] <b>y</b>" in shown and "[z]: http://z" in shown


@pytest.mark.parametrize("opening", ["", "```\n"])
def test_a_block_without_end_costs_the_same_at_every_length(opening):
    growing, costs = Growing(46), []
    growing.add(opening)
    for _ in range(1200):
        began = time.thread_time()
        growing.add("word ")
        costs.append(time.thread_time() - began)
    first, last = sorted(costs[300:500])[100], sorted(costs[-200:])[100]
    assert last < 3 * first
    assert len("".join(rows(growing.tail))) <= 2 * MOST
