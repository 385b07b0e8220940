"""The chat in the window: the conversation or a reply's tokens on the left, the instruments
beside it, the lines to type in below. Implements ``tui.chat.view.ChatView``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from model.config import Controls
from model.steps import Step
from tui import messages as m
from tui.arranged import ArrangedScreen
from tui.chat.composer import TITLES, Composer, Mode
from tui.chat.dialogue import Dialogue, Turn
from tui.chat.gauge import gauge
from tui.chat.pages import state_words
from tui.chat.transcript import Transcript
from tui.chat.view import Nobody
from tui.commands import CHAT, CHAT_FOOTER, Command, bindings
from tui.panes.poem import PoemPane
from tui.panes.status import StatusLine
from tui.session import Branch, FormSettings
from tui.widgets.footer import WholeKeys
from tui.widgets.lines import set_title

if TYPE_CHECKING:
    from tui.chat.room import Room


class ChatScreen(ArrangedScreen):
    """Shows where the room's conversation stands, and hands on what the reader does."""

    TABLE: ClassVar[tuple[Command, ...]] = CHAT
    """What the palette offers here."""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(CHAT, CHAT_FOOTER, "screen")]
    AUTO_FOCUS = "Composer"

    def __init__(self, room: Room) -> None:
        super().__init__()
        self._room = room
        self._talk = room.talk
        self._mode: Mode = "ask"
        self._edited = ""  # the turn that is put in another way
        self._aside = room.draft  # what was being typed before an edit
        self._tokens: Branch | None = None  # the reply whose tokens are shown

    def compose(self) -> ComposeResult:
        yield StatusLine(id="chat-status")
        with Horizontal(id="body"):
            yield Transcript(id="transcript")
            tokens = PoemPane(id="tokens")
            tokens.display = False
            yield tokens
            yield Vertical(id="instruments")
        yield Composer(id="composer")
        yield WholeKeys()
        yield Static(id="too-small")

    def on_mount(self) -> None:
        """Show the conversation, then the instruments."""
        self._talk.view = self
        self.query_one(Composer).put(self._aside)
        self._show_mode("ask")
        self._talk.show_turns()
        self.show_state()
        self.call_after_refresh(self._begin)

    async def _begin(self) -> None:
        await self.mount_instruments(with_form=False)
        self._talk.show_all()

    @property
    def draft(self) -> str:
        """What is being typed as a message, an edit aside."""
        return self.query_one(Composer).text if self._mode == "ask" else self._aside

    # what the conversation asks

    def show_turns(self, dialogue: Dialogue, chosen: str | None, left_out: int) -> None:
        self.query_one(Transcript).show(dialogue, chosen, left_out)

    def choose(self, chosen: str | None) -> None:
        self.query_one(Transcript).choose(chosen)

    def grow(self, turn: Turn, steps: Sequence[Step]) -> None:
        self.query_one(Transcript).grow(turn)
        if self._tokens is not None and self._tokens.turn == turn.id:
            self.query_one(PoemPane).append(steps)

    def show_tokens(self, turn: Turn | None, cursor: int | None) -> None:
        transcript, pane = self.query_one(Transcript), self.query_one(PoemPane)
        focused = transcript.has_focus or pane.has_focus
        if turn is None:
            self._tokens = None
        elif self._tokens is None or self._tokens.steps is not turn.steps:
            self._tokens = Branch(
                0, "", FormSettings(), turn.model,
                chosen=turn.chosen, steps=turn.steps, turn=turn.id,
            )  # fmt: skip
        if self._tokens is not None and turn is not None:
            self._tokens.finished = turn.finished
            pane.set_state("Tokens", state_words(turn))
            pane.show_branch(self._tokens, cursor)
        pane.display = turn is not None
        transcript.display = turn is None
        if focused:
            (transcript if turn is None else pane).focus()

    def show_controls(self, controls: Controls, seed_fixed: bool) -> None:
        if self._instruments is not None:
            self._instruments.show_settings(controls, seed_fixed)

    def show_state(self) -> None:
        talk, speaker = self._talk, self._talk.speaker
        used, capacity = talk.at.used, speaker.capacity
        context = f"context {used:,} of {capacity:,}" if capacity else ""
        middle = " · ".join(filter(None, (f"cache {talk.controls.cache}", context)))
        self.query_one(StatusLine).show(speaker.title, middle, self._doing())
        left_out = f"{talk.left_out} left out" if talk.left_out else ""
        hint = speaker.refused or (
            "Ask something below. The conversation is kept: F12 lists it, F1 explains the rest."
        )
        newest = talk.at.path[-1:]  # its heading may be far above its end
        end = state_words(newest[0]) if newest and talk.writing is None else ""
        state = " · ".join(filter(None, (end, left_out)))
        self.query_one(Transcript).set_words("Conversation", state, hint)
        words = " · ".join(filter(None, (gauge(used, capacity), TITLES[self._mode][1])))
        set_title(self.query_one(Composer), TITLES[self._mode][0], words)

    def _doing(self) -> str:
        talk = self._talk
        if talk.waiting:
            return "◌ waiting for the model"
        if talk.writing is not None:
            return f"● replying {len(talk.writing.steps)}"
        return "● replying elsewhere" if talk.replies.now is not None else "○ idle"

    # what the reader types

    def on_submitted(self, message: m.Submitted) -> None:
        """Take what was typed, as what it is typed for."""
        message.stop()
        text, talk = message.text, self._talk
        if self._mode == "system":
            self._show_mode("ask")
            talk.instruct(text.strip())
            return
        if not text.strip():
            return
        if self._mode == "edit":
            taken = talk.edit(self._edited, text)
            if taken:
                self._show_mode("ask")
        elif talk.ask(text):
            self.query_one(Composer).put("")

    def _show_mode(self, mode: Mode, text: str = "") -> None:
        """Type a message, or put something else in another way that reads ``text`` now."""
        composer = self.query_one(Composer)
        if self._mode == "ask" and mode != "ask":
            self._aside = composer.text
        if mode != self._mode or mode != "ask":
            composer.put(self._aside if mode == "ask" else text)
        self._mode = mode
        self.show_state()
        composer.focus()

    # what the keys do

    def action_stop(self) -> None:
        """Stop the reply; else leave the edit, or the tokens."""
        if self._talk.stop():
            return
        if self._mode != "ask":
            self._show_mode("ask")
        elif self._talk.at.tokens_shown:
            self._talk.toggle_tokens(False)
        else:
            self.query_one(Composer).focus()

    def action_cache(self) -> None:
        """The next cache mode."""
        self._talk.cycle_cache()

    def action_tokens(self) -> None:
        """Show the reply's tokens, or the conversation again."""
        self._talk.toggle_tokens()

    def action_more(self) -> None:
        """Go on with a reply that was cut."""
        self._talk.more()

    def action_again(self) -> None:
        """Write another reply."""
        self._talk.again()

    def action_edit(self) -> None:
        """Put what the reader stands on in another way."""
        here, question = self._talk.at.here, self._talk.at.question
        if here is not None and here.role == "system":
            self.action_system()
        elif question is None:
            self.say("There is no message to edit yet")
        else:
            self._edited = question.id
            self._show_mode("edit", question.text)

    def action_system(self) -> None:
        """Put the system prompt in another way."""
        self._show_mode("system", self._talk.at.dialogue.system)

    def action_sibling(self, delta: int) -> None:
        """Show what stands beside a turn: ``delta`` -1 is the one before."""
        self._talk.sibling(delta)

    def action_pane(self) -> None:
        """Go to the next instrument."""
        self.next_pane()

    def action_look(self, delta: int) -> None:
        """Look at a token so many later."""
        self._talk.look(self._talk.at.index + delta)

    def action_new(self) -> None:
        """Begin a new conversation."""
        self._room.new()
        self._show_mode("ask")

    def action_model(self) -> None:
        """Choose another model."""
        self._room.choose_model()

    def action_save(self) -> None:
        """Save the conversation to a file."""
        self._room.save()

    def action_copy(self) -> None:
        """Copy what is selected, else the turn that one stands on."""
        here = self._talk.at.here
        self._room.app.filing.copy(self.selected_text() or (here.text if here else ""))

    def action_poem(self) -> None:
        """Back to the poem; what is being typed stays."""
        self._room.draft = self.draft
        self._talk.view = Nobody()
        self.dismiss()

    @property
    def torn_down(self) -> bool:
        """Its parts have gone, or are not there yet."""
        return not self.query(Transcript) or not self.query(Composer)

    def stop_writing(self) -> bool:
        """What ^C does before it quits."""
        return self._talk.stop()

    # what the panes ask

    def on_fork_requested(self, message: m.ForkRequested) -> None:
        """A row of the table was taken."""
        message.stop()
        self._talk.fork(message.index, message.token)

    def on_step_requested(self, message: m.StepRequested) -> None:
        """Another token was asked for."""
        message.stop()
        self.action_look(message.delta)

    def on_step_pointed(self, message: m.StepPointed) -> None:
        """A token was clicked."""
        message.stop()
        self._talk.look(message.index)

    def on_turn_requested(self, message: m.TurnRequested) -> None:
        """Another turn was asked for."""
        message.stop()
        self._talk.move(message.delta)

    def on_controls_changed(self, message: m.ControlsChanged) -> None:
        """A knob was turned."""
        message.stop()
        self._talk.set_controls(message.controls)

    def on_seed_mode_changed(self, message: m.SeedModeChanged) -> None:
        """The seed was fixed, or let go."""
        message.stop()
        self._talk.seed_fixed = message.fixed

    def on_cache_mode_requested(self, message: m.CacheModeRequested) -> None:
        """A cache mode was chosen."""
        message.stop()
        self._talk.set_cache(message.mode)
