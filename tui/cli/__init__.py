"""The command line: one module a subcommand, imported when it is called.

Nothing here imports textual. ``main`` and ``options`` import neither torch nor rich, so
that ``--help`` and a refused flag answer at once.
"""
