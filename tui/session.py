"""The state of the window, without a window.

Knows the opening, the settings, the branches and what undo goes back to. Knows
nothing of Textual, and imports neither torch nor a model: a step is a plain record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from corpora.forms import FORMS

if TYPE_CHECKING:
    from model.constraints import Constraint

FormKind = Literal["free", "acrostic", "fixed"]


@dataclass(frozen=True, slots=True)
class FormSettings:
    """What shape the next poem shall have."""

    kind: FormKind = "free"
    heads: str = ""
    """First characters of the lines. An acrostic needs them, a fixed form may have them
    (an acrostic 七绝), free verse ignores them."""
    form: str = "七绝"
    """The fixed form: a name of ``corpora.forms.FORMS``."""
    characters: Literal[5, 7] = 7
    """Characters a line of an acrostic."""

    def constraint(self) -> Constraint | None:
        """The constraint; ``None`` for free verse. Imports torch.

        Raises ``ConstraintError`` or ``SettingError`` where no text can satisfy it.
        """
        from model.constraints import Acrostic, FixedForm

        if self.kind == "free":
            return None
        if self.kind == "acrostic":
            return Acrostic(self.heads, self.characters)
        return FixedForm(FORMS[self.form], self.heads)

    def describe(self) -> str:
        """On one line: ``七绝 · 藏头 春眠不觉``; ``free`` without a form."""
        if self.kind == "free":
            return "free"
        if self.kind == "acrostic":
            return f"{'五言' if self.characters == 5 else '七言'} · 藏头 {self.heads or '?'}"
        return f"{self.form} · 藏头 {self.heads}" if self.heads else self.form
