"""Where the window keeps its files: the user's data, state and log folders.

``YINCHUANG_STATE`` in the environment names another folder for all of them.
"""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

from platformdirs import user_data_path, user_log_path, user_state_path

APP = "yinchuang"


def state_folder() -> Path:
    """The folder of kept sessions; may not exist yet."""
    given = os.environ.get("YINCHUANG_STATE")
    return Path(given) if given else user_state_path(APP)


def data_folder() -> Path:
    """The folder of poems and conversations; may not exist yet."""
    given = os.environ.get("YINCHUANG_STATE")
    return Path(given) if given else user_data_path(APP)


def log_path() -> Path:
    """The file of tracebacks; may not exist yet."""
    given = os.environ.get("YINCHUANG_STATE")
    return (Path(given) if given else user_log_path(APP)) / "window.log"


def log_to_file() -> Path:
    """Send this program's log to the file, and return it. Without a writable folder the
    log is dropped: that must never keep the window from opening."""
    path = log_path()
    logger = logging.getLogger(APP)
    logger.propagate = False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = RotatingFileHandler(
            path, maxBytes=1_000_000, backupCount=1, encoding="utf-8", delay=True
        )
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    return path
