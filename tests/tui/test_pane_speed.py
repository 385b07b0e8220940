"""The meter: figures where something was measured, dashes where nothing was."""

from __future__ import annotations

import dataclasses

import pytest
from rich.cells import cell_len

from model.speed import SpeedMeter
from model.steps import Race
from tests.tui.pane_app import PaneApp, screen_lines, step, until
from tui.messages import CacheModeRequested
from tui.panes.speed import SpeedPane, SpeedReadout, race_lines
from tui.widgets.choice import Choice


def fed(modes=("on", "off"), tokens=60, race=None):
    """A meter's reading of a model whose uncached tokens cost 0.1 ms a token of context."""
    meter = SpeedMeter("tiny", 64)
    for mode in modes:
        for context in range(1, tokens):
            seconds = 0.001 if mode == "on" else 0.001 + 0.0001 * context
            one = step(0, None)
            controls = dataclasses.replace(one.controls, cache=mode)
            meter.update(
                dataclasses.replace(
                    one, controls=controls, context=context, forward_s=seconds, sampling_s=0.0,
                    recomputed=context if mode == "off" else 0, cache_bytes=98304,
                    race=race if mode == "race" else None,
                )
            )  # fmt: skip
    return meter.reading()


def readout(app):
    return screen_lines(app.query_one(SpeedReadout))


async def shown(app, pilot, *args):
    app.pane.show(*args)
    await pilot.pause()
    return "\n".join(readout(app))


async def test_without_samples_there_are_dashes_and_no_numbers():
    app = PaneApp(SpeedPane())
    async with app.run_test(size=(44, 24)) as pilot:
        text = await shown(app, pilot, None, "on")
        assert not any(c.isdigit() for c in text)
        assert text.count("–") >= 8
        text = await shown(app, pilot, SpeedMeter("tiny", 64).reading(), "on")
        assert "race –" in text and "speed-up –" in text and "prefill –" in text


async def test_both_modes_and_the_gain_at_equal_length():
    app = PaneApp(SpeedPane())
    async with app.run_test(size=(44, 24)) as pilot:
        reading = fed()
        text = await shown(app, pilot, reading, "off", 1024 * 1024)
        lines = text.splitlines()
        assert lines[0].startswith("on ") and "1,000 tok/s" in lines[0] and "1.00 ms" in lines[0]
        assert lines[1].startswith("off ") and " ms" in lines[1] and "n " in lines[1]
        bucket = reading.compared
        assert f"{bucket.speed_up:.1f}× at {bucket.low}–{bucket.high} tokens" in lines[2]
        assert f"recomputed {reading.recomputed:,}" in text
        assert "cache 96 KB of 1,024 KB" in text
        assert "now" in str(app.pane.border_title)


async def test_one_mode_alone_gives_no_gain():
    app = PaneApp(SpeedPane())
    async with app.run_test(size=(44, 24)) as pilot:
        text = await shown(app, pilot, fed(("on",)), "on")
        assert "speed-up –" in text and "×" not in text
        assert text.splitlines()[1].split()[:2] == ["off", "–"]


async def test_the_plot_names_both_lines():
    app = PaneApp(SpeedPane())
    async with app.run_test(size=(44, 30)) as pilot:
        await shown(app, pilot, fed(), "on")
        rows = [line.rstrip() for line in readout(app)[3:]]
        drawn = [row for row in rows if any(0x2801 <= ord(c) <= 0x28FF for c in row)]
        off = next(i for i, row in enumerate(drawn) if row.endswith(" off"))
        on = next(i for i, row in enumerate(drawn) if row.endswith(" on"))
        assert off < on


async def test_the_race_in_words():
    race = Race(0.001, 0.004, 4e-6, True)
    reading = fed(("race",), race=race)
    text = "\n".join(race_lines(reading.race))
    assert "1.00 ms : 4.00 ms" in text and "4.0e-06" in text
    assert f"{reading.race.steps}/{reading.race.steps} ✓" in text
    parted = dataclasses.replace(reading.race, agreements=3, first_divergence=17)
    assert "first not at 17" in "\n".join(race_lines(parted)) and "✓" not in "\n".join(
        race_lines(parted)
    )


async def test_the_mode_by_keys():
    app = PaneApp(SpeedPane())
    async with app.run_test(size=(44, 24)) as pilot:
        app.pane.show(None, "on")
        app.pane.focus_field()
        await pilot.press("left", "right", "right", "left")
        await until(pilot, lambda: len(app.of(CacheModeRequested)) == 3)
        assert [m.mode for m in app.of(CacheModeRequested)] == ["off", "race", "off"]


@pytest.mark.parametrize("mode", ["off", "race"])
async def test_the_mode_by_mouse(mode):
    app = PaneApp(SpeedPane())
    async with app.run_test(size=(44, 24)) as pilot:
        choice = app.query_one(Choice)
        line = screen_lines(choice)[0]
        await pilot.click(choice, offset=(line.index(mode), 0))
        await until(pilot, lambda: bool(app.of(CacheModeRequested)))
        assert [m.mode for m in app.of(CacheModeRequested)] == [mode]


async def test_show_marks_the_mode_and_posts_nothing():
    app = PaneApp(SpeedPane())
    async with app.run_test(size=(44, 24)) as pilot:
        app.pane.show(fed(), "race")
        await pilot.pause()
        assert "(•) race" in screen_lines(app.query_one(Choice))[0]
        assert app.posted == []


@pytest.mark.parametrize("width", [34, 40, 60, 100])
@pytest.mark.parametrize("height", [8, 14, 30])
async def test_every_line_fits_at_any_size(width, height):
    app = PaneApp(SpeedPane())
    async with app.run_test(size=(width, height)) as pilot:
        await shown(
            app,
            pilot,
            fed(("on", "off", "race"), race=Race(0.001, 0.004, 4e-6, True)),
            "race",
            1 << 20,
        )
        readout_widget = app.query_one(SpeedReadout)
        built = readout_widget.lines()
        assert all(
            sum(cell_len(t) for t, _ in line) <= readout_widget.size.width for line in built
        ), built
        assert any("max Δlogit" in text for line in built for text, _ in line)


async def test_a_low_pane_shows_a_row_of_blocks_for_each_mode():
    app = PaneApp(SpeedPane())
    async with app.run_test(size=(34, 8)) as pilot:
        await shown(app, pilot, fed(), "on")
        rows = readout(app)
        assert rows[3].startswith("on ") and "▂" in rows[3] and "█" not in rows[3]
        assert rows[4].startswith("off ") and "█" in rows[4]
