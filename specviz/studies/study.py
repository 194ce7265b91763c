"""The shape of a study: one `STUDY` declares it, and the page, the command, its step of `remake` and the index follow.

Place in the flow: each `result.py` of this folder registers its study here; `measure.py` of the folder computes it
and is imported by the command alone, so that the page never loads a model. No torch, no gradio.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from specviz.bench.core.report import markdown_table
from specviz.errors import TraceError, shown
from specviz.registry import Registry
from specviz.resources import ROOT, without
from specviz.trace.files import STANDARD, Limits, read_file, write_file
from specviz.trace.guard import json_of, sentence_of, text_of

if TYPE_CHECKING:
    from specviz.protocol.runs import TraceSource

ResultT = TypeVar("ResultT")
DOCS = ROOT.parent / "docs"
BOTH_MODELS = ("target", "drafter")


@dataclass(frozen=True, slots=True)
class Codec(Generic[ResultT]):
    """A result as `.json` or `.json.gz`, for any dataclass of plain fields."""

    result: type[ResultT]
    noun: str
    """what the file is, as in `this is no alignment study`"""
    digits: int | None
    """that floating-point numbers keep after the point; None: all"""
    made_by: str
    """command that writes such a file"""
    line_each: str = ""
    """field whose entries stand on a line each; the rest is then indented"""
    indented: bool = False
    """everything stands on a line of its own"""
    format: str = ""
    version: str = ""
    """what the file's fields of these names say, where it has them"""
    problems: Callable[[ResultT], Iterable[str]] = lambda result: ()
    """sentences about what cannot be so, without their ends"""

    def write(self, result: ResultT, path: Path) -> None:
        """Raises TraceError for what `read` refuses, and where the path cannot be written."""
        for problem in self.problems(result):
            raise TraceError(f"this {self.noun} contradicts itself: {problem}; please report it.")
        data = asdict(result)  # type: ignore[call-overload]
        write_file(path, self._text(data if self.digits is None else _rounded(data, self.digits)), f"a {self.noun}")

    def _text(self, data: dict[str, Any]) -> str:
        if self.indented:
            return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
        if not self.line_each:
            return json.dumps(data, separators=(",", ":"), allow_nan=False)
        entries = ",\n  ".join(json.dumps(entry, allow_nan=False) for entry in data.pop(self.line_each))
        head = json.dumps(data, indent=1, allow_nan=False).removesuffix("\n}")
        return f'{head},\n "{self.line_each}": [\n  {entries}\n ]\n}}'

    def read(self, path: Path, limits: Limits = STANDARD) -> ResultT:
        """Raises TraceError; the sentence begins with the file's name."""
        return read_file(path, lambda content: self.loads(content, limits), limits)

    def loads(self, content: bytes, limits: Limits = STANDARD) -> ResultT:
        """Raises TraceError with one sentence for whatever is no such file."""
        text = text_of(content, limits)
        data = json_of(text, limits)
        if self.format and (data.get("format"), data.get("version")) != (self.format, self.version):
            raise TraceError(
                f"this is no {self.noun} of version {self.version}, but says {shown(data.get('format'))} "
                f"{shown(data.get('version'))}; `{self.made_by}` writes one."
            )
        try:
            result = TypeAdapter(self.result).validate_json(text, strict=True)
        except ValidationError as error:
            raise TraceError(f"{sentence_of(error, self.noun)} `{self.made_by}` makes it anew.") from None
        for problem in self.problems(result):
            raise TraceError(f"{problem}; measure it again.")
        return result


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, dict):
        return {name: _rounded(entry, digits) for name, entry in value.items()}
    return [_rounded(entry, digits) for entry in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class Choice:
    """A control above the chart: a radio or a dropdown of (label, value)."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    opening: str = ""
    """the value it opens with; empty: the first"""
    kind: Literal["radio", "dropdown"] = "radio"
    min_width: int = 160
    """pixels"""

    @property
    def value(self) -> str:
        return self.opening or self.options[0][1]


@dataclass(frozen=True, slots=True)
class Slider:
    """A control above the chart: a whole number."""

    name: str
    label: str
    least: int
    most: int
    value: int
    min_width: int = 160
    step: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text, for the page and for Markdown alike."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    words: int = 1
    """columns that hold words; the others hold numbers"""
    whole_from: int | None = None
    """columns from here on stay in one piece where a phone sets cells next to their heads"""

    def markdown(self) -> str:
        """Without the caption."""
        return markdown_table(self.heads, self.rows, self.words)


@dataclass(frozen=True, slots=True)
class View:
    """What the page shows of a result for what is chosen."""

    sentence: str
    chart: Any
    """a `Chart`, or data of another kind that `app/studies` has a drawing function for"""
    tables: Sequence[Table] = ()
    origin: str = ""
    """where the numbers come from"""
    hypotheses: Sequence[tuple[str, str]] = ()
    """(what is supposed, what was measured)"""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the study's command: its name and argparse's words for it."""

    name: str
    help: str
    default: Any = None
    type: Callable[[str], Any] | None = None
    metavar: str | None = None
    """None: a switch"""
    least: int | None = None
    """below which a value is refused"""
    optional: Any = None
    """the value where the flag stands alone; None: it takes one"""
    several: bool = False
    """takes any number of values"""
    alone: bool = False
    """excludes the other flags that are alone, and `--tables`"""

    @property
    def settings(self) -> dict[str, Any]:
        """For `add_argument`."""
        if self.metavar is None:
            return {"action": "store_true", "help": self.help}
        found = {"help": self.help, "default": self.default, "type": self.type, "metavar": self.metavar}
        if self.several:
            found["nargs"] = "*"
        return found | ({} if self.optional is None else {"nargs": "?", "const": self.optional})


def count(name: str, default: int | None, meaning: str) -> Flag:
    """A number of at least 1."""
    told = "" if default is None else " (default %(default)s)"
    return Flag(name, f"{meaning}{told}", default, int, "N", least=1)


THREADS = count("--threads", 1, "torch threads")
"""of a study that has no shared flags"""
NICE = Flag("--nice", "lowers the priority of the training by this much", 0, int, "N")


def work_folder(name: str, meaning: str) -> Flag:
    """Where a study that was interrupted goes on from."""
    return Flag("--work-dir", f"{meaning} (default %(default)s)", Path(".cache/specviz", name), Path, "FOLDER")


@dataclass(slots=True)
class Workplace:
    """What the command hands to `measure`: the flags' values, the models and where to report."""

    args: argparse.Namespace
    models: Callable[..., Any]
    """`specviz.lm.load.load`, which here loads each model once"""
    source: Callable[..., TraceSource]
    """the engine, on these models; with `measure=False` headers carry no step times"""
    say: Callable[[str], None]
    """a line of progress"""
    show: Callable[[str], None]
    """a line of the result, on standard output"""
    row: Callable[[Mapping[str, object]], None]
    """named values on a line of progress"""
    progress: Callable[[Iterable[Any], str, int], Iterable[Any]]
    """a bar while items are consumed; what they are, and how many"""
    time_limit: Callable[[float | None], AbstractContextManager[Callable[[], bool]]]
    """says whether to stop: after Ctrl-C, or once so many minutes are over"""
    whole: bool = True
    """set to False where the measurement was cut short and its result is only to be shown"""

    def model(self, name: str) -> Any:
        """A `LoadedModel` on the device and in the number format of the flags; on the CPU in float32 where the study
        has none for them. Raises ModelError where it cannot be loaded."""
        device, dtype = getattr(self.args, "device", "cpu"), getattr(self.args, "dtype", "float32")
        return self.models(name, device=device, dtype=dtype)

    def pair(self) -> tuple[Any, Any]:
        """Target and drafter of the flags. Raises ModelError."""
        return self.model(self.args.target), self.model(self.args.drafter_model)

    def make_way(self) -> None:
        """Lowers the priority of this process as `NICE` says, where the system can."""
        if self.args.nice and hasattr(os, "nice"):
            os.nice(self.args.nice)


@dataclass(frozen=True, slots=True)
class Remade:
    """The study's step of `specviz remake`."""

    makes: str
    minutes: float
    """about, on two idle cores"""
    words: tuple[str, ...] = ()
    """after the command, before `--write`"""
    rests_on: tuple[str, ...] = BOTH_MODELS
    """bundled models that every output must name"""
    shares: bool = False
    """measures no time and works on one thread, so that other such steps may run at the same time"""
    also: tuple[str, ...] = ()
    """further files that it makes, relative to the repository"""
    last: bool = True
    """False: other steps read what it makes, so that it comes with those that learn"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study(Generic[ResultT]):
    """A question, the result that was measured for it, and how that is shown and made anew."""

    name: str
    """of the folder, the command and the step of `remake`"""
    home: str
    """`__package__` of the folder; its module `measure` has `measure(workplace) -> result`"""
    summary: str
    """what the command does"""
    question: str
    """as the Studies tab asks it"""
    tables: Callable[[ResultT], str]
    """Markdown for the terminal and the documentation"""
    codec: Codec[ResultT] | None = None
    """None: the result is not kept, and stands in the documentation alone"""
    file: str = ""
    """the shipped result, below `assets`; of another package: an absolute path"""
    page: str = ""
    """of the documentation, below `docs`; of another package: an absolute path"""
    section: str = ""
    """between whose marks the page has the tables"""
    intro: str = ""
    """Markdown above the controls"""
    remark: Callable[[ResultT], str] = lambda result: ""
    """Markdown below it, where the result decides what it says"""
    choices: Callable[[ResultT], Sequence[Choice | Slider]] = lambda result: ()
    view: Callable[..., View] | None = None
    """(result, a value for each choice) → what is shown; raises OptionError for what was not measured. None: the study
    is not on the page"""
    order: int | None = 100
    """among the questions of the Studies tab; None: it is not among them"""
    flags: Sequence[Flag] = ()
    shared_flags: Literal["", "target", "pair"] = ""
    """flags that choose models and the machine"""
    complaints: Callable[[ResultT], Sequence[str]] = lambda result: ()
    """sentences about lossless drafters that wrote another text; the command then ends with 1"""
    result_flag: str = ""
    """an older word for `--result`"""
    remade: Remade | None = None
    link: str = ""
    """what links and element ids call it; empty: its name with hyphens"""
    formerly: tuple[str, ...] = ()
    """older commands that still run it, such as `bench batch`"""

    @property
    def command(self) -> str:
        """As it is typed after `specviz study`."""
        return self.name.replace("_", "-")

    @property
    def address(self) -> str:
        return self.link or self.command

    @property
    def path(self) -> Path:
        """The shipped result."""
        return ROOT / self.file

    @property
    def document(self) -> Path:
        """The page of the documentation."""
        return DOCS / self.page

    def shipped(self, file: Path | None = None) -> ResultT | None:
        """The shipped result; None where there is none. A damaged one is logged and left out."""
        path = self.path if file is None else file
        return without(path, self.codec.read, None) if self.codec is not None and path.is_file() else None

    def opening(self, result: ResultT) -> View:
        """What is shown before anybody chooses."""
        assert self.view is not None, f"the study {self.name} is not on the page."
        return self.view(result, *(choice.value for choice in self.choices(result)))

    def measure(self, workplace: Workplace) -> ResultT | None:
        """Imports `measure` from its folder. None where the flags asked for something else, which is done."""
        found: ResultT | None = importlib.import_module(f"{self.home}.measure").measure(workplace)
        return found


STUDIES: Registry[Study[Any]] = Registry("study", "specviz.studies", inner="result")


def studies() -> list[Study[Any]]:
    """All studies: in the order of the Studies tab, then the others by name."""
    found = [study for _, study in STUDIES.items()]
    return sorted(found, key=lambda study: (study.order is None, study.order or 0, study.name))
