"""The writing thread, without a window: order, batches, pace, stopping, errands, faults."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

from corpora.errors import UserError
from model.config import Controls
from model.steps import Finished, Step
from tui.messages import RunFailed, RunFinished, StepsArrived
from tui.orders import Replay
from tui.session import BY_KEY, UNLIMITED
from tui.worker import Writer

PATIENCE_S = 60.0
END = Finished("length", "", 0, 0.0, 0.0)


def step(index):
    return Step(
        position=index, token=index, text="春", probability=0.5, logprob=-1.0, u=0.5,
        forced=False, phase="decode", context=index, recomputed=0, forward_s=0.0,
        sampling_s=0.0, cache_bytes=0, controls=Controls(),
    )  # fmt: skip


@dataclass
class Script:
    """A source of so many steps that can be held, or break."""

    count: int
    error: Exception | None = None
    wanted: list[bool] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def steps(self, controls, wanted, cancelled):
        for index in range(self.count):
            if cancelled():
                yield Finished("cancelled", "", index, 0.0, 0.0)
                return
            self.wanted.append(wanted())
            yield step(index)
        if self.error:
            raise self.error
        yield END


class Post:
    """Keeps what is posted; answers batches like a window, unless told not to."""

    def __init__(self, answers=True):
        self.messages = []
        self.changed = threading.Condition()
        self.writer = None
        self.answers = answers

    def __call__(self, message):
        with self.changed:
            self.messages.append(message)
            self.changed.notify_all()
        if self.answers and isinstance(message, StepsArrived):
            # the answer comes later, from the window's thread
            threading.Thread(target=self.writer.shown, args=(0.0,)).start()

    def steps(self):
        return [s.token for m in self.messages if isinstance(m, StepsArrived) for s in m.steps]

    def wait(self, holds):
        with self.changed:
            assert self.changed.wait_for(lambda: holds(self), PATIENCE_S)

    def ended(self):
        return any(isinstance(m, RunFinished | RunFailed) for m in self.messages)


def writer_of(post, pace=UNLIMITED):
    writer = post.writer = Writer(post, "/logs/window.log")
    writer.set_pace(pace)
    return writer


def start(writer, source):
    run = writer.begin()
    body = threading.Thread(target=writer.write, args=(run, source), daemon=True)
    body.start()
    return run, body


def test_every_step_arrives_once_in_order_and_the_end_last():
    post = Post()
    run, body = start(writer_of(post), Script(5000))
    body.join(PATIENCE_S)
    assert post.steps() == list(range(5000))
    assert post.messages[-1] == RunFinished(run, END)
    assert all(message.run_id == run for message in post.messages)


def test_a_window_that_is_busy_is_not_flooded():
    post = Post(answers=False)
    _, body = start(writer_of(post), Script(20_000))
    body.join(PATIENCE_S)
    assert sum(isinstance(m, StepsArrived) for m in post.messages) == 2  # the first, the rest
    assert post.steps() == list(range(20_000))


def test_the_first_step_is_shown_at_once_and_inspected():
    post, script = Post(answers=False), Script(3000)
    _, body = start(writer_of(post), script)
    body.join(PATIENCE_S)
    assert len(post.messages[0].steps) == 1
    assert script.wanted[0]
    assert not all(script.wanted)


def test_at_a_readers_pace_every_step_is_inspected():
    post, script = Post(), Script(5)
    _, body = start(writer_of(post, 1000.0), script)
    body.join(PATIENCE_S)
    assert script.wanted == [True] * 5


def test_one_token_at_a_press():
    post = Post()
    writer = writer_of(post, BY_KEY)
    _, body = start(writer, Script(3))
    for count in (1, 2, 3):
        post.wait(lambda p, n=count: len(p.steps()) == n)
        writer.permit()
    body.join(PATIENCE_S)
    assert post.ended()


def test_a_wait_for_the_pace_is_interrupted():
    post = Post()
    writer = writer_of(post, 0.001)  # a token in a quarter of an hour
    run, body = start(writer, Script(100))
    post.wait(lambda p: len(p.steps()) == 1)
    writer.stop()
    body.join(PATIENCE_S)
    assert post.messages[-1].finished.reason == "cancelled"
    assert post.messages[-1].run_id == run
    assert len(post.steps()) == 1


def test_a_pace_changed_in_the_wait_counts_from_now():
    post = Post()
    writer = writer_of(post, BY_KEY)
    _, body = start(writer, Script(50))
    post.wait(lambda p: len(p.steps()) == 1)
    writer.set_pace(UNLIMITED)
    body.join(PATIENCE_S)
    assert len(post.steps()) == 50


def test_a_new_run_ends_the_old_one():
    post = Post()
    writer = writer_of(post, BY_KEY)
    old, first = start(writer, Script(100))
    post.wait(lambda p: len(p.steps()) == 1)
    new, second = start(writer, Script(100))
    first.join(PATIENCE_S)
    post.wait(lambda p: any(m.run_id == new for m in p.messages))
    ends = [m for m in post.messages if isinstance(m, RunFinished)]
    assert [(m.run_id, m.finished.reason) for m in ends] == [(old, "cancelled")]
    writer.stop()
    second.join(PATIENCE_S)


def test_errands_are_run_between_tokens_and_refused_when_nothing_runs():
    post = Post()
    writer = writer_of(post, BY_KEY)
    ran = []
    assert not writer.errand(lambda: ran.append("idle"))
    _, body = start(writer, Script(10))
    post.wait(lambda p: len(p.steps()) == 1)
    done = threading.Event()
    assert writer.errand(done.set)
    assert done.wait(PATIENCE_S)
    writer.stop()
    body.join(PATIENCE_S)
    assert ran == []
    assert not writer.errand(lambda: None)


@pytest.mark.parametrize(
    ("error", "text", "log"),
    [
        (UserError("[/] is not a form"), "[/] is not a form", ""),
        (ValueError("[/]"), "ValueError: [/]", "/logs/window.log"),
    ],
)
def test_what_breaks_is_reported_and_the_writer_goes_on(error, text, log):
    post = Post()
    writer = writer_of(post)
    run, body = start(writer, Script(3, error))
    body.join(PATIENCE_S)
    assert post.messages[-1] == RunFailed(run, text, log)
    _, body = start(writer, Script(3))
    body.join(PATIENCE_S)
    assert isinstance(post.messages[-1], RunFinished)


def test_a_replay_gives_what_was_recorded():
    post = Post()
    recorded = tuple(step(i) for i in range(20))
    run, body = start(writer_of(post), Replay(recorded, END))
    body.join(PATIENCE_S)
    assert post.steps() == list(range(20))
    assert post.messages[-1] == RunFinished(run, END)
