"""What is no model, chosen in the chat's window: said in a line, at once, and the chat goes on."""

from __future__ import annotations

import pickle
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from model.registry import find, load
from tests.pretrained.makers import needs_extra, write_folder
from tests.tui.chat.talking import chatting, ended, lively, say, send, speaker, texts
from tests.tui.window import notices, wait_until
from tui.app import Yinchuang

pytestmark = needs_extra


class Marker:
    """What unpickling would run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_folder(folder)
    return folder


def pickled(folder: Path, llama: Path) -> Path:
    (folder / "model.pt").write_bytes(pickle.dumps(Marker(folder / "marker")))
    return folder / "model.pt"


def renamed_pickle(folder: Path, llama: Path) -> Path:
    (folder / "model.gguf").write_bytes(pickle.dumps(Marker(folder / "marker")))
    return folder / "model.gguf"


def cut_short(folder: Path, llama: Path) -> Path:
    for file in llama.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    return folder


def hostile(folder: Path, llama: Path) -> Path:
    file = folder / "[evil].gguf"
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**63, 2**63))
    return file


def foreign(folder: Path, llama: Path) -> Path:
    (folder / "song.mp3").write_bytes(b"ID3" + bytes(5000))
    return folder / "song.mp3"


def empty(folder: Path, llama: Path) -> Path:
    return folder


@pytest.mark.parametrize("make", [pickled, renamed_pickle, cut_short, hostile, foreign, empty])
async def test_what_is_no_model_is_refused_in_a_line_and_the_chat_goes_on(
    tmp_path: Path, llama: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path, llama)
    async with chatting(speaker(lively())) as (app, pilot):
        read_files(app)
        began = time.monotonic()
        app.room.talk.speaker.load(str(path))
        await wait_until(pilot, lambda: path.name in notices(app))
        assert time.monotonic() - began < 5, "a busy machine; the loader itself takes far less"
        assert not (tmp_path / "marker").exists()
        assert app.room.talk.speaker.handle.spec.name == "smollm2", "the one before stays"
        await say(app, pilot, "春眠")
        assert len(texts(app)) == 2


async def test_a_folder_of_ones_own_answers_in_either_precision(llama: Path) -> None:
    async with chatting(speaker(lively())) as (app, pilot):
        read_files(app)
        for precision in ("float32", "bfloat16"):
            app.room.talk.speaker.load(str(llama), precision)
            wanted = ("tiny", precision)
            await wait_until(pilot, lambda w=wanted: in_use(app) == w)
            await send(app, pilot, "Where is the fox?")
            await wait_until(pilot, lambda: app.room.talk.at.reply is not None)
            await ended(app, pilot)
            assert app.room.talk.at.reply.model == "tiny"
            assert app.room.talk.at.reply.finished.reason != "error"


def read_files(app: Yinchuang) -> None:
    """Have models be read from the disk, as the program does."""
    loader = app.room.loader
    loader._load = lambda name, precision="float32": load(find(name), precision=precision)


def in_use(app: Yinchuang) -> tuple[str, str]:
    handle = app.room.talk.speaker.handle
    return handle.spec.name, handle.precision
