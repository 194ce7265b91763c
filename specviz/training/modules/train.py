"""One training of drafter modules from beginning to end: the library behind `specviz train module` and the Train page.

teacher ─► texts, held-out text ─► loop ─► a folder for each module
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import torch

from specviz.drafters.learned.eagle_network import EagleTrunk
from specviz.drafters.learned.module import MODULES, Distance, DrafterModule, divergence, fresh
from specviz.drafters.learned.published import write_speculators
from specviz.drafters.learned.weights import CARD, MODULES_FOLDER, ModuleCard, fill_from, write_module
from specviz.errors import TrainingError
from specviz.options import Options, from_mapping, to_mapping
from specviz.training.alignment.align import LOSSES
from specviz.training.modules.loop import TABLE_RATIO, LoopOptions, ModuleLoop, Modules, Report, Row
from specviz.training.modules.measure import DRAFT_LENGTH, HeldOut
from specviz.training.modules.teacher import Reading, Teacher
from specviz.training.modules.texts import TAUGHT, Amount, TextOptions, Texts, packed_here, prepared
from specviz.training.optimiser import Budget, Pace
from specviz.training.options import TrainOptions
from specviz.training.stages import measured_dtype

KL = "fkl"
TEXT = "ce-text"
"""cross entropy to the text's own next token: no distance, for the target is not asked"""
BEGINNING_STEPS = 6
"""batches of text, as the target reads them, from which a module works out its first weights"""


@dataclass(frozen=True)
class Wanted:
    """One module to train."""

    name: str
    """as registered in MODULES"""
    options: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    """folder and name in rows; empty: the name"""

    @property
    def called(self) -> str:
        return self.label or self.name


@dataclass(frozen=True)
class ModuleTraining:
    """What to train, on what, for how long."""

    wanted: tuple[Wanted, ...]
    target: str = "target"
    """a bundled name or a folder"""
    minutes: float = 5.0
    """0: tokens alone decide"""
    tokens: int = 20_000_000
    seed: int = 0
    english: float = 0.5
    loss: str = KL
    """one of the losses of `training.alignment`, by name, or TEXT"""
    characters: int = 600_000
    """of each kind of text, where `work_dir` holds none"""
    texts: TextOptions = field(default_factory=TextOptions)
    held_out_rows: int = 8
    held_out_length: int = 96
    lr: float = 0.01
    dtype: str = "auto"
    device: str = "cpu"
    work_dir: Path | None = None
    """texts and checkpoints; None: nothing is kept but the result"""
    measure_every_s: float = 5.0
    checkpoint_every_s: float = 30.0
    table_ratio: int = TABLE_RATIO
    """see `LoopOptions`"""
    same_draws: bool = False
    start: Path | None = None
    """holds a folder of weights for each module, by its label, from which it goes on; None: fresh weights"""
    frozen: bool = False
    """whether the weights in `start` stay as they are, and only what they lack is trained"""


def distance_of(name: str) -> Distance:
    """The loss of this name as a module meets it. Raises TrainingError for another one."""
    if name == KL:
        return divergence  # the same, which EAGLE works out without a logit for every token
    if name not in LOSSES:
        raise TrainingError(f"there is no loss '{name}'; choose one of {', '.join(LOSSES)}.")
    loss = LOSSES[name]
    return lambda logits, target: loss(target.flatten(0, -2).exp(), logits.flatten(0, -2).log_softmax(-1))


