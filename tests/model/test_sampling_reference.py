"""The fast sampler against a slow one in float64: whole rows, full sorts.

The two share nothing but the settings. ``Unclear`` where a decision hangs on the last
bits of a sum, so that either answer is right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from model.config import STAGES, SamplerConfig
from model.ranking import Ranking, Truncation
from model.sampling import History, NoLegalToken, apply_stages, choose, inspect

Row = NDArray[np.float64]
MARGIN = 1e-5


class Unclear(Exception):
    """Too close to call."""


def softmax(logits: Row) -> Row:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


def draw_order(logits: Row) -> list[int]:
    return sorted(range(len(logits)), key=lambda i: (-logits[i], i))


def _keep(logits: Row, ids: list[int]) -> Row:
    out = np.full_like(logits, -np.inf)
    out[ids] = logits[ids]
    return out


def _top_p(logits: Row, p: float) -> Row:
    probs, passed, ids = softmax(logits), 0.0, []
    for token in draw_order(logits):
        ids.append(token)
        passed += probs[token]
        if abs(passed - p) < MARGIN:
            raise Unclear
        if passed >= p:
            break
    return _keep(logits, ids)


def _min_p(logits: Row, value: float) -> Row:
    probs = softmax(logits)
    floor = value * probs.max()
    if (abs(probs - floor)[probs < probs.max()] < MARGIN * floor).any():
        raise Unclear
    return np.where((probs >= floor) | (probs == probs.max()), logits, -np.inf)


def final_logits(
    logits: Row,
    config: SamplerConfig,
    *,
    allowed: NDArray[np.bool_],
    counts: Row,
    seen: NDArray[np.bool_],
    exempt: NDArray[np.bool_],
) -> Row:
    z = logits.astype(np.float64)
    for stage in config.order:
        if not np.isfinite(z).any():
            break
        if stage == "mask":
            z = np.where(allowed, z, -np.inf)
        elif stage == "repetition":
            hit = np.where(z > 0, z / config.repetition, z * config.repetition)
            z = np.where(seen & ~exempt, hit, z)
        elif stage == "presence_frequency":
            z = z - np.where(exempt, 0, counts * config.frequency + (counts > 0) * config.presence)
        elif stage == "temperature":
            z = z / config.temperature
        elif stage == "top_k" and config.top_k:
            z = _keep(z, draw_order(z)[: config.top_k])
        elif stage == "top_p" and config.top_p < 1:
            z = _top_p(z, config.top_p)
        elif stage == "min_p" and config.min_p > 0:
            z = _min_p(z, config.min_p)
    return z


def walk(logits: Row, u: float) -> tuple[int, float, float]:
    """Token, its probability, and the mass before it."""
    probs, below = softmax(logits), 0.0
    for token in draw_order(logits):
        if abs(below + probs[token] - u) < MARGIN:
            raise Unclear
        if below + probs[token] > u:
            return token, float(probs[token]), below
        below += float(probs[token])
    raise Unclear


@dataclass
class Case:
    """One row and everything that the stages ask about it."""

    logits: Row
    allowed: NDArray[np.bool_]
    counts: Row
    seen: NDArray[np.bool_]
    exempt: NDArray[np.bool_]
    config: SamplerConfig
    u: float

    @property
    def row(self) -> torch.Tensor:
        return torch.from_numpy(self.logits.astype(np.float32))

    @property
    def mask(self) -> torch.Tensor:
        return torch.from_numpy(self.allowed)

    @property
    def history(self) -> History:
        return History(
            torch.from_numpy(self.counts.astype(np.float32)),
            torch.from_numpy(self.seen),
            torch.from_numpy(self.exempt),
        )

    def reference(self) -> Row:
        try:
            return final_logits(
                self.logits,
                self.config,
                allowed=self.allowed,
                counts=self.counts,
                seen=self.seen,
                exempt=self.exempt,
            )
        except Unclear:
            assume(False)
            raise


CONFIGS = st.builds(
    SamplerConfig,
    temperature=st.sampled_from([0.5, 0.8, 1.0, 2.0, 4.0]),
    top_k=st.sampled_from([0, 0, 1, 2, 5, 40, 10**9]),
    top_p=st.sampled_from([1.0, 1.0, 0.0, 1e-8, 0.3, 0.77, 0.95]),
    min_p=st.sampled_from([0.0, 0.0, 0.03, 0.4, 1.0]),
    presence=st.sampled_from([0.0, 0.5, -1.0, 2.0]),
    frequency=st.sampled_from([0.0, 0.25, -0.5]),
    repetition=st.sampled_from([1.0, 0.5, 1.5, 2.0]),
    order=st.one_of(st.just(STAGES), st.permutations(STAGES).map(tuple)),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Logits on a coarse grid, so that ties are common, some at -inf."""
    size = draw(st.sampled_from([1, 2, 3, 8, 30, 700]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.0, 1.0, 8.0, 24.0]))
    logits = rng.integers(-4 * spread, 4 * spread + 1, size) / 4.0
    logits[rng.random(size) < draw(st.sampled_from([0.0, 0.2]))] = -np.inf
    return Case(
        logits=logits,
        allowed=rng.random(size) < draw(st.sampled_from([0.1, 0.6, 1.0])),
        counts=rng.integers(0, 4, size) * (rng.random(size) < 0.3),
        seen=rng.random(size) < 0.4,
        exempt=rng.random(size) < 0.2,
        config=draw(CONFIGS),
        u=draw(st.floats(0, 1, exclude_max=True)),
    )


