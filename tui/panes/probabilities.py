"""The table of one step: what the model considered and what each stage did to it.

Knows how a ``Step`` looks; knows nothing of models, runs and branches. The app says
which step to show and answers the requests that the pane posts.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from model.steps import Candidate, Inspection, Step
from tui.cells import shown
from tui.messages import ForkRequested, StepRequested
from tui.panes import cumulative
from tui.panes.candidates import Row, header, layout, percent, row_line
from tui.widgets.lines import Line, Lines, set_title, wrap

MARKED = 3
"""Lines under the table, and rows in it, that a step under other settings has at least."""
WORTH_SAYING = 0.0005
"""Forbidden mass from which on it is shown: less is that of a token which is never text."""
EMPTY = "No token yet: the table fills while the model writes. Type below and press Enter."
HINT = "↑↓ choose · Enter fork here · ←→ step"


class ProbabilitiesPane(Lines, can_focus=True):
    """Shows a step; a row may be taken instead of the token that was drawn."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"quiet", "drawn", "cut", "cursor", "strong"}
    DEFAULT_CSS = """
    ProbabilitiesPane {
        border: round $foreground 30%;
        border-title-color: $foreground;
        padding: 0 1;
        height: 15;
        min-height: 6;
        border-subtitle-color: $text-muted;
        &:focus { border: round $border; }
        & > .quiet { color: $text-muted; }
        & > .drawn { color: $accent; text-style: bold; }
        & > .cut { color: $text-muted; text-style: dim; }
        & > .cursor { text-style: reverse bold; }
        & > .strong { text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor(-1)", "Row up", show=False),
        Binding("down", "cursor(1)", "Row down", show=False),
        Binding("enter", "fork", "Fork here"),
        Binding("left", "step(-1)", "Earlier", show=False),
        Binding("right", "step(1)", "Later", show=False),
        Binding("home", "first", "First step", show=False),
        Binding("end", "last", "Newest step", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._step: Step | None = None
        self._inspection: Inspection | None = None
        self._index = 0
        self._total = 0
        self._would_be: int | None = None
        self._constrained = False
        self._row = 0
        self._top = 0  # first candidate shown, where not all fit
        self._shown: list[int] = []  # candidates on screen, from the top down
        self._armed: tuple[int, int] | None = None  # step and token of the last click
        set_title(self, "Next token", HINT)

    # What the app calls

    def show_step(self, step: Step | None, index: int, total: int, live: bool) -> None:
        """Show ``step``, number ``index`` (from 0) of ``total``; ``None`` shows that there
        is nothing yet. ``live``: it is the newest of a text that is being written."""
        self._step, self._index, self._total = step, index, total
        self._inspection = step.inspection if step else None
        self._would_be = None
        if step is None:
            title = "Next token"
        else:
            state = "live" if live else "looking back" if index + 1 < total else "newest"
            title = f"Next token · {index + 1}/{total} · {state}"
        set_title(self, title)
        self.changed()

    def show_preview(self, inspection: Inspection, step: Step, would_be: int) -> None:
        """Show what the settings as they are now would do to ``step``, which stays as it
        was drawn. ``inspection`` is of the same logits, made with ``would_be`` as the
        chosen token: the one that the same ``u`` would draw now."""
        self._inspection, self._step, self._would_be = inspection, step, would_be
        set_title(self, f"What if · {self._index + 1}/{self._total}")
        self.changed()

    def show_constrained(self, constrained: bool) -> None:
        """Say of what the mask cut that it is against the form, where one holds."""
        if constrained != self._constrained:
            self._constrained = constrained
            self.changed()

    @property
    def selected(self) -> Candidate | None:
        """The candidate under the cursor."""
        rows = self._inspection.candidates if self._inspection else ()
        return rows[min(self._row, len(rows) - 1)] if rows else None

    # Drawing

    def build(self, width: int, height: int) -> list[Line]:
        if self._step is None:
            return [[(line, "quiet")] for line in wrap(EMPTY.split(), width, " ")]
        if self._inspection is None:
            return self._bare(self._step)
        inspection, chosen = self._inspection, self._chosen(self._step)
        count = len(inspection.candidates)
        below = height - 1 - max(8, count)
        if self._would_be is not None:  # what a knob changes is what is being looked at
            below = max(below, min(MARKED, height - 1 - MARKED))
        foot = _within(self._foot(self._step, inspection, chosen, width), below)
        room = max(1, height - len(foot) - 1)
        rows = self._rows(width, room, inspection, (chosen, self._step.token))
        spare = max(0, height - 1 - len(rows) - len(foot))
        blank: list[Line] = [[]] * min(spare, 9 - count)  # so that a ninth row moves nothing
        return [header(layout(width)), *rows, *blank, *foot]

    def _bare(self, step: Step) -> list[Line]:
        """A step whose candidates are not known yet: what was drawn, and by what."""
        said = f"drawn at {percent(step.probability)}, u {step.u:.3f}"
        return [
            [("● ", "drawn"), (shown(step.text) or "(nothing to see)", "drawn")],
            [(said, "")],
            [("its candidates are looked up when you stay here", "quiet")],
        ]

    def _rows(
        self, width: int, room: int, inspection: Inspection, sought: tuple[int, int]
    ) -> list[Line]:
        """As many candidates as fit: the one under the cursor and the ``sought`` tokens always,
        in this order where there is not room for all."""
        count = len(inspection.candidates)
        at = min(self._row, count - 1)
        self._top = max(0, min(self._top, count - room), at - room + 1)
        self._top = min(self._top, at)
        shown = list(range(self._top, min(count, self._top + room)))
        tokens = [candidate.token for candidate in inspection.candidates]
        kept = [at, *(tokens.index(token) for token in sought if token in tokens)]
        wanted = list(dict.fromkeys(kept))[:room]
        for place in wanted:
            if place not in shown:
                shown.remove([i for i in shown if i not in wanted][-1])
                shown.append(place)
        self._shown = shown = sorted(shown)
        columns = layout(width)
        return [row_line(self._describe(i, inspection.candidates[i]), columns) for i in shown]

    def _describe(self, at: int, candidate: Candidate) -> Row:
        step = self._step
        assert step is not None and self._inspection is not None
        drawn = candidate.token == step.token
        if self._would_be is not None and candidate.token == self._would_be:
            note = "drawn still" if drawn else "would be"
        elif drawn:
            note = "was drawn" if self._would_be is not None else "drawn"
            note = "forced" if step.forced else note
        else:
            note = ""
        under = at == min(self._row, len(self._inspection.candidates) - 1)
        under = under and self.has_focus
        return Row(at + 1, candidate, drawn, note, under, self._constrained)

    def _chosen(self, step: Step) -> int:
        return step.token if self._would_be is None else self._would_be

    def _foot(self, step: Step, inspection: Inspection, chosen: int, width: int) -> list[Line]:
        """Two lines of figures and, where ``u`` decided something, the cumulative bar."""
        sampler = step.controls.sampler
        bits = f"{inspection.entropy:.2f} → {inspection.final_entropy:.2f} bits"
        parts = [f"entropy {bits}" if width >= 46 else bits, f"nucleus {inspection.nucleus:,}"]
        if self._would_be is not None:
            parts.insert(0, self._mark(step, chosen))
        if inspection.altered:
            parts.append("penalties changed the token")
        if inspection.forbidden >= WORTH_SAYING:
            parts.append(f"forbidden {percent(inspection.forbidden)}")
        figures = [*wrap(parts, width), "", ""][:2]
        lines: list[Line] = [[(text, "")] for text in figures]
        if sampler.greedy and self._would_be is None:
            return [*lines, [("greedy: the likeliest token, u is not used", "quiet")], []]
        lines.append(cumulative.bar(inspection, chosen, width))
        lines.append(cumulative.pointer(step.u, width, f"u {step.u:.3f}"))
        return lines

    def _mark(self, step: Step, chosen: int) -> str:
        """Whether the same ``u`` draws another token now."""
        assert self._inspection is not None
        names = {row.token: shown(row.piece) for row in self._inspection.candidates}
        drawn = names.get(step.token, "what was drawn")
        if chosen == step.token:
            return f"now: {drawn}, unchanged"
        return f"now: {names.get(chosen, 'another')} instead of {drawn}"

    # Keys and mouse

    def action_cursor(self, by: int) -> None:
        """Move the row cursor."""
        count = len(self._inspection.candidates) if self._inspection else 0
        if count:
            self._row = max(0, min(count - 1, min(self._row, count - 1) + by))
            self.changed()

    def action_step(self, by: int) -> None:
        """Ask for an earlier or later step."""
        if self._step is not None:
            self.post_message(StepRequested(by))

    def action_first(self) -> None:
        """Ask for the first step."""
        self.action_step(-self._index)

    def action_last(self) -> None:
        """Ask for the newest step."""
        self.action_step(self._total - 1 - self._index)

    def action_fork(self) -> None:
        """Ask for the token under the cursor instead of the drawn one."""
        if (candidate := self.selected) is not None:
            self.post_message(ForkRequested(self._index, candidate.token))

    def on_focus(self) -> None:
        self.changed()

    def on_blur(self) -> None:
        self.changed()

    def on_click(self, event: events.Click) -> None:
        """The first click on a row chooses it, a second one, or a double click, forks. What
        was under the pointer at the first click counts: a live table moves on."""
        offset = event.get_content_offset(self)
        if offset is None or self._inspection is None:
            return
        candidates = self._inspection.candidates
        if not 1 <= offset.y <= len(self._shown):  # the header is line 0
            return
        at = self._shown[offset.y - 1]
        if at >= len(candidates):
            return
        here = (self._index, candidates[at].token)
        armed = self._armed
        if armed is not None and (event.chain > 1 or armed == here):
            self.post_message(ForkRequested(*armed))
            self._armed = None
            return
        self._armed, self._row = here, at
        self.changed()


def _within(foot: list[Line], room: int) -> list[Line]:
    """What of the four lines under the rows there is room for: the rows come first, then
    the cumulative bar, then the figures."""
    first, _, bar, pointer = foot
    if room >= 4:
        return foot
    return {3: [first, bar, pointer], 2: [bar, pointer], 1: [first]}.get(room, [])