class Training:
    """A training under way. `run` may be called once; `modules` can be looked at at any time between rows."""

    def __init__(self, training: ModuleTraining, teacher: Teacher | None = None, like: Training | None = None) -> None:
        """Reads the target, packs the texts and lets the target write the held-out text. With `like`, a finished one of
        the same target: from its very batches, as many and at its learning rates. Raises TrainingError, ModelError or
        OptionError where that cannot be done."""
        self.training = training
        self._distance = None if training.loss == TEXT else distance_of(training.loss)
        self.dtype = measured_dtype(training.dtype, training.device)
        teacher = like.teacher if like else teacher
        self.teacher: Teacher = teacher or Teacher.from_folder(training.target, training.device, self.dtype)
        self.modules: Modules = self._fresh()
        if training.frozen and training.start is None:
            raise TrainingError(
                "Weights are to stay as they are, and none are named: name a folder of some to go on from."
            )
        self._begun: Mapping[str, ModuleCard] = {} if training.start is None else self._filled(training.start)
        depths = sorted({depth for module in self.modules.values() for depth in module.depths()})
        self._depths = depths
        self._keeps_rows = any(module.reads_rows for module in self.modules.values())
        folder = self._folder()
        self.texts: Texts = like.texts if like else self._packed(folder)
        self.held_out = self.held_out_text(training.held_out_rows, training.held_out_length)
        checkpoint = folder / "checkpoint.pt" if folder else None
        if checkpoint is None or not checkpoint.is_file():
            sample = torch.cat([self.texts.batch(step) for step in range(BEGINNING_STEPS)])
            first, corpus = self.teacher.read(sample, depths, self._keeps_rows), self.texts.sample()
            for label, module in self.modules.items():
                if label not in self._begun:
                    module.calibrate(corpus)
                    module.begin(first.batch_for(module))
        options = LoopOptions(
            Pace.of(like.loop.progress.curve) if like else Budget(training.tokens, training.minutes),
            matrix_lr=training.lr,
            other_lr=training.lr / 10,
            dtype=self.dtype,
            measure_every_s=training.measure_every_s,
            checkpoint_every_s=training.checkpoint_every_s,
            table_ratio=training.table_ratio,
            same_draws=training.same_draws,
        )
        torch.manual_seed(training.seed)
        self.loop: ModuleLoop = ModuleLoop(self.modules, self._read, options, checkpoint)

    def _filled(self, start: Path) -> dict[str, ModuleCard]:
        """The cards of what the modules go on from. Raises TrainingError where nothing would be left to train."""
        cards = {}
        for label, module in self.modules.items():
            bare = start / module.name
            folder = bare if module.added and bare.is_dir() else start / label
            cards[label], given = fill_from(folder, module)
            for name, parameter in module.named_parameters():
                parameter.requires_grad_(not (self.training.frozen and name in given))
            if not any(parameter.requires_grad for parameter in module.parameters()):
                raise TrainingError(
                    f"{folder} holds all weights of '{label}', and they are to stay as they are: name options "
                    "that add some."
                )
        return cards

    def held_out_text(self, rows: int, length: int) -> HeldOut:
        """What the target writes after held-out beginnings, read for these modules."""
        domains, english = self.texts.domains, self.training.english
        return HeldOut.write(self.teacher, domains, english, self._depths, rows, length, self._keeps_rows)

    def _read(self, step: int) -> Reading:
        tokens = self.texts.batch(step)
        if self._distance is None:
            return Reading.of_text(tokens)
        positions = [module.positions(tokens.shape[1]) for module in self.modules.values()]
        if len(positions) > 1 and any(position is not None for position in positions):
            raise TrainingError(
                "One of these modules lets the target read texts at positions of its own (anchors), and the others "
                "would learn from that reading too: train it alone."
            )
        reading = self.teacher.read(tokens, self._depths, self._keeps_rows, positions[0])
        return replace(reading, distance=self._distance)

    def _fresh(self) -> Modules:
        wanted = self.training.wanted
        if not wanted:
            raise TrainingError(f"No module was named: name one or more of {', '.join(MODULES.names())}.")
        labels = [one.called for one in wanted]
        if len({*labels}) < len(labels):
            raise TrainingError(f"Two modules have the same label, {max(labels, key=labels.count)}: name each once.")
        made: dict[str, DrafterModule[Options]] = {}
        for one in wanted:
            kind = MODULES.get(one.name)
            if self.training.loss == TEXT and not kind.learns_text:
                raise TrainingError(f"'{one.name}' reads the target's states, so it cannot learn by '{TEXT}'.")
            made[one.called] = fresh(
                kind, self.teacher.parts, from_mapping(kind.options_type, one.options), self.training.seed
            )
        return made

    def _folder(self) -> Path | None:
        """Where this very training keeps what it needs to go on: another one has another folder."""
        if self.training.work_dir is None:
            return None
        shapes = {label: [module.name, to_mapping(module.options)] for label, module in self.modules.items()}
        training = self.training
        sha256 = self.teacher.parts.info.weights_sha256
        begun = {label: [card.target_sha256, card.training.get("tokens")] for label, card in self._begun.items()}
        key = json.dumps(
            [shapes, sha256, training.seed, training.english, training.loss]
            + [part for part in (begun, training.frozen) if part]
        )
        return self.training.work_dir / "modules" / hashlib.sha256(key.encode()).hexdigest()[:12]

    def _packed(self, folder: Path | None) -> Texts:
        training, work = self.training, self.training.work_dir
        domains = prepared(work, self.teacher.tokenizer) if work else None
        if domains is None:
            amount = Amount(training.characters, training.seed)
            domains = packed_here(self.teacher.tokenizer, amount)
        options = replace(training.texts, english=training.english, seed=training.seed)
        texts = Texts(self.teacher, domains, options, folder)
        if work and (work / TAUGHT).is_file():
            texts.use_taught(np.load(work / TAUGHT, mmap_mode="r"))
        return texts

    def measure(self) -> Row:
        """Held-out acceptance of every module."""
        return {"held_out": {label: self.held_out.measure(module).row() for label, module in self.modules.items()}}

    def run(self, report: Report, stop: Event | None = None) -> None:
        """Train to the end of the budget, or until `stop` is set: what was learnt until then is kept."""
        self.loop.run(report, self.measure, stop.is_set if stop else lambda: False)

    def card_of(self, label: str) -> dict[str, Any]:
        """What was measured of one module, and in short what it went on from."""
        progress, begun = self.loop.progress, self._begun.get(label)
        curve = [
            {"elapsed_s": row["elapsed_s"], "tokens": row["tokens"], **row["held_out"][label]}
            for row in progress.curve
            if "held_out" in row
        ]
        return {
            "tokens": progress.tokens,
            "steps": progress.step,
            "seconds": round(progress.elapsed_s, 1),
            "losses": progress.losses.get(label, {}),
            "dtype": str(self.dtype).removeprefix("torch."),
            "english": self.training.english,
            "loss": self.training.loss,
            "written_tokens": self.texts.written_tokens,
            "draft_length": DRAFT_LENGTH,
            "before": curve[0] if curve else {},
            "held_out": curve[-1] if curve else {},
            "curve": curve,
            **self.modules[label].facts(),
            **({} if begun is None else {"started_from": _in_short(begun)}),
        }

    def export(self, out: Path) -> dict[str, ModuleCard]:
        """Write each module to `out`/label; label → card. Those that add to shipped weights or stand beside them are
        stored on them."""
        start = self.training.start
        shipped = start is not None and start.resolve() == MODULES_FOLDER.resolve()
        return {
            label: write_module(
                module,
                out / label,
                self.card_of(label),
                module.name if shipped and module.added and (self.training.frozen or label != module.name) else "",
            )
            for label, module in self.modules.items()
        }

    def forget(self) -> None:
        """Drop the checkpoint: the same training asked for again begins anew."""
        folder = self._folder()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _in_short(card: ModuleCard) -> dict[str, Any]:
    """Of weights that a training went on from: their target, and the tokens that they and their own start learnt
    from."""
    earlier = card.training.get("started_from", {}).get("tokens", 0)
    return {"of_target": card.target_sha256, "tokens": card.training.get("tokens", 0) + earlier}


