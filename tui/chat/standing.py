"""Where the reader stands in a conversation: on which turn, and on which token of it.

Plain state; knows no widgets, threads or models.
"""

from __future__ import annotations

from tui.chat.dialogue import Dialogue, Turn


class Standing:
    """A conversation on show."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.chosen: str | None = None
        """The turn that the reader stands on; ``None``: the newest."""
        self.cursor: int | None = None
        """The token looked at in the shown reply; ``None``: the newest."""
        self.tokens_shown = False
        """The reply's tokens stand where the conversation was."""

    @property
    def path(self) -> list[Turn]:
        """The turns on show."""
        return self.dialogue.path

    @property
    def here(self) -> Turn | None:
        """The turn that the reader stands on."""
        path = self.path
        return next((t for t in path if t.id == self.chosen), path[-1] if path else None)

    @property
    def reply(self) -> Turn | None:
        """The reply that the reader stands on, or before; its steps read."""
        here = self.here
        if here is not None and not here.is_reply:
            here = next((t for t in self.path if t.parent == here.id and t.is_reply), None)
        return self.dialogue.turn(here.id) if here is not None else None

    @property
    def question(self) -> Turn | None:
        """The question that the reader stands on, or behind."""
        here = self.here
        if here is not None and here.is_reply and here.parent is not None:
            here = self.dialogue.turn(here.parent)
        return here if here is not None and here.role == "user" else None

    @property
    def index(self) -> int:
        """The token looked at; -1 where there is none."""
        reply = self.reply
        total = len(reply.steps) if reply else 0
        return total - 1 if self.cursor is None else min(self.cursor, total - 1)

    @property
    def used(self) -> int:
        """Tokens of the context that the newest reply has taken; 0 where it is not known."""
        newest = next((turn for turn in reversed(self.path) if turn.is_reply), None)
        steps = self.dialogue.turn(newest.id).steps if newest else []
        return steps[-1].position + 1 if steps else 0

    def open(self, dialogue: Dialogue) -> None:
        """Show another conversation, at its newest turn."""
        self.dialogue = dialogue
        self.stand()

    def stand(self, turn_id: str | None = None) -> None:
        """Stand on a turn, ``None`` the newest, and on its newest token."""
        self.chosen, self.cursor = turn_id, None
        if self.reply is None:
            self.tokens_shown = False

    def move(self, delta: int) -> None:
        """Stand on a turn so many later."""
        path = self.path
        if path:
            places = [turn.id for turn in path]
            at = places.index(self.chosen) if self.chosen in places else len(places) - 1
            at = max(0, at + delta)
            self.stand(places[at] if at < len(places) - 1 else None)

    def look(self, index: int) -> None:
        """Put the cursor on a token of the shown reply, or let it follow past the newest."""
        reply = self.reply
        if reply is not None:
            self.cursor = None if index >= len(reply.steps) else max(0, index)

    def sibling(self, delta: int) -> bool:
        """Show what stands beside the turn that the reader stands on, or beside the nearest one
        before it that anything stands beside; False where there is none."""
        families = self.dialogue.families()
        path = self.path
        if not path:  # no system prompt any more, and nothing asked yet
            roots = families.get(None, [])
            if roots:
                self.dialogue.show(roots[-1].id)
            return bool(roots)
        here = self.here
        assert here is not None
        for turn in reversed(path[: [each.id for each in path].index(here.id) + 1]):
            family = families[turn.parent]
            if len(family) > 1:
                place = [each.id for each in family].index(turn.id)
                other = family[(place + delta) % len(family)]
                self.dialogue.show(other.id)
                self.stand(other.id if self.path[-1].id != other.id else None)
                return True
        return False
