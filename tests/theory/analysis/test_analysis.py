"""The analysis against the golden sample, whose rounds were written by hand: every expected value can be read off it.

Round 0: `    ` and `return` accepted, ` c` rejected for ` a`, ` +` unreached. Round 1: ` *` and `-` rejected, their
sibling ` +` accepted, then ` b` and ` #`. Round 2: `${1+1}` accepted, ` c` rejected for a backtick. Round 3: `<b>`
rejected for `{{x}}`. Round 4: nothing drafted. Round 5: four accepted. Round 6: `"` rejected twice, `é` accepted,
`&amp;` rejected.
Round 7: three accepted.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.theory.analysis.analyse import PATTERNS, Analysis, analyse, compare, matching
from specviz.theory.analysis.facts import facts_of, token_class
from specviz.theory.analysis.rates import Edges, Row, rate
from specviz.theory.metrics import num_accepted_draft_tokens, num_draft_tokens
from specviz.trace.codec import read
from specviz.trace.events import Trace

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture(scope="module")
def sample() -> Trace:
    return read(GOLDEN / "trace-1.1-sample.json")


@pytest.fixture(scope="module")
def greedy() -> Trace:
    return read(GOLDEN / "trace-1.1-greedy.json")


@pytest.fixture(scope="module")
def found(sample: Trace) -> Analysis:
    (one,) = analyse([("sample", sample)])
    return one


def counts(rows: tuple[Row, ...]) -> dict[str, tuple[int, int]]:
    return {row.label: (row.rate.hits, row.rate.of) for row in rows}


def test_unreached_candidates_and_those_behind_the_end_are_in_no_rate(found: Analysis, sample: Trace) -> None:
    """Of 36 candidates the last was accepted behind the stop string that ends the text."""
    assert (found.drafted, found.unreached) == (35, 14)
    assert (found.acceptance.hits, found.acceptance.of) == (13, 35 - 14)
    assert found.drafted == num_draft_tokens(sample.rounds)
    assert found.acceptance.hits == num_accepted_draft_tokens(sample.rounds)
    for rows in (found.by_depth, found.by_token_class, found.by_copied, found.by_position, found.by_target_rank):
        assert sum(row.rate.of for row in rows) == 21
        assert sum(row.rate.hits for row in rows) == 13


def test_acceptance_by_depth_class_rank_and_position(found: Analysis) -> None:
    assert counts(found.by_depth) == {"1": (6, 11), "2": (4, 6), "3": (2, 3), "4": (1, 1)}
    assert counts(found.by_token_class) == {
        "word start": (2, 4),
        "word part": (2, 2),
        "punctuation": (3, 7),
        "whitespace": (2, 2),
        "other": (4, 6),
    }
    assert counts(found.by_target_rank) == {"1": (12, 12), "2": (1, 5), "3": (0, 4)}
    assert counts(found.by_position) == {"0–15": (10, 15), "16–31": (3, 6)}
    assert counts(found.by_target_entropy) == {
        "0–0.5 bits": (1, 1),
        "0.5–1 bits": (1, 1),
        "2–3 bits": (9, 17),
        "3–4 bits": (2, 2),
    }


def test_where_a_round_leaves_its_last_token_open_the_next_rounds_is_wanted(sample: Trace) -> None:
    """Round 2 drew `{{x}}` instead and left it open; the text has a backtick there."""
    this = sample.rounds[2]
    other = sample.rounds[3].judged.token
    committed = replace(this.committed, tokens=this.committed.tokens[:-1], trimmed="open", trimmed_tokens=1)
    rounds = [*sample.rounds]
    rounds[2] = replace(this, judged=replace(this.judged, token=other), committed=committed)
    facts = facts_of("open", replace(sample, rounds=rounds))
    (failed,) = [one for one in facts.candidates if one.round == 2 and one.fate == "rejected"]
    assert (failed.wanted, failed.wanted_text) == (this.judged.token, "`")
    assert facts.rounds[2].surprise_bits is None, "it did not stay"


def test_agreement_counts_places_of_the_text_whatever_the_verdict(found: Analysis) -> None:
    """Of the drafter's second choices ` +` and `é` were the target's favourites, ` a` and ` #` not; ` a` was not
    tested."""
    assert counts(found.agreement)["2"] == (2, 3)
    assert counts(found.by_draft_rank)["2"] == (2, 2)


def test_rejected_pairs_say_what_was_wanted_and_where(found: Analysis) -> None:
    assert {(pair.drafted, pair.wanted): pair.count for pair in found.pairs} == {
        ('"', "e\u0301"): 2,
        (" *", " +"): 1,
        (" c", " a"): 1,
        (" c", "`"): 1,
        ("&amp;", "\u202e"): 1,
        ("-", " +"): 1,
        ("<b>", "{{x}}"): 1,
    }
    (example,) = next(pair for pair in found.pairs if pair.wanted == " a").examples
    assert (example.run, example.round, example.node, example.position) == ("sample", 0, 3, 2)
    assert example.context == "def add(a, b):\n    return"


def test_every_failed_round_is_of_one_kind(found: Analysis) -> None:
    """Rounds 0, 2, 3 and 6 end on a rejection, round 4 drafts nothing."""
    assert {one.kind: (one.share.hits, one.share.of) for one in found.failures} == {
        "other": (2, 5),
        "went on": (1, 5),
        "other word": (1, 5),
        "nothing drafted": (1, 5),
    }
    nothing = next(one for one in found.failures if one.kind == "nothing drafted")
    assert [(one.round, one.node, one.wanted) for one in nothing.examples] == [(4, None, "\n")]


def test_a_draft_that_had_no_room_is_no_failure(sample: Trace) -> None:
    full = replace(sample, started=replace(sample.started, max_new_tokens=11))  # round 4 begins at position 10
    (found,) = analyse([("full", full)])
    assert "nothing drafted" not in [one.kind for one in found.failures]


def test_at_temperature_0_a_rejected_token_of_half_the_favourites_probability_is_a_close_call(greedy: Trace) -> None:
    """Round 0 ends on ` b` (0.4) for ` a` (0.45)."""
    (found,) = analyse([("greedy", greedy)])
    assert [(one.kind, one.share.hits) for one in found.failures] == [("close call", 1)]


def test_copied_means_after_the_same_two_tokens(sample: Trace) -> None:
    facts = {(one.round, one.node): one for one in facts_of("s", sample).candidates}
    assert not any(one.copied for one in facts.values() if one.in_text)
    assert facts[3, 3].copied, "`${1+1}` then a backtick, as `<b>${1+1}` and a backtick in round 2"


def test_the_reliability_of_a_draft_is_its_probability_beside_the_targets(found: Analysis) -> None:
    assert found.calibration is not None
    bins = {one.label: one for one in found.calibration.bins}
    assert (bins["0.6–0.7"].count, bins["0.6–0.7"].mean_draft) == (4, pytest.approx(0.6))
    assert bins["0.6–0.7"].mean_target == pytest.approx((0.5 + 0.05 + 0.5 + 0.5) / 4)
    assert found.calibration.candidates == sum(one.count for one in bins.values()) == 20


def test_what_theory_promises_stands_beside_what_was_measured(found: Analysis, greedy: Trace) -> None:
    distances = found.distances
    assert distances is not None
    assert (distances.places, distances.infinite) == (15, 0)
    assert distances.expected == pytest.approx(distances.overlap), "at temperature 1 both are of the same distributions"
    assert (distances.measured.hits, distances.measured.of) == (10, 15)
    assert distances.total_variation == pytest.approx(1 - distances.overlap)
    (cold,) = analyse([("greedy", greedy)])
    assert cold.distances is not None
    assert cold.distances.expected is None, "nothing is drawn at temperature 0"


def test_rounds_are_found_by_what_happened_in_them(sample: Trace) -> None:
    rounds = facts_of("s", sample).rounds
    assert {name: [this.index for this in matching(rounds, name)] for name in PATTERNS} == {
        "rejected at depth 1": [3],
        "saved by a sibling": [1, 6],
        "surprise": [6],
        "all accepted": [1, 5, 7],
        "nothing accepted": [3],
        "nothing drafted": [4],
    }
    assert [this.index for this in matching(rounds, "surprise", 2.0)] == [3, 6]


def test_an_old_trace_shows_what_it_can_and_says_what_is_missing() -> None:
    (found,) = analyse([("old", read(GOLDEN / "trace-1.0-sample.json"))])
    assert (found.acceptance.hits, found.acceptance.of) == (13, 21)
    assert (found.by_target_rank, found.by_target_entropy, found.distances) == ((), (), None)
    assert found.missing == (
        "The trace (old) has no ranks, entropies, KL and overlap (format 1.1); record anew to have them.",
    )


def test_two_traces_are_aligned_by_position_and_their_first_difference_is_marked(sample: Trace, greedy: Trace) -> None:
    both = compare(("a", sample), ("b", greedy))
    assert both.same_prompt
    assert both.difference is not None
    assert (both.difference.position, both.difference.before, both.difference.first, both.difference.second) == (
        3,
        "    return a",
        " +",
        "\n",
    )
    assert [(row.position, row.first is not None, row.second is not None, row.same_text) for row in both.rows[:3]] == [
        (0, True, True, True),
        (3, True, True, True),
        (7, True, False, False),
    ]
    assert compare(("a", sample), ("a", sample)).difference is None


def test_traces_are_put_together_by_drafter(sample: Trace, greedy: Trace) -> None:
    (both,) = analyse([("a", sample), ("b", greedy)])
    assert (both.runs, both.acceptance.hits, both.acceptance.of) == (("a", "b"), 13 + 4, 21 + 7)


def test_an_interval_is_wilsons() -> None:
    """8 of 10: Brown, Cai and DasGupta (2001), equation 4, worked out by hand with z = 1.959964."""
    some = rate(8, 10)
    assert (some.low, some.high) == (pytest.approx(0.49016, abs=1e-5), pytest.approx(0.94332, abs=1e-5))
    assert rate(0, 0).value is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("\n    ", "whitespace"), (" 12", "digit"), ("3.5", "digit"), (' ("', "punctuation"), (" the", "word start"),
        ("The", "word start"), ("ing", "word part"), ("'s", "word part"), ("time_le", "identifier"),
        ("ValueError", "identifier"), ("x1", "identifier"), ("\ufffd", "other"), ("", "other"), ("<b>", "other"),
    ],
)  # fmt: skip
def test_every_token_is_of_one_class(text: str, kind: str) -> None:
    assert token_class(text) == kind


def test_bins_name_themselves() -> None:
    bits, ranks = Edges((0.0, 0.5, 2.0), " bits"), Edges((1, 2, 4))
    assert bits.labels == ("0–0.5 bits", "0.5–2 bits", "2+ bits")
    assert [bits.label(value) for value in (None, 0.0, 0.5, 7.0)] == [None, "0–0.5 bits", "0.5–2 bits", "2+ bits"]
    assert (ranks.labels, ranks.label(3)) == (("1", "2–3", "4+"), "2–3")
