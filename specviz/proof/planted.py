"""Bugs of real systems, planted one at a time: the proof must see each, or its table would prove nothing.

Each is a small change of a method that looks right on the screen, or of the random source of a run. Those of the
break-it switch go with every verifier and every way of drawing, the others each have their own toy; where one has
nothing to bite on it changes nothing, and the sums say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch import Tensor

from specviz.core.randomness import AcceptDraw, RandomSource, TokenDraw
from specviz.core.sampling import Sampling, transform
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftPolicies
from specviz.engine.pairing import follow
from specviz.engine.session import Method
from specviz.errors import OptionError, SpecVizError
from specviz.options import Options
from specviz.proof.exhaustive import Distance, ProofCase, distance
from specviz.trace.uniform_draws import Key
from specviz.tree_policies.base import Draft
from specviz.tree_policies.drawing import Children, Draw, Independent, MostProbable, WithoutReplacement
from specviz.tree_policies.levels import LevelsOptions, LevelsTreePolicy
from specviz.verifiers.base import TargetRows, Verdict, Verifier
from specviz.verifiers.naive import NaiveVerifier
from specviz.verifiers.sequential import SequentialVerifier

CAUGHT = 1e-6
"""far above rounding, far below any bug's effect on a toy"""
CHAIN, PAIR = (1, 1), (2,)


class AlwaysAccepts:
    """Accepts whatever it is asked about."""

    def __init__(self, randomness: RandomSource) -> None:
        self._randomness = randomness

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        return self._randomness.accept(1.0, key)

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        return self._randomness.draw(probs, key)

    def peek(self, probs: Tensor, key: Key) -> int:
        return self._randomness.peek(probs, key)


class OneDraw(AlwaysAccepts):
    """Judges a candidate with the number that drew it.

    Candidates drawn in order at one level: node n is the n-th draw of the round.
    """

    def __init__(self, randomness: RandomSource) -> None:
        super().__init__(randomness)
        self._draws: dict[int, Key] = {}

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        purpose, _, index = key
        if purpose == "draft":
            self._draws[index + 1] = key
        return self._randomness.draw(probs, key)

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        return self._randomness.accept(probability, self._draws.get(key[2], key))


class NoDraw(AlwaysAccepts):
    """Puts off the draw that ends a round."""

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        return TokenDraw(int(probs.argmax()), None)

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        return self._randomness.accept(probability, key)


def with_randomness(faulty: Callable[[RandomSource], RandomSource]) -> Callable[[Method], Method]:
    """Plants such a random source into a method."""

    def plant(method: Method) -> Method:
        return replace(method, randomness=faulty(method.randomness))

    return plant


class Harmed:
    """A way of drawing whose families are changed after they were drawn."""

    def __init__(self, draw: Draw, harm: Callable[[Children], Children]) -> None:
        self.kind = draw.kind
        self._draw = draw
        self._harm = harm

    def level(self, draft: Draft, logits: Tensor, width: int, first: int) -> tuple[Sequence[Children], int]:
        families, used = self._draw.level(draft, logits, width, first)
        return [self._harm(list(family)) for family in families], used


class Independents(WithoutReplacement):
    """Declares as i.i.d. what was drawn without replacement."""

    kind = "iid"


class SoftTopK(MostProbable):
    """Declares the most probable tokens as drawn from the whole distribution."""

    kind = "without_replacement"

    def level(self, draft: Draft, logits: Tensor, width: int, first: int) -> tuple[Sequence[Children], int]:
        families, used = super().level(draft, logits, width, first)
        q = transform(logits, draft.sampling)
        return [[(token, q[i]) for token, _ in family] for i, family in enumerate(families)], used


class Stale(Independent):
    """Draws every round with the noise of the first."""

    def level(self, draft: Draft, logits: Tensor, width: int, first: int) -> tuple[Sequence[Children], int]:
        q = transform(logits, draft.sampling)
        return [[(draft.randomness.draw(row, ("draft", 0, first + i)).token, row)] for i, row in enumerate(q)], len(q)


class Grown(LevelsTreePolicy):
    """Levels whose candidates are drawn in a given way."""

    def __init__(self, widths: tuple[int, ...], draw: Draw) -> None:
        super().__init__(LevelsOptions(branching=widths))
        self._given = draw

    def _draw(self, sampling: Sampling) -> Draw:
        return self._given


class TargetForResidual(SequentialVerifier[Options]):
    """Draws the correction from the target, as if nothing had been rejected."""

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        verdict = super().judge(tree, target, randomness, position)
        if verdict.origin != "correction":
            return verdict
        end = verdict.path[-1] if verdict.path else ROOT
        return replace(verdict, token=randomness.draw(target.probs(end), ("again", position, 0)).token)


class DrawPerPath(NaiveVerifier[Options]):
    """One sample of the target per candidate path instead of per node; the longest match wins."""

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        leaves = [node for node in range(len(tree)) if not tree.children(node)]
        matches = [self._match(tree, target, randomness, (position, leaf)) for leaf in leaves]
        path = max(matches, key=len)
        drawn = randomness.draw(target.probs(path[-1] if path else ROOT), ("target", position + len(path), 0))
        return Verdict(path, drawn.token, "correction")

    @staticmethod
    def _match(tree: DraftTree, target: TargetRows, randomness: RandomSource, place: tuple[int, int]) -> list[int]:
        position, leaf = place
        matched: list[int] = []
        for node in tree.path(leaf):
            key = ("path", position, leaf * len(tree) + tree.depths[node])
            if randomness.draw(target.probs(tree.parents[node]), key).token != tree.tokens[node]:
                break
            matched.append(node)
        return matched


