"""Stop strings in a stream of text.

Text that may yet turn into a stop string is held back; it is released as soon as it
cannot, and never shown where it does. The result does not depend on how the text is
cut into pieces.
"""

from __future__ import annotations

from collections.abc import Sequence


class StopScanner:
    """Watches one run's generated text."""

    def __init__(self) -> None:
        self._held = ""

    def push(self, text: str, stops: Sequence[str]) -> tuple[str, bool]:
        """The text that can be shown now, and whether a stop string was completed.

        ``stops`` may differ from call to call; matching is case-sensitive, and the stop
        that is completed first wins (of two completed by one character, the longer).
        """
        if not stops:
            shown, self._held = self._held + text, ""
            return shown, False
        shown = ""
        # Going through what was held again serves a change of the stop strings.
        pending, self._held = self._held + text, ""
        for char in pending:
            self._held += char
            ended = [stop for stop in stops if self._held.endswith(stop)]
            if ended:
                kept = len(self._held) - max(map(len, ended))
                shown, self._held = shown + self._held[:kept], ""
                return shown, True
            release = len(self._held) - self._possible(stops)
            shown, self._held = shown + self._held[:release], self._held[release:]
        return shown, False

    def _possible(self, stops: Sequence[str]) -> int:
        """Length of the longest end of the held text that begins a stop string."""
        held = self._held
        longest = min(len(held), max(map(len, stops)) - 1)
        for size in range(longest, 0, -1):
            if any(stop.startswith(held[-size:]) for stop in stops):
                return size
        return 0

    def flush(self) -> str:
        """What was held and turned out not to be a stop string."""
        rest, self._held = self._held, ""
        return rest
