"""Poems as data: fetching, cleaning and reading them.

Nothing here may import torch, textual, model or tui; a process that only reads poems stays light.
"""
