"""Why a run is slower than plain decoding: one factor of three, told with its number."""

import json
from dataclasses import replace

import pytest

from specviz.theory.slowdown import RoundCost, round_cost, why_slower
from specviz.trace import codec
from specviz.trace.events import PlainDecoding, Trace
from tests.app.doubles import sample
from tests.js.node import ROOT, run

READ = """
const { S } = require("./tests/js/load.js");
const traces = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
console.log(JSON.stringify(traces.map((trace) => [S.outcome(trace).why ?? null, S.outcome(trace).slower ?? null])));
"""


def slow(draft: float, target: float, rest: float, ratio: float = 0.8, runs: int = 3) -> Trace:
    """The sample, 20 tokens in 8 passes over trees and chains, with these seconds in every round and plain decoding at
    one second per token."""
    rounds = [
        replace(
            this,
            drafted=replace(this.drafted, seconds=draft),
            scored=replace(this.scored, seconds=target),
            judged=replace(this.judged, seconds=rest / 2),
            committed=replace(this.committed, seconds=rest / 2),
        )
        for this in sample().rounds
    ]
    plain = PlainDecoding(20, 20.0, runs, True, [ratio] * runs)
    started = replace(sample().started, source="live")
    finished = replace(sample().finished, plain=plain, decode_s=8 * (draft + target + rest))
    return replace(sample(), started=started, rounds=rounds, finished=finished)


def test_a_rounds_cost_is_told_in_plain_tokens() -> None:
    cost = round_cost(slow(1.0, 1.5, 0.5))
    assert cost is not None
    assert (cost.tokens, cost.target, cost.drafting, cost.rest) == (2.5, 1.5, 1.0, 0.5)
    assert cost.speedup == 2.5 / 3.0
    deepest = [max(node.depth for node in this.nodes) for this in sample().rounds]
    assert deepest == [4, 3, 3, 3, 0, 4, 2, 3]
    assert cost.most_tokens == (5 + 4 + 4 + 4 + 1 + 5 + 3 + 2) / 8, "the text ends after two tokens of the last round"


@pytest.mark.parametrize(
    ("cost", "factor", "without"),
    [
        (RoundCost(2.0, 3.0, 5.0, 1.0, 2.0, 0.0), "drafting", 2.0),
        (RoundCost(2.0, 2.5, 5.0, 3.0, 0.5, 0.5), "width", 1.0),
        (RoundCost(1.0, 4.0, 5.0, 1.5, 0.5, 0.0), "acceptance", 2.0),
        (RoundCost(1.0, 2.0, 5.0, 1.0, 1.0, 0.0), "drafting", 1.0),
        (RoundCost(1.0, 2.0, 1.0, 0.5, 0.0, 0.5), "acceptance", 2.0),
    ],
    ids=["drafting", "width", "acceptance", "of equal ones the first", "a pass below one token's time stays"],
)
def test_the_factor_is_the_one_whose_removal_helps_most(cost: RoundCost, factor: str, without: float) -> None:
    assert cost.held_back_by == factor
    assert cost.without(cost.held_back_by).speedup == without


DRAFTING, WIDTH, ACCEPTANCE = slow(4.0, 1.0, 0.5), slow(0.25, 4.0, 0.25), slow(0.5, 1.5, 1.0)


def test_the_sentence_names_the_factor_with_its_number() -> None:
    assert why_slower(DRAFTING) == (
        "Drafting costs most: it takes 4.00 times as long as a plain token, and were it free the run would be 1.67×."
    )
    assert why_slower(WIDTH) == (
        "Width costs most: a pass over 5.5 rows takes 4.00 times as long as a plain token, and at the price of one row "
        "the run would be 1.67×."
    )
    assert why_slower(ACCEPTANCE) == (
        "Acceptance costs most: a pass gives 2.50 of at most 3.50 tokens, and with all of them the run would be 1.17×."
    )


def test_a_run_that_is_not_slower_for_sure_blames_nothing() -> None:
    assert why_slower(slow(1.0, 1.5, 0.5, ratio=0.996)) is None
    assert why_slower(slow(1.0, 1.5, 0.5, ratio=1.2)) is None
    assert why_slower(slow(1.0, 1.5, 0.5, runs=2)) is None, "too few turns to tell"
    assert why_slower(sample()) is None, "nothing was timed beside it"


def slower(trace: Trace, ratio: float) -> Trace:
    tokens, seconds = len(trace.finished.output_ids), trace.finished.decode_s * ratio
    return replace(trace, finished=replace(trace.finished, plain=PlainDecoding(tokens, seconds, 3, True, [ratio] * 3)))


def test_the_headline_says_the_same() -> None:
    recorded = [codec.read(path) for path in sorted((ROOT / "assets" / "traces").glob("*.json.gz"))[:4]]
    beside = [slower(trace, share) for trace in recorded for share in (0.4, 0.9)]
    traces = [DRAFTING, WIDTH, ACCEPTANCE, slow(1.0, 1.5, 0.5, ratio=1.2), *beside]
    shown = run("-e", READ, stdin=json.dumps([codec.to_data(one) for one in traces]))
    assert shown.returncode == 0, shown.stderr
    due = [why_slower(one) for one in traces]
    assert json.loads(shown.stdout) == [[why, why is not None] for why in due]
    assert {why.partition(" ")[0] for why in due if why} == {"Drafting", "Width", "Acceptance"}
