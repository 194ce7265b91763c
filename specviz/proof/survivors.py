"""What K-SEQ gains by keeping the drafts that share the accepted token, on the drafts of real runs.

Of each drafted tree the expected number of accepted candidates follows from the thresholds alone, exactly, with
survivors and without: both numbers of one tree, so nothing but the rule differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree
from specviz.proof.exhaustive import ProofCase, Text, session_of
from specviz.proof.sampled import Models
from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.verifiers.base import TargetRows
from specviz.verifiers.kseq import KSeqOptions, KSeqVerifier


@dataclass(frozen=True, slots=True)
class Gain:
    """Accepted candidates per round, the round's last token not counted."""

    rounds: int
    survivors: Estimate
    """expected, where the drafts that share an accepted token go on"""
    own: Estimate
    """expected of the same trees, where only the children of the accepted node do"""
    counted: Estimate
    """what the runs, which keep the survivors, really accepted"""


def expected(verifier: KSeqVerifier, tree: DraftTree, target: TargetRows, node: int = ROOT) -> float:
    """Expected number of accepted candidates below `node`: each is reached where those before it are rejected."""
    children, level = verifier.level(tree, target, node)
    if level is None:
        return 0.0
    total, left = 0.0, 1.0
    for child in children:
        probability = level.threshold(target.candidate_prob(child), tree.proposal_prob(child))
        if left * probability > 0.0:
            total += left * probability * (1.0 + expected(verifier, tree, target, child))
        left *= 1.0 - probability
    return total


def case(drafts: int, levels: int, temperature: float, tokens: int, prompt: Text) -> ProofCase:
    """`drafts` independent chains of `levels` tokens from the model drafter, judged by K-SEQ."""
    options = (("branching", (drafts, *[1] * (levels - 1))), ("draw", "iid"))
    return ProofCase("model", "kseq", options, Sampling(temperature), prompt, tokens)


def runs(models: Models, cases: Sequence[ProofCase], seeds: int) -> Iterator[list[tuple[float, float, int]]]:
    """Per case, over its runs: (with survivors, without, really accepted) of every round."""
    kinds = (KSeqVerifier(KSeqOptions()), KSeqVerifier(KSeqOptions(survivors=False)))
    for proof_case in cases:
        expected_of = []
        for seed in range(seeds):
            session = session_of(proof_case, SeededRandom(seed), models)
            session.begin()
            while session.finished is None:
                record = session.round()
                both = [expected(kind, record.proposal.tree, record.scored) for kind in kinds]
                expected_of.append((both[0], both[1], len(record.verdict.path)))
        yield expected_of


def gain(by_run: Sequence[Sequence[tuple[float, float, int]]]) -> Gain:
    """Of all cases, with 95 % intervals over resampled cases. Raises BenchError for nothing."""
    columns = []
    for index in range(3):
        estimate = ratio_of_sums(
            [(float(sum(counts[index] for counts in rounds)), float(len(rounds))) for rounds in by_run]
        )
        assert estimate is not None, "every run has a round."
        columns.append(estimate)
    return Gain(sum(map(len, by_run)), *columns)
