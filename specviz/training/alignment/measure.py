"""Acceptance of a drafter on texts that the target wrote, exact: no token is drawn, every uniform draw averaged out.

Place in the flow: before and after an alignment, on held-out prompts. The texts are written once per temperature; a
drafter then reads them, which takes seconds.

Under speculative sampling the emitted text follows p whatever the drafter is. Given that position t holds x, the draft
there was x and accepted with probability min(p, q)(x) / p(x) = min(1, q(x) / p(x)): rounds over a text that is already
written form a Markov chain over its positions, and their expected number is a sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from specviz.training.alignment.align import acceptance
from specviz.training.target import layer_outputs, logits_of

COVERED = 4
"""the drafter's most likely tokens that count as covered, as many as a tree with four children tries"""


@dataclass(frozen=True)
class WrittenText:
    """A prompt and what the target wrote after it; ids int64 [n], the first `start` of them the prompt."""

    family: str
    domain: str
    ids: Tensor
    start: int


@dataclass(frozen=True)
class JudgedText:
    """A text with the target's distribution at every written position: p [written, V] at the text's temperature; at
    temperature 0 all mass on the most likely token."""

    text: WrittenText
    p: Tensor


@dataclass
class Counts:
    """Sums over positions and expected sums over rounds; lists by depth of the draft."""

    tokens: int = 0
    alpha: float = 0.0
    covered: float = 0.0
    rounds: float = 0.0
    tested: list[float] = field(default_factory=list)
    accepted: list[float] = field(default_factory=list)

    def add(self, other: "Counts") -> None:
        """Takes in the sums of another text."""
        self.tokens, self.alpha = self.tokens + other.tokens, self.alpha + other.alpha
        self.covered, self.rounds = self.covered + other.covered, self.rounds + other.rounds
        for own, others in ((self.tested, other.tested), (self.accepted, other.accepted)):
            own += [0.0] * (len(others) - len(own))
            own[:] = [a + b for a, b in zip(own, [*others, *[0.0] * (len(own) - len(others))], strict=True)]

    @property
    def block_efficiency(self) -> float:
        """Tokens per target pass, tau."""
        return self.tokens / self.rounds

    @property
    def by_position(self) -> list[float]:
        """[d-1] = probability that draft d is accepted once all before it were."""
        return [kept / asked for kept, asked in zip(self.accepted, self.tested, strict=True) if asked > 0]


def at_temperature(logits: Tensor, temperature: float) -> Tensor:
    """The distribution sampled from: softmax(logits / T), and at 0 all mass on the most likely token. Same shape."""
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    return (logits / temperature).softmax(-1)


@torch.inference_mode()
def read_text(model: LlamaForCausalLM, text: WrittenText) -> Tensor:
    """Logits at the written positions. -> [written, V] float32."""
    hidden = layer_outputs(model, text.ids[None, :-1])[-1][:, text.start - 1 :]
    return logits_of(model, hidden)[0].float()


def judged(target: LlamaForCausalLM, texts: Sequence[WrittenText], temperature: float) -> list[JudgedText]:
    """The texts with the target's distributions."""
    return [JudgedText(text, at_temperature(read_text(target, text), temperature)) for text in texts]


def measured(
    drafter: LlamaForCausalLM, texts: Sequence[JudgedText], temperature: float, gamma: int
) -> dict[str, Counts]:
    """Domain → counts of all its texts, drafts of length `gamma` at this temperature."""
    found: dict[str, Counts] = {}
    for judged_text in texts:
        counts = counted(judged_text, read_text(drafter, judged_text.text), temperature, gamma)
        found.setdefault(judged_text.text.domain, Counts()).add(counts)
    return found


def counted(judged_text: JudgedText, logits: Tensor, temperature: float, gamma: int) -> Counts:
    """One text's counts from the drafter's logits [written, V]."""
    q = at_temperature(logits, temperature)
    written = judged_text.text.ids[judged_text.text.start :, None]
    ratio = q.gather(-1, written) / judged_text.p.gather(-1, written).clamp_min(torch.finfo(q.dtype).tiny)
    rounds, tested, accepted = expected_rounds(ratio[:, 0].clamp(max=1.0).tolist(), gamma)
    covered = judged_text.p.gather(-1, logits.topk(COVERED, dim=-1).indices).sum()
    return Counts(
        len(written), float(acceptance(judged_text.p, q.log()).sum()), float(covered), rounds, tested, accepted
    )


def expected_rounds(probabilities: Sequence[float], gamma: int) -> tuple[float, list[float], list[float]]:
    """(expected rounds, drafts tested by depth, drafts accepted by depth) of emitting a text whose position t is an
    accepted draft with probability [t]. Each round drafts `gamma` tokens, fewer at the text's end, and ends with one of
    the target's own.

    >>> expected_rounds([0.5, 0.5], 1)
    (1.5, [1.5], [0.75])
    """
    begins = [1.0] + [0.0] * (len(probabilities) + gamma)
    tested, accepted = [0.0] * gamma, [0.0] * gamma
    rounds = 0.0
    for index in range(len(probabilities)):
        reach = begins[index]
        rounds += reach
        drafts = probabilities[index : index + gamma]
        for depth, probability in enumerate(drafts):
            tested[depth] += reach
            accepted[depth] += reach * probability
            begins[index + depth + 1] += reach * (1 - probability)
            reach *= probability
        begins[index + len(drafts) + 1] += reach
    return rounds, tested, accepted
