"""The program's one entry: ``python run.py`` opens the window, subcommands work without it."""

from __future__ import annotations

import sys


def main() -> None:
    """Open the window where no command is given on a terminal; else run the command."""
    if len(sys.argv) == 1 and sys.stdin.isatty() and sys.stdout.isatty():
        sys.exit(_window())
    from tui.cli.main import app

    app()


def _window() -> int:
    # The first frame does not wait for the commands' imports.
    from tui.app import run

    try:
        return run()
    except Exception as error:
        from tui.cli.guard import guarded, raising

        return guarded(raising(error))


if __name__ == "__main__":
    main()
