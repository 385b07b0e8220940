"""The program's one entry: ``python run.py`` opens the window, subcommands work without it."""

from __future__ import annotations

from tui.cli.main import app

if __name__ == "__main__":
    app()
