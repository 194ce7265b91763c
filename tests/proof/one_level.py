"""One level of a draft, judged on given distributions: every outcome of a rule, by the random source that walks all
branches."""

import random
from dataclasses import dataclass

import torch

from specviz.core.tree import DraftTree
from specviz.proof.exhaustive import EnumeratedRandom
from specviz.verifiers.base import VERIFIERS, Verdict


@dataclass
class Rows:
    """Target distributions [V], one per node: what a verifier sees as `TargetRows`."""

    tree: DraftTree
    rows: list[torch.Tensor]
    greedy: bool = False
    """then the rows are what the model says itself, and `probs` is a point mass on the largest"""

    def share_of_best(self, node):
        row = self.rows[self.tree.parents[node]]
        return float(row[self.tree.tokens[node]] / row.max())

    def entropy_of_likeliest(self, node, count):
        row = self.rows[node]
        return float(torch.special.entr(row.topk(min(count, len(row))).values).sum())

    def probs(self, node):
        row = self.rows[node]
        return torch.eye(len(row), dtype=row.dtype)[int(row.argmax())] if self.greedy else row

    fetch = None

    def candidate_prob(self, node):
        return float(self.probs(self.tree.parents[node])[self.tree.tokens[node]])

    def argmax(self, node):
        return int(self.rows[node].argmax())


def verdicts(
    rule: str, tree: DraftTree, rows: list[torch.Tensor], options=None, greedy=False
) -> list[tuple[Verdict, float]]:
    """Every verdict the rule can come to on this very tree, with its probability."""
    kind = VERIFIERS.get(rule)
    verifier = kind.of(options or {})
    found, script = [], ()
    while script is not None:
        randomness = EnumeratedRandom(script)
        verdict = verifier.judge(tree, Rows(tree, rows, greedy), randomness, 1)
        found.append((verdict, randomness.weight()))
        script = randomness.next_script(0)
    return found


def siblings(drawn, kind: str, q: torch.Tensor) -> DraftTree:
    tree = DraftTree.from_root(0)
    for token in drawn:
        tree.add(0, token, kind, None if kind == "point_mass" else q, "test")
    return tree


def acceptance(rule: str, p, q, kind: str, law) -> float:
    """Exact probability that one of the candidates is accepted, over the law of the lists."""
    target, proposal = (torch.tensor(row, dtype=torch.float64) for row in (p, q))
    total = 0.0
    for drawn, mass in law.items():
        tree = siblings(drawn, kind, proposal)
        for verdict, weight in verdicts(rule, tree, [target] * len(tree)):
            total += mass * weight * len(verdict.path)
    return total


def distribution(rng: random.Random, size: int) -> list[float]:
    weights = [rng.gammavariate(1.5, 1.0) for _ in range(size)]
    return [weight / sum(weights) for weight in weights]
