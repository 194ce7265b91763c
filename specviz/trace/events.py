"""The waist: what one speculative-decoding run looked like, as plain data.

The engine writes these records; every view, chart, explanation and export only reads them. A trace is `Started`, then
one `Round` after another (`Drafted`, `Scored`, `Judged`, `Committed`), then `Finished`. Live, recorded and simulated
runs are the same thing.

Conventions: probabilities are fractions in [0, 1]; durations end in `_s` (seconds on the engine's clock,
animation excluded); token ids are ints; a `None` means "there is none", never "unknown".
`target` and `draft` follow Leviathan et al. (2211.17192): p is the target, q is the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from specviz.frozen import FormedLater, frozen
from specviz.trace.header import Exhibit, Started
from specviz.trace.header import Option as Option
from specviz.trace.notebook import html_of, line_of

FORMAT = "specviz-trace"
VERSION = "1.3"

CandidateKind = Literal["root", "iid", "without_replacement", "point_mass"]
Fate = Literal["root", "accepted", "rejected", "unreached"]
Origin = Literal["draft", "correction", "bonus", "target", "forced"]
Order = Literal["top_down", "bottom_up", "longest"]
EndReason = Literal["eos", "stop", "length"]
TrimReason = Literal["eos", "stop", "length", "open"]
FinishReason = Literal["eos", "stop", "length", "cancelled", "failed"]

BESIDE = "drafter"
"""lane of a drafter that drafts in a process of its own, while the target's pass runs"""
IN_TURN = "drafter, in turn"
"""lane of the same drafter made to draft in the target's process, where nothing overlaps: a run that can be repeated
candidate by candidate, and no measurement of working side by side"""
LaneWork = Literal["draft", "roll back"]


@dataclass(frozen=True, slots=True)
class LaneSpan:
    """A lane busy with one thing. Between two spans of a lane it waits."""

    lane: str
    """`drafter`: a process of its own; `drafter, in turn`: the target's process, between its passes"""
    what: LaneWork
    """`roll back` takes no time: what was drafted is no continuation of the text any more"""
    start_s: float
    """on the clock of `Round.start_s`, and so mostly inside the target's pass, or before the round began"""
    end_s: float
    tokens: int
    """drafted, or thrown away"""


@frozen
class TopK:
    """The head of a distribution and how much mass lies outside it."""

    tokens: list[int]
    probs: list[float]
    """decreasing; same length as `tokens`"""
    rest: float
    """1 - sum(probs), at least 0"""


@frozen
class Agreement:
    """Target p against draft q for the token after a node, worked out on whole distributions while recording."""

    target_bits: float
    """entropy of p in bits"""
    draft_bits: float | None = None
    """entropy of q in bits; None: no distribution of the drafter is there to compare, such as below a point mass"""
    kl_bits: float | None = None
    """KL(p‖q) = sum of p log2(p/q), the direction that distillation of drafters minimises (DistillSpec, 2310.08461);
    None beside a `draft_bits`: infinite, q gives nothing to a token that p can say"""
    overlap: float | None = None
    """sum of min(p, q): the acceptance probability of one candidate drawn from q (Leviathan et al., 2211.17192, Theorem
    3.5), and 1 minus the total variation distance"""


@frozen
class Node:
    """One node of the draft tree. Node 0 is the root: the last committed token, not yet in the cache."""

    id: int
    parent: int
    """-1 for the root; always smaller than `id`"""
    depth: int
    token: int
    kind: CandidateKind
    """how this candidate was drawn; decides how it may be judged"""
    fate: Fate
    source: str
    """which drafter (or part of one) proposed it; `root` for the root"""
    draft_prob: float | None
    """q(token) in the proposal distribution before siblings were removed; 1.0 for a point mass; None: root"""
    target_prob: float | None
    """p(token) in the target's distribution at the parent, before siblings were removed; None: root"""
    draft: TopK | None
    """the proposal distribution for this node's children; None: none was computed"""
    target: TopK
    """the target's distribution after this node (after the sampling transform)"""
    x: float = 0.0
    """layout: tidy-tree column, equals depth"""
    y: float = 0.0
    """layout: tidy-tree row, leaves are 0, 1, 2, …"""
    draft_raw: TopK | None = None
    """what the drafter's model itself believes: softmax of its logits at temperature 1, nothing cut off;
    None where `draft` says it already, or there is no model"""
    target_raw: TopK | None = None
    """the same of the target; at temperature 0 this is all there is to see behind a point mass"""
    rank: int | None = None
    """place of `token` among the target's logits at the parent, 1 for the largest, of equal ones the lowest id first;
    temperature does not change it; None: root, and not recorded before format 1.1"""
    agreement: Agreement | None = None
    """`target` against `draft` after this node, on the whole distributions; None at temperature 0, where they are point
    masses, and before format 1.1"""
    agreement_raw: Agreement | None = None
    """the same of what both models believe themselves; None where `agreement` says it already"""


