"""Keeping freed memory in the process while a model trains.

glibc gives blocks as large as a batch's logits back to the system after every step, and
the next step pays for each page again: a quarter to a half of the training time on small
machines. Nothing else is changed by it; elsewhere than on glibc this does nothing.
"""

from __future__ import annotations

import ctypes
import platform

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # from malloc.h
_BIG = 2**31 - 1
_PAD = 64 * 2**20


def keep_memory() -> bool:
    """Tell the allocator to keep freed blocks for the rest of the process; True where it
    agreed."""
    if platform.libc_ver()[0] != "glibc":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    settings = ((_MMAP_THRESHOLD, _BIG), (_TRIM_THRESHOLD, _BIG), (_TOP_PAD, _PAD))
    agreed = [mallopt(parameter, value) == 1 for parameter, value in settings]
    return all(agreed)
