"""The Proof tab without a browser: sentences that claim no more than they may, bars, buttons that come back."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from specviz.app.form.request import Limits
from specviz.app.proof.tab import INTACT, PAIR, PRESETS, TOY, ProofActions, badge, toy
from specviz.app.proof.view import exact_summary, exact_table, exact_view, sampled_summary, sampled_view
from specviz.errors import OptionError
from specviz.proof.lines import lines
from specviz.protocol.proofs import BREAKS, Cell, Sampled, Toy
from specviz.protocol.races import Equality
from tests.app.doubles import ReplaySource, sample

VISITOR = SimpleNamespace(session_hash="one")
CONTROLS = ("0.5, 0.3, 0.2", "0.2, 0.45, 0.35", "sequential", 1, "auto", INTACT)


@pytest.fixture
def actions() -> ProofActions:
    return ProofActions(ReplaySource(sample()), Limits())


def test_the_intact_method_is_called_equal_and_a_line_reads_as_worked_out_by_hand():
    view = exact_view(lines(Toy()))
    assert view.verdict.startswith(
        "Equal to the target: 5 lines, and the largest difference between a sum and p is 1.1e-16"
    )
    assert (view.tone, view.why) == ("good", "")
    row = view.rows[2]
    assert row.drafted == "b (0.45)"
    assert row.trials == "b rejected: u in [0.6667, 1), threshold 0.6667 (0.3333)"
    assert (row.token, row.product, row.prob) == ("a, from the residual (1)", "0.45 · 0.3333", "0.150000")
    assert view.bars[0].explanation.startswith("output(a) = 0.2000 + 0.1500 + 0.1500 = 0.500000, over 3 lines")


def test_a_bug_that_bites_is_shown_with_its_size_its_reason_and_in_alarm_colour():
    view = exact_view(lines(Toy(broken="accept_all")))
    assert view.verdict == "Biased: a -0.3000, b +0.1500, c +0.1500 against p; total variation 0.3000."
    assert view.why.endswith("the output is q, and the target is no longer asked.")
    shown = exact_summary(view)
    assert shown.count("sv-bias-more") == 2
    assert shown.count("sv-bias-less") == 1
    assert exact_table(view).count('class="sv-biased"') == 3


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: one.name)
def test_a_bug_that_does_not_bite_is_said_to_change_nothing_and_why(one):
    view = exact_view(lines(Toy(verifier="naive", broken=one.name)))
    assert view.verdict.startswith("The bug changes nothing here: 9 lines")
    assert one.harmless in view.why
    assert "sv-bias-more" not in exact_summary(view)


def test_a_lossy_rule_is_called_lossy_and_not_broken():
    view = exact_view(lines(Toy(verifier="typical")))
    assert view.verdict.startswith("Lossy by design: a -0.3000")


FINE = Sampled(200, 200, (Cell("<b>", 0.5, 104), Cell("c", 0.5, 96)), 0.32, 1, 0.57, 0.02, 0.028)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (FINE, "200 texts cannot tell the output from the target's law. That is no proof"),
        (replace(FINE, p_value=0.01), "unusual for the target's law, but chance alone does this"),
        (replace(FINE, p_value=1e-9), "the target's law would hardly ever give such counts"),
        (replace(FINE, statistic=math.inf, p_value=0.0), "a text came up that the target never writes"),
        (replace(FINE, wanted=400), "200 of 400 texts counted; the test comes at the end"),
        (replace(FINE, cells=(Cell("a", 0.99, 198), Cell("b", 0.01, 2))), "expected 2.0 times: p is rough"),
        (replace(FINE, cells=(Cell("a", 1.0, 200),), freedom=0), "all texts fall into one cell"),
    ],
)
def test_what_a_sampling_test_may_claim(found, said):
    assert said in sampled_view(found).verdict.replace("A text", "a text").replace("All", "all")


def test_the_noise_floor_stands_beside_the_distance_and_labels_are_escaped():
    shown = sampled_summary(sampled_view(FINE))
    assert "Total variation 0.0200. Noise floor: as many exact samples of the target would show 0.0280" in shown
    assert "gives 0.0399" in shown  # sqrt(2 / (2 pi 200))
    assert "<b>" not in shown.replace('<b class="sv-bias-text">', "")
    assert "&lt;b&gt;" in shown


def test_the_exact_part_redraws_from_the_controls_and_refuses_with_a_sentence(actions):
    summary, table = actions.exact(*CONTROLS)
    assert "Equal to the target" in summary
    assert table.count("<tr>") == 1 + 5 + 3
    summary, table = actions.exact("0.5, x", *CONTROLS[1:])
    assert "must be three numbers with commas" in summary
    assert table == ""


def test_every_preset_makes_a_toy_that_is_exact(actions):
    for name in PRESETS:
        assert "Equal to the target" in actions.exact(*actions.preset(name), *CONTROLS[2:])[0]


def test_a_sample_of_a_broken_toy_ends_with_its_verdict_and_the_buttons_back(actions):
    actions.samplings.arm(VISITOR)
    broken = (*CONTROLS[:-1], "reuse_noise")
    *_, last, buttons = actions.sample(TOY, "", 100, 1, 1.0, *broken, VISITOR)
    assert "the output follows another" in last[0]
    assert (buttons[1].interactive, buttons[2].interactive) == (True, False)


def test_a_stopped_sample_and_an_unknown_prompt_leave_the_page_usable(actions):
    actions.samplings.arm(VISITOR)
    actions.samplings.stop(VISITOR)
    first, buttons = actions.sample(TOY, "", 100, 1, 1.0, *CONTROLS, VISITOR)
    assert "Stopped before any text" in first[0]
    (refused,) = actions.sample(PAIR, "typo", 100, 1, 1.0, *CONTROLS, VISITOR)
    assert "choose a prompt from the list" in refused[0].lower()
    assert buttons[1].interactive
    assert refused[1].interactive


def test_the_badge_counts_equal_tokens_and_names_the_first_difference(actions):
    actions.comparisons.arm(VISITOR)
    shown = [one[0] for one in actions.compare("model", "code-a", 20, VISITOR)]
    assert "✓ 20 of 20 tokens equal" in shown[-2]
    assert "sv-proof-good" in shown[-2]
    assert "tokens decoded…" in shown[0]
    wrong = badge("model", Equality(3, (1, 2, 3), (1, 5, 3), 2, True))
    assert "✕ 2 of 3 tokens equal" in wrong
    assert "The first difference is at token 2." in wrong


def test_controls_of_strangers_are_checked():
    laws = ("1,1,1", "1,1,1", "sequential")
    for wrong in (("much",), (*laws, 9, "auto", INTACT), (*laws, None, "auto", INTACT)):
        with pytest.raises(OptionError):
            toy(*(*wrong, *CONTROLS[len(wrong) :]))
