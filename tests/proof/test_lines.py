"""One decision line by line: p = (.5, .3, .2), q = (.2, .45, .35), worked out by hand, intact and with every bug."""

from dataclasses import replace

import pytest

from specviz.errors import OptionError, PairingError
from specviz.proof.lines import lines
from specviz.proof.planted import FAULTS
from specviz.protocol.proofs import BREAKS, MOST_CANDIDATES, Toy
from specviz.verifiers.base import VERIFIERS

A, B, C = 0, 1, 2


def near(*values):
    return pytest.approx(values, abs=1e-12)


def test_five_lines_of_one_candidate_under_the_sequential_rule():
    """a is always kept; b with .3/.45, c with .2/.35; only a is left in the residual."""
    found = lines(Toy())
    shown = [(one.drafted[0].token, one.trials[0].accepted, one.source, one.token) for one in found.lines]
    assert shown == [
        (A, True, "accepted", A),
        (B, True, "accepted", B),
        (B, False, "residual", A),
        (C, True, "accepted", C),
        (C, False, "residual", A),
    ]
    assert [one.prob for one in found.lines] == near(0.2, 0.3, 0.15, 0.2, 0.15)
    assert [one.drafted[0].prob for one in found.lines] == near(0.2, 0.45, 0.45, 0.35, 0.35)
    assert [one.trials[0].threshold for one in found.lines] == near(1.0, 2 / 3, 2 / 3, 4 / 7, 4 / 7)
    assert [(one.trials[0].low, one.trials[0].high) for one in found.lines[1:3]] == [near(0.0, 2 / 3), near(2 / 3, 1.0)]
    assert [one.trials[0].prob for one in found.lines[1:3]] == near(2 / 3, 1 / 3)
    assert found.output == near(0.5, 0.3, 0.2)
    assert found.exact
    assert found.error < 1e-15


def test_a_line_is_the_product_of_its_factors_and_all_lines_add_up_to_one():
    found = lines(Toy(candidates=2, broken="skip_residual")).lines
    for line in found:
        product = line.token_prob
        for factor in (*line.drafted, *line.trials):
            product *= factor.prob
        assert line.prob == pytest.approx(product, abs=1e-15)
    assert sum(line.prob for line in found) == pytest.approx(1.0, abs=1e-12)
    assert len({(line.drafted, line.trials, line.token) for line in found}) == len(found)


TOYS = (
    Toy(),
    Toy(target=(0.2, 0.45, 0.35), draft=(0.5, 0.3, 0.2)),
    Toy(target=(3, 3, 4), draft=(7, 3, 0)),
    Toy(target=(1, 0, 0), draft=(1, 1, 1)),
    Toy(target=(1, 1, 1), draft=(1, 1, 1)),
)
"""the one worked out by hand, its mirror image, a token never drafted, one that alone is possible, equal models"""


def judged(verifier, toy, candidates):
    """The lines of a toy under a verifier; None where the verifier does not judge such a draft."""
    try:
        return lines(replace(toy, verifier=verifier, candidates=candidates))
    except PairingError:
        return None


@pytest.mark.parametrize("verifier", VERIFIERS.names())
def test_a_verifier_that_calls_itself_lossless_has_the_targets_law_on_every_toy(verifier):
    """Of one that calls itself lossy nothing follows: on some toys, or with some options, it may lose nothing."""
    found = [judged(verifier, toy, candidates) for toy in TOYS for candidates in range(1, MOST_CANDIDATES + 1)]
    walked = [one for one in found if one is not None]
    lossless = VERIFIERS.get(verifier).lossless
    assert walked or VERIFIERS.get(verifier).temperatures == "zero"
    assert all(one.lossless == lossless for one in walked)
    assert [one.toy for one in walked if lossless and not one.exact] == []


