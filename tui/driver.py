"""The terminal's driver, made to live through bytes that are no text.

A terminal set to another encoding, or a broken connection, sends bytes that are not UTF-8.
Textual's thread that reads the keys ends at the first of them, and the app with it.
"""

from __future__ import annotations

import logging
from typing import Any

from textual.driver import Driver

from tui.messages import Told

log = logging.getLogger("yinchuang")


def tolerant(driver: type[Driver]) -> type[Driver]:
    """``driver``, going on where its input cannot be decoded: what came in one piece with
    such a byte is left out, and the reader is told. Drivers without a thread for input are
    returned as they are."""
    reads: Any = getattr(driver, "run_input_thread", None)
    if reads is None:
        return driver

    class Tolerant(driver):  # type: ignore[valid-type, misc]
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

    return Tolerant
