"""A head that the target learnt with (native multi-token prediction) against the same head on a target that did not.

Three arms see the same batches in the same order. In `joint` the head's loss reaches the target's layers too, with a
small weight; in `apart` the target learns alike from its own loss, and the head learns beside it; in `frozen` the
bundled target stays as it is. Embedding and output head stay in all three. The head is `eagle`'s network, which is that
of multi-token prediction (DeepSeek-V3, 2412.19437) but for two norms before the joining matrix. Joint and apart are
other targets than the bundled one, so their loss on held-out text stands first.

Place in the flow: asked by `measure`. Shapes: B texts, T tokens, H hidden size, V vocabulary.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import torch
from pydantic import TypeAdapter
from torch import Tensor
from torch.nn import functional

from specviz.drafters.eagle import EagleModule
from specviz.drafters.learned.eagle_network import EagleShape
from specviz.drafters.learned.module import FeatureBatch, fresh
from specviz.studies.generations.result import NativeArm
from specviz.training.modules.loop import LoopOptions, optimisers_of
from specviz.training.modules.measure import HeldOut
from specviz.training.modules.teacher import Teacher
from specviz.training.modules.texts import Amount, Domain, TextOptions, Texts, packed_here
from specviz.training.optimiser import Budget, Muon, learning_rate_factor
from specviz.training.stages import measured_dtype

ARMS = ("joint", "apart", "frozen")
JOINT_SHARE = 0.3
"""weight of the head's loss in the target's, as DeepSeek-V3 begins with"""
TARGET_LR = 1e-4
SHAPE = EagleShape(feature_weight=0.0, noise=0.0)
WARM_UP = 5
BEGINNING_STEPS = 4
"""batches from which the head's first weights are worked out"""
LONGEST = 4
SAY_EVERY = 10
HELD_OUT_WINDOWS = 8


@dataclass(frozen=True)
class NativeTraining:
    """Equal for all arms."""

    target: str
    tokens: int
    work_dir: Path
    seed: int = 0
    texts: TextOptions = field(default_factory=lambda: TextOptions(rows=2, write_every=1_000_000))
    """windows of the corpus alone: three targets would write three texts"""
    characters: int = 300_000


def arms(asked: NativeTraining, say: Callable[[str], None]) -> tuple[NativeArm, ...]:
    """All arms; one that is finished in the work folder is not trained again."""
    return tuple(_kept(asked, name, say) for name in ARMS)


def _kept(asked: NativeTraining, name: str, say: Callable[[str], None]) -> NativeArm:
    record, kept = asked.work_dir / f"native_{name}.json", TypeAdapter(NativeArm)
    if record.is_file():
        return kept.validate_json(record.read_bytes())
    arm = Arm(asked, name).run(say)
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_bytes(kept.dump_json(arm, indent=1))
    return arm


