"""The recordings that ship with SpecViz: the gallery of runs, which one to open first and how each is labelled, and the
sweep of all drafters.

`index.json` beside the traces holds one card per file, so the page can list them without reading them; `write_index`
makes it.
"""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from specviz.app.runs.examples import Example, found
from specviz.errors import TraceError
from specviz.protocol.runs import RunRequest
from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.result import SweepResult
from specviz.resources import RECORDINGS, without
from specviz.theory.speedup import sure_gain
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.files import STANDARD, SUFFIXES
from specviz.trace.guard import text_of
from specviz.trace.summary import acceptance_rate, branches, mean_acceptance_length

INDEX = "index.json"
SUFFIX = ".json.gz"
"""of recorded runs"""
BUNDLED = RunRequest(prompt="").target


@dataclass(frozen=True, slots=True)
class GalleryCard:
    """One recorded run, in the words of the chooser."""

    file: str
    prompt: str
    drafter: str
    temperature: float
    source: str
    rate: float | None
    """acceptance rate"""
    length: float | None
    """mean acceptance length"""
    gain: float | None = None
    """measured, over plain decoding timed beside it; None: not timed, or too noisy to say"""
    comment: str = ""
    """what is wrong in its text, as the list of recordings says it; empty: nothing known"""
    target: str = BUNDLED

    @property
    def label(self) -> str:
        """`model: median.py, temperature 0 · 2.90 tokens per round · 1.37×`; says so where no model ran, and for which
        target where that is not the bundled one."""
        tau = "nothing drafted" if self.length is None else f"{self.length:.2f} tokens per round"
        drafter = self.drafter if self.target == BUNDLED else f"{self.drafter} for {self.target}"
        parts = [f"{drafter}: {self.prompt}, temperature {self.temperature:g}", tau]
        parts += [] if self.gain is None else [f"{self.gain:.2f}×"]
        parts += ["simulated"] if self.source == "simulated" else []
        parts += [self.comment] if self.comment else []
        return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class Gallery:
    folder: Path
    cards: tuple[GalleryCard, ...]
    first: str | None
    """file to open first; None: the gallery is empty"""
    examples: tuple[Example, ...] = ()
    """runs by what they show"""
    openings: tuple[str, ...] = ()
    """files that open what is of one target; that of `first` among them"""

    def of(self, targets: Collection[str]) -> Gallery:
        """Of these targets alone, and the run that opens what is of them."""
        cards = tuple(card for card in self.cards if card.target in targets)
        files = [card.file for card in cards]
        first = next((file for file in (*self.openings, *files) if file in files), None)
        return replace(
            self, cards=cards, first=first, examples=tuple(one for one in self.examples if one.file in files)
        )

    def read(self, file: str) -> Trace:
        """A run from the gallery. Raises TraceError for a name that is not on it."""
        if all(card.file != file for card in self.cards):
            raise TraceError(f"there is no recorded run '{file[:60]}' here; choose one from the list.")
        return as_recorded(codec.read(self.folder / file))

    def comment(self, file: str | None) -> str:
        """What is to be said of a run's text beside it; empty: nothing."""
        return next((card.comment for card in self.cards if card.file == file), "")


def as_recorded(trace: Trace) -> Trace:
    """A stored live run is a recorded one from now on; a simulated one stays simulated."""
    if trace.started.source != "live":
        return trace
    return replace(trace, started=replace(trace.started, source="recorded"))


def name_of(file: str) -> str:
    """What links and sites call a recorded run."""
    return file.removesuffix(SUFFIX)


def card_of(trace: Trace, file: str, comment: str = "") -> GalleryCard:
    started = trace.started
    return GalleryCard(
        file=file,
        prompt=started.prompt_name or name_of(file),
        drafter=_methods(trace),
        temperature=started.sampling.temperature,
        source="simulated" if started.source == "simulated" else "recorded",
        rate=acceptance_rate(trace.rounds),
        length=mean_acceptance_length(trace.rounds),
        gain=sure_gain(trace),
        comment=comment,
        target=started.target.name,
    )


def _methods(trace: Trace) -> str:
    """The drafter and what was chosen beside it: tree policy, stop policy, verifier."""
    started = trace.started
    names = [f"{started.drafter.name} tree" if any(map(branches, trace.rounds)) else started.drafter.name]
    names += [card.name for card in (started.tree_policy, started.stop_policy, started.verifier) if card is not None]
    return " + ".join(names)


