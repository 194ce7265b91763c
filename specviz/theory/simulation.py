"""A run that no model made: drafts accepted at random, times from a formula, and the events of any other run.

Every candidate passes with the probability that was asked for; tokens are placeholders that say what they are, and the
header's source is `simulated`, its clock *modelled*. The trace keeps every rule of the format: a candidate is a point
mass, the target gives it exactly its probability, the j-th sibling what its rejected earlier siblings left, so the
sequential rule accepts each with that probability once its turn comes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from statistics import fmean

from specviz.errors import OptionError
from specviz.theory import metrics
from specviz.theory.speedup import times_as_fast
from specviz.theory.what_if import Clock, Shape, level_rates
from specviz.trace.codec import assemble
from specviz.trace.events import (
    Committed,
    CommittedToken,
    Drafted,
    Fate,
    Finished,
    Judged,
    Node,
    Option,
    Origin,
    Pass,
    Round,
    Scored,
    Step,
    TopK,
    Trace,
    Trial,
    VocabEntry,
)
from specviz.trace.files import STANDARD
from specviz.trace.header import Machine, MethodCard, ModelCard, SamplingCard, Started, StepTime, TokenizerCard
from specviz.trace.tree_shape import families_of, tidy_layout
from specviz.trace.uniform_draws import uniform
from specviz.version import __version__

PROMPT, FIX, BONUS, PLAIN, GUESS = range(5)
"""placeholder tokens; GUESS + j is the j-th sibling's"""
TEXTS = ("[simulated: no model, no text] ", "[correction] ", "[bonus] ", "[plain] ", "[guess] ")
DECLARED = {
    "lossless": True, "sources": ["simulated"], "found": [], "draws": False, "passes": True, "model": False,
    "most": "", "deepest": "", "hybrid": False, "riding": "", "merged": False, "beside": False,
}  # fmt: skip
"""what a simulated run shows of its drafter, which is none that can be chosen; see `trace.declared_method`"""
NOTHING = TopK([], [], 1.0)
"""what follows a leaf: nobody asked"""