@pytest.mark.parametrize(
    ("verifier", "output"),
    [
        # l = 1/2: p / (q/2) is above 1 for all three, so whatever is drafted passes: q itself
        ("lenience", (0.2, 0.45, 0.35)),
        # all three are more probable than 0.09: q itself
        ("typical", (0.2, 0.45, 0.35)),
        # min(p, q) = (.2, .3, .2) passes, and the other .3 is drawn from p as if nothing had been rejected
        ("longest_path", (0.35, 0.39, 0.26)),
    ],
)
def test_what_the_lossy_verifiers_lose_is_worked_out_by_hand(verifier, output):
    found = lines(Toy(verifier=verifier))
    assert found.output == pytest.approx(output, abs=1e-12)
    assert (found.exact, found.lossless) == (False, False)


@pytest.mark.parametrize(
    ("broken", "candidates", "output"),
    [
        # min(p, q) = (.2, .3, .2) is accepted, and the other .3 comes from p itself
        ("skip_residual", 1, (0.35, 0.39, 0.26)),
        ("accept_all", 1, (0.2, 0.45, 0.35)),
        # a is dropped with .2, for which p steps in: (.3, .3, .2) + .2 p
        ("drop_unsure", 1, (0.4, 0.36, 0.24)),
        # a lies in [0, .2), b in [.2, .65) below 2/3: always kept; c in [.65, 1) above 4/7: never
        ("reuse_noise", 1, (0.55, 0.45, 0.0)),
        # {a,b} .276136 and {b,c} .528671: b kept with 2/3, else a; {a,c} .195192: c with 4/7, else a
        ("sort_siblings", 2, (0.351923, 0.536538, 0.111538)),
    ],
)
def test_every_bug_shows_with_the_size_worked_out_by_hand(broken, candidates, output):
    found = lines(Toy(candidates=candidates, broken=broken))
    assert found.output == pytest.approx(output, abs=1e-6)
    assert not found.exact
    assert found.total_variation == pytest.approx(
        sum(abs(a - b) for a, b in zip(output, (0.5, 0.3, 0.2), strict=True)) / 2, abs=1e-6
    )


@pytest.mark.parametrize("broken", list(FAULTS))
def test_a_rule_that_draws_from_the_target_and_looks_it_up_bears_every_bug(broken):
    assert lines(Toy(verifier="naive", candidates=2, broken=broken)).exact


def test_point_masses_may_be_dropped_and_sorted():
    """Whether they are there may depend on what they are."""
    for broken in ("drop_unsure", "sort_siblings"):
        found = lines(Toy(candidates=2, draw="top_k", broken=broken))
        assert found.exact
        assert [one.prob for one in found.lines[0].drafted] == [1.0] * len(found.lines[0].drafted)


def test_the_screen_and_the_engine_know_the_same_bugs():
    assert [one.name for one in BREAKS] == list(FAULTS)


def test_a_token_that_the_drafter_never_proposes_comes_from_the_residual():
    found = lines(Toy(target=(3, 3, 4), draft=(7, 3, 0)))
    assert found.exact
    assert {line.source for line in found.lines if line.token == C} == {"residual"}


def test_a_verifier_that_judges_i_i_d_candidates_alone_gets_them():
    assert [lines(Toy(verifier=rule, candidates=2)).draw for rule in ("sequential", "kseq")] == [
        "without_replacement",
        "iid",
    ]


@pytest.mark.parametrize(
    ("toy", "sentence"),
    [
        (Toy(target=(1.0, 2.0)), "p is 1, 2; give 3 numbers"),
        (Toy(draft=(0.0, 0.0, 0.0)), "q is 0, 0, 0; give 3 numbers"),
        (Toy(draft=(float("nan"), 1.0, 1.0)), "q is nan, 1, 1; give"),
        (Toy(candidates=4), "4 candidates were asked for; choose 1 to 3"),
        (Toy(broken="typo"), "no bug called 'typo' to plant; choose of skip_residual,"),
        (Toy(draw="typo"), "no way of drawing called 'typo'"),
    ],
)
def test_what_makes_no_toy_is_refused_with_a_sentence(toy, sentence):
    with pytest.raises(OptionError, match=sentence):
        lines(toy)


def test_a_verifier_that_cannot_judge_such_candidates_says_why():
    with pytest.raises(PairingError, match="judges a chain of candidates only"):
        lines(Toy(verifier="block", candidates=2))
