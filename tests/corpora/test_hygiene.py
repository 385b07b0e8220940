"""corpora/ stands alone: no model, no screen."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import corpora

ABOVE = ("torch", "textual", "rich", "model", "tui")


def test_nothing_above_is_imported() -> None:
    modules = [f"corpora.{found.name}" for found in pkgutil.iter_modules(corpora.__path__)]
    code = (
        f"import sys, importlib; [importlib.import_module(m) for m in {modules!r}]; "
        f"print(*sorted({ABOVE!r} & sys.modules.keys()))"
    ).replace(repr(ABOVE), f"set({ABOVE!r})")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
