"""Which rule a place in a trace belongs to, and which of several is named."""

import pytest

from specviz.doctor.broken_rules import RULES, from_output, from_problems, rule_of
from specviz.trace.structure import Problem


@pytest.mark.parametrize(
    ("place", "rule"),
    [
        ("rounds[3].committed.cache_kept", "roll-back"),
        ("rounds[3].committed.trimmed", "end"),
        ("rounds[3].judged.token", "last token"),
        ("rounds[3].judged.residual.probs[0]", "last token"),
        ("rounds[3].judged.trials[0].threshold", "verdict"),
        ("rounds[3].judged.path[0]", "verdict"),
        ("rounds[3].nodes[0].target_raw.probs[1]", "cache"),
        ("rounds[3].nodes[2].target.tokens", "tree"),
        ("rounds[3].nodes[2].draft.probs[0]", "draft"),
        ("started.eos_ids", "end"),
        ("finished.output_ids", "output"),
        ("started.run_id", "record"),
    ],
)
def test_a_place_in_a_trace_belongs_to_a_rule(place: str, rule: str) -> None:
    assert rule_of(place) == rule
    assert rule in RULES


def test_the_first_round_is_named_whatever_the_order() -> None:
    problems = [Problem("finished.text", "is wrong"), *(Problem(f"rounds[{n}].judged.token", "is 1") for n in (12, 3))]
    assert str(from_problems(problems)) == (f"Broken rule: {RULES['last token']} (rounds[3].judged.token is 1).")


def test_nothing_wrong_names_no_rule() -> None:
    assert from_problems([]) is None
    assert from_output([1, 2], (1, 2)) is None


def test_other_tokens_than_were_committed_are_named() -> None:
    broken = from_output([1, 2, 3], [1, 2, 2, 3])
    assert (broken.rule, broken.evidence) == ("output", "3 tokens were committed and 4 handed out; they part at 2")
