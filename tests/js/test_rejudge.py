"""Re-judging in the page against the engine: the same candidates and numbers, judged by the real verifiers."""

import json
import random
from dataclasses import asdict, dataclass

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling, transform
from specviz.core.tree import DraftTree
from specviz.engine.measured import top_rows
from specviz.engine.scoring import ScoredTree
from specviz.verifiers.base import VERIFIERS, Verdict
from tests.js.node import run

VOCAB = 12
SHAPE = [(0, 3), (1, 2), (2, 2), (4, 1)]
"""(parent, children): a tree of eight candidates, three deep"""
CHAIN = [(0, 1), (1, 1), (2, 1)]
MOVES = [
    (Sampling(1.0), Sampling(0.7)),
    (Sampling(1.0), Sampling(1.0, top_k=3)),
    (Sampling(1.0), Sampling(1.0, top_p=0.7)),
    (Sampling(0.8), Sampling(1.0)),
    (Sampling(0.8), Sampling(1.3)),
    (Sampling(0.8), Sampling(0.4, top_p=0.9)),
    (Sampling(0.8), Sampling(0.0)),
    (Sampling(0.6, top_k=5), Sampling(0.9, top_k=6, top_p=0.95)),
    (Sampling(0.9, top_p=0.8), Sampling(0.7)),
    (Sampling(1.0), Sampling(1.0)),
]


RULES: list[tuple[str, dict, dict]] = [
    ("sequential", {}, {"lenience": 1.0}),
    ("lenience", {"lenience": 0.8}, {"lenience": 0.4}),
    ("longest_path", {}, {"lenience": 1.0}),
]
"""(rule, its options as recorded, what is moved besides the sampling)"""


@dataclass
class Toy:
    """Random logits at every node of a tree [n, V] and candidates drawn from the draft's."""

    kind: str
    parents: list[tuple[int, int]]
    target: torch.Tensor
    draft: torch.Tensor
    tokens: list[int]

    def tree(self, sampling: Sampling) -> DraftTree:
        tree, tokens = DraftTree.from_root(0), iter(self.tokens)
        for parent, count in self.parents:
            for _ in range(count):
                q = None if self.kind == "point_mass" else transform(self.draft[parent], sampling)
                tree.add(parent, next(tokens), self.kind, q, "model")
        return tree

    def judged(self, rule: str, options: dict, sampling: Sampling, seed: int) -> Verdict:
        kind = VERIFIERS.get(rule)
        tree = self.tree(sampling)
        return kind(kind.options_type(**options)).judge(
            tree, ScoredTree(tree, self.target, sampling), SeededRandom(seed), 5
        )


def toy(kind: str, shape: list[tuple[int, int]], sampling: Sampling, seed: int) -> Toy:
    torch.manual_seed(seed)
    size = 1 + sum(count for _, count in shape)
    target = torch.randn(size, VOCAB) * 1.5
    draft = target + torch.randn(size, VOCAB)
    tokens = []
    for parent, count in shape:
        q = transform(draft[parent], sampling)
        drawn = (
            torch.multinomial(q, count, replacement=kind == "iid") if int((q > 0).sum()) >= count else q.topk(count)[1]
        )
        tokens += drawn.tolist()
    return Toy(kind, shape, target, draft, tokens)


def trace_of(made: Toy, rule: str, options: dict, sampling: Sampling, verdict: Verdict, top: int) -> dict:
    """The parts of a trace that judging again reads, with heads as the recorder cuts them."""
    tree = made.tree(sampling)
    rows = transform(made.target, sampling)
    nodes = []
    for i in range(len(tree)):
        drafted = made.kind != "point_mass" and bool(tree.children(i))
        p = ScoredTree(tree, made.target, sampling)
        one = {
            "id": i,
            "parent": tree.parents[i],
            "depth": tree.depths[i],
            "token": tree.tokens[i],
            "kind": tree.kinds[i],
            "source": tree.sources[i],
            "target": asdict(top_rows(rows[i : i + 1], top)[0]),
            "target_raw": None,
            "draft_prob": round(tree.proposal_prob(i), 6) if i else None,
            "draft_raw": None,
            "target_prob": round(p.candidate_prob(i), 6) if i else None,
            "draft": asdict(top_rows(transform(made.draft[i : i + 1], sampling), top)[0]) if drafted else None,
        }
        if not sampling.plain:
            one["target_raw"] = asdict(top_rows(made.target[i : i + 1].softmax(-1), top)[0])
            one["draft_raw"] = asdict(top_rows(made.draft[i : i + 1].softmax(-1), top)[0]) if drafted else None
        nodes.append(one)
    card = {"vocab_size": VOCAB}
    started = {
        "sampling": asdict(sampling),
        "target": card,
        "drafter": {"model": card},
        "verifier": {"name": rule, "options": options},
    }
    judged = {"rule": rule, "trials": [asdict(trial) for trial in verdict.trials], "path": verdict.path}
    return {"started": started, "rounds": [{"nodes": nodes, "judged": judged}]}


def cases(top: int, seeds: range) -> tuple[list[dict], list[Verdict]]:
    asked, truth = [], []
    for seed in seeds:
        choose = random.Random(seed).choice
        before, after = choose(MOVES)
        kind, shape = choose(["iid", "without_replacement", "point_mass"]), choose([SHAPE, CHAIN])
        rule, options, new = choose(RULES)
        made = toy(kind, shape, before, seed)
        verdict = made.judged(rule, options, before, seed)
        trace = trace_of(made, rule, options, before, verdict, top)
        settings = {"temperature": after.temperature, "topK": after.top_k, "topP": after.top_p, "gamma": None, **new}
        asked.append({"trace": trace, "settings": settings})
        truth.append(made.judged(rule, new if rule == "lenience" else {}, after, seed))
    return asked, truth


def again(asked: list[dict]) -> list[list[dict]]:
    done = run("tests/js/rejudge_rounds.js", stdin=json.dumps(asked))
    assert done.returncode == 0, done.stderr
    found: list[list[dict]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("top", "told"), [(VOCAB, 0.95), (4, 0.88)], ids=["whole distributions", "the top four"])
def test_what_is_told_is_what_the_engine_says_and_its_numbers_lie_within_the_bounds(top: int, told: float) -> None:
    asked, truth = cases(top, range(200))
    verdicts = settled = 0
    for case, found, true in zip(asked, again(asked), truth, strict=True):
        trials = {trial.node: trial for trial in true.trials}
        for one in found:
            trial = trials.get(one["node"])
            hint = f"{case['settings']} {one} {trial}"
            if one["now"] in ("accepted", "rejected"):
                assert trial is not None, hint
                assert trial.accepted == (one["now"] == "accepted"), hint
                settled += 1
            if one["now"] == "untried":
                assert trial is None, hint
            if trial is not None:
                verdicts += 1
            if trial is None or "acceptance" not in one or case["settings"]["temperature"] == 0:
                continue
            for name, value in (("p", trial.target_prob), ("q", trial.draft_prob), ("acceptance", trial.threshold)):
                if one[name] is not None:
                    low, high = one[name]
                    assert low - 2e-6 <= value <= high + 2e-6, f"{name}: {hint}"
    assert settled > told * verdicts
