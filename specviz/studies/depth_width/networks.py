"""Small models of six depths at one size: how well each drafts and how long it takes.

Place in the flow: `measure` fills it in, `result` says and draws what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from specviz.protocol.sweeps.intervals import Estimate

FAMILIES = {
    "blocks": "equal parameters between embedding and head",
    "whole": "equal parameters as it runs, embedding and head too",
}
"""what equally many parameters means, and how it is said"""
DISTILLED, TEXT = "distilled", "plain cross entropy"
"""the two sets: what the same networks learnt from the same batches"""


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds that the processor worked for passes: median and quartiles."""

    median_ms: float
    low_ms: float
    high_ms: float


@dataclass(frozen=True, slots=True)
class Network:
    """One drafter of a family."""

    family: str
    name: str
    """layers x width"""
    layers: int
    size: int
    block_parameters: int
    running_parameters: int
    """blocks, embedding and head as it runs"""
    trained_parameters: int
    """blocks and the two matrices between its width and the target's"""
    perplexity: float
    """per token of held-out text of the corpus"""
    agreement: float
    """share of places of the target's own held-out text where both have the same first choice"""
    acceptance: float
    """α there: mean of Σ min(p, q) at temperature 1"""
    matched: tuple[Estimate, ...]
    """[γ - 1]: drafted tokens per round that the recorded text of the target agrees with, greedy; the interval is the
    central 95 % over resampled prompts"""
    step: Times
    """a drafting step, behind a pass of the target"""


@dataclass(frozen=True, slots=True)
class Measured:
    """One network in the engine, compared with plain decoding of the same prompts."""

    name: str
    gamma: int
    tokens_per_s: Estimate
    """of processor time, prompt's pass left out; everything else that a round does is in it"""
    speedup: Estimate
    """over plain decoding's, prompt by prompt"""
    matched: float
    """per round, counted in these runs"""
    same_text: int
    """runs whose text equals plain decoding's"""
    runs: int


@dataclass(frozen=True, slots=True)
class TextNetwork:
    """A network of the second set. What it is and how long its step takes is said of the same shape in the first."""

    name: str
    perplexity: float
    agreement: float
    acceptance: float
    matched: tuple[Estimate, ...]
    """these as in `Network`"""


@dataclass(frozen=True, slots=True)
class TextSet:
    """The same networks, trained by cross entropy to the next token of the same texts. None of them was timed or run in
    the engine: their throughput is modelled from the times of the same shapes."""

    networks: tuple[TextNetwork, ...]
    """each shape once"""
    tokens: int
    """that every network learnt from"""
    loss: str
    written_share: float
    """of these tokens: in rows that hold beginnings from the corpus and what the target wrote behind them; the rest is
    the corpus'"""
    command: str
    origin: str


@dataclass(frozen=True, slots=True)
class DepthWidths:
    """The whole study: the first set, distilled from the target, with times and runs; and the second."""

    networks: tuple[Network, ...]
    """family by family, the shallowest first"""
    target_perplexity: float
    """on the same text of the corpus"""
    passes: Mapping[int, Times]
    """rows → the target's pass over them"""
    plain_tokens_per_s: Estimate
    measured: tuple[Measured, ...]
    tokens: int
    """that every network learnt from"""
    loss: str
    replayed_prompts: int
    replayed_tokens: int
    """of the target, recorded once"""
    repeats: int
    """that the times are quartiles of"""
    load: float | None
    """of the machine over the minute before the end, this program included; None where the system does not tell"""
    models: Mapping[str, str]
    """model → SHA-256 of its weights"""
    command: str
    origin: str
    """machine, versions, weights and date as a sentence"""
    text_set: TextSet | None = None
    """absent from files written before it was trained"""
    times_origin: str = ""
    """of times and runs, where they were measured apart from what was trained and replayed"""

    def family(self, name: str) -> tuple[Network, ...]:
        """Its networks, the shallowest first."""
        return tuple(network for network in self.networks if network.family == name)

    @property
    def gammas(self) -> range:
        """Lengths that were replayed and timed."""
        return range(1, 1 + min(len(network.matched) for network in self.networks))

    def sets(self) -> dict[str, DepthWidths]:
        """Name of a set → the study with the networks of that set alone. Of the second nothing is measured."""
        second = self.text_set
        if second is None:
            return {DISTILLED: self}
        learnt = {network.name: network for network in second.networks}
        networks = tuple(_taught(network, learnt[network.name]) for network in self.networks)
        other = replace(
            self,
            networks=networks,
            measured=(),
            tokens=second.tokens,
            loss=second.loss,
            command=second.command,
            origin=second.origin,
            text_set=None,
        )
        return {DISTILLED: replace(self, text_set=None), TEXT: other}


def _taught(shape: Network, learnt: TextNetwork) -> Network:
    return replace(
        shape,
        perplexity=learnt.perplexity,
        agreement=learnt.agreement,
        acceptance=learnt.acceptance,
        matched=learnt.matched,
    )


def problems(study: DepthWidths) -> Iterator[str]:
    """What cannot be so."""
    if not study.networks or not all(gamma + 1 in study.passes for gamma in (0, *study.gammas)):
        yield "networks, or the target's passes over their drafts, are missing"
    elif study.text_set is not None:
        found = {network.name: len(network.matched) for network in study.text_set.networks}
        if any(found.get(network.name, 0) < len(study.gammas) for network in study.networks):
            yield "its second set lacks a network of the first, or a γ"
