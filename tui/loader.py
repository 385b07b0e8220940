"""Loading models behind the window's back.

The first load also imports torch, which takes longer than everything else, so it must
never be on the way to the first frame. A daemon thread, not a pool's: quitting does
not wait for a load that nobody needs any more. Models stay loaded, so that switching
back is immediate; a cache belongs to a run and never moves between them.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from corpora.errors import UserError
from model.config import Precision
from tui.messages import ModelFailed, ModelLoading, ModelReady

if TYPE_CHECKING:
    from model.registry import ModelHandle

log = logging.getLogger("yinchuang")


class Loader:
    """Loads models by name, the latest request counting."""

    def __init__(
        self,
        post: Callable[[Message], object],
        load: Callable[..., ModelHandle] | None = None,
    ) -> None:
        """``post`` must be safe to call from any thread. ``load``: gives the model of a
        name, with a second argument of a precision other than float32, or raises
        ``UserError``; the registry's where None."""
        self._post = post
        self._load = load
        self._loaded: dict[tuple[str, Precision], ModelHandle] = {}
        self._busy = threading.Lock()
        self.request = 0
        """Number of the latest request: answers to older ones no longer matter."""

    def beside(self, post: Callable[[Message], object]) -> Loader:
        """Another one, for who wants to hear of its own requests only; both hold the same
        models."""
        other = Loader(post, self._load)
        other._loaded, other._busy = self._loaded, self._busy
        return other

    @property
    def busy(self) -> bool:
        """A load is going on."""
        return self._busy.locked()

    def begin(self, name: str, precision: Precision = "float32") -> None:
        """Load ``name``; ``ModelReady`` or ``ModelFailed`` with ``request`` answers."""
        self.request += 1
        asked = (self.request, name, precision)
        body = threading.Thread(target=self._body, args=asked, name="load-model", daemon=True)
        body.start()

    def handle(
        self,
        name: str,
        tell: Callable[[str], None] = lambda stage: None,
        precision: Precision = "float32",
    ) -> ModelHandle:
        """The model of a name, loaded on the calling thread where it is not loaded yet; the
        same one that the window writes with. ``tell``: what the load is at, in words.
        Raises ``UserError``."""
        key = (name, precision)
        with self._busy:
            if key not in self._loaded:
                self._loaded[key] = self._read(name, tell, precision)
            return self._loaded[key]

    def _read(self, name: str, tell: Callable[[str], None], precision: Precision) -> ModelHandle:
        if self._load is None:
            return from_registry(name, tell, precision)
        return self._load(name) if precision == "float32" else self._load(name, precision)

    def _body(self, request: int, name: str, precision: Precision) -> None:
        def tell(stage: str) -> None:
            self._post(ModelLoading(request, name, stage))

        try:
            self._post(ModelReady(request, name, self.handle(name, tell, precision)))
        except UserError as error:
            self._post(ModelFailed(request, name, str(error)))
        except Exception as error:
            log.exception("loading %r broke", name)
            self._post(ModelFailed(request, name, f"{type(error).__name__}: {error}"))


def from_registry(
    name: str, tell: Callable[[str], None], precision: Precision = "float32"
) -> ModelHandle:
    """Import torch and what else a model takes, and load the one of a name."""
    tell("starting torch")
    with unhindered():
        from model.registry import find, load
        from model.script import read_verse

        read_verse("馬")  # loads its tables now, on this thread

        tell("reading the weights")
        handle = load(find(name), precision=precision, tell=tell)
    settle()
    return handle


@contextmanager
def unhindered() -> Iterator[None]:
    """Import torch here and the keys are still answered: what an import does in one piece is
    what the other threads wait for.

    The garbage collector, which importing sets off again and again, rests. And the largest
    library is in memory before Python asks for it, which lets no other thread run meanwhile.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        if "torch" not in sys.modules:
            _map_library()
        yield
    finally:
        if collects:
            gc.enable()


def _map_library() -> None:
    """Have the system map torch's library. Called as a C function, ``dlopen`` lets go of the
    interpreter. Where that does not work the import does it, only later."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return
    library = Path(torch.origin).parent / "lib" / "libtorch_cpu.so"
    with suppress(AttributeError, OSError):  # not a system that has dlopen
        dlopen = ctypes.CDLL(None).dlopen
        dlopen.argtypes, dlopen.restype = [ctypes.c_char_p, ctypes.c_int], ctypes.c_void_p
        dlopen(os.fsencode(library), os.RTLD_NOW | os.RTLD_LOCAL)


def settle() -> None:
    """Take all that is loaded by now, a million objects with torch, out of the garbage
    collector's sight. It stays as long as the process, and going through it once again
    would stop text and keys for a tenth of a second every few thousand characters."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # every step of a poem is kept: few of them are garbage