class Arm:
    """One target and its head."""

    def __init__(self, asked: NativeTraining, name: str) -> None:
        self.asked, self.name = asked, name
        self.dtype = measured_dtype("auto", "cpu")
        self.teacher = Teacher.from_folder(asked.target, "cpu", torch.float32)
        head = fresh(EagleModule, self.teacher.parts, SHAPE, asked.seed)
        assert isinstance(head, EagleModule), "the registry gave another class."
        self.head = head
        self.learns = name != "frozen"
        weights = [each for layer in self.teacher.model.model.layers for each in layer.parameters()]
        self.weights = [*weights, self.teacher.model.model.norm.weight] if self.learns else []
        for each in self.weights:
            each.requires_grad_(True)

    def run(self, say: Callable[[str], None]) -> NativeArm:
        """Train, then measure on what this target itself writes."""
        torch.manual_seed(self.asked.seed)
        domains = packed_here(self.teacher.tokenizer, Amount(self.asked.characters, self.asked.seed))
        texts = Texts(self.teacher, domains, self.asked.texts, None)
        began, seen, step = time.monotonic(), 0, 0
        first = torch.cat([texts.batch(number) for number in range(BEGINNING_STEPS)])
        with torch.no_grad():
            self.head.begin(self.read(first))
        steps = torch.optim.AdamW(self.weights, lr=TARGET_LR, weight_decay=0.0) if self.weights else None
        options = LoopOptions(Budget(self.asked.tokens))
        ways = optimisers_of(self.head, options)
        self.head.train()
        while seen < self.asked.tokens:
            tokens = texts.batch(step)
            self.loss(tokens).backward()
            factor = learning_rate_factor(seen / self.asked.tokens, step, WARM_UP)
            for way, rate in [(way, options.matrix_lr if isinstance(way, Muon) else options.other_lr) for way in ways]:
                way.param_groups[0]["lr"] = rate * factor
            if steps is not None:
                steps.param_groups[0]["lr"] = TARGET_LR * factor
                torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
            torch.nn.utils.clip_grad_norm_(self.head.parameters(), 1.0)
            for way in (*ways, *([steps] if steps is not None else [])):
                way.step()
                way.zero_grad(set_to_none=True)
            seen, step = seen + tokens.numel(), step + 1
            if step % SAY_EVERY == 0:
                say(f"{self.name}: {seen:,} tokens")
        minutes = (time.monotonic() - began) / 60
        self.head.eval()
        nats = round(self.held_out_nats(domains), 4)
        return NativeArm(self.name, seen, round(minutes, 1), nats, *self._measured(domains))

    def read(self, tokens: Tensor) -> FeatureBatch:
        """As this target reads it now: states [B, T, H], which carry its gradient."""
        states = self.teacher.model.model(tokens).last_hidden_state
        logits = functional.linear(states, self.teacher.parts.head.to(states.dtype))  # [B, T, V]
        return FeatureBatch(tokens, states[:, :, None].float(), states.float(), logits.float())

    def loss(self, tokens: Tensor) -> Tensor:
        """The target's own, where it learns, and the head's: with `joint` through the states, else beside them."""
        with torch.autocast("cpu", self.dtype) if self.dtype != torch.float32 else nullcontext():
            batch, joint = self.read(tokens), self.name == "joint"
            said = batch.target_logits(self.teacher.parts.head).detach()
            states = batch.features if joint else batch.features.detach()
            terms = self.head.loss(FeatureBatch(tokens, states, batch.final.detach(), said))
            heads: Tensor = torch.stack([*terms.values()]).sum()
            if not self.learns:
                return heads
            return self.own_loss(batch) + (JOINT_SHARE if joint else 1.0) * heads

    def own_loss(self, batch: FeatureBatch) -> Tensor:
        """Cross entropy to the text's next tokens."""
        said = batch.target_logits(self.teacher.parts.head)
        return functional.cross_entropy(said[:, :-1].flatten(0, 1), batch.tokens[:, 1:].flatten())

    @torch.no_grad()
    def held_out_nats(self, domains: Sequence[Domain]) -> float:
        """Cross entropy for each token of held-out text of both kinds."""
        sums = []
        for tokens in _windows(domains, self.asked.texts.length):
            states = self.teacher.model.model(tokens[None]).last_hidden_state
            logits = functional.linear(states, self.teacher.parts.head)[0, :-1]
            sums.append(functional.cross_entropy(logits, tokens[1:]))
        return float(torch.stack(sums).mean())

    def _measured(self, domains: Sequence[Domain]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """By position: acceptance at temperature 1, and how often both have the same first choice."""
        layers = self.teacher.parts.info.layers
        held_out = HeldOut.write(self.teacher, domains, 0.5, [layers], 8, 96)
        measured = held_out.measure(self.head, LONGEST)
        acceptance, agreement = (
            [round(share, 4) for share in each] for each in (measured.acceptance, measured.agreement)
        )
        return tuple(acceptance), tuple(agreement)


def _windows(domains: Sequence[Domain], length: int) -> list[Tensor]:
    """Of the held-out side, spread over it: each [length]."""
    windows = list[Tensor]()
    for domain in domains:
        stream = domain.held_out[0]
        each = HELD_OUT_WINDOWS // len(domains)
        for number in range(each):
            start = number * (len(stream) - length) // each
            windows.append(torch.from_numpy(stream[start : start + length].astype("int64")))
    return windows
