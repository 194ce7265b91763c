"""Every door through which something foreign comes in. What comes is taken, or refused in a sentence.

A door gets damaged content and returns; what it says goes through `sentence`. Any other exception, a traceback on a
terminal, or the page's line about a fault of its own is a `FaultError`.
"""

import contextlib
import html
import io
import json
import os
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from specviz.app.form.request import Limits, request_from
from specviz.app.machine.tab import MachineActions
from specviz.app.machine.view import machine_view
from specviz.app.race.tab import RaceActions
from specviz.app.runs.gallery import Gallery
from specviz.app.runs.stage import resume_at
from specviz.app.speedup.actions import SpeedupActions
from specviz.app.speedup.running import SweepForm, check_limits, definition_of
from specviz.app.step.actions import StepActions
from specviz.app.step.controls import Controls
from specviz.app.step.opening import OpeningActions
from specviz.cli.commands.bench import sweep as bench_sweep
from specviz.cli.main import main
from specviz.errors import SpecVizError
from specviz.live.source import LiveSource
from specviz.lm.load import LoadedModel, load
from specviz.protocol import profiles, races, trainings
from specviz.protocol.choice import with_choices
from specviz.protocol.links import pack, read_request
from specviz.protocol.runs import RunRequest, setting_names
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.definition import expand
from specviz.protocol.sweeps.store import read_definition
from specviz.studies.lanes.result import STUDY as LANES
from specviz.theory import roofline
from specviz.trace import codec
from specviz.trace.check import check
from tests.fuzz import mutations
from tests.fuzz.mutations import ASSETS, GOLDEN, Mutator
from tests.proof.letters import LetterTexts, toy_loader

os.environ["HF_HUB_OFFLINE"] = "1"
TAKEN, REFUSED = "taken", "refused"
FLAGS = {"tree_policy": "tree-policy", "stop_policy": "stop-policy"}
"""settings whose flags have other names"""
SMALL = ("target", "drafter", "drafter-weak")
FAULT_OF_PAGE = "log says more"
MESSAGE = re.compile(r'<p class="sv-message sv-message-(\w+)"[^>]*>(.*?)</p>', re.S)
LONGEST = 900
"""characters of a sentence with its cure: some list every drafter there is"""
MOST_TOKENS = 4
"""of a run that is really made"""


class FaultError(AssertionError):
    """Something came out of a door that no visitor should see."""


def sentence(text: str) -> str:
    """`refused`, where the text is fit to be shown. Raises FaultError."""
    text = text.strip()
    if not 10 < len(text) < LONGEST or not text.isprintable() or "Traceback" in text or "object at 0x" in text:
        raise FaultError(f"not one sentence: {text[:LONGEST]!r}")
    if FAULT_OF_PAGE in text:
        raise FaultError(f"a fault of the page: {text}")
    return REFUSED


def toys() -> Callable[..., LoadedModel]:
    """The bundled names are small tables; others are looked for as ever, without a network."""
    small = toy_loader()
    return lambda name, **settings: (small if name in SMALL else load)(name, **settings)


@dataclass(frozen=True)
class World:
    """What the doors stand in: toy models, the real catalogue, a folder for files."""

    folder: Path

    def __post_init__(self) -> None:
        source = LiveSource(load=toys(), measure=False, datastores=LetterTexts())
        limits = Limits()
        made: dict[str, Any] = {"source": source, "limits": limits, "catalog": source.catalog()}
        made["step"] = StepActions(source, Gallery(self.folder, (), None), limits)
        made["opens"] = OpeningActions.over(made["step"].gallery, made["catalog"], limits, Controls(fields={}))
        made["speedup"] = SpeedupActions(source, limits)
        made["machine"] = MachineActions(source)
        for name, one in made.items():
            object.__setattr__(self, name, one)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


@dataclass
class Visitor:
    session_hash: str = "fuzz"


Door = Callable[[World, Path], str]
"""the content lies in a file"""


# --- what runs a command or reads a page's answer ------------------------------------------------------------------


def command(*arguments: str) -> str:
    """Through the command line."""
    said, shown = io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(shown):
        code = main(arguments)
    told = said.getvalue()
    shown.flush()
    if "Traceback" in told or b"Traceback" in shown.buffer.getvalue():  # type: ignore[attr-defined]
        raise FaultError(f"{arguments[:2]}: {told[-LONGEST:]}")
    if code not in (0, 1, 2):
        raise FaultError(f"{arguments[:2]} ended with {code!r}")
    return sentence(told.splitlines()[-1]) if code == 2 else TAKEN


def page(answer: Any) -> str:
    """What a tab's action says."""
    answer = list(answer.values()) if isinstance(answer, dict) else answer
    texts = [one for one in (answer if isinstance(answer, tuple | list) else (answer,)) if isinstance(one, str)]
    found = [(tone, html.unescape(text)) for one in texts for tone, text in MESSAGE.findall(one)]
    for tone, text in found:
        if tone == "error":
            return sentence(text)
    return TAKEN


# --- the doors, by what they take ------------------------------------------------------------------------------------


