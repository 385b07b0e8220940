"""From the command to the window, and out of it: terminal, log, history and the way out are
made ready around the app. ``run`` is the entry.
"""

from __future__ import annotations

import logging
import sys

from model.config import DEFAULT_MODEL
from tui.app import Yinchuang
from tui.chat.defaults import ChatStart
from tui.driver import on_a_terminal
from tui.keeping import open_keeper
from tui.leaving import HardExit, end_process
from tui.places import log_to_file
from tui.session import Session

log = logging.getLogger("yinchuang")


def run(model: str | None = None, *, chat: ChatStart | None = None) -> int:
    """Open the window; returns the process's exit code. ``model``: name or path of the
    model to write with, the last one used where None. ``chat``: as for ``Yinchuang``."""
    log_file = log_to_file()
    session = Session()
    keeper, greeting = open_keeper(session)
    session.model = model or session.model or DEFAULT_MODEL
    app = Yinchuang(session, keeper=keeper, log_file=str(log_file), greeting=greeting, chat=chat)
    if greeting:
        log.warning(greeting)
    if keeper is None:
        app.main.warning = "nothing is kept"
    app.driver_class = on_a_terminal(app.driver_class)
    way_out = HardExit()
    app.on_leaving(way_out.arm)
    code = app.run() or 0
    app.keep()
    if app.broken:
        print(f"{app.broken}\nThe details are in {log_file}; your poems are kept.", file=sys.stderr)
    if app.loader.busy or app.is_writing or app.laboratory.bench.running is not None:
        end_process(code)
    way_out.disarm()
    return code
