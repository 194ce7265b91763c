"""What opens a run on the stage: an example, a recording, a file, the run before; and what is kept to compare it with.

Each answer shows the run and fills the bar and the drawer with what it was asked for, so that Run would run it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.app.form.request import Limits
from specviz.app.look import notices
from specviz.app.look.notices import NO_CHOICE
from specviz.app.runs.gallery import Gallery
from specviz.app.runs.stage import imported, shown_as, stage_of, unpack
from specviz.app.step.comparison import Pair, comparison, shown
from specviz.app.step.controls import Controls
from specviz.app.step.filling import by_control, values_of
from specviz.errors import TraceError
from specviz.protocol.runs import Catalog
from specviz.protocol.sweeps.store import is_sweep
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.limits import UPLOAD
from specviz.trace.unchecked import outcome

Updates = tuple[object, ...]
Listed = tuple[str, str | None]
"""the example and the recorded run that are shown, by which the lists name them; NO_CHOICE, None: another run is"""


@dataclass(frozen=True, slots=True)
class OpeningActions:
    """Opens runs; keeps nothing itself. Every answer but `compare` is (player, badges, panels, message, moment, pair,
    comparison's row, its text, what the list of examples and that of recorded runs name, a value for each control)."""

    gallery: Gallery
    catalog: Catalog
    limits: Limits
    names: Sequence[str]
    """of the controls, in the order in which they are filled"""

    @classmethod
    def over(cls, gallery: Gallery, catalog: Catalog, limits: Limits, controls: Controls) -> OpeningActions:
        return cls(gallery, catalog, limits, tuple(controls.fields))

    def open_example(self, title: str | None) -> Updates:
        """The recording that shows it, at the round that does."""
        if title == NO_CHOICE:
            return self.unchanged()
        example = next((one for one in self.gallery.examples if one.title == title), None)
        if example is None:
            return self._refused(f"there is no example '{str(title)[:60]}' here; choose one from the list.")
        try:
            return self._listed(example.file, example.round, example.title)
        except TraceError as error:
            return self._refused(str(error))

    def open_recorded(self, file: str | None) -> Updates:
        try:
            return self._listed(file or "")
        except TraceError as error:
            return self._refused(str(error))

    def _listed(self, file: str, round_index: int = 0, title: str = NO_CHOICE) -> Updates:
        """A run of the gallery with what is to be said of its text. Raises TraceError where there is no such run."""
        trace = self.gallery.read(file)
        said = shown_as(trace, self.gallery.comment(file))
        return self._stage(trace, round_index, message=said, listed=(title, file))

    def open_file(self, path: str | None) -> Updates:
        """An imported trace, read with the limits for strangers' files; a sweep is the When-it-pays tab's."""
        try:
            trace = imported(path, self.limits.import_bytes)
        except TraceError as error:
            if path is not None and is_sweep(path, self.limits.import_bytes):
                return self._refused(
                    f"{Path(path).name} is a sweep, no single run; it is opened under When it pays.", "plain"
                )
            return self._refused(str(error))
        return self._stage(trace, message=f"{shown_as(trace)} {outcome(trace)}")

    def open_trace(self, trace: Trace, file: str | None = None) -> Updates:
        """A run that was read elsewhere; `file` of the gallery, if it is from there."""
        return self._stage(trace, listed=(NO_CHOICE, file))

    def open_before(self, pair: Pair) -> Updates:
        """The run before, again; the one shown now becomes the one before."""
        if pair.before is None:
            return self._refused("there is no run before this one.")
        return self._stage(codec.loads(unpack(pair.before.run)), pair=pair.swapped())

    def compare(self, player: str, pair: Pair) -> Updates:
        """(pair, row, text) after a run: what was on the stage before stays beside it."""
        try:
            after = pair.then(shown(codec.loads(player or "", UPLOAD)))
        except TraceError:  # nothing whole is on the stage: what stands beside it stays
            return gr.skip(), gr.skip(), gr.skip()
        return after, gr.Row(visible=after.before is not None), comparison(after)

    def _stage(
        self,
        trace: Trace,
        round_index: int = 0,
        message: str = "",
        pair: Pair | None = None,
        listed: Listed = (NO_CHOICE, None),
    ) -> Updates:
        pair = pair or Pair(shown(trace))
        values = values_of(trace.started, self.catalog, self.limits)
        return (
            *stage_of(trace, message),
            f"{trace.started.run_id} {round_index}",
            pair,
            gr.Row(visible=pair.before is not None),
            comparison(pair),
            *listed,
            *self._filled(values),
        )

    def _filled(self, values: Mapping[str, Any]) -> list[object]:
        held = by_control(values)
        return [held.get(name, gr.skip()) for name in self.names]

    def unchanged(self) -> Updates:
        """An answer that changes nothing."""
        return (gr.skip(),) * (10 + len(self.names))

    def _refused(self, sentence: str, tone: str = "error") -> Updates:
        kept = [gr.skip()] * (6 + len(self.names))
        return gr.skip(), gr.skip(), gr.skip(), notices.message(sentence, tone), *kept
