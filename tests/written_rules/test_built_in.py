"""Every built-in rule, written in the visitors' language, against the engine's own enumeration of the same method."""

import math
from collections.abc import Iterator

import pytest

from specviz.app.proof.tab import PRESETS
from specviz.proof.lines import lines
from specviz.protocol.proofs import BREAKS, Toy
from specviz.verifiers.base import VERIFIERS
from specviz.written_rules.language import parse
from specviz.written_rules.law import Law, World
from specviz.written_rules.verdict import shipped

PAIRS = [*PRESETS.values(), ((0.05, 0.15, 0.8), (0.3, 0.35, 0.35))]
ONE_CANDIDATE = {"block", "typical"}
"""rules of whole paths: with siblings these are no tries one after the other"""
RULES = shipped()["built_in"]
NOT_IN_THIS_LANGUAGE = {"coupled", "gls", "fly"}
"""`coupled` and `gls` compare winners of races and no u; `fly` forgives a candidate by the fate of those after it,
which a rule for one candidate does not see"""


def compared(rule: str, world: World, toy: Toy) -> None:
    law, proof = Law(parse(rule), world), lines(toy)
    assert law.text(1) == pytest.approx(proof.output, abs=1e-6)
    kept = math.fsum(line.prob for line in proof.lines if line.source == "accepted")
    assert math.fsum(law.level().kept) == pytest.approx(kept, abs=1e-6)


def test_every_rule_that_works_above_temperature_0_is_written_down() -> None:
    judges = {name for name, kind in VERIFIERS.items() if kind.temperatures == "any"}
    assert set(RULES) == judges - NOT_IN_THIS_LANGUAGE


def judged() -> Iterator[tuple[str, int, str]]:
    """(rule, candidates, how they are drawn), wherever the rule judges them so."""
    for verifier in RULES:
        for draw in VERIFIERS.get(verifier).judges & {"iid", "without_replacement"}:
            yield from ((verifier, many, draw) for many in ((1,) if verifier in ONE_CANDIDATE else (1, 2, 3)))


@pytest.mark.parametrize(("verifier", "candidates", "draw"), sorted(judged()))
def test_a_built_in_rule_has_the_law_and_the_acceptance_that_prove_gives(
    verifier: str, candidates: int, draw: str
) -> None:
    for p, q in PAIRS[:: 3 if candidates == 3 else 1]:  # three siblings take as long as all else
        toy = Toy(p, q, verifier, candidates, draw)
        compared(RULES[verifier], World(list(p), list(q), siblings=candidates, draw=draw), toy)


@pytest.mark.parametrize("bug", shipped()["broken"])
def test_a_planted_bug_has_the_law_that_prove_gives(bug: str) -> None:
    written = shipped()["broken"][bug]
    for p, q in PAIRS:
        compared(written["rule"], World(list(p), list(q), draw=written["draw"]), Toy(p, q, broken=bug, draw="iid"))


def test_only_a_change_of_the_order_of_siblings_cannot_be_written() -> None:
    assert {bug.name for bug in BREAKS} - set(shipped()["broken"]) == {"sort_siblings"}
