"""Writing what a user asked for, in words where it cannot be."""

from __future__ import annotations

from pathlib import Path

from corpora.files import check_writable, whole_file
from model.errors import InputError


def write_whole(path: Path, content: str | bytes) -> None:
    """Put ``content`` (text as UTF-8) at ``path``, whole or not at all.

    Raises ``InputError`` that names the file; what stood there is then untouched.
    """
    try:
        with whole_file(path) as fresh:
            fresh.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror})") from error


def refuse_unwritable(path: Path) -> None:
    """Raises ``InputError`` where ``path`` cannot be written: before the work whose result would
    be lost."""
    try:
        check_writable(path)
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror})") from error