def read_trace(world: World, file: Path) -> str:
    trace = codec.read(file)
    for problem in check(trace):
        sentence(f"{problem.place}: {problem.sentence}")
    trace.tables()
    return TAKEN


def upload_trace(world: World, file: Path) -> str:
    return page(world.opens.open_file(str(file)))


def player(world: World, file: Path) -> str:
    """What the page's player may send back: compared, branched from, asked about."""
    text = file.read_bytes().decode("utf-8", "replace")
    page(world.opens.compare(text, world.step.opening().pair))
    page(next(iter(world.step.ask_others(text, 0.0))))
    resume_at(text, (0, 1))
    return TAKEN


def command_on_trace(*arguments: str) -> Door:
    def through(world: World, file: Path) -> str:
        return command(*(str(file) if one == "FILE" else one for one in arguments))

    return through


def read_sweep(world: World, file: Path) -> str:
    definition = read_definition(file)
    check_limits(definition, expand(definition, world.catalog), world.catalog, world.limits)
    return TAKEN


def upload_sweep(world: World, file: Path) -> str:
    return page(world.speedup.open_file(str(file), Visitor()))


def command_on_sweep(world: World, file: Path) -> str:
    """`specviz bench sweep FILE`, on models that nobody has: all is read, nothing is run."""

    def no_models(*_: object) -> LiveSource:
        source = LiveSource(load=toys(), measure=False)
        source.explain = lambda request: "no models are here."  # type: ignore[method-assign]
        return source

    with patch.object(bench_sweep, "live_source", no_models):
        return command("bench", "sweep", str(file))


def read_result(world: World, file: Path) -> str:
    store.read(file)
    return TAKEN


def continue_result(world: World, file: Path) -> str:
    """`--out` names it, and another sweep is asked for."""
    return command("bench", "sweep", str(ASSETS / "sweeps" / "quick.toml"), "--out", str(file))


def read_race(world: World, file: Path) -> str:
    races.read(file)
    return TAKEN


def show_race(world: World, file: Path) -> str:
    shown, said, _ = RaceActions(world.source, world.limits, file).opening()
    return TAKEN if shown else sentence(said)


def read_curve(world: World, file: Path) -> str:
    curve = profiles.read(file)
    for setting in roofline.settings(curve):
        machine_view(curve, *setting)
    return TAKEN


def upload_curve(world: World, file: Path) -> str:
    return page(world.machine.load(str(file), {}))


def read_training(world: World, file: Path) -> str:
    trainings.read(file)
    return TAKEN


def read_lanes(world: World, file: Path) -> str:
    assert LANES.codec is not None
    LANES.codec.read(file)
    return TAKEN


def open_link(world: World, file: Path) -> str:
    text = file.read_bytes().decode("utf-8", "replace")
    return _explained(world, read_request(text))


def notebook(world: World, file: Path) -> str:
    """`specviz.run(**settings)`, on the toy; the settings as JSON."""
    settings = json.loads(file.read_text(encoding="utf-8"))
    known = set(setting_names())
    return _explained(
        world, RunRequest(**with_choices({name: value for name, value in settings.items() if name in known}))
    )


def command_of_run(world: World, file: Path) -> str:
    """The same as flags of `specviz run`, as far as they can be written."""
    settings = json.loads(file.read_text(encoding="utf-8"))
    flags = ["run", f"--prompt={settings.pop('prompt', 'x')}", "--max-new-tokens=4"]
    for name, value in settings.items():
        if not isinstance(value, dict):
            flags.append(f"--{FLAGS.get(name, name.replace('_', '-'))}={value}")
            continue
        for option, one in value.items():
            written = ",".join(map(str, one)) if isinstance(one, list) else one
            if one is not None:
                kind = name.removesuffix("_options")
                flag = option if kind == "drafter" else f"{FLAGS.get(kind, kind)}-{option}"
                flags.append(f"--{flag.replace('_', '-')}={written}")
    with patch("specviz.cli.commands.run.live_source", lambda *_, **__: world.source):
        return command(*(flag.replace("\0", "") for flag in flags))


def fill_form(world: World, file: Path) -> str:
    """Values that the page's form could not have."""
    values = json.loads(file.read_text(encoding="utf-8"))
    return _explained(world, request_from(values, world.catalog, world.limits))


def fill_sweep_form(world: World, file: Path) -> str:
    values = json.loads(file.read_text(encoding="utf-8"))
    definition = definition_of(SweepForm(**values), world.catalog, world.limits)
    check_limits(definition, expand(definition, world.catalog), world.catalog, world.limits)
    return TAKEN


def _explained(world: World, request: RunRequest) -> str:
    """What the engine says of it; where it would run, it does, for a few tokens."""
    reason = world.source.explain(request)
    if reason is not None:
        return sentence(reason)
    if isinstance(request.max_new_tokens, int) and not isinstance(request.max_new_tokens, bool):
        request = replace(request, max_new_tokens=min(request.max_new_tokens, MOST_TOKENS))
    letters = "".join(one for one in request.prompt if one in "abcde")[:40]
    for step in world.source.run(replace(request, prompt=letters or "a")):  # all that the toy can read
        if getattr(step.event, "reason", None) == "failed":
            sentence(str(step.event.message))
    return TAKEN


