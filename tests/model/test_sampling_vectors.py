"""Numbers from the test suites and bug reports of other samplers, held against ours.

Where we chose another rule, the vector stands in ``EXCEPTIONS`` with the rule, and on
the page for users.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from model.config import STAGES, Controls, SamplerConfig
from model.errors import SettingError
from model.sampling import (
    History,
    LogitsError,
    NoLegalToken,
    apply_stages,
    choose,
    mask,
    min_p,
    presence_frequency,
    repetition,
    temperature,
    top_k,
    top_p,
)
from model.stopping import StopScanner

HERE = Path(__file__)
VECTORS = json.loads(HERE.parents[1].joinpath("data/sampler_vectors.json").read_text("utf-8"))
DOCS = HERE.parents[2] / "docs" / "sampling.md"

KEEPS_ONE = "every truncation keeps at least one token; there is no min_tokens_to_keep"
NO_BAD_WORDS = "a constraint says which tokens are allowed; there is no list of banned sequences"
EXCEPTIONS = {
    "hf.top_k.ties_all_kept": "top-k keeps exactly k, ties to the lowest id; " + KEEPS_ONE,
    "hf.top_k.min_keep_over_k": KEEPS_ONE,
    "hf.top_p.ramp_x100": KEEPS_ONE,
    "hf.min_p.ramp": KEEPS_ONE,
    "hf.min_p.ramp_x100": KEEPS_ONE,
    "hf.bad_words.row0": NO_BAD_WORDS,
    "hf.bad_words.row1": NO_BAD_WORDS,
    "hf.nan_inf_cleanup": "NaN and plus infinity raise LogitsError; they are not mended",
    "hf.min_length": "a form decides where a poem may end; there is no minimum length",
    "vllm.refuses.top_p.0": "top_p 0 is accepted and keeps the best token, as in llama.cpp",
}
FIELDS = {
    "repetition_penalty": "repetition",
    "presence_penalty": "presence",
    "frequency_penalty": "frequency",
}
SETTINGS = {"temperature", "top_k", "top_p", "min_p", *FIELDS}
IN_SCOPE = [v for v in VECTORS["vectors"] if v["in_scope"] and v["name"] not in EXCEPTIONS]

Vector = dict[str, Any]


def logits_of(vector: Vector) -> Tensor:
    if "input_logits" in vector:
        return torch.tensor([[float(x) for x in vector["input_logits"]]])
    if "input_probs" in vector:
        return torch.tensor([vector["input_probs"]], dtype=torch.float64).log().float()
    return torch.arange(10_000, dtype=torch.float64).log().float()[None]  # p_i as i


def history_of(vector: Vector, size: int) -> History:
    params = vector["params"]
    tokens = vector.get("context_tokens", [])[params.get("prompt_ignore_length", 0) :]
    generated = torch.bincount(
        torch.tensor(params.get("output_tokens", tokens), dtype=torch.long), minlength=size
    )
    seen = generated > 0
    seen[params.get("prompt_tokens", [])] = True
    return History(generated.float(), seen, torch.zeros(size, dtype=torch.bool))


def pipeline(vector: Vector) -> tuple[SamplerConfig, Tensor | None]:
    """Settings and mask for the stages that the vector names, in its order."""
    params = vector["params"]
    order = [
        stage
        for name in params["order"]
        for stage in {"penalties": ("repetition", "presence_frequency"), "ban": ("mask",)}.get(
            name, (name,)
        )
    ]
    penalties = {"repetition_penalty", "presence_penalty", "frequency_penalty"}
    named = set(params["order"]) | (penalties if "penalties" in params["order"] else set())
    settings = {FIELDS.get(k, k): v for k, v in params.items() if k in SETTINGS & named}
    config = SamplerConfig(**settings, order=(*order, *(s for s in STAGES if s not in order)))
    if "banned" not in params:
        return config, None
    allowed = torch.ones(logits_of(vector).shape[-1], dtype=torch.bool)
    allowed[params["banned"]] = False
    return config, allowed


def run(vector: Vector, logits: Tensor) -> Tensor:
    params, size = vector["params"], logits.shape[-1]
    match vector["sampler"]:
        case "temperature":
            return temperature(logits, value=params["temperature"])
        case "top_k":
            return top_k(logits, k=params["top_k"])
        case "top_p":
            return top_p(logits, p=params["top_p"])
        case "min_p":
            return min_p(logits, value=params["min_p"])
        case "repetition_penalty" | "penalties":
            history = history_of(vector, size)
            penalised = repetition(
                logits, penalty=params.get("repetition_penalty", 1.0), history=history
            )
            return presence_frequency(
                penalised,
                presence=params.get("presence_penalty", 0.0),
                frequency=params.get("frequency_penalty", 0.0),
                history=history,
            )
        case "allow_only":
            allowed = torch.zeros(size, dtype=torch.bool)
            allowed[params["allowed"]] = True
            return mask(logits, allowed=allowed)
        case "pipeline":
            config, allowed = pipeline(vector)
            return apply_stages(logits, config, allowed=allowed, history=history_of(vector, size))
        case "softmax":
            return apply_stages(logits, SamplerConfig())
    raise AssertionError(f"no such sampler: {vector['sampler']}")


def check_kept(vector: Vector, kept: list[int]) -> None:
    expected, tolerance = vector["expected"], vector["tolerance"]
    match vector["compare"]:
        case "kept_ids":
            assert kept == expected
        case "kept_count":
            assert len(kept) == expected
        case "kept_count_range":
            assert expected["min"] <= len(kept) <= expected["max"]
            assert set(kept) <= set(expected["subset_of"])
        case "kept_set":
            slack = tolerance["kept_count"]
            assert abs(len(kept) - expected["kept_count"]) <= slack
            assert abs(kept[0] - expected["lowest_kept_id"]) <= slack
            assert kept[-1] == expected["highest_kept_id"]


def check(vector: Vector) -> None:
    logits = logits_of(vector)
    before = logits.clone()
    out = run(vector, logits)
    assert torch.equal(logits, before)
    expected, tolerance = vector["expected"], vector["tolerance"]
    kept = out[0].isfinite().nonzero()[:, 0].tolist()
    if vector["compare"] == "logits":
        wanted = torch.tensor([float(x) for x in expected])
        torch.testing.assert_close(out[0], wanted, atol=max(tolerance, 1e-6), rtol=0)
    elif vector["compare"] == "probs_by_id":
        wanted = torch.tensor([expected], dtype=torch.float32)
        torch.testing.assert_close(torch.softmax(out, -1), wanted, atol=tolerance, rtol=0)
    elif vector["compare"] == "unnormalised_probs_by_id":
        assert kept == [i for i, p in enumerate(expected) if p > 0]
    elif vector["compare"] == "banned_ids":
        assert [i for i in range(out.shape[-1]) if i not in kept] == expected
    elif vector["compare"] == "argmax":
        config = SamplerConfig(temperature=vector["params"]["temperature"])
        assert choose(logits, config, (0.99,))[0].token == expected
        assert kept == [expected]
    else:
        check_kept(vector, kept)


def make(params: Vector) -> SamplerConfig | Controls:
    values = {FIELDS.get(k, k): float(v) if isinstance(v, str) else v for k, v in params.items()}
    if "stop" in values:
        return Controls(stop=tuple(values["stop"]))
    return Controls(**values) if "max_tokens" in values else SamplerConfig(**values)


@pytest.mark.parametrize("vector", IN_SCOPE, ids=[v["name"] for v in IN_SCOPE])
def test_vector(vector: Vector) -> None:
    match vector["compare"]:
        case "raises" if vector["sampler"] == "allow_only":
            logits = logits_of(vector)
            nothing = torch.zeros_like(logits, dtype=torch.bool)
            with pytest.raises(NoLegalToken):
                choose(logits, SamplerConfig(), (0.5,), allowed=nothing)
        case "raises" | "accepts_or_raises":
            (field,) = vector["params"]
            with pytest.raises(SettingError, match=FIELDS.get(field, field)):
                make(vector["params"])
        case "accepts":
            make(vector["params"])
        case "always_id":
            logits = logits_of(vector).expand(10_000, -1)
            heights = [i / 10_000 for i in range(9_999)] + [math.nextafter(1.0, 0.0)]
            drawn = choose(logits, SamplerConfig(), heights)
            assert {draw.token for draw in drawn} == {vector["expected"]}
        case "streamed_text":
            check_stream(vector)
        case _:
            check(vector)


def check_stream(vector: Vector) -> None:
    scanner, text = StopScanner(), ""
    for chunk in vector["params"]["chunks"]:
        shown, stopped = scanner.push(chunk, vector["params"]["stop"])
        text += shown
        assert vector["expected"].startswith(text)
        if stopped:
            break
    else:
        text += scanner.flush()
    assert text == vector["expected"]


def test_logits_that_are_not_numbers_are_refused_not_mended() -> None:
    (vector,) = (v for v in VECTORS["vectors"] if v["name"] == "hf.nan_inf_cleanup")
    for config in (SamplerConfig(), SamplerConfig(temperature=0), SamplerConfig(top_k=2)):
        with pytest.raises(LogitsError):
            choose(logits_of(vector), config, (0.5,))


def test_every_exception_is_on_the_page_for_users() -> None:
    page = DOCS.read_text("utf-8")
    names = {vector["name"] for vector in VECTORS["vectors"]}
    assert set(EXCEPTIONS) <= names
    assert [name for name in EXCEPTIONS if f"`{name}`" not in page] == []
