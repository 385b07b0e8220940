"""The folder of a training run, for one training at a time.

Knows folders and the processes that train together; knows nothing of what is trained.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from corpora.locks import lock
from model.distributed import Processes
from model.errors import InputError

LOCK = ".lock"
"""Held by the main process; says its number. What is left of it after a kill says nothing."""

STATE = "state.safetensors"
"""What a run is continued from."""


@contextmanager
def claimed(folder: Path, group: Processes) -> Iterator[None]:
    """While the block runs no other training writes in ``folder``.

    Makes the folder, takes away the half-written state that a kill may have left there, and
    leaves no empty folder behind. Raises ``InputError``, in every process of ``group``, where
    another training holds the folder or where it cannot be written.
    """
    with ExitStack() as held:
        group.checked(lambda: held.enter_context(_claim(folder)))
        yield


@contextmanager
def _claim(folder: Path) -> Iterator[None]:
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    refuse_unwritable(folder)
    with _locked(folder / LOCK):
        try:
            yield
        finally:
            with suppress(OSError):  # while it is held: nobody else's is removed
                (folder / LOCK).unlink()
                for empty in made:
                    empty.rmdir()


def _locked(path: Path) -> IO[str]:
    """The file at ``path``, held. Raises ``InputError`` where another training holds it."""
    try:
        while True:
            file = path.open("a+", encoding="utf-8")
            if not lock(file, wait=False):
                raise InputError(_held(file, path.parent.name))
            # Who held it before may have removed its file since it was opened here.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                break
            file.close()
        file.truncate(0)
        print(os.getpid(), file=file, flush=True)
        for left in path.parent.glob(f".{STATE}.*"):
            left.unlink()
    except OSError as error:
        raise InputError(_unwritable(path.parent, error)) from error
    return file


def _held(file: IO[str], name: str) -> str:
    with file:
        file.seek(0)
        holder = file.readline().strip()
    told = f" (by process {holder})" if holder.isdecimal() else ""
    return (
        f"the run {name} is being trained already{told}; "
        "wait for its end, stop it, or give another --name"
    )


def refuse_unwritable(folder: Path) -> None:
    """Make ``folder``; raises ``InputError`` where nothing can be written in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(_unwritable(folder, error)) from error


def _unwritable(folder: Path, error: OSError) -> str:
    return f"cannot write in the folder {folder} ({error.strerror})"
