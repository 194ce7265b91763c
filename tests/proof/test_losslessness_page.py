"""docs/losslessness.md says what the proof says today: all methods, numbers that can be computed again, all bugs."""

from dataclasses import replace

import pytest

from specviz.drafters.base import DRAFTERS
from specviz.errors import OptionError
from specviz.proof import document
from specviz.proof.document import filled, findings_table, law_of, method_cells, renewed, rows_table
from specviz.proof.exhaustive import Distance
from specviz.proof.planted import BUGS, Finding
from specviz.proof.table import ELSEWHERE, Row, cases, legal, measure, names_of, options_of
from specviz.stop_policies.base import STOP_POLICIES
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS
from tests.proof.planted_list import DOCUMENT, planted, section

PAGE = DOCUMENT.read_text(encoding="utf-8")
KINDS = {
    "accept at equality",
    "draft not renormalised",
    "no residual",
    "residual through a softmax",
    "siblings sorted",
    "i.i.d. siblings merged",
    "multi-step rule without replacement",
    "top-k with soft q",
    "unlikely token dropped",
    "bonus from a residual",
    "noise reused",
    "temperature on one side",
    "draw per path",
    "everything accepted",
    "noise of the draw judges",
    "leak between texts of a batch",
}
ROW = Row("model", "auto", "fixed", "typical", "gamma=2", 0.8, 3, 4, False, 0.25, 0.5, 1.5)


def part(name: str) -> str:
    return document.section(PAGE, name)


@pytest.mark.parametrize("registry", [DRAFTERS, TREE_POLICIES, VERIFIERS, STOP_POLICIES], ids=lambda one: one.kind)
def test_the_table_names_every_registered_method(registry):
    """If this fails, a method is new: `specviz prove --write` walks it."""
    names = set(registry.names()) - {"fixed"} - ELSEWHERE  # never stopping early is the dash in the column
    assert [name for name in sorted(names) if f"| `{name}` |" not in part("exact")] == []


def test_methods_walked_by_the_tests_alone_are_named_before_the_table():
    assert [name for name in ELSEWHERE if f"`{name}`" not in PAGE.partition("<!-- exact")[0]] == []


def test_the_table_has_a_row_for_every_case_and_every_lossy_one_says_so():
    lines = part("exact").strip().splitlines()[2:]
    assert len(lines) == len(cases())
    assert all(("lossy" in line) != ("the target's" in line) for line in lines)
    lossy = [name for name, rule in VERIFIERS.items() if not rule.lossless]
    assert all("**lossy**" in line for line in lines if any(f"`{name}`" in line for name in lossy))


@pytest.mark.parametrize("verifier", ["sequential", "block", "lenience", "typical"])
def test_rows_come_out_again_as_they_stand_there(verifier):
    (case,) = [
        one for one in cases() if (one.tree_policy, one.stop_policy, one.verifier) == ("chain", "fixed", verifier)
    ][:1]
    row = measure(case)
    line = next(
        one
        for one in part("exact").splitlines()
        if one.startswith(f"| {' | '.join(method_cells(names_of(case), row.options))} |")
    )
    assert line.endswith(f" | {law_of(row)} |")
    assert f"| {row.vocab_size} tokens, text of {row.tokens} |" in line
    assert row.kept


def test_all_cases_are_legal_and_cover_every_pairing_of_tree_policy_and_verifier():
    found = cases()
    assert all(legal(case) for case in found)
    assert len(set(found)) == len(found)
    assert {case.verifier for case in found} == set(VERIFIERS.names())


def test_a_lossless_method_with_an_error_is_called_broken():
    broken = Row("model", "auto", "fixed", "naive", "", 0.8, 3, 4, True, 1e-9, 0.25, 1.5)
    assert not broken.kept
    assert law_of(broken) == "**BROKEN**: total variation 0.2500"
    assert ROW.kept
    assert rows_table([ROW]).splitlines()[2] == (
        "| `model` | own | – | `typical` | gamma=2 | 0.8 | 3 tokens, text of 4 | 1.50 | 2.5e-01 | "
        "**lossy**: total variation 0.5000 |"
    )


def test_every_row_of_the_page_drafted_but_those_of_plain_decoding():
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in part("exact").splitlines()[2:]]
    assert {float(cells[7]) > 0.0 for cells in lines if cells[0] != "`none`"} == {True}
    assert {cells[7] for cells in lines if cells[0] == "`none`"} == {"0.00"}
    assert all("drafts no candidates" in cells[9] for cells in lines if cells[0] == "`none`")


def test_a_method_whose_candidates_were_not_all_judged_is_called_not_proved():
    unproved = replace(ROW, lossless=True, error=0.0, missing=("iid never drafted", "point_mass never rejected"))
    assert not unproved.kept
    assert law_of(unproved) == "**NOT PROVED**: iid never drafted, point_mass never rejected"


def test_a_bug_that_nobody_sees_is_called_so():
    missed = Finding("a bug", "does something", Distance(1e-9, 1e-9), "")
    assert not missed.caught
    assert "**NOT CAUGHT**" in findings_table([missed])


def test_the_page_shows_every_bug_of_the_table_caught():
    lines = part("bugs").strip().splitlines()[2:]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == [bug.name for bug in BUGS]
    assert all("| caught |" in line or "| refused: " in line for line in lines)


def test_every_kind_of_bug_is_planted_by_some_test():
    """Those that verifiers and trees of real projects had."""
    assert len(KINDS) == 16
    assert {one.kind for one in planted() if one.kind} == KINDS


def test_the_page_lists_which_test_catches_which_bug():
    """If this fails: `make generate`."""
    assert part("planted").strip() == section()


def test_new_rows_replace_their_lines_and_leave_the_others():
    one, two = cases(["typical"])[:2]
    rows = [replace(ROW, tree_policy=case.tree_policy, options=options_of(case), error=0.5) for case in (one, two)]
    before = rows_table(rows).replace("5.0e-01", "1.0e-01")
    lines = renewed(before, rows[1:], [one, two]).splitlines()
    assert ["1.0e-01" in lines[2], "5.0e-01" in lines[3], len(lines)] == [True, True, 4]


def test_a_choice_of_methods_walks_those_alone():
    assert {case.verifier for case in cases(["typical"])} == {"typical"}
    with pytest.raises(OptionError, match="no method called 'typcal'"):
        cases(["typcal"])


def test_sections_are_put_between_their_marks_and_nothing_else_is_touched():
    document = "a\n<!-- x: made -->\nold\n<!-- /x -->\nb\n"
    assert filled(document, {"x": "new"}) == "a\n<!-- x: made -->\nnew\n<!-- /x -->\nb\n"
