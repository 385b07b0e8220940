"""Steps looked at again: those that were not inspected while they were written, and
the one on show under settings that have changed since.

Needs the model for the logits of a step, once; with these kept, any settings can be
tried on the app's thread in well under a frame. Knows nothing of widgets.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.message import Message

from model.config import Controls
from model.steps import Inspection, Step
from tui.messages import StepKept
from tui.orders import Order
from tui.session import Branch
from tui.worker import Writer

if TYPE_CHECKING:
    from model.inspect_at import Kept
    from model.registry import ModelHandle

log = logging.getLogger("yinchuang")


class Inspector:
    """Keeps the logits of the step that was asked for last."""

    def __init__(self, post: Callable[[Message], object], writer: Writer) -> None:
        self._post = post
        self._writer = writer
        self._place: tuple[int, int] | None = None
        self._kept: Kept | None = None

    def kept(self, branch: Branch, index: int) -> Kept | None:
        """What step ``index`` saw, where it is at hand."""
        return self._kept if self._place == (branch.id, index) else None

    def take(self, message: StepKept) -> bool:
        """Store an answer; False where another step has been asked for since."""
        if self._place != (message.branch, message.index):
            return False
        self._kept = message.kept
        return True

    def fetch(self, handle: ModelHandle, branch: Branch, index: int) -> None:
        """Ask for step ``index``; ``StepKept`` answers. Asking twice does nothing."""
        if self._place == (branch.id, index):
            return
        self._place, self._kept = (branch.id, index), None
        order = Order(handle, branch.prompt, branch.form, branch.unknown)
        tokens, stops = branch.tokens[:index], branch.steps[index].controls.stop
        if not self._writer.errand(lambda: self._work(order, branch.id, tokens, stops)):
            threading.Thread(
                target=self._locked,
                args=(order, branch.id, tokens, stops),
                name="inspect",
                daemon=True,
            ).start()

    def forget(self) -> None:
        """Drop what is kept: another model is in use, or branches have gone."""
        self._place = self._kept = None

    def _locked(
        self, order: Order, branch: int, tokens: tuple[int, ...], stops: tuple[str, ...]
    ) -> None:
        with order.handle.lock:
            self._work(order, branch, tokens, stops)

    def _work(
        self, order: Order, branch: int, tokens: tuple[int, ...], stops: tuple[str, ...]
    ) -> None:
        if self._place != (branch, len(tokens)):
            return  # the reader has moved on
        try:
            kept = order.keep(tokens, len(tokens), stops)
        except Exception:  # a look that fails must not end a run; the table stays empty
            log.exception("step %d of branch %d cannot be inspected", len(tokens), branch)
            return
        self._post(StepKept(branch, len(tokens), kept))


def inspected(kept: Kept, step: Step) -> Step:
    """``step`` with the inspection that it was written without."""
    return replace(step, inspection=kept.inspect(step.controls, step.token))


def preview(kept: Kept, step: Step, controls: Controls) -> tuple[Inspection, int]:
    """``step`` under ``controls``: the inspection, and the token that would be drawn.

    The seed stays that of the step, so that the same ``u`` falls on both; the inspection is
    of the token that it falls on now, with the one that was drawn among the rows.
    Raises ``NoLegalToken``.
    """
    tried = replace(controls, seed=step.controls.seed)
    would_be = kept.would_choose(tried)
    seen = kept.inspect(tried, would_be)
    if all(row.token != step.token for row in seen.candidates):
        drawn = kept.inspect(tried, step.token).candidates[-1]
        seen = replace(seen, candidates=(*seen.candidates, drawn))
    return seen, would_be


def differs(step: Step, controls: Controls) -> bool:
    """Whether ``controls`` would treat this step's logits in another way."""
    return step.controls.sampler != controls.sampler
