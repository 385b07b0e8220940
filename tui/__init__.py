"""The window: a Textual app around the engine, and the command line.

Imports go one way: ``tui`` knows ``model`` and ``corpora``; neither knows ``tui``.
"""
