"""The footer: as many keys as there is room for, each of them whole.

Knows widths; which keys there are, and which come first, the screen's bindings say.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from tui.cells import cell_len

AROUND = 3
"""Cells that Textual puts around a key and its words."""


class WholeKeys(Footer):
    """Textual's footer, which cuts the last key that it shows in the middle of a word."""

    _composed_for = 0

    def compose(self) -> ComposeResult:
        keys = [key for key in super().compose() if isinstance(key, FooterKey)]
        palette = [key for key in keys if key.has_class("-command-palette")]
        room = self.size.width - sum(1 + _width(key) for key in palette)
        for key in keys:
            room -= 0 if key in palette else _width(key)
            if key in palette or room >= 0 or not self.size.width:  # no size yet: all
                yield key

    def on_resize(self) -> None:
        """There is room for others now."""
        if self.size.width != self._composed_for:
            self._composed_for = self.size.width
            self.call_after_refresh(self.recompose)


def _width(key: FooterKey) -> int:
    return AROUND + cell_len(key.key_display) + cell_len(key.description)
