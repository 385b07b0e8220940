"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from model.errors import InputError


def write_whole(path: Path, content: str | bytes) -> None:
    """Put ``content`` (text as UTF-8) at ``path``: to a temporary name, flushed, renamed.

    Raises ``InputError`` that names the file; what stood there is then untouched.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    name = ""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror})") from error
    finally:
        if name:
            Path(name).unlink(missing_ok=True)