@dataclass(frozen=True, slots=True)
class Simulation:
    """What to simulate. The same simulation gives the same run, its creation time apart."""

    alphas: tuple[float, ...]
    """probability of a candidate per depth, once its turn comes; the last one goes on"""
    shape: Shape
    clock: Clock
    clock_name: str
    """in words, for the header"""
    rounds: int = 32
    seed: int = 7

    def __post_init__(self) -> None:
        level_rates(self.alphas, self.shape)
        most = min(STANDARD.rounds, STANDARD.nodes // (self.shape.nodes + 1))
        if not 1 <= self.rounds <= most:
            raise OptionError(f"rounds is {self.rounds}, but 1 to {most:,} of this shape fit into a trace.")

    def alpha(self, depth: int) -> float:
        """Of a candidate at this depth, the first level being 1."""
        return self.alphas[min(depth, len(self.alphas)) - 1]


def rates_of(trace: Trace) -> tuple[float, ...]:
    """A run's own rates per depth, to simulate with: how often the candidate tried first below a visited node passed.

    Not how often a level of siblings did: `level_rates` makes that of these. Raises OptionError where the run tested
    nothing, or tried whole branches at once, where no candidate comes first.
    """
    passed: dict[int, list[bool]] = {}
    for this in trace.rounds:
        for trial in metrics.first_trials(this):
            passed.setdefault(this.nodes[trial.node].depth, []).append(trial.accepted)
    if not passed:
        raise OptionError(
            "this run has no acceptance rates per depth: it tested nothing, or whole branches; choose another."
        )
    return tuple(fmean(passed[depth]) for depth in sorted(passed))


def simulate(what: Simulation) -> Trace:
    """The whole run, seeded; it passes `specviz check`."""
    return assemble(_steps(what))


def modelled_speedup(trace: Trace) -> float:
    """Tokens x one plain step / the rounds' seconds, all on the run's modelled clock."""
    plain = next(step_time.median_s for step_time in trace.started.step_times if step_time.rows == 1)
    return times_as_fast(trace.summary.num_output_tokens / trace.finished.decode_s, 1 / plain)


def _steps(what: Simulation) -> Iterator[Step]:
    rounds: list[Round] = []
    length, at = 1, 0.0
    last = PROMPT
    for index in range(what.rounds):
        this = _round(what, index, length, last, at)
        rounds.append(this)
        length, at, last = length + len(this.committed.tokens), at + this.seconds, this.judged.token
    output = [token.token for this in rounds for token in this.committed.tokens]
    yield Step(_started(what, len(output)), _vocabulary(max(what.shape.branching, default=0)))
    for this in rounds:
        yield Step(this, {})
    text = "".join(_text(token) for token in output)
    yield Step(Finished("length", None, output, text, 0.0, sum(this.seconds for this in rounds), 0.0), {})


def _started(what: Simulation, tokens: int) -> Started:
    options: dict[str, Option] = {
        "alphas": ", ".join(f"{alpha:.4g}" for alpha in what.alphas),
        "shape": f"gamma {what.shape.depth}" if what.shape.is_chain else what.shape.text,
        "cost_ratio": round(what.clock.cost_ratio, 6),
        "clock": what.clock_name,
    }
    name = hashlib.sha256(f"{options} {what.rounds} {what.seed}".encode()).hexdigest()[:12]
    times, vocab_size = what.clock.times, GUESS + max(what.shape.branching, default=0)
    return Started(
        run_id=f"sim-{name}",
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        producer=f"specviz {__version__} simulate",
        source="simulated",
        target=ModelCard("no model", "none", "simulation", 0, 0, 0, vocab_size, 2**31, "none", ""),
        drafter=MethodCard("simulated", options, True),
        verifier=MethodCard("sequential", {}, True),
        sampling=SamplingCard(1.0, 0, 1.0),
        tokenizer=TokenizerCard("placeholders", vocab_size, "", []),
        machine=Machine("none", "none", 0, 0, f"modelled clock: {what.clock_name}", "", "none", "none", "simulated"),
        seed=what.seed,
        max_new_tokens=tokens,
        eos_ids=[],
        stop=[],
        prompt_text=TEXTS[PROMPT],
        prompt_ids=[PROMPT],
        step_times=[
            StepTime(rows, 0, seconds, seconds, seconds)
            for rows, seconds in zip(times.rows, times.seconds, strict=True)
        ],
        draft_step_s=what.clock.draft_step_s,
    )


def _text(token: int) -> str:
    return TEXTS[token] if token <= GUESS else f"[guess {token - GUESS + 1}] "


def _vocabulary(siblings: int) -> dict[str, VocabEntry]:
    texts = [_text(token) for token in range(GUESS + siblings)]
    return {
        str(token): VocabEntry(base64.b64encode(text.encode()).decode("ascii"), text)
        for token, text in enumerate(texts)
    }


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all rounds of a shape share."""

    parents: tuple[int, ...]
    depths: tuple[int, ...]
    siblings: tuple[int, ...]
    """place among its siblings, 0 the first"""
    families: tuple[tuple[int, ...], ...]
    places: tuple[tuple[float, float], ...]

    def token(self, node: int, root: int) -> int:
        return GUESS + self.siblings[node] if node else root


@lru_cache(maxsize=16)
def _plan(shape: Shape) -> _Plan:
    """Level by level, siblings together."""
    parents, depths, siblings, level = [-1], [0], [0], [0]
    for depth, children in enumerate(shape.branching, start=1):
        first = len(parents)
        for parent in level:
            parents += [parent] * children
            depths += [depth] * children
            siblings += range(children)
        level = list(range(first, len(parents)))
    families = tuple(map(tuple, families_of(parents)))
    return _Plan(tuple(parents), tuple(depths), tuple(siblings), families, tuple(tidy_layout(parents, depths)))


def _round(what: Simulation, index: int, length: int, root: int, start_s: float) -> Round:
    plan, clock, before = _plan(what.shape), what.clock, length - 1
    judged = _judged(what, index, plan)
    made = [CommittedToken(plan.token(node, root), "draft", node) for node in judged.path]
    made.append(CommittedToken(judged.token, judged.origin, None))
    widths = (1, *what.shape.widths)
    passes = [
        Pass(widths[depth - 1], before + sum(widths[: depth - 1]), clock.draft_step_s, depth)
        for depth in range(1, what.shape.depth + 1)
    ]
    rows = len(plan.parents)
    target_s = clock.times.at(rows)
    return Round(
        index=index,
        base_length=length,
        start_s=start_s,
        nodes=_nodes(what, judged, plan, root),
        drafted=Drafted(passes, clock.draft_step_s * len(passes)),
        scored=Scored(Pass(rows, before, target_s), target_s),
        judged=judged,
        committed=Committed(made, None, 0, before, before + len(made), rows - len(made), 0.0),
    )


def _judged(what: Simulation, index: int, plan: _Plan) -> Judged:
    """The sequential rule over point masses: down the first sibling whose own number lies below its probability."""
    trials: list[Trial] = []
    path: list[int] = []
    here = 0
    while plan.families[here]:
        alpha = what.alpha(plan.depths[here] + 1)
        for node in plan.families[here]:
            u = uniform(what.seed, ("simulated", index, node))
            trials.append(Trial(node, alpha, 1.0, alpha, u, u < alpha))
            if u < alpha:
                break
        if not trials[-1].accepted:
            break
        here = trials[-1].node
        path.append(here)
    origin: Origin = "target" if len(plan.parents) == 1 else "correction" if plan.families[here] else "bonus"
    rejected = origin == "correction"
    return Judged(
        rule="sequential",
        trials=trials,
        path=path,
        final_node=here,
        residual=TopK([FIX], [1.0], 0.0) if rejected else None,
        residual_mass=1 - trials[-1].target_prob if rejected else None,
        token={"target": PLAIN, "correction": FIX, "bonus": BONUS}[origin],
        origin=origin,
        u=uniform(what.seed, ("simulated", index, 0)),
        seconds=0.0,
    )


def _nodes(what: Simulation, judged: Judged, plan: _Plan, root: int) -> list[Node]:
    tried = {trial.node for trial in judged.trials}
    targets = [_target(what, depth) for depth in range(what.shape.depth + 1)]
    return [
        Node(
            id=node,
            parent=parent,
            depth=plan.depths[node],
            token=plan.token(node, root),
            kind="point_mass" if node else "root",
            fate=_fate(node, tried, judged.path),
            source="simulated" if node else "root",
            draft_prob=1.0 if node else None,
            target_prob=_probability(what.alpha(plan.depths[node]), plan.siblings[node]) if node else None,
            draft=TopK([GUESS], [1.0], 0.0) if len(plan.families[node]) == 1 else None,
            target=targets[plan.depths[node]],
            x=plan.places[node][0],
            y=plan.places[node][1],
        )
        for node, parent in enumerate(plan.parents)
    ]


def _fate(node: int, tried: set[int], path: Sequence[int]) -> Fate:
    if node == 0:
        return "root"
    return "accepted" if node in path else "rejected" if node in tried else "unreached"


def _probability(alpha: float, sibling: int) -> float:
    """p of the sibling at this place, 0 the first: what its earlier siblings leave, times alpha."""
    return alpha * (1 - alpha) ** sibling


def _target(what: Simulation, depth: int) -> TopK:
    """The distribution after a node at this depth: each child's p, and the correction with the rest."""
    if depth == what.shape.depth:
        return NOTHING
    alpha, children = what.alpha(depth + 1), what.shape.branching[depth]
    mass = {GUESS + index: _probability(alpha, index) for index in range(children)} | {FIX: (1 - alpha) ** children}
    order = sorted((token for token in mass if mass[token] > 0), key=lambda token: -mass[token])
    return TopK(order, [mass[token] for token in order], 0.0)
