"""A program of its own that writes to a history: ``many`` turns, or one reply ``forever``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from model.steps import Finished
from tui.history import Recorder, open_history

WRITES = 1000


def many(path: Path, name: str) -> None:
    """So many changes, each in a transaction of its own."""
    history = open_history(path)
    work = history.create_chat(name)
    reply = history.start_reply(work.id, parent=None, model=name)
    for number in range(WRITES - 3):
        reply.append(f"{name}{number};", [number])
    reply.finish(Finished("length", "", WRITES, 0.0, 0.0))
    history.close()


def forever(path: Path, name: str) -> None:
    """One reply, a word each hundredth of a second; says how far it is."""
    recorder = Recorder(open_history(path))
    work = recorder.create_chat(name)
    question = recorder.add_turn(work.id, "user", "Why?", parent=None)
    reply = recorder.start_reply(work.id, parent=question.id, model=name)
    number = 0
    while True:
        reply.append(f"{number} ", [number])
        print(number, time.time(), flush=True)
        number += 1
        time.sleep(0.01)


if __name__ == "__main__":
    {"many": many, "forever": forever}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])
