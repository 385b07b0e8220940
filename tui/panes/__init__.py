"""The window's panes, one file each, every one with its own ``DEFAULT_CSS``.

A pane is a widget that shows what its setters are given and posts the messages of
``tui.messages`` upwards; it holds no state of the session and calls no other pane.
All setters are called on the app's thread and may be called before the pane has a size.

What the app calls, by pane:

``ProbabilitiesPane``
    ``show_step(step: Step | None, index: int, total: int, live: bool)``: the step under the
    cursor; ``index`` counts from 0 among the branch's ``total`` generated steps, ``live``
    says that it is the newest one and the run goes on. ``step.inspection`` may be ``None``
    (at full pace not every step is inspected): chosen token, probability and ``u`` are
    known then, the table waits. ``None`` clears.
    ``show_preview(inspection: Inspection, step: Step, would_be: int)``: ``step`` under
    other settings than it was drawn with; ``would_be`` is the token that would be drawn.
    Posts ``ForkRequested(index, token)`` and ``StepRequested(delta)``.
``SamplerPane``
    ``show(controls: Controls, seed_fixed: bool)``: the settings in force.
    Posts ``ControlsChanged`` and ``SeedModeChanged``. A value that is refused stays in
    its field with the ``SettingError`` text beside it; the old settings stay in force.
``FormPane``
    ``show(settings: FormSettings)``, ``refuse(text: str)``: why the form cannot be
    satisfied, empty where it can. Posts ``FormChanged``.
``SpeedPane``
    ``show(reading: SpeedReading, mode: CacheMode)``. Posts ``CacheModeRequested``.

Wide and narrow: a pane draws itself for whatever width it has, from 38 cells up. Text
of users, models, files and exceptions goes through ``textual.content.Content`` or
``rich.text.Text`` built from plain strings, never through markup.
"""
