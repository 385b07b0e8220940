"""What happens when a command cannot do its work: one line on stderr and an exit code.

Knows exceptions and exit codes; knows nothing of commands. Codes: 0 done, 1 something went
wrong on the way, 2 the request was refused, 130 Ctrl-C, 141 the reader of a pipe has gone.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence

import typer

from corpora.errors import UserError

FAILED, REFUSED, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141

TRACEBACK_VARIABLE = "YINCHUANG_TRACEBACK"
"""Set to anything, a fault of the program's own shows its traceback."""


def guarded(work: Callable[[], object]) -> int:
    """Run ``work``; its exit code, or the code of what went wrong, said in one line."""
    try:
        result = work()
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except UserError as error:
        return _say(str(error), REFUSED)
    except typer.TyperException as error:
        return _say(error.format_message(), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _pipe_closed()
    except SystemExit as error:  # typer's own way out of a closed pipe
        if isinstance(error.__context__, BrokenPipeError):
            return _pipe_closed()
        raise
    except UnicodeEncodeError as error:
        return _say(
            f"the output's encoding ({error.encoding}) has no {error.object[error.start]!a}; "
            "set PYTHONUTF8=1",
            FAILED,
        )
    except MemoryError:
        return _say("there is not enough memory for this", FAILED)
    except OSError as error:
        return _say(_told(error), FAILED)
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        told = f"{type(error).__name__}: {error}"
        return _say(f"a fault of the program ({told}); {TRACEBACK_VARIABLE}=1 shows where", FAILED)


def raising(error: Exception) -> Callable[[], object]:
    """Work for ``guarded`` that has failed already, with ``error``."""

    def work() -> object:
        raise error

    return work


def refuse_undecodable(arguments: Sequence[str]) -> None:
    """Raises ``UserError`` for an argument that is not text: bytes that are no UTF-8 (which
    Python hands over as lone surrogates) and NUL."""
    for number, argument in enumerate(arguments, 1):
        for char in argument:
            if char == "\0" or "\ud800" <= char <= "\udfff":
                raise UserError(
                    f"argument {number} holds {_undecodable(char)}, which is not text; "
                    "give it in UTF-8"
                )


def one_line(text: str) -> str:
    """``text`` on one line, its control characters visible: a message may quote anything."""
    return "".join(c if c.isprintable() else " " if c == "\n" else ascii(c)[1:-1] for c in text)


def _pipe_closed() -> int:
    """What is still buffered has no reader: keep Python from flushing it at exit."""
    sys.stdout = sys.__stdout__
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return PIPE_CLOSED


def _undecodable(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"the byte {ord(char) - 0xDC00:02X}"
    return "NUL" if char == "\0" else f"U+{ord(char):04X}"


def _told(error: OSError) -> str:
    reason = error.strerror or str(error)
    if not error.filename and error.errno == errno.ENOSPC:  # a stream tells no name
        return f"the output could not be written ({reason})"
    return f"{error.filename}: {reason}" if error.filename else reason


def _say(message: str, code: int) -> int:
    print(one_line(message), file=sys.stderr)
    return code
