"""What the trace says of a round is what the round was: each number against the tensors it came from."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.engine.recorder import Recorder
from specviz.engine.session import RoundRecord
from specviz.proof.exhaustive import ProofCase, session_of
from specviz.trace.events import Round, TopK
from tests.proof.letters import Letters

SIZE = 6
CASE = ProofCase("model", "sequential", (("branching", (2, 2)),), Sampling(0.7), (1, 2), 24, SIZE)


def recorded(case: ProofCase = CASE) -> list[tuple[RoundRecord, Round]]:
    """Every round of a run, as it was and as it was written down."""
    session = session_of(case, SeededRandom(3))
    recorder = Recorder(Letters(SIZE), top=SIZE)
    session.begin()
    found = []
    while session.finished is None:
        record = session.round()
        found.append((record, recorder.round(record).event))
    return found


def spread(head: TopK) -> list[float]:
    """The head as a whole distribution: nothing is left out at this size."""
    row = [0.0] * SIZE
    for token, prob in zip(head.tokens, head.probs, strict=True):
        row[token] = prob
    return row


def near(row: torch.Tensor):
    return pytest.approx(row.tolist(), abs=1e-6)


def test_the_residual_is_what_the_correction_was_drawn_from_and_not_the_targets_own():
    corrections = [(was, said) for was, said in recorded() if was.verdict.residual is not None]
    assert len(corrections) >= 2
    for was, said in corrections:
        own = was.scored.probs(said.judged.final_node)
        assert spread(said.judged.residual) == near(was.verdict.residual)
        assert spread(said.judged.residual) != near(own)
        assert said.judged.residual_mass == was.verdict.residual_mass


@pytest.mark.parametrize(
    ("tree_policy", "options"), [("", {}), ("dyspec", {"budget": 5}), ("eagle2", {"budget": 4, "depth": 2, "width": 2})]
)
def test_every_nodes_raw_rows_are_its_own(tree_policy, options):
    grown = replace(CASE, options=(), growth=tree_policy, growth_options=tuple(options.items()))
    drafted = 0
    for was, said in recorded(grown if options else CASE):
        asked = {node: row for nodes, rows in was.proposal.draft_logits for node, row in zip(nodes, rows, strict=True)}
        for node in said.nodes:
            assert spread(node.target_raw) == near(was.scored.logits[node.id].softmax(-1))
            assert spread(node.target) == near(was.scored.probs(node.id))
            assert (node.draft_raw is not None) == (node.id in asked)
            if node.draft_raw is not None:
                assert spread(node.draft_raw) == near(asked[node.id].softmax(-1))
                drafted += 1
    assert drafted > 5


def test_times_are_those_of_the_round_and_add_up_to_the_next_rounds_start():
    start = 0.0
    for was, said in recorded():
        assert said.start_s == was.start_s == pytest.approx(start, abs=1e-12)
        assert (said.drafted.seconds, said.scored.seconds) == (was.times.draft, was.times.target)
        assert (said.judged.seconds, said.committed.seconds) == (was.times.judge, was.times.commit)
        assert said.scored.target_pass.seconds == was.times.target
        assert [one.seconds for one in said.drafted.passes] == [one.seconds for one in was.proposal.passes]
        start += was.times.total


def test_candidates_keep_the_probabilities_that_they_were_judged_by():
    for was, said in recorded():
        tree = was.proposal.tree
        for node in said.nodes[1:]:
            assert node.draft_prob == pytest.approx(tree.proposal_prob(node.id), abs=1e-6)
            assert node.target_prob == pytest.approx(was.scored.candidate_prob(node.id), abs=1e-6)
            assert (node.token, node.parent, node.kind) == (
                tree.tokens[node.id],
                tree.parents[node.id],
                tree.kinds[node.id],
            )
