"""What the parts of the window tell each other.

Small dataclasses: requests that a pane posts upwards, and facts from the threads that
generate and load. Panes never call each other; the app answers a message by calling
the panes' setters (``show_step``, ``show``, …) on its own thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from model.config import CacheMode, Controls
from model.steps import Finished, Step
from tui.session import FormSettings

if TYPE_CHECKING:
    from model.inspect_at import Kept
    from model.lab.base import Progress
    from model.registry import ModelHandle
    from tui.lab.outcome import Outcome


# Requests from the panes


@dataclass
class OpeningSubmitted(Message):
    """The reader pressed Enter in the opening: write on from ``text``."""

    text: str


@dataclass
class OpeningEdited(Message):
    """The opening's text changed under the reader's hands."""

    text: str


@dataclass
class ForkRequested(Message):
    """At step ``index`` of the current branch, take ``token`` and write on from it."""

    index: int
    token: int


@dataclass
class StepRequested(Message):
    """Look ``delta`` steps later (negative: earlier) than now."""

    delta: int


@dataclass
class StepPointed(Message):
    """Look at step ``index`` of the current branch; -1 for the opening."""

    index: int


@dataclass
class ControlsChanged(Message):
    """The sampler's settings, already validated, as the reader wants them from now on."""

    controls: Controls


@dataclass
class SeedModeChanged(Message):
    """``fixed``: every poem uses the seed shown; else each poem draws a new one."""

    fixed: bool


@dataclass
class FormChanged(Message):
    """The form that the next poem shall have. Whether it can be satisfied is the app's
    business: it answers with ``FormPane.refuse`` where it cannot."""

    settings: FormSettings


@dataclass
class WriteRequested(Message):
    """Write a poem from the opening as it stands, in the form that was shown or posted last."""


@dataclass
class CacheModeRequested(Message):
    """Use the cache so from the next token on."""

    mode: CacheMode


@dataclass
class BranchChosen(Message):
    """Show the branch with this id."""

    branch: int


# Facts from the threads


@dataclass
class StepsArrived(Message):
    """New steps of run ``run_id``, in order; every step arrives once."""

    run_id: int
    steps: list[Step]


@dataclass
class RunFinished(Message):
    """Run ``run_id`` has ended; all its steps have arrived before."""

    run_id: int
    finished: Finished


@dataclass
class RunFailed(Message):
    """Run ``run_id`` broke; ``text`` is for the reader, the traceback is in ``log``."""

    run_id: int
    text: str
    log: str


@dataclass
class ModelReady(Message):
    """A model is loaded. ``request`` tells a late answer from the one waited for; ``name``
    is how it was asked for, and can be asked for again."""

    request: int
    name: str
    handle: ModelHandle


@dataclass
class ModelFailed(Message):
    """The model of ``request`` could not be loaded; ``text`` says why and what to do."""

    request: int
    name: str
    text: str


@dataclass
class ModelLoading(Message):
    """What the load of ``request`` is at, in words."""

    request: int
    name: str
    stage: str


@dataclass
class StepKept(Message):
    """What step ``index`` of a branch or a reply saw, to be inspected under any settings."""

    branch: int | str
    index: int
    kept: Kept


@dataclass
class LabProgressed(Message):
    """How far run ``run_id`` of the lab is."""

    run_id: int
    progress: Progress


@dataclass
class LabEnded(Message):
    """Run ``run_id`` of the lab has ended, one way or another."""

    run_id: int
    outcome: Outcome


@dataclass
class OfColumn(Message):
    """What concerns one of the columns that stand side by side: a request of its panes, a fact
    of its threads."""

    place: int
    """0 is the left one."""
    message: Message


@dataclass
class Told(Message):
    """Something that the reader should know about what they just did."""

    text: str


@dataclass
class ChatNews(Message):
    """What a thread of the chat tells: as above, of another writer, loader or inspector."""

    news: Message


@dataclass
class TurnRequested(Message):
    """Stand on a turn of the conversation ``delta`` later (negative: earlier) than now."""

    delta: int


@dataclass
class Submitted(Message):
    """The reader sent what they had typed in the chat."""

    text: str
