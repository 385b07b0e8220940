"""The picture that the README opens with: the running app, made by a command.

Starts the app headless, writes a poem through it, looks back at a character, and writes
what the screen shows as SVG or, with rsvg-convert, as PNG.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from html import escape, unescape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from model.config import Controls, SamplerConfig
from model.errors import InputError
from model.steps import Finished
from tui.cells import cell_len
from tui.files import refuse_unwritable
from tui.session import UNLIMITED, FormSettings, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.pilot import Pilot

    from tui.app import Yinchuang

PATIENCE_S = 300.0
SCALE = "1.2"
"""Pixels of the PNG for one of the SVG."""
CELL = 12.2
"""Width of a terminal's cell in the SVG, as Rich draws it."""
HAN = 22
"""Size and width of a wide character in it."""
_TEXT = re.compile(r'<text ([^>]*?)x="([\d.]+)"([^>]*?)textLength="[\d.]+"([^>]*)>([^<]*)</text>')


@dataclass(frozen=True, slots=True)
class Scene:
    """What the picture shows."""

    opening: str = ""
    form: FormSettings = field(
        default_factory=lambda: FormSettings(kind="fixed", heads="春眠不觉晓", form="七律")
    )
    seed: int = 7
    back: int = 6
    """Characters before the last at which the cursor stands."""
    pinyin: bool = True
    size: tuple[int, int] = (120, 36)
    model: str = "tang-small"


def take(path: Path, scene: Scene) -> None:
    """Write the picture to ``path``, ``.svg`` or ``.png``.

    Raises ``InputError`` for another ending, or where a PNG needs a program that is missing.
    """
    if path.suffix not in (".svg", ".png"):
        raise InputError(f"{path}: a picture is written as .svg or .png")
    if path.suffix == ".png" and shutil.which("rsvg-convert") is None:
        raise InputError(
            "a .png needs rsvg-convert (Debian: librsvg2-bin, with fonts-noto-cjk); "
            "write a .svg, or install it"
        )
    refuse_unwritable(path)
    svg = in_cells(asyncio.run(_screen(scene)))
    if path.suffix == ".svg":
        path.write_text(svg, encoding="utf-8")
        return
    command = ["rsvg-convert", "--zoom", SCALE, "--output", str(path)]
    drawn = subprocess.run(command, input=svg.encode(), capture_output=True, check=False)
    if drawn.returncode:
        raise InputError(f"rsvg-convert could not write {path}: {drawn.stderr.decode().strip()}")


async def _screen(scene: Scene) -> str:
    from tui.app import Yinchuang

    session = Session()
    session.model = scene.model
    session.look.pace, session.look.pinyin = UNLIMITED, scene.pinyin
    sampler = SamplerConfig(temperature=0.8, top_k=40, top_p=0.95)
    session.settings = replace(
        session.settings,
        controls=Controls(sampler, cache="race", seed=scene.seed),
        seed_fixed=True,
        form=scene.form,
    )
    app = Yinchuang(session)
    async with app.run_test(size=scene.size) as pilot:
        await _until(pilot, lambda: app.runs.handle is not None)
        app.runs.submit(scene.opening)
        await _until(pilot, lambda: _ended(app))
        for _ in range(scene.back):
            await pilot.press("alt+left")
        await _until(pilot, lambda: _inspected(app))
        return app.export_screenshot(title="Yinchuang 吟窗")


def _ended(app: Yinchuang) -> bool:
    branch = app.session.branch
    return branch is not None and isinstance(branch.finished, Finished)


def _inspected(app: Yinchuang) -> bool:
    from tui.panes.probabilities import ProbabilitiesPane

    return app.main.query_one(ProbabilitiesPane).selected is not None


def in_cells(svg: str) -> str:
    """The picture with every wide character in the two cells that it takes in a terminal.

    Rich tells a renderer the length of a text by its number of characters, and renderers either
    ignore that or squeeze: Han characters then stand too close or over each other. So each gets
    a place of its own, spaces stay, and the fonts are such as are there, none from the network.
    """
    svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code", "DejaVu Sans Mono")
    return _TEXT.sub(lambda found: "".join(_pieces(found)), svg)


def _pieces(found: re.Match[str]) -> Iterator[str]:
    """A text of the picture, its wide characters set apart."""
    head, x, middle, tail, text = found.groups()
    at = float(x)
    for wide, run in groupby(unescape(text), lambda char: cell_len(char) == 2):
        for piece in run if wide else ["".join(run)]:
            length = CELL * cell_len(piece)
            size, left = (f' font-size="{HAN}"', at + (length - HAN) / 2) if wide else ("", at)
            yield (
                f'<text xml:space="preserve"{size} {head}x="{left:g}"{middle}'
                f'textLength="{HAN if wide else length:g}"{tail}>{escape(piece)}</text>'
            )
            at += length


async def _until(pilot: Pilot[int], holds: Callable[[], bool]) -> None:
    async def wait() -> None:
        while not holds():
            await pilot.pause(0.02)
        await pilot.pause(0.2)  # one more frame

    await asyncio.wait_for(wait(), PATIENCE_S)
