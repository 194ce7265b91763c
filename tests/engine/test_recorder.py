"""What the trace says of a round is what the round was: each number against the tensors it came from."""

from dataclasses import replace
from math import log2

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.engine.measured import _before_on_cpu, _before_on_device, agreements, ranks
from specviz.engine.recorder import Recorder
from specviz.engine.session import RoundRecord
from specviz.proof.exhaustive import ProofCase, session_of
from specviz.trace.events import Agreement, Round, TopK
from tests.proof.letters import Letters

SIZE = 6
CASE = ProofCase("model", "sequential", (("branching", (2, 2)),), Sampling(0.7), (1, 2), 24, SIZE)

VERIFIER_AT = {0.0: "greedy", 0.7: "sequential", 1.0: "sequential"}


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


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("together", [1, 64])
def test_each_step_brings_the_tokens_that_its_round_is_the_first_to_name(temperature, together):
    """Those of all its heads too, whose nodes nobody has formed by then."""
    case = replace(CASE, sampling=Sampling(temperature), verifier=VERIFIER_AT[temperature])
    session, recorder = session_of(case, SeededRandom(3)), Recorder(Letters(SIZE), top=2)
    session.begin()
    waiting, steps = [], []
    while session.finished is None:
        waiting.append(session.round())
        steps += recorder.rounds(waiting) if len(waiting) == together else []
    steps += recorder.rounds(waiting)
    known = set()
    for step in steps:
        heads = [
            head for node in step.event.nodes for head in (node.target, node.draft, node.draft_raw, node.target_raw)
        ]
        heads.append(step.event.judged.residual)
        named = {token for head in heads if head for token in head.tokens} | {step.event.judged.token}
        named |= {node.token for node in step.event.nodes}
        assert set(map(int, step.vocab)) == named - known
        known |= named
    assert len(known) >= 3


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_rounds_that_are_recorded_together_have_the_nodes_of_each_recorded_alone(temperature):
    session = session_of(
        replace(CASE, sampling=Sampling(temperature), verifier=VERIFIER_AT[temperature]), SeededRandom(3)
    )
    session.begin()
    records = []
    while session.finished is None:
        records.append(session.round())
    alone = [Recorder(Letters(SIZE), top=SIZE).round(record).event.nodes for record in records]
    together = Recorder(Letters(SIZE), top=SIZE).rounds(list(records))
    assert together[1].event.nodes == alone[1], "whichever is looked at first"
    assert [step.event.nodes for step in together] == alone
    assert len({len(nodes) for nodes in alone}) >= 2


def test_without_distributions_a_step_still_names_the_token_that_ends_its_round():
    """Which no node of it may have."""
    for record, _ in recorded():
        step = Recorder(Letters(SIZE), keep_distributions=False).round(record)
        assert str(record.verdict.token) in step.vocab


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
    grown = replace(CASE, options=(), tree_policy=tree_policy, tree_policy_options=tuple(options.items()))
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


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_ranks_and_agreements_are_those_of_the_whole_distributions(temperature):
    compared = 0
    for was, said in recorded(replace(CASE, sampling=Sampling(temperature), verifier=VERIFIER_AT[temperature])):
        asked = {node: row for nodes, rows in was.proposal.draft_logits for node, row in zip(nodes, rows, strict=True)}
        for node in said.nodes:
            if node.parent >= 0:
                order = was.scored.logits[node.parent].argsort(descending=True, stable=True).tolist()
                assert node.rank == 1 + order.index(node.token)
            shown = node.agreement_raw or node.agreement
            p = was.scored.logits[node.id].softmax(-1).tolist()
            if temperature == 0.7:
                assert node.agreement.target_bits == pytest.approx(bits(was.scored.probs(node.id).tolist()), abs=1e-4)
            assert shown.target_bits == pytest.approx(bits(p), abs=1e-4)
            assert (shown.overlap is not None) == (node.id in asked)
            if node.id in asked:
                q = asked[node.id].softmax(-1).tolist()
                assert shown.draft_bits == pytest.approx(bits(q), abs=1e-4)
                assert shown.overlap == pytest.approx(sum(map(min, p, q)), abs=1e-4)
                assert shown.kl_bits == pytest.approx(sum(a * log2(a / b) for a, b in zip(p, q, strict=True)), abs=1e-4)
                compared += 1
        assert all((node.agreement is None) == (temperature == 0) for node in said.nodes)
    assert compared > 5


def test_a_draft_that_leaves_out_a_token_of_the_target_diverges_without_bound():
    found = agreements(torch.tensor([[0.5, 0.25, 0.25]]), {0: torch.tensor([1.0, 0.0, 0.0])})
    assert found[0] == Agreement(target_bits=1.5, draft_bits=0.0, kl_bits=None, overlap=0.5)


def test_of_equally_probable_tokens_the_lowest_id_has_the_better_rank():
    tree = DraftTree.from_root(0)
    for token in (2, 1, 0):
        tree.add(0, token, "point_mass", None, "test")
    assert ranks(torch.tensor([[1.0, 3.0, 3.0], *[[0.0] * 3] * 3]), tree) == [None, 2, 1, 3]


@pytest.mark.parametrize("count", [_before_on_cpu, _before_on_device])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_every_device_counts_what_comes_before_a_token_alike(count, dtype):
    logits = torch.tensor([[1.0, 3.0, 3.0, 3.0], [2.0, -1.0, 0.0, 5.0]], dtype=dtype)
    assert list(count(logits, [0, 0, 0, 1, 1], [3, 1, 0, 1, 3])) == [2, 0, 3, 3, 0]


def bits(probs: list[float]) -> float:
    return -sum(prob * log2(prob) for prob in probs if prob > 0)


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