def sorted_family(family: Children) -> Children:
    return sorted(family, key=lambda child: -_share(child))


def _merged(family: Children) -> Children:
    return list({token: (token, q) for token, q in family}.values())


def confident(family: Children) -> Children:
    return [child for child in family if _share(child) > 0.3]


def _share(candidate: tuple[int, Tensor | None]) -> float:
    token, q = candidate
    return 1.0 if q is None else float(q[token])


def grows(widths: tuple[int, ...], draw: Any) -> Callable[[Method], Method]:
    def plant(method: Method) -> Method:
        follow(method.drafter, DraftPolicies(Grown(widths, draw)))
        return method

    return plant


def _judged_by(verifier: type[Verifier[Options]]) -> Callable[[Method], Method]:
    return lambda method: replace(method, verifier=verifier(method.verifier.options))


@dataclass(frozen=True, slots=True)
class Bug:
    """One planted bug, and where it shows."""

    name: str
    summary: str
    case: ProofCase


def _bug(name: str, summary: str, fault: Callable[[Method], Method], widths: tuple[int, ...] = CHAIN) -> Bug:
    options = (("gamma", len(widths)),) if max(widths) == 1 else (("branching", widths),)
    return Bug(name, summary, ProofCase("model", "sequential", options, fault=fault))


BUGS: tuple[Bug, ...] = (
    _bug("no residual", "the correction comes from the target itself", _judged_by(TargetForResidual)),
    _bug(
        "siblings sorted",
        "children tried by falling q, not in draw order",
        grows(PAIR, Harmed(WithoutReplacement(), sorted_family)),
        PAIR,
    ),
    _bug(
        "i.i.d. siblings merged",
        "equal i.i.d. children submitted once",
        grows(PAIR, Harmed(Independent(), _merged)),
        PAIR,
    ),
    _bug(
        "multi-step rule without replacement",
        "children without replacement judged as i.i.d.",
        grows(PAIR, Independents()),
        PAIR,
    ),
    _bug("top-k with soft q", "the most probable tokens judged as if drawn from q", grows(PAIR, SoftTopK()), PAIR),
    _bug(
        "unlikely token dropped",
        "a drawn token with q < 0.3 is not submitted",
        grows(CHAIN, Harmed(Independent(), confident)),
    ),
    _bug("draw per path", "the target is sampled once per path, not per node", _judged_by(DrawPerPath), PAIR),
    _bug("noise reused", "every round drafts with the noise of the first", grows(CHAIN, Stale())),
    _bug("everything accepted", "no candidate is rejected, whatever the target says", with_randomness(AlwaysAccepts)),
    _bug(
        "noise of the draw judges", "the number that drew a candidate also decides about it", with_randomness(OneDraw)
    ),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What the proof says of a planted bug."""

    bug: str
    summary: str
    distance: Distance | None
    """None: refused before any law was known"""
    refusal: str

    @property
    def caught(self) -> bool:
        return self.distance is None or self.distance.error > CAUGHT


def find(bug: Bug) -> Finding:
    """Walk the harmed method."""
    try:
        return Finding(bug.name, bug.summary, distance(bug.case), "")
    except SpecVizError as refusal:
        return Finding(bug.name, bug.summary, None, str(refusal))


def findings() -> Iterator[Finding]:
    """All planted bugs, one after the other."""
    yield from map(find, BUGS)


Fault = Callable[[Method], Method]


class Forgetful:
    """Mixed into a verifier's class: whatever was rejected, the last token comes from the target itself."""

    rule: Any
    """the class it is mixed into"""

    def judge(self, tree: DraftTree, target: TargetRows, randomness: RandomSource, position: int) -> Verdict:
        verdict: Verdict = self.rule.judge(self, tree, target, NoDraw(randomness), position)
        end = verdict.path[-1] if verdict.path else ROOT
        drawn = randomness.draw(target.probs(end), ("target", position + len(verdict.path), 0))
        return replace(verdict, token=drawn.token, residual=None, residual_mass=None, u=drawn.u)


def _forgetful(method: Method) -> Method:
    rule = type(method.verifier)
    if rule.samples_target:  # it draws from the target anyway, and has no residual to forget
        return method
    harmed = type(f"Forgetful{rule.__name__}", (Forgetful, rule), {"rule": rule})
    return replace(method, verifier=harmed(method.verifier.options))


def _drafted(harm: Callable[[Children], Children], widths: tuple[int, ...], draw: Draw) -> Fault:
    return grows(widths, Harmed(draw, harm))


FAULTS: Mapping[str, Callable[[tuple[int, ...], Draw], Fault]] = {
    "skip_residual": lambda widths, draw: _forgetful,
    "accept_all": lambda widths, draw: with_randomness(AlwaysAccepts),
    "sort_siblings": partial(_drafted, sorted_family),
    "drop_unsure": partial(_drafted, confident),
    "reuse_noise": lambda widths, draw: with_randomness(OneDraw),
}
"""by the names of `specviz.protocol.proofs.BREAKS`"""


def fault_of(name: str, widths: tuple[int, ...], draw: Draw) -> Fault | None:
    """The bug called so, for a tree of these widths drawn in this way; None for no bug. Raises OptionError."""
    if not name:
        return None
    if name not in FAULTS:
        raise OptionError(f"there is no bug called '{name[:40]}' to plant; choose of {', '.join(FAULTS)}.")
    return FAULTS[name](widths, draw)