def train_modules(
    training: ModuleTraining, out: Path, report: Report, stop: Event | None = None, speculators: bool = False
) -> dict[str, ModuleCard]:
    """All of it: train, export to `out`, and drop the checkpoint. Label → card. `speculators`: modules of the EAGLE
    family are written to `out`/label/speculators too; raises ModelError for a shape that layout cannot hold."""
    under_way = Training(training)
    under_way.run(report, stop)
    cards = under_way.export(out)
    for label, module in under_way.modules.items() if speculators else ():
        if isinstance(module, EagleTrunk):
            write_speculators(module, out / label / "speculators")
    under_way.forget()
    return cards


LINE_EVERY_S = 15.0


def train_module(options: TrainOptions, report: Callable[[dict[str, Any]], None]) -> None:
    """Train the named modules together and leave a folder for each in `folder_for`. Raises TrainingError before that
    where nobody named a folder and weights would be written over."""
    training, out = training_of(options), folder_for(options)
    there = [out / wanted.called for wanted in training.wanted if (out / wanted.called / CARD).is_file()]
    if there and not options.out:
        raise TrainingError(
            f"{there[0]} holds trained weights already; name another folder with --out, or these with --out {out} to "
            "write over them."
        )
    for label, card in train_modules(training, out, Lines(report), None, options.speculators).items():
        report({"written": out / label, "parameters": card.parameters, "tokens": card.training["tokens"]})


