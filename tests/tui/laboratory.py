"""The lab's screen as tests look at it."""

from __future__ import annotations

from textual.widgets import OptionList

from tests.tui.window import wait_until
from tui.lab.paper import Paper


async def enter(app, pilot):
    """Open the lab and wait until it is there."""
    await pilot.press("f10")
    await wait_until(pilot, lambda: app.laboratory.screen is not None and app.screen is lab(app))


def lab(app):
    return app.laboratory.screen


def page(app):
    return lab(app).query_one(Paper).plain()


def rows(app):
    options = lab(app).query_one(OptionList)
    return [str(options.get_option_at_index(at).prompt) for at in range(options.option_count)]


def status(app):
    return lab(app).query_one("#lab-status").plain()


async def run_all(app, pilot):
    """Run every experiment of the list."""
    for at, one in enumerate(lab(app)._experiments):
        lab(app).query_one(OptionList).highlighted = at
        await pilot.press("enter")
        await wait_until(pilot, lambda name=one.name: name in app.laboratory.bench.outcomes)
