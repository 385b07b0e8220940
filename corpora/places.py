"""Where corpora live in the user's cache folder. Knows names only; reads and writes nothing."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path

PACKAGE_NAME = "chinese-poetry"
PACKAGE_VERSION = "2.0.1"

RULES_VERSION = 1
"""Raised whenever a cleaning or splitting rule changes what `build` writes."""

BUILT_NAMES = ("tang.train", "tang.heldout", "song.train", "ci.train", "tang.irregular")
"""The built files, without their suffix; `read_built` takes one of these."""


def cache_root(root: Path | None = None) -> Path:
    """The folder that holds everything fetched and built; `root` overrides the user's cache."""
    return user_cache_path("yinchuang") if root is None else root


def source_folder(root: Path | None = None) -> Path:
    """The folder of the unpacked package."""
    return cache_root(root) / f"{PACKAGE_NAME}-{PACKAGE_VERSION}"


def built_folder(root: Path | None = None) -> Path:
    """The folder of the cleaned corpus; a new rules version gets a new folder."""
    return cache_root(root) / f"corpus-{PACKAGE_VERSION}-r{RULES_VERSION}"
