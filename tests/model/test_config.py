"""Every setting out of range is refused by name, when it is made."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest

from model.config import STAGES, Controls, GPTConfig, SamplerConfig, TrainConfig
from model.errors import SettingError

NUMBERS: dict[str, tuple[float, float]] = {
    "temperature": (0, 100),
    "top_p": (0, 1),
    "min_p": (0, 1),
    "presence": (-2, 2),
    "frequency": (-2, 2),
    "repetition": (1e-9, 10),
}
NO_NUMBERS = [
    math.nan,
    math.inf,
    -math.inf,
    "1",
    "０．８",
    "",
    None,
    True,
    [1.0],
    10**400,
    -(10**400),
]
NO_WHOLES = [-1, 2.5, 1.0, "3", None, True, math.nan, (1,)]


def refused(make: type, name: str, value: Any, **others: Any) -> None:
    with pytest.raises(SettingError, match=f"^{name} is ") as error:
        make(**others, **{name: value})
    assert error.value.name == name
    assert "it takes" in str(error.value)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str) -> None:
    low, high = NUMBERS[name]
    for fine in (low, high, (low + high) / 2, 1):
        assert getattr(SamplerConfig(**{name: fine}), name) == fine
    for value in [*NO_NUMBERS, math.nextafter(high, math.inf), low - 1]:
        refused(SamplerConfig, name, value)


def test_a_repetition_penalty_of_nothing_would_divide_by_zero() -> None:
    refused(SamplerConfig, "repetition", 0)
    refused(SamplerConfig, "repetition", -0.0)


@pytest.mark.parametrize("name", ["top_k", "window"])
def test_whole_numbers(name: str) -> None:
    for fine in (0, 1, 10**9):
        assert getattr(SamplerConfig(**{name: fine}), name) == fine
    for value in NO_WHOLES:
        refused(SamplerConfig, name, value)


@pytest.mark.parametrize("temperature", [0, 0.0, -0.0, 1e-9, 1e-40, 1e-5])
def test_tiny_temperatures_are_greedy(temperature: float) -> None:
    assert SamplerConfig(temperature=temperature).greedy
    assert not SamplerConfig(temperature=2e-5).greedy


@pytest.mark.parametrize(
    "order",
    [
        (),
        STAGES[1:],
        (*STAGES, "mask"),
        ("nonsense", *STAGES[1:]),
        list(STAGES),
        "mask",
        None,
        5,
        (1, *STAGES[1:]),
        ([], *STAGES[1:]),
    ],
)
def test_an_order_is_a_permutation_of_the_stages(order: Any) -> None:
    refused(SamplerConfig, "order", order)
    assert SamplerConfig(order=STAGES[::-1]).order == STAGES[::-1]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("cache", ["On", "", None, True, 1]),
        ("seed", [*NO_WHOLES, 2**64]),
        ("max_tokens", [*NO_WHOLES, 0]),
        ("stop", ["ab", ["ab"], (1,), ("a", ""), None, 5, {"a"}]),
    ],
)
def test_controls(name: str, wrong: list[Any]) -> None:
    for value in wrong:
        refused(Controls, name, value)


def test_controls_take_their_whole_range() -> None:
    controls = Controls(cache="race", seed=2**64 - 1, max_tokens=1, stop=("[/", "。\n"))
    assert controls.with_sampler(top_k=3).sampler.top_k == 3
    assert controls.with_sampler(top_k=3).stop == controls.stop
    with pytest.raises(SettingError, match=r"^top_p is nan"):
        controls.with_sampler(top_p=math.nan)
    assert hash(controls) == hash(
        Controls(cache="race", seed=2**64 - 1, max_tokens=1, stop=("[/", "。\n"))
    )


@pytest.mark.parametrize("make", [SamplerConfig, Controls, TrainConfig])
def test_settings_are_frozen(make: type) -> None:
    made = make()
    for field in fields(made):
        with pytest.raises(AttributeError):
            setattr(made, field.name, getattr(made, field.name))


@pytest.mark.parametrize("name", ["vocab_size", "block_size", "n_layer", "n_head", "n_embd"])
def test_shapes(name: str) -> None:
    shape = {"vocab_size": 10, "block_size": 8, "n_layer": 1, "n_head": 2, "n_embd": 4}
    GPTConfig(**shape)  # type: ignore[arg-type]
    for value in [*NO_WHOLES, 0]:
        refused(GPTConfig, name, value, **{k: v for k, v in shape.items() if k != name})
    refused(GPTConfig, "n_embd", 5, vocab_size=10, n_head=2)
    refused(GPTConfig, "block_size", 1, vocab_size=10)
    for value in (-0.1, 1.1, math.nan, "0"):
        refused(GPTConfig, "dropout", value, vocab_size=10)


def test_training() -> None:
    for name in ("steps", "batch_tokens", "accumulate", "eval_every", "save_every"):
        for value in [*NO_WHOLES, 0]:
            refused(TrainConfig, name, value)
    for name in ("seed", "warmup"):
        for value in NO_WHOLES:
            refused(TrainConfig, name, value)
    for name in ("decay", "fragment_share", "muon_lr", "adam_lr", "weight_decay", "clip"):
        for value in [*NO_NUMBERS, -0.1, 1000.5]:
            refused(TrainConfig, name, value)


def test_the_rate_warms_up_stays_and_decays_to_nothing() -> None:
    config = TrainConfig(steps=100, warmup=10, decay=0.4)
    rates = [config.rate(step) for step in range(100)]
    assert rates[:10] == pytest.approx([0.1 * i for i in range(1, 11)])
    assert rates[10:61] == [1.0] * 51
    assert rates[60:] == pytest.approx([(100 - step) / 40 for step in range(60, 100)])
    assert all(0 < rate <= 1 for rate in rates)
    constant = TrainConfig(steps=100, warmup=0, decay=0.0)
    assert {constant.rate(step) for step in range(100)} == {1.0}
