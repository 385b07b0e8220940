"""The chat in a real pseudo-terminal: leaving within a reply, in time and with all that came."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from model.config import Controls, SamplerConfig
from tests.pretrained.makers import CONTROL, needs_extra, write_folder
from tests.tui.terminals import PATIENCE_S, Terminal, kept
from tui.keeping import open_keeper
from tui.session import Session

pytestmark = needs_extra
QUESTION = "Where is the fox?"
ROOM = 60_000
"""Tokens that the model reads: a reply that long outlasts every test."""
GREEDY = Controls(SamplerConfig(temperature=0.0), max_tokens=ROOM // 4)


@pytest.fixture(scope="module")
def circles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama whose greedy reply never ends: its control tokens have no weight."""
    folder = tmp_path_factory.mktemp("models") / "circles"
    model = write_folder(folder, max_position_embeddings=ROOM)
    model.lm_head.weight.data[: len(CONTROL)] = 0.0
    model.save_pretrained(folder)
    return folder


@pytest.fixture
def terminal(tmp_path: Path, circles: Path) -> Iterator[Terminal]:
    """The chat with that model."""
    session = Session()
    keeper, _ = open_keeper(session, tmp_path / "history.sqlite3")
    assert keeper is not None
    session.model = "tang-small"
    session.chat = {"controls": asdict(GREEDY)}
    keeper.begin(print)
    keeper.finish()
    opened = Terminal(tmp_path, "chat", "--window", "--model", str(circles))
    yield opened
    opened.close()


def within_a_reply(terminal: Terminal) -> None:
    """Ask, and wait until a good part of the reply is there."""
    terminal.wait_for("circles 0.1M float32")
    terminal.type(f"{QUESTION}\r")
    terminal.wait_for("replying")
    came = len(terminal.text())
    terminal.wait_for("replying", since=came)


def ways_out() -> dict[str, Callable[[Terminal], None]]:
    return {
        "quitting": lambda terminal: terminal.type("\x11"),  # ^Q
        "SIGTERM": lambda terminal: terminal.process.send_signal(signal.SIGTERM),
        "SIGINT": lambda terminal: terminal.process.send_signal(signal.SIGINT),
        "hanging up": lambda terminal: terminal.process.send_signal(signal.SIGHUP),
    }


@pytest.mark.parametrize("way", ways_out())
def test_leaving_within_a_reply(terminal: Terminal, tmp_path: Path, way: str) -> None:
    within_a_reply(terminal)
    ways_out()[way](terminal)
    assert terminal.wait_for_the_end() == 0
    assert terminal.restored()
    told = terminal.text()
    assert "Traceback" not in told and "fault of the program" not in told
    (question, _), (reply, steps) = kept(tmp_path)
    assert (question.text, reply.state) == (QUESTION, "stopped")
    assert steps >= 1 and reply.text


def test_a_terminal_that_is_closed_ends_the_program(terminal: Terminal, tmp_path: Path) -> None:
    within_a_reply(terminal)
    terminal.shut()
    ends = time.monotonic() + PATIENCE_S
    while terminal.process.poll() is None:
        assert time.monotonic() < ends
        time.sleep(0.02)
    (question, _), (reply, steps) = kept(tmp_path)
    assert (question.text, reply.state) == (QUESTION, "stopped")
    assert steps >= 1


def test_a_draft_is_there_again_after_quitting(terminal: Terminal, tmp_path: Path) -> None:
    terminal.wait_for("circles 0.1M float32")
    terminal.type("half a thought")
    terminal.wait_for("thought")
    terminal.type("\x11")
    assert terminal.wait_for_the_end() == 0
    session = Session()
    keeper, _ = open_keeper(session, tmp_path / "history.sqlite3")
    assert keeper is not None
    assert session.chat["draft"] == "half a thought"
    keeper.history.close()


def test_a_killed_chat_loses_little_and_goes_on_next_time(
    terminal: Terminal, tmp_path: Path, circles: Path
) -> None:
    within_a_reply(terminal)
    ends = time.monotonic() + PATIENCE_S
    while not any(steps for _, steps in kept(tmp_path)):
        assert time.monotonic() < ends
        terminal.read(0.1)
    terminal.process.kill()
    terminal.process.wait()
    again = Terminal(tmp_path, "chat", "--window", "--model", str(circles))
    try:
        again.wait_for("interrupted")
        again.wait_for("circles 0.1M float32")
        before = kept(tmp_path)[-1][1]
        again.type("\x1bOS")  # F4
        again.wait_for("replying")
        again.type("\x1b")
        again.wait_for("stopped")
        again.type("\x11")
        assert again.wait_for_the_end() == 0
    finally:
        again.close()
    assert kept(tmp_path)[-1][1] > before
