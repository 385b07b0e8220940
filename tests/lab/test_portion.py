"""Progress of parts as progress of the whole."""

from __future__ import annotations

from collections.abc import Generator

from model.lab.base import Progress
from model.lab.portion import WHOLE, portion


def part(*done: int) -> Generator[Progress, None, str]:
    for step in done:
        yield Progress(step, 10, f"at {step}")
    return "found"


def test_a_part_goes_from_its_beginning_to_its_end():
    def both() -> Generator[Progress, None, list[str]]:
        return [
            (yield from portion(part(0, 5, 10), 0.0, 0.5)),
            (yield from portion(part(5), 0.5, 1.0)),
        ]

    generator, seen = both(), []
    while True:
        try:
            seen.append(next(generator))
        except StopIteration as stop:
            assert stop.value == ["found", "found"]
            break
    assert [(p.done, p.total) for p in seen] == [(n * WHOLE // 4, WHOLE) for n in (0, 1, 2, 3)]
    assert [p.doing for p in seen] == ["at 0", "at 5", "at 10", "at 5"]


def test_it_never_goes_back():
    assert [p.done for p in portion(part(2, 1, 8, 4), 0.0, 1.0)] == [200, 200, 800, 800]


def test_closing_it_closes_the_part():
    closed = []

    def stubborn() -> Generator[Progress, None, None]:
        try:
            while True:
                yield Progress(0, 1)
        finally:
            closed.append(True)

    def outer() -> Generator[Progress, None, None]:
        yield from portion(stubborn(), 0.0, 1.0)

    generator = outer()
    next(generator)
    generator.close()
    del generator
    assert closed == [True]
