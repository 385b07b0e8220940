"""The program's one entry: ``python run.py`` opens the window, subcommands work without it."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; exits with its code."""
    try:
        from tui.cli.main import app
    except KeyboardInterrupt:  # Ctrl-C before anything could answer it
        sys.exit(130)
    app()


if __name__ == "__main__":
    main()
