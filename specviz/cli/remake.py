"""The list of everything that rests on the bundled weights, or on those of a real model, in the order in which it is
made; with which weights each file was made, and whether these are the ones that are meant now.

Each step is a command that a person could give alone. Later ones use what earlier ones made: stop classifiers, the
acceptance vector and the token counts before anything is recorded or measured with them.

Place in the flow: read by `specviz remake`; a test holds that every file that names weights belongs to a step.
"""

from __future__ import annotations

import os
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.cli.commands import bench as bench_commands
from specviz.cli.named_weights import named, of_folder
from specviz.errors import SpecVizError
from specviz.lm.fetched import SMOLLM2
from specviz.resources import ROOT
from specviz.studies.study import Study, studies

SPECVIZ = ("specviz",)
FLOAT = ("--dtype", "float32")
BOTH = ("target", "drafter")
SWEEP, FAILURES = "assets/sweeps/all_drafters", "assets/sweeps/failures"
FAILURES_ZIP = f"{FAILURES}.traces.zip.xz"
RACE = "assets/races/opening.json.gz"
RACE_PROMPT = "story-stormy-sophie"
MODULES = (
    (("eagle",), 26, ("--module-options", "eagle.unroll=3")),
    (("fspad",), 13, ("--module-options", "fspad.unroll=3")),
    (("medusa", "markov", "hydra", "kangaroo", "masked_block", "small_model"), 13, ()),
    (("dflash", "dspark"), 13, ()),
)
"""drafter modules that are trained together, for how many minutes, and further flags"""
SCENES = "scene-*.json.gz"
REAL = "smollm2-*.json.gz"
"""runs of a real model, which this machine may lack"""
REAL_TARGET, REAL_MODULES = ("--target", SMOLLM2.name), "assets/modules/smollm2"
REAL_WEIGHTS = (SMOLLM2.name,)
REAL_RACE, REAL_SWEEP = "assets/races/smollm2.json.gz", "assets/sweeps/smollm2"
REAL_SHAPES = (
    "eagle.wiring=eagle3 eagle.depths=8,20,30 eagle.draft_tokens=8192 eagle.own_head=false "
    "small_model.size=256 small_model.draft_tokens=8192 dspark.layers=1 dspark.kv_heads=3 "
    "medusa.heads=2 medusa.draft_tokens=8192"
)
BESIDE_THE_BLOCK = (
    ("selector", "DFlash 2's selector over the shipped block", 46,
     ("--module-options", "dflash.selector_rank=64 dflash.anchors=96", "--module-frozen", "--module-lr", "0.02",
      "--module-rows", "8", "--minutes", "45")),
    ("causal", "the shipped block trained on as causal", 25,
     ("--module-options", "dflash.causal=true", "--module-lr", "0.003", "--module-rows", "8", "--minutes", "0",
      "--tokens", "950000")),
)  # fmt: skip
"""weights that are stored on the block of `dflash`: what they are, minutes, and further flags"""
CROSS_KV_TOKENS = "200000"
"""a module with positions of its own is trained alone, and as many tokens make its presets comparable"""
SHIPPED = "assets/modules"
GO_ON = ("--module-lr", "0.01", "--module-start", SHIPPED, "--out", SHIPPED, "--threads", "1", "--nice", "0")
"""from the shipped weights, which are written over, on one thread"""
DEPTH_WIDTH_MINUTES = "42"
TRAINING = "assets/trainings/opening.json.gz"


@dataclass(frozen=True, slots=True)
class Output:
    """A file, or one section of a page; `path` is relative to the repository and may be a pattern."""

    path: str
    section: str = ""
    keeps_others: bool = False
    """entries of other weights may stay in it, or other files next to it"""
    without: tuple[str, ...] = ()
    """names of files that match the pattern and belong to other steps, as patterns"""

    def __str__(self) -> str:
        return f"{self.path} ({self.section})" if self.section else self.path


@dataclass(frozen=True, slots=True)
class Step:
    """One command."""

    name: str
    makes: str
    command: tuple[str, ...]
    """what follows `python -m`"""
    outputs: tuple[Output, ...]
    minutes: float
    """about, on two idle cores"""
    rests_on: tuple[str, ...] = BOTH
    """models whose weights every output must name"""
    shares: bool = False
    """measures no time and works on one thread, so that its neighbours that share too may run at the same time"""
    formerly: tuple[str, ...] = ()
    """older names of it"""
    impossible: Callable[[], str] = lambda: ""
    """why this machine cannot run it; empty where it can"""

    def __str__(self) -> str:
        """As one would type it."""
        return " ".join(self.command if self.command[0] == "specviz" else ("python", "-m", *self.command))


