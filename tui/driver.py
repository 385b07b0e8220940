"""The terminal's driver, made to live through bytes that are no text and an error output that
goes elsewhere.

A terminal set to another encoding, or a broken connection, sends bytes that are not UTF-8.
Textual's thread that reads the keys ends at the first of them, and the app with it. And Textual
draws on the error output: with ``2>file`` nobody would see the window.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

from textual.driver import Driver

from tui.messages import Told

log = logging.getLogger("yinchuang")


def terminal_output() -> TextIO | None:
    """The stream that the window is drawn on: the error output, or the standard output where the
    other one is no terminal; None where neither is."""
    streams = (sys.__stderr__, sys.__stdout__)
    return next((stream for stream in streams if stream is not None and stream.isatty()), None)


def on_a_terminal(driver: type[Driver]) -> type[Driver]:
    """``driver``, drawing on ``terminal_output``, and going on where its input cannot be decoded:
    what came in one piece with such a byte is left out, and the reader is told. Drivers without
    a thread for input are returned as they are."""
    reads: Any = getattr(driver, "run_input_thread", None)
    if reads is None:
        return driver

    class OnTerminal(driver):  # type: ignore[valid-type, misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            if (output := terminal_output()) is not None:
                self._file = output

        def run_input_thread(self) -> None:
            """Read keys until the app ends."""
            while True:
                try:
                    reads(self)
                    return
                except UnicodeDecodeError as error:
                    stray = " ".join(f"{byte:02x}" for byte in error.object[error.start :][:4])
                    log.warning("the terminal sent what is not UTF-8: %s", stray)
                    self._app.post_message(
                        Told(f"Left out: the terminal sent bytes that are not UTF-8 ({stray} …)")
                    )

    return OnTerminal