def folder_for(options: TrainOptions) -> Path:
    """Which receives a folder for each module: where none is given that of the shipped ones, for another target than
    the bundled one below a folder of its name."""
    if options.out:
        return Path(options.out)
    shipped = Path("assets/modules")
    return shipped if options.target == TrainOptions().target else shipped / Path(options.target).name


def training_of(options: TrainOptions) -> ModuleTraining:
    """Raises TrainingError for options that belong to no named module."""
    given = shapes(options.module_options)
    unknown = sorted(given.keys() - {*options.names})
    if unknown:
        raise TrainingError(
            f"--module-options speaks of '{unknown[0]}', which is not trained here: write NAME.option=value with one "
            f"of {', '.join(options.names) or 'the names given'}."
        )
    return ModuleTraining(
        tuple(_wanted(name, given.get(name, {})) for name in options.names),
        target=options.target,
        minutes=options.minutes,
        tokens=options.tokens,
        seed=options.seed,
        english=options.module_english,
        texts=TextOptions(rows=options.module_rows),
        loss=options.loss,
        lr=options.module_lr,
        dtype=options.dtype,
        device=options.device,
        work_dir=options.work_dir,
        start=Path(options.module_start) if options.module_start else None,
        frozen=options.module_frozen,
    )


def _wanted(name: str, given: Mapping[str, str]) -> Wanted:
    """Under the name that its folder is to have."""
    kind = MODULES.get(name)
    folder = kind.folder_name(from_mapping(kind.options_type, given))
    return Wanted(name, given, "" if folder == name else folder)


def shapes(text: str) -> dict[str, dict[str, str]]:
    """`eagle.unroll=3 eagle.depths=2,5,8` as name → option → value. Raises TrainingError where a word is no such."""
    found: dict[str, dict[str, str]] = {}
    for word in text.split():
        name, dot, rest = word.partition(".")
        option, equals, value = rest.partition("=")
        if not (name and dot and option and equals):
            raise TrainingError(f"'{word}' in --module-options is no choice: write NAME.option=value.")
        found.setdefault(name, {})[option] = value
    return found


class Lines:
    """Makes a line of a row every few seconds, of those that were measured."""

    def __init__(self, report: Callable[[dict[str, Any]], None]) -> None:
        self.report, self.shown_at = report, 0.0

    def __call__(self, row: dict[str, Any]) -> None:
        now = time.monotonic()
        if "held_out" not in row or (row["progress"] < 1.0 and row["step"] and now - self.shown_at < LINE_EVERY_S):
            return
        self.shown_at = now
        line = {name: row[name] for name in ("step", "tokens", "elapsed_s", "tokens_per_s")}
        for label, measured in row["held_out"].items():
            terms = row["losses"].get(label, {})
            if terms:
                line[f"{label} loss"] = " ".join(f"{name} {value:.3f}" for name, value in terms.items())
            line[f"{label} acceptance"] = " ".join(f"{one:.3f}" for one in measured["acceptance"])
            line[f"{label} accepted"] = measured["accepted"]
        self.report(line)