# --- all of them ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """Something that comes from outside: how it is damaged, and where it is handed in."""

    suffix: str
    mutators: Sequence[Mutator]
    doors: Mapping[str, Door]
    share: int
    """how many of each hundred mutations are of this kind"""


def kinds(world: World) -> dict[str, Kind]:
    def settings(rng: random.Random) -> bytes:
        return json.dumps(mutations.request_of(rng, world.catalog)).encode()

    def linked(rng: random.Random) -> bytes:
        try:
            return pack(mutations.request_of(rng, world.catalog)).encode("ascii")
        except UnicodeEncodeError:  # half a character, which no link can hold
            return mutations.damaged_link(rng)

    def filled(rng: random.Random) -> bytes:
        return json.dumps(mutations.form_of(rng, form_values(world))).encode()

    def swept(rng: random.Random) -> bytes:
        form = SweepForm(["model"], ["story"], "1,2", "", [], "16", [], "0", 1, 1, 8, "target", "drafter", False)
        return json.dumps(mutations.typed(rng, asdict(form))).encode()

    traces = [
        GOLDEN / "trace-1.0-sample.json",
        GOLDEN / "trace-1.0-greedy.json",
        GOLDEN / "trace-1.1-greedy.json",
        GOLDEN / "trace-1.3-beside.json",
    ]
    on_trace = {
        "check": ("check", "FILE"), "check --json": ("check", "FILE", "--json"), "replay": ("replay", "FILE"),
        "analyse": ("analyse", "FILE"), "simulate": ("simulate", "--rates-of", "FILE"),
        "export md": ("export", "FILE", "--as", "md", "--round", "0", "--out", "-"),
        "export html": ("export", "FILE", "--as", "html", "--out", "-"),
        "export perfetto": ("export", "FILE", "--as", "perfetto", "--out", "-"),
        "export graphml": ("export", "FILE", "--as", "graphml", "--round", "0", "--out", "-"),
    }  # fmt: skip
    files = {
        "trace": Kind(
            ".json", [mutations.damaged_json(one) for one in traces],
            {"read": read_trace, "upload": upload_trace, "player": player,
             **{name: command_on_trace(*words) for name, words in on_trace.items()}}, 36,
        ),
        "sweep file": Kind(
            ".toml", [mutations.damaged_toml(one) for one in sorted((ASSETS / "sweeps").glob("*.toml"))],
            {"read": read_sweep, "upload": upload_sweep, "bench sweep": command_on_sweep}, 14,
        ),
        "sweep result": Kind(
            ".json", [mutations.damaged_json(GOLDEN / "sweep-1.0.json")],
            {"read": read_result, "upload": upload_sweep, "bench sweep --out": continue_result}, 8,
        ),
        "race": Kind(
            ".json", [mutations.damaged_json(GOLDEN / "race-1.0.json")], {"read": read_race, "tab": show_race}, 8
        ),
        "hardware": Kind(
            ".json", [mutations.damaged_json(one) for one in sorted((ASSETS / "hardware").glob("*.json"))],
            {"read": read_curve, "upload": upload_curve,
             "simulate --curve": command_on_trace("simulate", "--curve", "FILE")}, 8,
        ),
        "training": Kind(
            ".json", [mutations.damaged_json(ASSETS / "trainings" / "opening.json.gz")], {"read": read_training}, 2
        ),
        "notebook of options": Kind(".json", [settings], {"run": notebook, "specviz run": command_of_run}, 12),
        "link": Kind(".txt", [mutations.damaged_link, linked], {"open": open_link}, 4),
        "form": Kind(".json", [filled], {"run": fill_form}, 5),
        "sweep form": Kind(".json", [swept], {"run": fill_sweep_form}, 3),
    }  # fmt: skip
    return files


def form_values(world: World) -> dict[str, Any]:
    """The form as it opens, with the options of every method."""
    found: dict[str, Any] = {
        "prompt": "abc", "target": "target", "drafter": "model", "drafter_model": "drafter", "verifier": "auto",
        "temperature": 0, "top_k": 0, "top_p": 1, "seed": 7, "max_new_tokens": 4, "stop": "", "tree_policy": "auto",
        "stop_policy": "fixed", "memory": "cold", "datastore": "",
    }  # fmt: skip
    for group, methods in (("drafter", world.catalog.drafters), ("verifier", world.catalog.verifiers)):
        for method in methods:
            found |= {f"{group}.{method.name}.{card.name}": card.default for card in method.options}
    return found


def through(world: World, kind: Kind, door: Door, content: bytes) -> str:
    """What happened. Raises FaultError, with the cause, for whatever is no sentence."""
    file = world.folder / f"handed-in{kind.suffix}"
    file.write_bytes(content)
    try:
        return door(world, file)
    except SpecVizError as error:
        return sentence(str(error))
    except FaultError:
        raise
    except Exception as error:
        raise FaultError(f"{type(error).__name__}: {str(error)[:300]}") from error
    finally:
        file.unlink(missing_ok=True)
