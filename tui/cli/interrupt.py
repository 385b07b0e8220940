"""Ending work in good order: on a signal, and wherever an iterator is left early."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from tui.cli.output import say

T = TypeVar("T")

_ENDS = [
    number
    for name in ("SIGINT", "SIGTERM", "SIGHUP")  # a system may lack the last
    if (number := getattr(signal, name, None)) is not None
]


class Interrupt:
    """Whether the user asked to stop, and by which signal."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> bool:
        """True once a signal has come: the engine's ``cancelled``."""
        return self.signal is not None

    @property
    def code(self) -> int:
        """The exit code: 128 + the signal's number, 0 where there was none."""
        return 0 if self.signal is None else 128 + self.signal


@contextmanager
def interruptible(*, twice_kills: bool = True) -> Iterator[Interrupt]:
    """Within it SIGINT and SIGTERM are noted and nothing is cut short.

    ``twice_kills``: let a second one have its usual effect.
    """
    interrupt = Interrupt()

    def note(number: int, frame: FrameType | None) -> None:
        interrupt.signal = interrupt.signal or number
        if twice_kills:
            for other in handlers:
                signal.signal(other, signal.SIG_DFL)

    handlers = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def cut_short(told: str) -> Iterator[None]:
    """Within it a signal that asks for an end raises wherever the work is. Once the block has
    tidied up, which further signals do not disturb, ``told`` is said and the program ends with
    128 + the signal's number."""
    caught: list[int] = []

    def cut(number: int, frame: FrameType | None) -> None:
        for other in handlers:
            signal.signal(other, signal.SIG_IGN)
        caught.append(number)
        raise KeyboardInterrupt

    # What the caller has told us to ignore (nohup, a background job) stays ignored.
    handlers = {n: old for n in _ENDS if (old := signal.getsignal(n)) is not signal.SIG_IGN}
    for number in handlers:
        signal.signal(number, cut)
    try:
        yield
    except KeyboardInterrupt:
        if not caught:
            raise
        say(told)
        sys.exit(128 + caught[0])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def ended(records: Iterator[T]) -> Iterator[Iterator[T]]:
    """``records``, told to tidy up after itself when the block is left, however it is left."""
    try:
        yield records
    finally:
        if isinstance(records, Generator):
            records.close()
