"""The footer: as many keys as there is room for, each of them whole.

Knows widths; which keys there are, and which come first, the screen's bindings say.
"""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.screen import Screen
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from tui.cells import cell_len

AROUND = 3
"""Cells that Textual puts around a key and its words."""


class WholeKeys(Footer):
    """Textual's footer, except that it cuts no key in the middle of a word, and that it is made
    anew only where its keys change, not at every change of the focus."""

    _composed_for = 0
    _shown: list[ActiveBinding | None] | None = None

    def compose(self) -> ComposeResult:
        keys = [key for key in super().compose() if isinstance(key, FooterKey)]
        palette = [key for key in keys if key.has_class("-command-palette")]
        room = self.size.width - sum(1 + _width(key) for key in palette)
        for key in keys:
            room -= 0 if key in palette else _width(key)
            if key in palette or room >= 0 or not self.size.width:  # no size yet: all
                yield key

    def bindings_changed(self, screen: Screen[Any]) -> None:
        if not screen.app.app_focus or screen is not self.screen:
            return
        active = screen.active_bindings
        shown = [active.get(self.app.COMMAND_PALETTE_BINDING)]
        shown += [key for key in active.values() if key.binding.show]
        if shown != self._shown:
            self._shown = shown
            super().bindings_changed(screen)

    def on_resize(self) -> None:
        """There is room for others now."""
        if self.size.width != self._composed_for:
            self._composed_for = self.size.width
            self.call_after_refresh(self.recompose)


def _width(key: FooterKey) -> int:
    return AROUND + cell_len(key.key_display) + cell_len(key.description)