def steps() -> tuple[Step, ...]:
    """All of them, in order."""
    remade = [(study.remade, _of_study(study)) for study in studies() if study.remade is not None]
    first = [step for made, step in remade if not made.last]
    early, late = ([step for made, step in remade if made.last and step.shares is shares] for shares in (True, False))
    return (*first, *_learnt(), *_trained(), *early, *_measured_once(), *_recorded(), *_benches(), *late, _pictures())


def _of_study(study: Study[Any]) -> Step:
    """What the study's declaration says of it."""
    made = study.remade
    assert made is not None, f"the study {study.name} has no step."
    kept = [] if study.codec is None else [Output(_in_repository(study.path))]
    section = [Output(_in_repository(study.document), study.section)]
    also = [Output(path) for path in made.also]
    words = (*SPECVIZ, "study", study.command, *made.words, "--write")
    outputs, formerly = (*kept, *also, *section), tuple(command.split()[-1] for command in study.formerly)
    return Step(study.command, made.makes, words, outputs, made.minutes, made.rests_on, made.shares, formerly)


def _in_repository(path: Path) -> str:
    """Relative to it; of another package's study as it is."""
    return str(path.relative_to(ROOT.parent)) if path.is_relative_to(ROOT.parent) else str(path)


def _learnt() -> tuple[Step, ...]:
    """What methods read when they run."""
    return (
        Step("vector", "the acceptance vectors that Sequoia's trees are made for",
             (*SPECVIZ, "bench", "vector", *FLOAT), (Output("assets/acceptance_vector.json"),), 2),
        Step("learn", "the stop policies' classifiers", (*SPECVIZ, "learn"), (Output("assets/stops/*.json"),), 5),
    )  # fmt: skip


def _trained() -> tuple[Step, ...]:
    """Hours of one thread each, in which no time is measured: as many at once as there are processors."""
    return (
        Step("skips", "sub-layers that the target can skip (needs the text of `specviz train prepare`)",
             (*SPECVIZ, "train", "skips", "--threads", "1", "--nice", "0"),
             (Output("assets/skips.json", keeps_others=True),), 6, rests_on=("target",), shares=True),
        Step("depth-width-networks", "small models of six depths at equal size",
             (*SPECVIZ, "study", "depth-width", "--minutes", DEPTH_WIDTH_MINUTES, "--train", "--write"),
             (Output("assets/modules/small_model_*/module.json"),), 43, rests_on=("target",), shares=True),
        *(Step(f"modules-{words[0]}", f"the drafters that learn: {', '.join(words)}",
               (*SPECVIZ, "train", "module", *words, "--minutes", str(minutes), *GO_ON, *more),
               tuple(Output(f"assets/modules/{name}/module.json") for name in words), minutes + 1,
               rests_on=("target",), shares=True)
          for words, minutes, more in MODULES),
        *(Step(f"cross-kv-{preset}", f"the drafter that reads the target's cache, as {preset}",
               (*SPECVIZ, "train", "module", "cross_kv", "--module-options", f"cross_kv.preset={preset}", "--minutes",
                "0", "--tokens", CROSS_KV_TOKENS, *GO_ON),
               (Output(f"assets/modules/{folder}/module.json"),), 7, rests_on=("target",), shares=True)
          for preset, folder in (
              ("longspec", "cross_kv"), ("glide", "cross_kv_glide"), ("tandem", "cross_kv_tandem"))),
        *(Step(f"dflash-{trained}", made, (*SPECVIZ, "train", "module", "dflash", *GO_ON, *more),
               (Output(f"assets/modules/dflash_{trained}/module.json"),), minutes, rests_on=("target",), shares=True)
          for trained, made, minutes, more in BESIDE_THE_BLOCK),
        Step("real-modules", "the drafters of a real model",
             (*SPECVIZ, "train", "module", "eagle", "small_model", "dspark", "medusa", *REAL_TARGET, "--module-options",
              REAL_SHAPES, "--minutes", "60", "--out", REAL_MODULES),
             (Output(f"{REAL_MODULES}/*/module.json"),), 61, REAL_WEIGHTS, shares=True, impossible=_no_real_model),
    )  # fmt: skip


