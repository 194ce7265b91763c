"""What opens a run on the stage (an example, a recording, a file, the run before), and two runs side by side: the one
shown and the one before it, with what was changed between them and both totals.

Each answer shows the run and fills the bar and the drawer with what it was asked for, so that Run would run it again.
Every text goes through `html.escape`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import gradio as gr

from specviz.app.form.request import Limits
from specviz.app.look import notices
from specviz.app.look.events import Answer, sent
from specviz.app.look.notices import NO_CHOICE
from specviz.app.runs.gallery import Gallery
from specviz.app.runs.stage import STAGE, ending, imported, pack, shown_as, stage_of, unpack
from specviz.app.step.controls import Controls
from specviz.app.step.filling import asked_values, by_control, values_of
from specviz.app.step.pairs import Following, recorded_for
from specviz.errors import TraceError
from specviz.protocol.pairs import pair_named, pair_of
from specviz.protocol.runs import Catalog, RunRequest
from specviz.protocol.sweeps.store import is_sweep
from specviz.theory.speedup import sure_gain
from specviz.trace import codec
from specviz.trace.check import checked, outcome
from specviz.trace.events import Trace
from specviz.trace.files import UPLOAD
from specviz.trace.header import MethodCard, Started

BAR, GAP, TALL = 5, 2, 22
MOST_ROUNDS = 64
"""rounds drawn"""
BROWSER, BROWSER_ADAPTER = "in your browser", "lean-llama-js"
SERVER = "on the server"
DRAFTERS_MODEL, NONE = "drafter's model", "–"


@dataclass(frozen=True, slots=True)
class Shown:
    """A run that was on the stage."""

    settings: Mapping[str, str]
    """what was asked for, by the name it has in a sentence"""
    total: str
    """`1.37×` where plain decoding was timed beside it and the ratio is no noise, tokens per pass otherwise"""
    lengths: tuple[int, ...]
    """tokens of each round"""
    run: bytes
    """the trace as JSON text, packed, to show it again"""
    where: str = ""
    """what ran it, as it has to be said"""
    seconds: float = 0.0
    """engine time"""


@dataclass(frozen=True, slots=True)
class Pair:
    """The run on the stage and the one before it."""

    now: Shown | None = None
    before: Shown | None = None

    def then(self, shown: Shown) -> Pair:
        """After a new run; the same run again changes nothing."""
        return self if self.now is not None and self.now.run == shown.run else Pair(shown, self.now)

    def swapped(self) -> Pair:
        return Pair(self.before, self.now)


def shown(trace: Trace) -> Shown:
    """What is kept of a run."""
    ratio, summary = sure_gain(trace), trace.summary
    per_pass = summary.num_output_tokens / max(1, summary.num_target_passes)
    total = f"{per_pass:.2f} tokens per pass" if ratio is None else f"{ratio:.2f}×"
    lengths = tuple(len(this.committed.tokens) for this in trace.rounds)
    packed = pack(codec.dumps(trace))
    return Shown(settings_of(trace.started), total, lengths, packed, where(trace.started), trace.finished.decode_s)


def where(started: Started) -> str:
    """What ran it: the visitor's own browser just now, or the server; of other runs, what they are."""
    if started.source != "live":
        return f"a {started.source} run"
    return BROWSER if started.target.adapter == BROWSER_ADAPTER else SERVER


def settings_of(started: Started) -> dict[str, str]:
    """The settings a visitor changes, in the order in which a sentence names them."""
    options = started.drafter.options
    shape = options.get("branching")
    tree = f"tree {','.join(map(str, shape))}" if isinstance(shape, list) and shape else ""
    told = {
        "drafter": started.drafter.name,
        "γ": tree or str(options.get("gamma", NONE)),
        "tree policy": _method(started.tree_policy),
        "stop policy": _method(started.stop_policy),
        "verifier": _method(started.verifier),
        DRAFTERS_MODEL: NONE if started.drafter.model is None else started.drafter.model.name,
        "target": started.target.name,
        "number format": started.target.dtype,
        "temperature": f"{started.sampling.temperature:g}",
        "top-k": str(started.sampling.top_k),
        "top-p": f"{started.sampling.top_p:g}",
        "seed": str(started.seed),
        "new tokens": str(started.max_new_tokens),
        "prompt": _quoted(started.prompt_text if started.chat_message is None else started.chat_message),
    }
    others = {name: str(value) for name, value in options.items() if name not in ("gamma", "branching")}
    return {**told, **{f"{started.drafter.name} {name.replace('_', ' ')}": value for name, value in others.items()}}


