"""The program's one entry: ``python run.py`` opens the window, subcommands work without it."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Open the window where no command is given on a terminal; else run the command."""
    _fill_closed_streams()
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if len(sys.argv) == 1 and terminal:
        sys.exit(_window())
    try:
        from tui.cli.main import app
    except KeyboardInterrupt:  # from there on the commands see to it
        sys.exit(130)
    app()


def _fill_closed_streams() -> None:
    """A stream that the caller closed (``>&-``) is None in Python: what goes there is lost,
    and nothing comes from it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _window() -> int:
    # The first frame does not wait for the commands' imports.
    from tui.start import run

    try:
        return run()
    except Exception as error:
        from tui.cli.guard import guarded, raising

        return guarded(raising(error))


if __name__ == "__main__":
    main()