def _measured_once() -> tuple[Step, ...]:
    def survivors(drafts: int, temperature: str) -> Step:
        words = ("--drafts", str(drafts), "--temperature", temperature, "--seeds", "1", "--write")
        made = f"what K-SEQ gains from {drafts} surviving drafts at {temperature}"
        page = (Output("docs/methods/kseq.md", f"survivors {drafts} {temperature}"),)
        return Step(f"survivors-{drafts}", made, (*SPECVIZ, "prove", "survivors", *words), page, 4)

    return (
        Step("times", "step times of the target on this machine",
             (*SPECVIZ, "profile", *FLOAT, "--out", f"assets/hardware/{machine_name()}.json"),
             (Output("assets/hardware/cpu-*.json", keeps_others=True),), 3, rests_on=("target",)),
        Step("real-times", "step times of a real model on this machine",
             (*SPECVIZ, "profile", *REAL_TARGET, "--contexts", "128", "--out",
              f"assets/hardware/{SMOLLM2.name}-{machine_name().removeprefix('cpu-')}.json"),
             (Output(f"assets/hardware/{SMOLLM2.name}-*.json", keeps_others=True),), 2, REAL_WEIGHTS,
             impossible=_no_real_model),
        Step("lossy-distances", "how far the lossy verifiers take the law from the target's",
             (*SPECVIZ, "prove", "lossy", "--write"), (Output("assets/lossy_distances.json"),), 1),
        survivors(8, "0.5"),
        survivors(4, "0.8"),
        Step("greedy", "greedy texts of every pairing, token for token",
             (*SPECVIZ, "prove", "--greedy-texts", "--write"), (Output("docs/losslessness.md", "greedy"),), 8),
    )  # fmt: skip


def _recorded() -> tuple[Step, ...]:
    race = ("--prompt-id", RACE_PROMPT, "--drafters", "ngram,model,amusd", *FLOAT, "--repeats", "3", "--out", RACE)
    files = ("--out", f"{SWEEP}.json.gz", "--replace")
    return (
        Step("record", "the recorded runs", (*SPECVIZ, "record"),
             (Output("assets/traces/*.json.gz", without=(SCENES, REAL)),), 3, rests_on=("target",)),
        Step("scenes", "the recorded captions",
             (*SPECVIZ, "record", "--only", "scene-text", "--only", "scene-eyes"),
             (Output(f"assets/traces/{SCENES}"),), 1, rests_on=("captioner",)),
        Step("real", "the recorded runs of a real model", (*SPECVIZ, "record", "--only-target", "smollm2"),
             (Output(f"assets/traces/{REAL}"),), 2, REAL_WEIGHTS, impossible=_no_real_model),
        Step("real-race", "its recorded race",
             (*SPECVIZ, "race", "--prompt-id", "rewrite-name", *REAL_TARGET, "--chat", "--drafters",
              "ngram@8,small_model,eagle", "--dtype", "bfloat16", "--repeats", "3", "--out", REAL_RACE),
             (Output(REAL_RACE),), 1, REAL_WEIGHTS, impossible=_no_real_model),
        Step("real-sweep", "its sweep, what each family of its prompts can expect, and every drafter at its best",
             (*SPECVIZ, "bench", "sweep", f"{REAL_SWEEP}.toml", "--out", f"{REAL_SWEEP}.json.gz", "--replace",
              "--write-families", "--write-best"),
             (Output(f"{REAL_SWEEP}.json.gz"), Output("assets/prompts/smollm2.json"),
              Output("docs/models.md", "sweep at best")), 13, REAL_WEIGHTS,
             impossible=_no_real_model),
        Step("audit", "what recomputing every recorded run finds",
             (*SPECVIZ, "audit", "assets/traces", "--write"), (Output("docs/audit.md", "audit"),), 8),
        Step("analysis", "why drafts failed in the recorded runs", (*SPECVIZ, "analyse", "assets/traces", "--write"),
             (Output("docs/analysis.md", "failures"),), 1),
        Step("failures", "why drafts fail, on a prompt of each family",
             (*SPECVIZ, "bench", "sweep", f"{FAILURES}.toml", "--write-failures", "--zip-traces", FAILURES_ZIP),
             (Output("docs/analysis.md", "sweep failures"), Output(FAILURES_ZIP)), 4),
        Step("training", "the recorded training of a module", (*SPECVIZ, "record", "--training", "eagle"),
             (Output(TRAINING),), 3, rests_on=("target",)),
        Step("race", "the recorded race", (*SPECVIZ, "race", *race), (Output(RACE),), 1, rests_on=("target",)),
        Step("sweep", "the sweep that the When-it-pays tab opens with",
             (*SPECVIZ, "bench", "sweep", f"{SWEEP}.toml", *files), (Output(f"{SWEEP}.json.gz"),), 8),
    )  # fmt: skip


