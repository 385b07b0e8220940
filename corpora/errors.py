"""The base class of every error that a user is meant to read.

It knows nothing of who shows it. A front end prints the message and leaves the traceback out.
"""

from __future__ import annotations


class UserError(Exception):
    """Something that the user can put right: says what was wrong, with what, and what to do."""
