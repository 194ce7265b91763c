"""The page in Chen et al.'s notation holds the numbers that the engine's own rule gives."""

from fractions import Fraction
from pathlib import Path

import pytest
import torch

from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.engine.scoring import ScoredTree
from specviz.options import Options
from specviz.verifiers.sequential import SequentialVerifier
from tests.scripted_random import ScriptedRandom

PAGE = Path(__file__).parents[2] / "docs" / "methods" / "speculative_sampling.md"


def row(name: str) -> list[float]:
    """The three numbers of the row of the page's table that begins with this name."""
    (line,) = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {name}")]
    return [float(Fraction(cell.strip(" *"))) for cell in line.strip("|").split("|")[1:]]


def verdict(token: int, accepted: bool):
    draft = torch.tensor(row("p, the draft"), dtype=torch.float64)
    target = torch.tensor([row("q, the target")] * 2, dtype=torch.float64)
    tree = DraftTree.from_root(0)
    tree.add(0, token, "iid", draft, "test")
    outcomes = [accepted, 1]
    return SequentialVerifier(Options()).judge(
        tree, ScoredTree(tree, target.log(), Sampling(1.0)), ScriptedRandom(outcomes), 3
    )


def test_the_acceptance_probabilities_are_the_verifiers() -> None:
    assert [verdict(token, True).trials[0].threshold for token in range(3)] == pytest.approx(row("min(1, q/p)"))


def test_the_residual_is_the_verifiers() -> None:
    rejected = verdict(0, False)
    assert rejected.residual is not None
    assert rejected.residual.tolist() == pytest.approx(row("(q − p)₊ | 0"))
    assert rejected.residual_mass == pytest.approx(sum(row("max(0, q − p)")))


def test_what_comes_out_is_the_target() -> None:
    draft, stays = row("p, the draft"), row("drafted and stays")
    assert stays == pytest.approx([p * a for p, a in zip(draft, row("min(1, q/p)"), strict=True)])
    after = row("drawn after a rejection")
    assert after == pytest.approx([(1 - sum(stays)) * r for r in row("(q − p)₊ | 0")])
    assert [a + b for a, b in zip(stays, after, strict=True)] == pytest.approx(row("**sum"))
    assert row("**sum") == row("q, the target")
