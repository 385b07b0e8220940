"""The lab in the window: the experiments on the left, what the chosen one found on the right."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from corpora.errors import UserError
from tui.cells import fit, shown
from tui.commands import LAB, LAB_FOOTER, Command, bindings
from tui.dialogs import Ask
from tui.lab.bench import Asked, Bench
from tui.lab.paper import Paper
from tui.panes.status import StatusLine
from tui.widgets.footer import WholeKeys
from tui.widgets.lines import Line, set_title

if TYPE_CHECKING:
    from model.lab.catalogue import Experiment
    from tui.lab.laboratory import Laboratory
    from tui.lab.outcome import Outcome

NARROW = 100
LIST_WIDE, LIST_NARROW = 40, 18
NAME = 13
BAR = 20
NEEDS = {"corpus": "the built corpus", "chat": "a chat model"}
FORMATS = ".md Markdown · .json everything that was measured"


class LabScreen(Screen[None]):
    """Lists the experiments, runs the one that is chosen, shows what came out."""

    TABLE: ClassVar[tuple[Command, ...]] = LAB
    """What the palette offers here."""
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(LAB, LAB_FOOTER, "screen")]
    AUTO_FOCUS = "#experiments"
    DEFAULT_CSS = f"""
    LabScreen {{
        layout: vertical;
        & #lab {{ height: 1fr; }}
        & #experiments {{
            width: {LIST_WIDE}; height: 100%;
            border: round $foreground 30%; background: $background; padding: 0 1;
            border-subtitle-color: $text-muted;
            &:focus {{ border: heavy $border; }}
        }}
        & #paper {{ width: 1fr; height: 100%; }}
        &.-narrow #experiments {{ width: {LIST_NARROW + 4}; }}
    }}
    """

    def __init__(self, laboratory: Laboratory) -> None:
        super().__init__()
        self._laboratory = laboratory
        self._bench = laboratory.bench
        self._experiments = laboratory.experiments
        self._asked = Asked()
        self._laid: tuple[Outcome, int, list[Line]] | None = None

    def compose(self) -> ComposeResult:
        yield StatusLine(id="lab-status")
        with Horizontal(id="lab"):
            options = OptionList(*(Option("", id=one.name) for one in self._experiments))
            options.id = "experiments"
            set_title(options, "Lab", "Enter runs")
            yield options
            yield Paper(id="paper")
        yield WholeKeys()

    def on_mount(self) -> None:
        """Stand on the running experiment, or the first one."""
        running = self._bench.running
        places = [at for at, one in enumerate(self._experiments) if one is running]
        self.query_one(OptionList).highlighted = places[0] if places else 0
        self.set_interval(1.0, self._tick)
        self._narrow(self.app.size.width)
        self.show(from_top=True)

    def on_resize(self) -> None:
        """Shorten the list where there is little room."""
        self._narrow(self.app.size.width)

    @property
    def chosen(self) -> Experiment | None:
        """The experiment that the list stands on."""
        place = self.query_one(OptionList).highlighted
        return None if place is None else self._experiments[place]

    def show(self, *, from_top: bool = False) -> None:
        """Bring everything up to date."""
        self._show_list()
        self._show_state()
        paper, chosen = self.query_one(Paper), self.chosen
        if chosen is None:
            paper.show(lambda width: [[("There are no experiments", "quiet")]], from_top=True)
            return
        set_title(paper, chosen.title, "Tab, then ↑↓ scrolls")
        paper.show(lambda width: self._page(chosen, width), from_top=from_top)

    def follow(self) -> None:
        """The running experiment has come a step further."""
        self._show_state()
        if self.chosen is not None and self.chosen is self._bench.running:
            self.query_one(Paper).show(self._layout_of(self.chosen), from_top=False)

    # what the keys do

    def on_option_list_option_highlighted(self) -> None:
        self.show(from_top=True)

    def on_option_list_option_selected(self) -> None:
        self.action_run()

    def action_run(self) -> None:
        """Run the experiment that the list stands on."""
        if self.chosen is None:
            return
        try:
            trace = self._laboratory.poem() if self.chosen.reads_trace else None
        except UserError as error:
            self._say(str(error))
            return
        asked = replace(self._asked, trace=trace)
        if not self._bench.begin(self.chosen, asked):
            running = self._bench.running
            self._say(f"{running.name if running else 'Another one'} is running; Esc stops it")
        self.show(from_top=True)

    def action_stop(self) -> None:
        """Stop the running experiment, or leave the lab."""
        if self._bench.running is None:
            self.dismiss()
            return
        self._bench.stop()
        self._show_state()

    def action_poem(self) -> None:
        """Back to the poem; what is running goes on."""
        self.dismiss()

    def action_quick(self) -> None:
        """All samples, or fewer."""
        self._asked = replace(self._asked, quick=not self._asked.quick)
        self._show_state()

    def action_prompt(self) -> None:
        """Ask for a prompt to be used instead of the experiments' own."""
        hint = "for the experiments that read one; empty: their own prompts"
        self.app.push_screen(Ask("Prompt", self._asked.prompt or "", hint), self._prompted)

    def _prompted(self, text: str | None) -> None:
        if text is None:
            return
        prompt, told = self._laboratory.read_prompt(text)
        if told:
            self._say(told)
        self._asked = replace(self._asked, prompt=prompt or None)
        self._show_state()

    def action_export(self) -> None:
        """Write what is shown to a file."""
        outcome = self._bench.outcomes.get(self.chosen.name) if self.chosen else None
        if outcome is None:
            self._say("There is no result here yet: Enter runs the experiment")
            return
        from tui.lab.export import export

        name = Path.cwd() / f"lab-{outcome.experiment.name}.md"
        self._laboratory.filing.ask(
            "Save the result as", name, FORMATS, lambda path: export(outcome, path)
        )

    def action_page(self, pages: int) -> None:
        """Scroll the result, wherever the focus is."""
        paper = self.query_one(Paper)
        scroll = paper.scroll_page_down if pages > 0 else paper.scroll_page_up
        scroll(animate=False)

    # drawing

    def _show_list(self) -> None:
        options = self.query_one(OptionList)
        for place, one in enumerate(self._experiments):
            outcome = self._bench.outcomes.get(one.name)
            mark = "●" if one is self._bench.running else outcome.mark if outcome else "·"
            words = f"{mark} {fit(one.name, NAME)}"
            if not self.has_class("-narrow"):
                words = fit(f"{words} {shown(one.title)}", LIST_WIDE - 4)
            options.replace_option_prompt_at_index(place, Content(words))

    def _show_state(self) -> None:
        bench, asked = self._bench, self._asked
        doing = "○ idle"
        if bench.running is not None:
            doing = f"● {bench.running.name} {_share(bench)}"
            if bench.stopping:
                doing = f"◌ {bench.running.name} stops after this step"
        middle = "quick" if asked.quick else "all samples"
        if asked.prompt is not None:
            middle += f" · prompt {asked.prompt}"
        self.query_one("#lab-status", StatusLine).show(self._laboratory.model, middle, doing)

    def _tick(self) -> None:
        if self._bench.running is not None:
            self.follow()

    def _layout_of(self, experiment: Experiment) -> Callable[[int], list[Line]]:
        return lambda width: self._page(experiment, width)

    def _page(self, experiment: Experiment, width: int) -> list[Line]:
        """Claim, progress, and what the last run found."""
        from tui.lab.sheet import folded

        lines: list[Line] = [[(line, "quiet")] for line in folded(experiment.claim, width)]
        lines.append([])
        if experiment is self._bench.running:
            lines += [*_progress_lines(self._bench, width), []]
        outcome = self._bench.outcomes.get(experiment.name)
        if outcome is None:
            return [*lines, *([(line, "")] for line in folded(_invitation(experiment), width))]
        style = "good" if outcome.mark == "✓" else "bad" if outcome.mark == "✗" else ""
        words = f"{outcome.words()}, {outcome.seconds:.1f} s"
        lines += [[(line, style)] for line in folded(f"{outcome.mark} {words}", width)]
        lines.append([])
        return [*lines, *self._sheet(outcome, width)] if outcome.result else lines

    def _sheet(self, outcome: Outcome, width: int) -> list[Line]:
        """What was found, laid out once for a width: progress is shown above it many times a
        second."""
        from tui.lab.sheet import sheet

        laid = self._laid
        if laid is None or laid[0] is not outcome or laid[1] != width:
            lines = sheet(outcome.result, width) if outcome.result else []
            self._laid = laid = (outcome, width, lines)
        return laid[2]

    def _narrow(self, width: int) -> None:
        self.set_class(width < NARROW, "-narrow")
        self._show_list()

    def _say(self, text: str) -> None:
        self.app.notify(text, markup=False)


def _invitation(experiment: Experiment) -> str:
    needs = " and ".join(NEEDS[need] for need in experiment.uses)
    reads = " Reads a prompt (F3)." if experiment.reads_prompt else ""
    reads += " Looks at the poem in the window, where one is finished." * experiment.reads_trace
    return f"Enter runs it.{f' Uses {needs}.' if needs else ''}{reads}"


def _share(bench: Bench) -> str:
    progress = bench.progress
    return f"{progress.done}/{progress.total}" if progress.total else "begins"


def _progress_lines(bench: Bench, width: int) -> list[Line]:
    """A bar, how far it is, for how long, and what comes next."""
    progress = bench.progress
    share = progress.done / progress.total if progress.total else 0.0
    full = round(min(1.0, share) * BAR)
    seconds = time.monotonic() - bench.began
    bar: Line = [("█" * full, "series0"), ("░" * (BAR - full), "quiet")]
    bar.append((f" {_share(bench)} · {seconds:.0f} s", ""))
    return [bar, [(fit(progress.doing, width), "quiet")]]