def _benches() -> tuple[Step, ...]:
    """Those that write a page; one that is not there yet is left out."""
    there = {module.name for module in pkgutil.iter_modules(bench_commands.__path__)}
    found = (
        Step("bench", "speed against plain decoding and transformers", (*SPECVIZ, "bench", *FLOAT, "--write"),
             (Output("docs/bench.md", "bench"), Output("README.md", "bench")), 4),
        Step("drafters", "all drafters on every prompt family", (*SPECVIZ, "bench", "drafters", *FLOAT, "--write"),
             (Output("docs/bench_drafters.md", "bench drafters"), Output("docs/bench_drafters.json")), 20),
        Step("drafters-bfloat16", "the same in bfloat16",
             (*SPECVIZ, "bench", "drafters", "--dtype", "bfloat16", "--write", "docs/bench_bfloat16.md"),
             (Output("docs/bench_bfloat16.md", "bench drafters"), Output("docs/bench_bfloat16.json")), 20,
             impossible=_no_bfloat16),
        Step("trees", "tree policies and verifiers", (*SPECVIZ, "bench", "trees", *FLOAT, "--write"),
             (Output("docs/bench_trees.md", "bench trees"),), 5),
        Step("pair", "what the pair knows and how it drafts", (*SPECVIZ, "bench", "pair", "--write"),
             (Output("docs/pair.md", "pair"),), 5),
    )  # fmt: skip
    return tuple(one for one in found if one.name != "pair" or "pair" in there)


def _pictures() -> Step:
    return Step(
        "pictures",
        "the pictures of README and docs (needs Chromium)",
        ("tests.browser.pictures", "docs/img"),
        (Output("docs/img/made_with.json"),),
        1,
    )


def _no_bfloat16() -> str:
    """Where bfloat16 is no faster than float32 nobody decodes in it."""
    from specviz.lm.place import bfloat16_by

    return "" if bfloat16_by() else "this processor does not say that it multiplies bfloat16"


def _no_real_model() -> str:
    """Where the hub's weights were fetched, what was made with the Python package's stays as it is."""
    folder = SMOLLM2.here
    if folder is None:
        return f"{SMOLLM2.title} is not on this machine; `specviz get {SMOLLM2.name}`"
    if of_folder(folder) != SMOLLM2.weights_sha256:
        return f"{SMOLLM2.title} has other weights here than those of the package {SMOLLM2.package}"
    return ""


def machine_name() -> str:
    """Such as `cpu-2-core-amd-epyc`: the file name of this machine's step times."""
    import torch

    from specviz.lm.step_time import machine

    words = f"cpu {os.cpu_count() or 1} core {machine(torch.device('cpu'), 'float32').processor}".lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:60]


def reasons(step: Step, root: Path, weights: Mapping[str, str]) -> list[str]:
    """Why the step has to be run, a sentence for each output; none where all of them are of these weights.

    `weights`: model → the beginning of its hash. Raises SpecVizError where one is missing that it needs.
    """
    missing = [name for name in step.rests_on if name not in weights]
    if missing:
        raise SpecVizError(f"the model '{missing[0]}' has no weights here, on which '{step.name}' rests.")
    wanted = {name: weights[name] for name in step.rests_on}
    return [why for output in step.outputs for why in _of(output, root, wanted, set(weights.values()))]


def _of(output: Output, root: Path, wanted: Mapping[str, str], known: set[str]) -> Iterator[str]:
    pattern = Path(output.path)  # absolute where the study is of another package
    base = Path(pattern.anchor) if pattern.is_absolute() else root
    there = base.glob(str(pattern.relative_to(pattern.anchor)))
    paths = sorted(path for path in there if not any(map(path.match, output.without)))
    if not paths:
        yield f"{output}: not there"
        return
    if output.keeps_others:
        found = set().union(*(named(path, output.section) for path in paths))
        yield from _lacking(str(output), found, wanted)
        return
    for path in paths:
        short = path.relative_to(root) if path.is_relative_to(root) else path
        name = f"{short}{f' ({output.section})' if output.section else ''}"
        found = named(path, output.section)
        foreign = sorted(found - known)
        if foreign:
            yield f"{name}: made with other weights ({', '.join(foreign)})"
        else:
            yield from _lacking(name, found, wanted)
        if str(short) in (f"{SWEEP}.json.gz", f"{REAL_SWEEP}.json.gz"):
            yield from _unfinished(path, name)


def _lacking(name: str, found: set[str], wanted: Mapping[str, str]) -> Iterator[str]:
    if not found:
        yield f"{name}: names no weights"
        return
    for model, digits in wanted.items():
        if digits not in found:
            yield f"{name}: not made with these weights of {model} ({digits})"


def _unfinished(path: Path, name: str) -> Iterator[str]:
    from specviz.protocol.sweeps.definition import fingerprint
    from specviz.protocol.sweeps.store import read, read_definition

    result = read(path)
    if result.definition_sha256 != fingerprint(read_definition(path.with_name(path.name.replace(".json.gz", ".toml")))):
        yield f"{name}: the sweep file asks for other runs"
    elif not result.complete:
        yield f"{name}: {len(result.points)} of {result.planned_runs} runs are done"
