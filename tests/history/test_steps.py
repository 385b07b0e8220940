"""Steps written and read back, also by another version of the program."""

from __future__ import annotations

import json
import math

import pytest

from model.config import Controls, SamplerConfig
from tests.history.helpers import step
from tui.history.steps import decode, encode

HOT = Controls(SamplerConfig(temperature=1.5, top_k=20), stop=("。", "[/"), seed=2**64 - 1)


def changed(change):
    """A chunk of two steps, as another version would have written it."""
    document = json.loads(encode([step(0), step(1, "[/", HOT)]))
    change(document)
    return json.dumps(document)


def test_what_is_read_is_what_was_written():
    steps = [step(0), step(1, "\n", HOT), step(2, "𨣧", HOT, -math.inf), step(3, "\0\ud83d")]
    assert decode(encode(steps)) == steps
    assert decode(encode([])) == []


def test_equal_controls_are_written_once():
    steps = [step(n, controls=Controls()) for n in range(50)]
    assert len(json.loads(encode(steps))["controls"]) == 1
    read = decode(encode(steps))
    assert all(each.controls is read[0].controls for each in read)


def test_a_field_of_a_later_version_is_passed_over():
    def later(document):
        document["names"].append("mood")
        for row in document["rows"]:
            row.insert(-2, "calm")
        document["controls"][0]["mood"] = 1
        del document["controls"][1]["stop"]

    first, second = decode(changed(later))
    assert first == step(0)
    assert second.controls.sampler == HOT.sampler
    assert second.controls.stop == ()


def drop(name):
    def change(document):
        place = document["names"].index(name)
        document["names"].pop(place)
        for row in document["rows"]:
            row.pop(place)

    return change


@pytest.mark.parametrize(
    "change",
    [
        drop("token"),
        lambda document: document["rows"][0].__setitem__(0, "one"),
        lambda document: document["rows"][0].__setitem__(-1, 7),
        lambda document: document["rows"][1].pop(),
        lambda document: document.pop("rows"),
        lambda document: document["controls"][1]["sampler"].update(temperature=-3),
    ],
)
def test_anything_else_is_refused(change):
    with pytest.raises(Exception) as caught:
        decode(changed(change))
    assert isinstance(caught.value, ValueError | TypeError | LookupError) or "temperature" in str(
        caught.value
    )
