"""1,000 seeds of each form at temperature 1.5: every poem exact, of characters and of pieces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corpora.forms import COMMA, FORMS, STOP
from model.batch import BatchGenerator
from model.config import Controls, SamplerConfig
from model.constraints import Acrostic, Constraint, FixedForm
from model.generate import Prompt
from model.registry import find, load
from model.steps import Finished

SEEDS = range(1000)
HEADS = "春眠不觉"


def written(checkpoint: Path, constraint: Constraint) -> list[str]:
    """The poems of all seeds, each with its reason checked."""
    handle = load(find(str(checkpoint)))
    controls = Controls(SamplerConfig(temperature=1.5, repetition=1.3))
    texts = [""] * len(SEEDS)
    batch = BatchGenerator(
        handle.model, handle.tokenizer, Prompt(), controls, SEEDS, constraint=constraint
    )
    for row in batch:
        texts[row.row] += row.event.text
        if isinstance(row.event, Finished):
            assert row.event.reason == "form_complete"
    return texts


@pytest.fixture(params=["checkpoint", "bpe_checkpoint"], ids=["char", "bpe"])
def model(request: pytest.FixtureRequest) -> Path:
    """A model of characters, then one of pieces."""
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.mark.parametrize("name", sorted(FORMS))
def test_every_form_is_exact(model: Path, name: str) -> None:
    texts = written(model, FixedForm(FORMS[name]))
    assert [text for text in texts if not FORMS[name].holds(text)] == []
    assert len(set(texts)) > 990  # the seeds did not all write one poem


@pytest.mark.parametrize(
    ("constraint", "ends"),
    [
        (Acrostic(HEADS, 5), lambda ends: ends == [COMMA, STOP, COMMA, STOP]),
        (Acrostic(HEADS, 7), lambda ends: ends == [COMMA, STOP, COMMA, STOP]),
        (FixedForm(FORMS["七绝"], HEADS), lambda ends: ends[-1] == STOP),
    ],
    ids=["five", "seven", "jueju"],
)
def test_every_acrostic_is_exact(
    model: Path, constraint: Constraint, ends: Callable[[list[str]], bool]
) -> None:
    texts = written(model, constraint)
    width = len(texts[0]) // 4
    form = FORMS["五绝" if width == 6 else "七绝"]
    assert [text for text in texts if not form.holds(text)] == []
    assert {text[::width] for text in texts} == {HEADS}
    assert all(ends([*text[width - 1 :: width]]) for text in texts)