COMMON = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)


@COMMON
@given(cases())
def test_kept_sets_and_probabilities_match(case: Case) -> None:
    wanted = case.reference()
    before = case.row
    row = before.clone()
    out = apply_stages(row[None], case.config, allowed=case.mask, history=case.history)[0].numpy()
    assert torch.equal(row, before)
    assert not np.isnan(out).any()
    assert (np.isfinite(out) == np.isfinite(wanted)).all()
    if np.isfinite(wanted).any():
        probs = torch.softmax(torch.from_numpy(out), -1).numpy()
        np.testing.assert_allclose(probs, softmax(wanted), atol=2e-6)


@COMMON
@given(cases())
def test_the_draw_matches(case: Case) -> None:
    wanted = case.reference()
    ask = {"allowed": case.mask, "history": case.history}
    if not np.isfinite(wanted).any():
        with pytest.raises(NoLegalToken):
            choose(case.row[None], case.config, (case.u,), **ask)
        return
    (drawn,) = choose(case.row[None], case.config, (case.u,), **ask)
    try:
        token, probability, _ = walk(wanted, case.u)
    except Unclear:
        assume(False)
        raise
    assert drawn.token == token
    assert drawn.probability == pytest.approx(probability, abs=2e-6)


@COMMON
@given(cases())
def test_inspection_and_draw_cannot_disagree(case: Case) -> None:
    ask = {"allowed": case.mask, "history": case.history}
    try:
        (drawn,) = choose(case.row[None], case.config, (case.u,), **ask)
    except NoLegalToken:
        with pytest.raises(NoLegalToken):
            inspect(case.row, case.config, case.u, 0, name=str, **ask)
        return
    seen = inspect(case.row, case.config, case.u, drawn.token, name=str, **ask)
    (row,) = (c for c in seen.candidates if c.token == drawn.token)
    assert row.final == drawn.probability
    assert row.cut_by is None
    assert seen.below <= case.u + 1e-6
    assert case.u < seen.below + row.final + 1e-6
    final = apply_stages(case.row[None], case.config, **ask)[0]
    assert seen.nucleus == int(final.isfinite().sum())
    probs = torch.softmax(final, -1)
    for c in seen.candidates:
        assert c.final == pytest.approx(float(probs[c.token]), abs=2e-6)
        assert (c.cut_by is None) == bool(final[c.token].isfinite() | case.row[c.token].isneginf())


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    u=st.floats(0, 1, exclude_max=True),
    scale=st.sampled_from([0.0, 0.5, 2.5, 30.0]),
    tied=st.booleans(),
    cuts=st.lists(
        st.sampled_from(
            [("top_k", 3), ("top_k", 900), ("top_p", 0.6), ("top_p", 0.999), ("min_p", 0.001)]
        ),
        max_size=3,
    ),
)
def test_how_far_was_ranked_changes_nothing(
    seed: int, u: float, scale: float, tied: bool, cuts: list[Truncation]
) -> None:
    values = np.random.default_rng(seed).standard_normal(3000) * scale
    row = torch.from_numpy((values.round(1) if tied else values).astype(np.float32))
    probs = torch.softmax(row, -1)
    rankings = [Ranking(row.numpy(), probs.numpy(), bound) for bound in (1.0, 0.01, 1e-4, 0.0)]
    assert len({ranking.draw(u, cuts) for ranking in rankings}) == 1
    assert len({tuple(ranking.kept(cuts)) for ranking in rankings}) == 1
    whole = draw_order(row.double().numpy())
    for ranking in rankings:
        assert ranking.ids.tolist() == whole[: len(ranking.ids)]
