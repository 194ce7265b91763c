"""`specviz prove`: which methods are walked, and what is said of one that is not proved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from specviz.cli.main import main
from specviz.drafters.none import NoDrafter
from specviz.proof import planted


@pytest.fixture(autouse=True)
def _without_the_planted_bugs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted, "BUGS", ())


def test_only_given_twice_keeps_both_names(specviz: Callable) -> None:
    """The last one alone was kept once, and the rows of the others silently left out."""
    flags = [["--only", "none", "--only", "entropy"], ["--only", "none", "entropy"]]
    walked = [json.loads(specviz("prove", *one, "--json").out)["rows"] for one in flags]
    assert {(row["drafter"], row["stop_policy"]) for row in walked[0]} == {("none", "fixed"), ("model", "entropy")}
    assert walked[0] == walked[1]


def test_a_name_that_nothing_has_is_refused(specviz: Callable) -> None:
    done = specviz("prove", "--only", "none", "--only", "modle")
    assert (done.code, "no method called 'modle'" in done.err) == (2, True)


def test_a_drafter_that_never_drafts_what_it_declares_is_not_proved(
    specviz: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NoDrafter, "kinds", lambda self, sampling: frozenset(["point_mass"]))
    done = specviz("prove", "--only", "none")
    assert done.code == 1
    assert "**NOT PROVED**: point_mass never drafted" in done.out


def test_greedy_texts_alone_leave_the_rest_of_the_page(monkeypatch: Any, tmp_path: Any, capsys: Any) -> None:
    from specviz.cli.commands import prove

    page = tmp_path / "page.md"
    marks = "<!-- exact: x -->\nkept\n<!-- /exact -->\n<!-- greedy: x -->\nold\n<!-- /greedy -->\n"
    page.write_text(marks, encoding="utf-8")
    monkeypatch.setattr(prove, "DOCUMENT", page)
    monkeypatch.setattr(prove, "_compare", lambda args, result: result.sections.update(greedy="new"))
    assert main(["prove", "--greedy-texts", "--write"]) == 0
    text = page.read_text(encoding="utf-8")
    assert ("kept" in text, "old" in text, "new" in text) == (True, False, True)
    assert capsys.readouterr().out.strip() == "new"
