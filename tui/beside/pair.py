"""The window's way to two models side by side: what both columns share, and their messages.

Opening, sampler, form, cache mode and pace are the window's own; only the seed is drawn here,
once for both. Both go on writing behind the poem.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from model.config import DEFAULT_MODEL, CacheMode, Controls
from tui.conductor import CYCLE
from tui.entry import read_opening
from tui.filing import FORMATS
from tui.messages import OfColumn
from tui.runs import SEEDS
from tui.session import BY_KEY, FormSettings, Settings, Unknown

if TYPE_CHECKING:
    from tui.app import Yinchuang
    from tui.beside.column import Column
    from tui.beside.screen import PairScreen

OTHER = "verse-bpe"
"""Stands at the right, where it is there: its tokens are pieces."""
UNKNOWN: dict[Unknown, str] = {
    "error": "",
    "drop": "unknown characters left out",
    "unk": "unknown characters read as □",
}


class Pair:
    """What the app and the screen call."""

    def __init__(self, app: Yinchuang, names: Sequence[str] | None = None) -> None:
        """``names``: the two models to begin with; chosen from those there are where None."""
        self._app = app
        self._names = names
        self._seed = 0
        self._used: set[str] = set()
        self.unknown: Unknown = "error"
        """What is done with characters of the opening that a model does not know."""
        self.columns: tuple[Column, ...] = ()
        """Left and right, from the first time on that they were shown."""
        self.screen: PairScreen | None = None

    # what the app calls

    def open(self) -> None:
        """Show both."""
        if self.screen is None:
            self._build()
        else:
            self._share_controls()
        assert self.screen is not None
        self._app.push_screen(self.screen, lambda _: self._app.conductor.show_all())

    def _build(self) -> None:
        from tui.beside.column import Column
        from tui.beside.screen import PairScreen

        self.screen = PairScreen(self)
        # kept while the poem is on show: what is written meanwhile is set in its panes
        self._app.install_screen(self.screen, "beside")
        log_file = self._app.log_file
        self.columns = tuple(Column(self._app, pane, log_file) for pane in self.screen.panes)
        for column in self.columns:
            column.writer.set_pace(self._app.session.look.pace)
            if self._app.keeper is not None:
                self._app.keeper.watch(column.session)

    def mounted(self) -> None:
        """The screen is there: load both models."""
        self._share_controls()
        for place, name in enumerate(self._names or first_pair()):
            self.load(place, name)

    def _share_controls(self) -> None:
        """What was turned in the poem's window holds here, and is shown, before anything runs."""
        for column in self.columns:
            column.conductor.set_controls(self.settings.controls)

    def take(self, message: OfColumn) -> None:
        """A message of one column."""
        self.columns[message.place].take(message.message)
        self._show_state()

    @property
    def writing(self) -> bool:
        """One of them writes."""
        return any(column.runs.writing is not None for column in self.columns)

    def stop(self) -> bool:
        """End what is written, at the next token; False where nothing is."""
        stopped = [column.runs.stop() for column in self.columns]
        return any(stopped)

    def drop(self) -> None:
        """End what is written and what would be; at the end."""
        for column in self.columns:
            column.runs.drop()

    def forget(self, work: str) -> None:
        """Take away the branches of a poem that the history no longer has."""
        for column in self.columns:
            column.session.forget(work)
            column.conductor.show_all()

    def look_changed(self) -> None:
        """The window's pace, or how it draws poems, has changed."""
        for column in self.columns:
            column.writer.set_pace(self._app.session.look.pace)
        if self.screen is not None:
            self.screen.show_look(self._app.session.look)
            self._show_state()

    # what the screen asks

    @property
    def settings(self) -> Settings:
        """What both write with: the window's settings with a seed for both."""
        settings = self._app.session.settings
        if not settings.seed_fixed:
            controls = replace(settings.controls, seed=self._seed)
            settings = replace(settings, controls=controls)
        return settings

    def words(self) -> tuple[str, str]:
        """The settings and what is going on, for the status line."""
        from tui.screen import pace_words

        settings = self.settings
        controls = settings.controls
        parts = [settings.form.describe(), f"cache {controls.cache}", f"seed {controls.seed}"]
        parts += filter(None, [UNKNOWN[self.unknown]])
        doing = "● writing" if self.writing else "○ idle"
        return " · ".join(parts), f"{doing} · {pace_words(self._app.session.look.pace)}"

    def write(self, opening: str) -> None:
        """Let both write from ``opening``."""
        text, told = read_opening(opening)
        if told:
            self._app.main.say(told)
        self._app.session.settings = replace(self._app.session.settings, opening=text)
        if not self._app.session.settings.seed_fixed:
            self._seed = secrets.randbelow(SEEDS)
        shared = replace(self.settings, seed_fixed=True, poems=1)
        self._app.laboratory.poem_begins()
        for column in self.columns:
            column.write(shared, self.unknown)
        self._show_settings()

    def edit_opening(self, text: str) -> None:
        """The opening as it is being typed."""
        self._app.session.change("typing", opening=text)
        for column in self.columns:
            column.conductor.edit_opening(text)

    def note(self, text: str) -> str:
        """How an opening will be read, in words; nothing before a model is there, with which
        what converts is loaded."""
        loaded = any(column.runs.handle is not None for column in self.columns)
        return read_opening(text)[1] if loaded else ""

    def set_controls(self, controls: Controls) -> None:
        """Use these from the next token on."""
        session = self._app.session
        seed = controls.seed if session.settings.seed_fixed else session.settings.controls.seed
        self._app.conductor.set_controls(replace(controls, seed=seed))
        for column in self.columns:
            column.conductor.set_controls(controls)
        self._show_settings()

    def fix_seed(self, fixed: bool) -> None:
        """Let every pair use the seed shown, or each a new one."""
        shown = self.settings.controls
        self._app.session.change("the seed", seed_fixed=fixed, controls=shown)
        self._show_settings()

    def cycle_cache(self) -> None:
        """On, off, race, and on again."""
        mode = self.settings.controls.cache
        self.set_cache(CYCLE[(CYCLE.index(mode) + 1) % len(CYCLE)])

    def set_cache(self, mode: CacheMode) -> None:
        """Use the cache so from the next token on."""
        self.set_controls(replace(self.settings.controls, cache=mode))

    def set_form(self, form: FormSettings) -> None:
        """The form of the next pair; each column says at once where its model cannot."""
        self._app.conductor.set_form(form)
        for column in self.columns:
            column.conductor.set_form(form)
        self._show_settings()

    def cycle_unknown(self) -> None:
        """Refuse unknown characters, leave them out, or let them be read as □."""
        choices = list(UNKNOWN)
        self.unknown = choices[(choices.index(self.unknown) + 1) % len(choices)]
        self._app.main.say(
            f"From the next Enter on: {UNKNOWN[self.unknown] or 'unknown characters are refused'}"
        )
        self._show_state()

    def single(self) -> None:
        """One token more of each, and then wait."""
        if self._app.session.look.pace != BY_KEY:
            self._app.set_pace(BY_KEY)
        for column in self.columns:
            column.writer.permit()

    def models(self) -> list[tuple[str, str]]:
        """Names and descriptions of what can be chosen."""
        from model.registry import specs

        lines = {
            spec.name: f"{spec.name} · {spec.note}"
            + ("" if spec.available else " (its file is missing)")
            for spec in specs()
        }
        for name in sorted({self._app.session.model, *self._used}):
            lines.setdefault(name, name)
        return list(lines.items())

    def load(self, place: int, name: str) -> None:
        """Use another model in one of the columns."""
        self._used.add(name)
        self.columns[place].load(name)

    def save(self, place: int) -> None:
        """Ask for a name and write the poem of a column."""
        from tui.poemfiles import save_poem, suggested_name

        branch, handle = self.columns[place].session.branch, self.columns[place].runs.handle
        if branch is None:
            self._app.main.say("There is no poem to save yet")
            return
        name = Path.cwd() / suggested_name(branch)
        self._app.filing.ask(
            "Save the poem as", name, FORMATS, lambda path: save_poem(path, branch, handle)
        )

    def copy(self, place: int, selected: str = "") -> None:
        """Send what is selected, or the poem of a column, to the terminal's clipboard."""
        from tui.history.export import verse_lines

        branch = self.columns[place].session.branch
        text = selected or (verse_lines(branch.text) if branch else "")
        if text:
            self._app.filing.copy(text)
        else:
            self._app.main.say("There is nothing to copy yet")

    def _show_settings(self) -> None:
        if self.screen is not None:
            self.screen.show_settings()
        self._show_state()

    def _show_state(self) -> None:
        if self.screen is not None:
            self.screen.show_state()


def first_pair() -> tuple[str, str]:
    """The default model and, of the others that are there, the one of pieces or the first;
    the default twice where it is alone."""
    from model.registry import specs

    others = [spec.name for spec in specs() if spec.available and spec.name != DEFAULT_MODEL]
    return DEFAULT_MODEL, OTHER if OTHER in others else next(iter(others), DEFAULT_MODEL)