@frozen
class Pass:
    """One forward pass of a model."""

    rows: int
    """new tokens computed"""
    cached_rows: int
    """rows already in its cache"""
    seconds: float
    depth: int | None = None
    """drafter passes: depth of the nodes this pass made possible; None: catching up / target"""
    read: int | None = None
    """drafter passes: bytes of weights that it reads; None: nobody counted them / target, whose card says it"""


@frozen
class Drafted:
    """The drafter proposed a tree."""

    passes: list[Pass]
    seconds: float
    note: dict[str, Option] = field(default_factory=dict)
    """what the drafter knew, e.g. n-gram match length and source position"""
    knew: list[Exhibit] = field(default_factory=list)
    """the same where it takes more than a number: what the draft was made from"""
    learned: list[Exhibit] = field(default_factory=list)
    """what the target's answer to this round changed in the drafter's memory"""
    riding: list[int] = field(default_factory=list)
    """nodes that ride along in the target's pass for the sake of its answers there, such as lookahead's window: work,
    and counted as no drafts. The verifier may accept them all the same; all nodes below one ride along too"""
    lanes: list[LaneSpan] = field(default_factory=list)
    """what a drafter that works beside the target's passes did since the round before was reported, in the order of
    time; empty for drafters that take turns with the target, and before format 1.2"""


@frozen
class Scored:
    """One target pass over the root and all nodes."""

    target_pass: Pass
    seconds: float


@frozen
class Trial:
    """One accept-or-reject decision, in the order they were made."""

    node: int
    target_prob: float
    """p of this trial: after the residuals of earlier rejected siblings"""
    draft_prob: float
    """Q of this trial: after earlier siblings were removed, where drawn without replacement; 1 for a point mass"""
    threshold: float
    """accept exactly when u < threshold; min(1, target_prob / draft_prob) for the sequential rule"""
    u: float | None
    """the uniform draw; None where the rule needs none (greedy, naive)"""
    accepted: bool
    terms: dict[str, float] = field(default_factory=dict)
    """named quantities the threshold was worked out from, where p and Q alone do not say it; per rule, see
    docs/trace_format.md"""


@frozen
class Judged:
    """The verdicts of one round."""

    rule: str
    """name of the verifier"""
    trials: list[Trial]
    path: list[int]
    """accepted nodes from depth 1 on"""
    final_node: int
    """the node whose distribution the last token was drawn from: end of the path, or the root"""
    residual: TopK | None
    """the distribution the correction was drawn from; None where it is the target's own (bonus, naive, greedy)"""
    residual_mass: float | None
    """mass of `residual` before normalising: sum of max(0, p - q) of the last rejected candidate, or what the rule
    subtracts in its place; None: nothing rejected, or nothing subtracted"""
    token: int
    """the token that ends the round"""
    origin: Origin
    """correction (something was rejected), bonus (a whole path was accepted), target (nothing was drafted)"""
    u: float | None
    """the uniform draw that picked `token`; None at temperature 0"""
    seconds: float
    order: Order = "top_down"
    """how the trials go through the tree: `top_down` walks from the root along accepted candidates; `bottom_up` tries
    whole paths, leaves first in post-order, and the first accepted one ends it; `longest` tries every candidate whose
    parent was accepted and keeps the longest path"""


@frozen
class CommittedToken:
    token: int
    origin: Origin
    node: int | None
    """the node it was in the tree; None for the round's last token"""


@frozen
class Committed:
    """What became final."""

    tokens: list[CommittedToken]
    trimmed: TrimReason | None
    """why the verifier's result was cut, if it was; `open`: nothing ended, but the last token is left to the next
    round, whose candidates for that place come from the same distribution of the target, itself the first of them"""
    trimmed_tokens: int
    """how many verified tokens were cut off"""
    cache_before: int
    """target cache rows before the round"""
    cache_kept: int
    """target cache rows after the round: prefix and accepted path"""
    cache_dropped: int
    """rows written by this round's target pass and dropped again"""
    seconds: float


