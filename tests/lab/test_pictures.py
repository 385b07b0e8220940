"""Pictures of plots: a file that opens, no empty boxes, no warnings."""

from __future__ import annotations

import warnings

import pytest

from model.lab.base import Plot, Series
from tests.lab.scripted import HOSTILE, result

pytest.importorskip("matplotlib", reason="the extra train is not installed")

from tui.lab import pictures


@pytest.mark.parametrize(("suffix", "head"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_both_kinds_are_drawn_without_a_warning(suffix, head):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = pictures.picture(result(text=HOSTILE).plots, suffix)
    assert drawn.startswith(head)


@pytest.mark.parametrize("suffix", pictures.SUFFIXES)
def test_the_same_plots_give_the_same_picture(suffix):
    plots = result().plots
    assert pictures.picture(plots, suffix) == pictures.picture(plots, suffix)


def test_logarithms_and_wild_series_are_drawn():
    wild = (Series("_hidden", ((1, 1e-6), (1000, 1e3))), Series("", ()), Series("one", ((5, 2),)))
    plot = Plot("t", "x", "y", wild, log_x=True, log_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pictures.picture([plot, Plot("bars", "x", "y", wild, kind="bar")], "png")


def test_without_a_font_chinese_stands_in_pinyin(monkeypatch):
    monkeypatch.setattr(pictures, "_FAMILIES", ())
    pictures._family_with.cache_clear()
    assert pictures._chinese_font("床前") is None
    assert pictures._label("after 「床前，月」x", chinese=False) == "after “chuáng qián, yuè”x"
    assert pictures._label("a床b", chinese=False) == "a chuáng b"
    assert pictures._label("\ue000", chinese=False) == "U+E000"
    pictures._family_with.cache_clear()
