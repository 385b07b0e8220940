"""The engine: a GPT, its cache, the sampler, constraints and the generation loop.

Nothing here knows of a terminal: the command line and the window both iterate
the same generators. This package may import ``corpora`` and never ``tui``.
"""