@dataclass(frozen=True, slots=True, repr=False)
class Round(FormedLater):
    LATER = "nodes"
    index: int
    base_length: int
    """committed tokens (prompt included) when the round began; the root is the last of them"""
    start_s: float
    """since the run's first round began"""
    nodes: list[Node]
    drafted: Drafted
    scored: Scored
    judged: Judged
    committed: Committed

    @property
    def seconds(self) -> float:
        """Engine time of the round: drafting, target pass, judging, committing."""
        return self.drafted.seconds + self.scored.seconds + self.judged.seconds + self.committed.seconds

    def form_later(self, form: Callable[[int], list[Node]], number: int) -> None:
        """Let `form(number)` make the nodes at the first look at them; of a round that nobody has seen yet."""
        self._form_later(form, number)

    def __repr__(self) -> str:
        nodes, accepted = len(self.nodes) - 1, len(self.judged.path)
        return f"<Round {self.index}: {nodes} candidates, {accepted} on the path, then a {self.judged.origin} token>"


@dataclass(frozen=True, slots=True)
class PlainDecoding:
    """Plain decoding, timed in the same run of the program as the trace: same prompt, target, sampling and seed."""

    output_tokens: int
    decode_s: float
    """engine time without the pass over the prompt; of several runs the one with the median time per token"""
    runs: int
    """how often it ran, each time beside one run of the traced kind; the trace is the median of those"""
    same_text: bool
    """whether it wrote the same tokens: at temperature 0 a lossless run must, but for ties of rounding"""
    ratios: list[float] = field(default_factory=list)
    """tokens per second of the traced kind of run over those of plain decoding, one for each turn in which both ran one
    after the other; empty: their spread was not kept"""


@dataclass(frozen=True, slots=True)
class Finished:
    reason: FinishReason
    message: str | None
    output_ids: list[int]
    text: str
    prefill_s: float
    """the target's pass over the prompt, and what the drafter did to read it"""
    decode_s: float
    """sum of the rounds' engine time"""
    record_s: float
    """time spent writing this trace, not part of decode_s; nor is it forming nodes and vocabulary that nobody has
    looked at by then"""
    plain: PlainDecoding | None = None
    """what the run is compared with; None: nothing was timed beside it"""


@dataclass(frozen=True, slots=True)
class Summary:
    """vLLM's per-request acceptance fields, plus the three numbers they leave out."""

    num_spec_steps: int
    """rounds in which something was drafted"""
    num_draft_tokens: int
    """candidate nodes drafted"""
    num_accepted_draft_tokens: int
    draft_acceptance_rate: float | None
    """accepted / drafted (drafts only, no bonus); None when nothing was drafted"""
    mean_acceptance_length: float | None
    """1 + accepted / spec steps (the round's last token included); None when nothing was drafted"""
    acceptance_histogram: list[int]
    """[j]: spec steps that accepted exactly j tokens"""
    acceptance_by_depth: list[list[int]]
    """[d-1] = [rounds that drafted to depth d, rounds that accepted depth d]"""
    num_target_passes: int
    num_output_tokens: int
    tokens_per_second: float | None
    """output tokens / decode_s; None for simulated runs and for methods that are not deployable"""


@dataclass(frozen=True, slots=True)
class VocabEntry:
    bytes: str
    """base64 of the token's exact bytes (a token may end inside a UTF-8 character)"""
    text: str
    """for display alone: undecodable bytes as U+FFFD"""


@dataclass(frozen=True, slots=True, repr=False)
class Trace:
    """A whole run. On disk: JSON, `.json` or `.json.gz`."""

    format: str
    version: str
    started: Started
    vocab: dict[str, VocabEntry]
    """token id in decimal → the token; every id that occurs in the trace"""
    rounds: list[Round]
    finished: Finished
    summary: Summary

    def __repr__(self) -> str:
        return line_of(self)

    def tables(self) -> dict[str, Any]:
        """The run as flat pandas tables: `runs`, `rounds`, `nodes`, `trials`, `tokens` (`trace.exports.tables`)."""
        from specviz.trace.exports.tables import tables

        return tables(self)

    def _repr_html_(self) -> str | None:
        """The player, in a notebook."""
        return html_of(self)


@frozen
class Step(FormedLater):
    """One event of a run in progress."""

    LATER = "vocab"

    event: Started | Round | Finished
    vocab: Mapping[str, VocabEntry]
    """token id in decimal → the token; every id that this event is the first to use"""

    def form_later(self, form: Callable[[int], Mapping[str, VocabEntry]], number: int) -> None:
        """Let `form(number)` make the vocabulary at the first look at it; of a step that nobody has seen yet."""
        self._form_later(form, number)