def _method(card: MethodCard | None) -> str:
    if card is None:
        return NONE
    options = ", ".join(f"{name} {value}" for name, value in card.options.items() if value is not None)
    return f"{card.name} ({options})" if options else card.name


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f"“{line[:28]}…”" if len(line) > 29 else f"“{line}”"


def changed(before: Shown, now: Shown) -> tuple[str, str]:
    """What differs between two runs, as each had it: `γ 2` and `γ 8`. The verifier goes unnamed where it follows the
    temperature, and of two drafters what is each one's own. The same run in the visitor's browser and elsewhere differs
    by its time."""
    names = [name for name in {**before.settings, **now.settings} if _of(before, name) != _of(now, name)]
    if "temperature" in names and "verifier" in names:
        names.remove("verifier")
    if "drafter" in names:
        names = [name for name in names if not _goes_with_drafter(name, before, now)]
    if not names and before.where != now.where and BROWSER in (before.where, now.where):
        return _timed(before), _timed(now)
    if not names:
        return "before", "the same again"
    return _told(before, names), _told(now, names)


def _goes_with_drafter(name: str, before: Shown, now: Shown) -> bool:
    """Whether two drafters need not share the setting: an option of one's own, or what one of them has none of."""
    own = tuple(f"{_of(one, 'drafter')} " for one in (before, now))
    return name == DRAFTERS_MODEL or name.startswith(own) or NONE in (_of(before, name), _of(now, name))


def _timed(run: Shown) -> str:
    return f"{run.where}, {run.seconds:.2f} s of engine time"


def _of(one: Shown, name: str) -> str:
    return one.settings.get(name, NONE)


def _told(one: Shown, names: list[str]) -> str:
    return ", ".join(_of(one, name) if name in ("drafter", "prompt") else f"{name} {_of(one, name)}" for name in names)


def comparison(pair: Pair) -> str:
    """Both runs as HTML, the earlier one greyed; nothing where there is no earlier one."""
    if pair.now is None or pair.before is None:
        return ""
    was, is_now = changed(pair.before, pair.now)
    rows = (("sv-was", "before", was, pair.before), ("sv-is", "now", is_now, pair.now))
    tallest = max(1, *pair.before.lengths, *pair.now.lengths)
    return (
        '<div class="sv-compared">'
        + '<span class="sv-arrow" aria-hidden="true">→</span>'.join(
            f'<span class="{kind}"><span class="sv-when">{when}</span> {escape(told)}: <b>{escape(one.total)}</b> '
            f"{_strip(one, tallest)}</span>"
            for kind, when, told, one in rows
        )
        + "</div>"
    )


def _strip(one: Shown, tallest: int) -> str:
    """Tokens of each round as small columns."""
    drawn = one.lengths[:MOST_ROUNDS]
    width = (BAR + GAP) * len(drawn)
    told = f"{sum(one.lengths)} tokens in {len(one.lengths)} passes; one column per round, as tall as its tokens"
    columns = "".join(
        f'<rect x="{at * (BAR + GAP)}" y="{TALL - TALL * tokens / tallest:.1f}" width="{BAR}" '
        f'height="{TALL * tokens / tallest:.1f}"/>'
        for at, tokens in enumerate(drawn)
    )
    return (
        f'<svg class="sv-strip" role="img" aria-label="{told}" width="{width}" height="{TALL}" '
        f'viewBox="0 0 {width} {TALL}"><title>{told}</title>{columns}</svg>'
    )


# --- opening ---------------------------------------------------------------------------------------------------------


Listed = tuple[str, str | None]
"""the example and the recorded run that are shown, by which the lists name them; NO_CHOICE, None: another run is"""


OTHERS_SAID = "Name the target under Settings, Models: a folder, or a hub id."


