"""Settings of every test: one torch thread, and hypothesis without deadlines, since a busy
machine must not turn a property into a race."""

from __future__ import annotations

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
