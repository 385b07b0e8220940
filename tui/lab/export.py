"""An experiment's end as a file of its own."""

from __future__ import annotations

import json
from pathlib import Path

from model.errors import InputError
from tui.files import write_whole
from tui.lab.document import document
from tui.lab.markdown import section
from tui.lab.outcome import Outcome, method


def export(outcome: Outcome, path: Path) -> None:
    """Write ``outcome`` to ``path``, ``.md`` (plots as text) or ``.json``, all or nothing.

    Raises ``InputError`` for another ending, or where it cannot be written.
    """
    if path.suffix == ".json":
        write_whole(path, json.dumps(document(outcome), ensure_ascii=False, indent=2) + "\n")
    elif path.suffix == ".md":
        write_whole(path, section(outcome, method(outcome.experiment), lambda plot: None))
    else:
        raise InputError(f"{path.name}: a result is saved as .md or .json")