def gallery(folder: Path) -> Gallery:
    """The gallery at `folder`. Cards come from its index; a trace that is not in it is read, a broken one left out."""
    found = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    files = [path.name for path in found if without(path, _is_whole, False)]
    index = _index(folder)
    known = {card.file: card for card in index.cards}
    cards = [card for card in (known.get(file) or _read_card(folder, file) for file in files) if card is not None]
    names = [card.file for card in cards]
    first = index.first if index.first in names else next(iter(names), None)
    examples = tuple(example for example in index.examples if example.file in names)
    return Gallery(folder, tuple(cards), first, examples, index.openings)


def write_index(folder: Path, openings: Sequence[str] = ()) -> Gallery:
    """Read every trace at `folder` and write its `index.json`; see `index_text`."""
    (folder / INDEX).write_text(index_text(folder, openings), encoding="utf-8")
    return gallery(folder)


def index_text(folder: Path, openings: Sequence[str] = ()) -> str:
    """What `index.json` must say of the traces at `folder`. The page opens on the first of `openings` (default: the
    first by name), what is of another target on that of it."""
    traces = {path.name: codec.read(path) for path in sorted(folder.glob(f"*{SUFFIX}"))}
    said = _comments(folder / RECORDINGS)
    content = {
        "first": next(iter((*openings, *traces)), None),
        "openings": list(openings),
        "traces": [asdict(card_of(trace, file, said.get(name_of(file), ""))) for file, trace in traces.items()],
        "examples": [asdict(example) for group in _by_target(traces) for example in found(group)],
    }
    return json.dumps(content, indent=1) + "\n"


def _by_target(traces: Mapping[str, Trace]) -> list[dict[str, Trace]]:
    """The traces by file name, those of each model that answers messages apart: it has examples of its own."""
    groups: dict[str, dict[str, Trace]] = {}
    for file, trace in traces.items():
        started = trace.started
        groups.setdefault("" if started.chat_message is None else started.target.name, {})[file] = trace
    return list(groups.values())


def _comments(path: Path) -> dict[str, str]:
    """Name of a recording → its comment, as the list of what is recorded says it."""
    if not path.is_file():
        return {}
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("recording", [])
    return {str(entry["name"]): str(entry.get("comment", "")) for entry in entries}


def _index(folder: Path) -> Gallery:
    path = folder / INDEX
    if not path.is_file():
        return Gallery(folder, (), None)
    return without(path, _read_index, Gallery(folder, (), None))


def _read_index(path: Path) -> Gallery:
    content = json.loads(path.read_text(encoding="utf-8"))
    examples = tuple(Example(**one) for one in content.get("examples", []))
    cards = tuple(GalleryCard(**card) for card in content["traces"])
    return Gallery(path.parent, cards, content.get("first"), examples, tuple(content.get("openings", ())))


def _is_whole(path: Path) -> bool:
    """A packed file knows whether each of its bytes is as it was written; what it says is read when it is shown."""
    return bool(text_of(path.read_bytes(), STANDARD))


def _read_card(folder: Path, file: str) -> GalleryCard | None:
    return without(folder / file, lambda path: card_of(codec.read(path), file), None)


def labelled_files(cards: Sequence[GalleryCard]) -> list[tuple[str, str]]:
    """(label, file) pairs for a chooser, those of one method together."""
    return [(card.label, card.file) for card in sorted(cards, key=lambda card: (card.drafter, card.prompt))]


RECORDED = "all_drafters"
"""the result that the tab opens with, by its name in assets/sweeps"""


@dataclass(frozen=True, slots=True)
class ShownSweep:
    """A result on the page."""

    result: SweepResult
    live: bool
    """measured by this page; else read from a file"""


def recorded(folder: Path, name: str = RECORDED) -> ShownSweep | None:
    """The shipped result of that name; None where there is none yet. A damaged one is left out: the page can do
    without."""
    for suffix in SUFFIXES:
        path = folder / f"{name}{suffix}"
        if path.is_file():
            return without(path, lambda file: ShownSweep(sweep_store.read(file), live=False), None)
    return None


HEAD_BYTES = 400
"""of a trace, in which its run id stands"""
RUN_ID = re.compile(rb'"run_id":"([^"]+)"')


def recorded_names(gallery: Gallery) -> dict[str, str]:
    """Run id → name in links, of every recorded run; only the head of each file is read."""
    names = {}
    for card in gallery.cards:
        with gzip.open(gallery.folder / card.file) as file:
            match = RUN_ID.search(file.read(HEAD_BYTES))
        if match is not None:
            names[match[1].decode()] = name_of(card.file)
    return names
