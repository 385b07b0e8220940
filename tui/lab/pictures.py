"""Plots as pictures, with matplotlib where the extra ``train`` is there.

Labels may hold Chinese. Where the machine has a font for it, that is used; else Chinese
stands in pinyin, and what has neither is written as its code point, so that no picture
has empty boxes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from model.lab.base import Plot, Series
from tui.plot import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

SUFFIXES = ("png", "svg")
WIDTH, HEIGHT = 8.0, 4.5
"""Inches of one plot."""
DPI = 120
_FAMILIES = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "Noto Sans CJK JP",
    "Noto Serif CJK SC",
    "AR PL UMing CN",
    "Droid Sans Fallback",
    "Arial Unicode MS",
)
"""Fonts with Chinese, those made for simplified characters first."""
_PLAIN = str.maketrans({"「": "“", "」": "”", "，": ", ", "。": ". ", "：": ": ", "？": "? ",
                        "！": "! ", "；": "; ", "、": ", ", "（": " (", "）": ") "})  # fmt: skip
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "x")
SHORT = 300.0
"""A logarithmic axis from end to end, below which powers of ten alone are too few."""
_FEW = 25
"""Up to so many points each one is marked."""


def available() -> bool:
    """Matplotlib is installed."""
    return find_spec("matplotlib") is not None


def picture(plots: Sequence[Plot], suffix: str) -> bytes:
    """The plots in one picture, one above the other. ``suffix``: one of ``SUFFIXES``."""
    import matplotlib
    from matplotlib.figure import Figure

    font = _chinese_font(_label_text(plots))
    settings: dict[str, Any] = {"axes.unicode_minus": False, "svg.hashsalt": "lab"}
    if font:
        settings["font.sans-serif"] = [font, "DejaVu Sans"]
    out = io.BytesIO()
    with matplotlib.rc_context(settings):  # type: ignore[arg-type]
        size = (WIDTH, HEIGHT * len(plots))
        figure = Figure(figsize=size, layout="constrained")  # no window, no global state
        for place, plot in enumerate(plots):
            _draw(figure.add_subplot(len(plots), 1, place + 1), plot, bool(font))
        # no date inside: the same result gives the same file
        figure.savefig(out, format=suffix, dpi=DPI, metadata={_DATED[suffix]: None})
    return out.getvalue()


_DATED = {"png": "Creation Time", "svg": "Date"}


def _draw(axes: Axes, plot: Plot, chinese: bool) -> None:
    def label(text: str) -> str:
        return _label(text, chinese)

    if plot.kind == "bar":
        _bars(axes, plot.series, label)
    else:
        _lines(axes, plot, label)
    if plot.log_y:
        axes.set_yscale("log")
        _decades(axes.yaxis)
    axes.set_title(label(plot.title), wrap=True)
    axes.set_xlabel(label(plot.x))
    axes.set_ylabel(label(plot.y))
    axes.grid(alpha=0.3)
    drawn = [one for one in plot.series if one.points]
    if len(drawn) > 1:
        axes.legend(fontsize="small")


def _lines(axes: Axes, plot: Plot, label: Any) -> None:
    for place, one in enumerate(s for s in plot.series if s.points):
        xs, ys = _columns(one)
        axes.plot(
            xs,
            ys,
            label=label(one.name),
            linestyle=_DASHES[place % len(_DASHES)],
            marker=_MARKERS[place % len(_MARKERS)] if len(xs) <= _FEW else "",
            markersize=4,
            linewidth=1.4,
        )
    if plot.log_x:
        axes.set_xscale("log")
        _decades(axes.xaxis)


def _decades(axis: Axis) -> None:
    """Plain numbers along a logarithmic axis: at powers of ten, and at 2 and 5 times these
    where the axis is short."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high < low * SHORT:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, place: number(value))
    axis.set_minor_formatter(NullFormatter())


def _bars(axes: Axes, series: Sequence[Series], label: Any) -> None:
    xs = sorted({x for one in series for x, _ in one.points})
    place = {x: at for at, x in enumerate(xs)}
    width = 0.8 / max(1, len(series))
    for at, one in enumerate(series):
        shift = (at - (len(series) - 1) / 2) * width
        axes.bar(
            [place[x] + shift for x, _ in one.points],
            [y for _, y in one.points],
            width,
            label=label(one.name),
            hatch=("", "//", "..", "xx")[at % 4],
            edgecolor="white",
        )
    every = max(1, math.ceil(len(xs) / 20))
    axes.set_xticks(range(0, len(xs), every), [number(x) for x in xs[::every]])


def _columns(series: Series) -> tuple[list[float], list[float]]:
    return [x for x, _ in series.points], [y for _, y in series.points]


def _label_text(plots: Iterable[Plot]) -> str:
    return "".join(
        text
        for plot in plots
        for text in (plot.title, plot.x, plot.y, *(one.name for one in plot.series))
    )


def _chinese_font(text: str) -> str | None:
    """A family on this machine that has every Chinese character of ``text``; ``None`` where
    there is none, or no need of one."""
    wanted = frozenset(char for char in text if ord(char) > 0x2E80)
    return _family_with(wanted) if wanted else None


@lru_cache(maxsize=64)
def _family_with(wanted: frozenset[str]) -> str | None:
    from matplotlib import font_manager

    files = {entry.name: entry.fname for entry in font_manager.fontManager.ttflist}
    for family in _FAMILIES:
        if family in files and wanted <= _glyphs(files[family]):
            return family
    return None


@lru_cache(maxsize=8)
def _glyphs(file: str) -> frozenset[str]:
    from matplotlib.ft2font import FT2Font

    return frozenset(chr(code) for code in FT2Font(file).get_charmap())


def _label(text: str, chinese: bool) -> str:
    """``text`` in characters that the font has, as it stands: no formula between dollars, and
    no underscore in front, with which matplotlib hides a series."""
    if not chinese:
        text = _spelt(text)
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _spelt(text: str) -> str:
    """Chinese in pinyin, marks in ASCII, and what the standard font lacks as code points."""
    from matplotlib import font_manager
    from pypinyin import Style, pinyin

    known = _glyphs(font_manager.findfont("DejaVu Sans"))
    syllables = pinyin(text, style=Style.TONE, errors=list)  # type: ignore[arg-type]
    spelt, after = "", False  # a syllable is parted from letters on both sides
    for char, (syllable, *_) in zip(text, syllables, strict=True):
        read = char not in known and syllable != char
        shown = syllable if read else char if char in known else char.translate(_PLAIN)
        parted = (read and spelt[-1:].isalpha()) or (after and shown[:1].isalpha())
        spelt += f" {shown}" if parted else shown
        after = read
    return "".join(c if c in known else f"U+{ord(c):04X}" for c in spelt)
