"""SmolLM2 itself in the chat, where it has been fetched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.config import SamplerConfig
from model.registry import find, load
from tests.pretrained.makers import needs_extra
from tests.tui.chat.talking import chatting, ended, send, steps_written, transcript
from tests.tui.window import wait_until
from tui.app import Yinchuang
from tui.panes.probabilities import ProbabilitiesPane
from tui.session import UNLIMITED

pytestmark = [
    needs_extra,
    pytest.mark.skipif(
        not find("smollm2").available, reason="needs SmolLM2: run.py models fetch smollm2"
    ),
]
QUESTION = "Write a two-sentence story about a lighthouse."


def writes_with(app: Yinchuang, mode: str) -> bool:
    """The newest step shown of the reply being written was computed so."""
    now = app.room.replies.now
    return now is not None and now.turn.steps[-1].controls.cache == mode


async def test_it_answers_with_the_table_live_and_the_cache_changes_no_token():
    handle = load(find("smollm2"))
    replies = []
    async with chatting(handle) as (app, pilot):
        talk = app.room.talk
        greedy = replace(talk.controls, sampler=SamplerConfig(temperature=0.0), max_tokens=40)
        for toggled in (False, True):
            talk.set_controls(replace(greedy, cache="on"))
            # The keys come while it writes, on a busy machine too: then a key may take a second.
            app.room._writer.set_pace(2 if toggled else 10)
            await send(app, pilot, QUESTION) if not toggled else await pilot.press("f5")
            await wait_until(pilot, lambda: steps_written(app) > 3)
            table = app.room.screen.query_one(ProbabilitiesPane)
            await wait_until(pilot, lambda t=table: t.selected is not None)
            if toggled:
                await pilot.press("f2")
                # what is under way when the key is pressed is still written with the cache
                await wait_until(pilot, lambda: writes_with(app, "off"))
                await pilot.press("f2", "f2")  # past the race, to on
                app.room._writer.set_pace(UNLIMITED)
            await ended(app, pilot)
            replies.append(talk.at.reply)
        plain, switched = replies
        assert "lighthouse" in plain.text and "lighthouse" in transcript(app)
        assert switched.tokens == plain.tokens
        assert {step.controls.cache for step in switched.steps} >= {"on", "off"}
        assert switched.steps[0].reused > 0
