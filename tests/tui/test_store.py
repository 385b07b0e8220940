"""The kept session comes back whole, or is set aside with a message."""

import json
import math

import pytest

from model.config import Controls, SamplerConfig
from model.steps import Finished, Step
from tui.session import UNLIMITED, Branch, FormSettings, Session
from tui.store import Store


def step(index, text="春", controls=None, logprob=-1.5):
    return Step(
        position=index + 1, token=index + 7, text=text, probability=0.25, logprob=logprob,
        u=0.125, forced=index == 0, phase="decode", context=index + 1, recomputed=0,
        forward_s=0.001, sampling_s=0.0001, cache_bytes=512, controls=controls or Controls(),
    )  # fmt: skip


def filled():
    session = Session()
    session.model = "tang-small"
    hot = Controls(SamplerConfig(temperature=1.5, top_k=20), stop=("。", "[/"), seed=2**64 - 1)
    session.change("all", controls=hot, form=FormSettings("fixed", "春眠", "五绝"), poems=3)
    session.look.pace = UNLIMITED
    first = session.add(Branch(0, '[/bold]\u0007"', FormSettings(), "tang-small"))
    first.steps = [step(0), step(1, "\n", hot), step(2, "𨣧", hot, -math.inf)]
    first.finished = Finished("end_of_poem", "�", 3, 0.1, 0.2)
    fork = session.add(Branch(0, "春", FormSettings(), "tang-small", 1, 2, frozenset({2})))
    fork.steps = first.steps[:2]
    return session


def kept(session, folder):
    store = Store(folder)
    store.save(store.snapshot(session))
    store.close()
    again = Session()
    other = Store(folder)
    told = other.load(again)
    other.close()
    return again, told


def test_everything_comes_back(tmp_path):
    session = filled()
    again, told = kept(session, tmp_path)
    assert told == ""
    assert again.settings == session.settings
    assert again.look == session.look
    assert (again.model, again.current, again.cursor) == ("tang-small", 2, None)
    assert again.branches[0] == session.branches[0]
    assert again.branches[1].steps == session.branches[1].steps
    assert again.branches[1].finished.reason == "cancelled"  # it was being written
    assert again.add(Branch(0, "", FormSettings(), "m")).id == 3


def test_nothing_kept_is_a_new_session(tmp_path):
    store, session = Store(tmp_path / "new"), Session()
    assert store.load(session) == ""
    assert session.branches == []
    store.close()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "\n\n",
        lambda text: "[]",
        lambda text: text.replace('"version": 1', '"version": 99'),
        lambda text: text.replace('"temperature": 1.5', '"temperature": -3'),
        lambda text: text.replace('"position"', '"pos"').replace('"steps":[[1', '"steps":[["x"'),
        lambda text: "\x00" * 40,
    ],
)
def test_a_damaged_file_is_set_aside(tmp_path, damage):
    kept(filled(), tmp_path)
    file = tmp_path / "session.jsonl"
    damaged = damage(file.read_text(encoding="utf-8"))
    file.write_text(damaged, encoding="utf-8")
    store, session = Store(tmp_path), Session()
    told = store.load(session)
    assert "set aside" in told
    assert session.branches == []
    assert session.settings == Session().settings
    assert file.with_suffix(".unreadable").read_text(encoding="utf-8") == damaged
    store.save(store.snapshot(session))
    assert store.load(Session()) == ""
    store.close()


def test_bytes_that_are_no_text_are_set_aside(tmp_path):
    (tmp_path / "session.jsonl").write_bytes(b"\xff\xfe\x00")
    store = Store(tmp_path)
    assert "set aside" in store.load(Session())
    store.close()


def test_two_windows_keep_two_sessions(tmp_path):
    first, second = Store(tmp_path), Store(tmp_path)
    assert first.path != second.path
    first.close()
    third = Store(tmp_path)
    assert third.path == first.path
    second.close()
    third.close()


def test_fields_of_a_later_version_within_the_settings_have_defaults(tmp_path):
    kept(filled(), tmp_path)
    file = tmp_path / "session.jsonl"
    head, *rest = file.read_text(encoding="utf-8").splitlines()
    document = json.loads(head)
    del document["settings"]["poems"], document["settings"]["controls"]["stop"]
    file.write_text("\n".join([json.dumps(document), *rest]), encoding="utf-8")
    store, session = Store(tmp_path), Session()
    assert store.load(session) == ""
    assert session.settings.poems == 1
    assert session.settings.controls.stop == ()
    store.close()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    session = filled()
    kept(session, tmp_path)
    before = (tmp_path / "session.jsonl").read_bytes()
    store = Store(tmp_path)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.save(store.snapshot(session))
    assert (tmp_path / "session.jsonl").read_bytes() == before
    assert [p.name for p in tmp_path.glob(".session-*")] == []
    store.close()