@dataclass(frozen=True, slots=True)
class OpeningActions:
    """Opens runs; keeps nothing itself. Answers by the names of `StepParts.opened`."""

    gallery: Gallery
    catalog: Catalog
    limits: Limits
    names: Sequence[str]
    """of the controls that are filled"""

    @classmethod
    def over(cls, gallery: Gallery, catalog: Catalog, limits: Limits, controls: Controls) -> OpeningActions:
        return cls(gallery, catalog, limits, tuple(controls.fields))

    def choose(self, name: str | None) -> Answer:
        """A pair: the recorded run that opens it and the controls that ask for it; where none is recorded, its first
        prompt."""
        if name is None:
            return {}
        pair = pair_named(self.catalog, name)
        if pair is None:
            return self._refused(OTHERS_SAID, "plain")
        recorded = recorded_for(self.catalog, self.gallery, pair.target).first
        if recorded is not None:
            try:
                return self._listed(recorded)
            except TraceError as error:
                return self._refused(str(error))
        prompt = pair.prompts[0].text if pair.prompts else ""
        asked = RunRequest(prompt=prompt, target=pair.target, chat=pair.chat).with_drafter(pair.drafter)
        held = by_control(asked_values(asked))
        return {**self.following(pair.target, {name: held[name] for name in self.names if name in held})}

    def follow(self, target: str | None, drafter: str) -> Answer:
        """After another target was named in Settings."""
        pair = pair_of(self.catalog, target or "")
        if pair is None:
            return self.following(target or "", {"drafter": drafter})
        kept = drafter if drafter in pair.drafters else pair.drafter
        return self.following(pair.target, {"drafter": kept, "chat": pair.chat})

    def following(self, target: str, held: Answer) -> Answer:
        """See `Following.answer`."""
        return Following(self.catalog, self.gallery).answer(target, held)

    def open_example(self, title: str | None, target: str = "") -> Answer:
        """The recording that shows it, at the round that does; of the target's pair."""
        if title in (NO_CHOICE, None):
            return {}
        examples = recorded_for(self.catalog, self.gallery, target).examples
        example = next((example for example in examples if example.title == title), None)
        if example is None:
            return self._refused(f"there is no example '{str(title)[:60]}' here; choose one from the list.")
        try:
            return self._listed(example.file, example.round, example.title)
        except TraceError as error:
            return self._refused(str(error))

    def open_recorded(self, file: str | None) -> Answer:
        if file is None:
            return {}
        try:
            return self._listed(file)
        except TraceError as error:
            return self._refused(str(error))

    def _listed(self, file: str, round_index: int = 0, title: str = NO_CHOICE) -> Answer:
        """A run of the gallery with what is to be said of its text. Raises TraceError where there is no such run."""
        trace = self.gallery.read(file)
        said = shown_as(trace, self.gallery.comment(file))
        return self._stage(trace, round_index, message=said, listed=(title, file))

    def open_file(self, path: str | None) -> Answer:
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

    def open_browsers(self, pair: Pair, event: gr.EventData) -> Answer:
        """A run that the visitor's browser has made, read with the limits for strangers' files. It stays beside the run
        before, which may be the server's of the same request."""
        text = sent(event, "trace", str)
        most = self.limits.import_bytes
        if len(text) > most:
            return self._refused(f"the run is larger than the {most / 1e6:g} MB this machine takes.")
        try:
            trace = checked(codec.loads(text, UPLOAD), "the browser's run")
        except TraceError as error:
            return self._refused(str(error))
        return self._stage(trace, message=f"Run in your browser: {ending(trace)}", pair=pair.then(shown(trace)))

    def open_trace(self, trace: Trace, file: str | None = None) -> Answer:
        """A run that was read elsewhere; `file` of the gallery, if it is from there."""
        return self._stage(trace, listed=(NO_CHOICE, file))

    def open_before(self, pair: Pair) -> Answer:
        """The run before, again; the one shown now becomes the one before."""
        if pair.before is None:
            return self._refused("there is no run before this one.")
        return self._stage(codec.loads(unpack(pair.before.run)), pair=pair.swapped())

    def compare(self, player: str, pair: Pair) -> Answer:
        """After a run: what was on the stage before stays beside it."""
        try:
            after = pair.then(shown(codec.loads(player or "", UPLOAD)))
        except TraceError:  # nothing whole is on the stage: what stands beside it stays
            return {}
        return _beside(after)

    def _stage(
        self,
        trace: Trace,
        round_index: int = 0,
        message: str = "",
        pair: Pair | None = None,
        listed: Listed = (NO_CHOICE, None),
    ) -> Answer:
        filled = by_control(values_of(trace.started, self.catalog, self.limits))
        example, recorded = listed
        held: Answer = {"example": example, "recorded": recorded}
        held |= {name: filled[name] for name in self.names if name in filled}
        return {
            **dict(zip(STAGE, stage_of(trace, message), strict=True)),
            "moment": f"{trace.started.run_id} {round_index}",
            **_beside(pair or Pair(shown(trace))),
            **self.following(trace.started.target.name, held),
        }

    def _refused(self, sentence: str, tone: str = "error") -> Answer:
        return {"message": notices.message(sentence, tone)}


def _beside(pair: Pair) -> Answer:
    """What shows the run before."""
    return {"pair": pair, "before_row": gr.Row(visible=pair.before is not None), "before": comparison(pair)}
