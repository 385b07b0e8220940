"""Settings of every test: one torch thread, and hypothesis without deadlines, since a busy
machine must not turn a property into a race."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "yinchuang",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("yinchuang")


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Sums in one order, so that equal runs are equal to the last bit."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def heeded_signals() -> None:
    """What a shell lets its background jobs ignore, and nohup, they would hand on to the
    processes that the tests start and send signals to."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGHUP", "SIGQUIT"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
