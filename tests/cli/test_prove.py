"""`specviz prove`: what is walked, what is said of what is not proved; `lines`, `sample` and `greedy` on toys."""

import json
from typing import Any

import pytest

from specviz.cli.commands import prove_experiments as prove_parts
from specviz.cli.main import main
from specviz.drafters.none import NoDrafter
from specviz.live.source import LiveSource
from specviz.proof import planted
from specviz.protocol.races import Equality
from tests.cli.conftest import Call
from tests.proof.letters import toy_loader


@pytest.fixture(autouse=True)
def _without_the_planted_bugs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted, "BUGS", ())


def test_only_given_twice_keeps_both_names(specviz: Call) -> None:
    """The last one alone was kept once, and the rows of the others silently left out."""
    flags = [["--only", "none", "--only", "entropy"], ["--only", "none", "entropy"]]
    walked = [json.loads(specviz("prove", *one, "--json").out)["rows"] for one in flags]
    assert {(row["drafter"], row["stop_policy"]) for row in walked[0]} == {("none", "fixed"), ("model", "entropy")}
    assert walked[0] == walked[1]


def test_a_name_that_nothing_has_is_refused(specviz: Call) -> None:
    done = specviz("prove", "--only", "none", "--only", "modle")
    assert (done.code, "no method called 'modle'" in done.err) == (2, True)


def test_a_drafter_that_never_drafts_what_it_declares_is_not_proved(
    specviz: Call, monkeypatch: pytest.MonkeyPatch
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


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_parts, "live_source", lambda: LiveSource(load=toy_loader(), measure=False))


def test_lines_and_their_sums_are_printed(specviz: Call) -> None:
    done = specviz("prove", "lines")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[1] == "drafted b(0.4500) | b accepted u in [0.0000, 0.6667) (0.6667) | accepted b (1.0000) | 0.300000"
    assert "sum a: 0.500000   p: 0.500000   difference -0.000000" in done.out.replace("+0.000000", "-0.000000")
    assert lines[-1].endswith(": the target's law")


def test_a_bug_shows_in_the_json(specviz: Call) -> None:
    done = specviz("prove", "lines", "--tree", 2, "--break", "sort_siblings", "--json")
    found = json.loads(done.out)
    assert not found["exact"]
    assert found["total_variation"] == pytest.approx(0.236538, abs=1e-6)
    assert found["toy"]["candidates"] == 2


def test_a_sample_of_a_broken_toy(specviz: Call) -> None:
    found = json.loads(specviz("prove", "sample", "--runs", 200, "--break", "reuse_noise", "--json").out)
    assert found["runs"] == 200
    assert found["p_value"] < 1e-4
    assert "G = " in specviz("prove", "sample", "--runs", 20).out


def test_greedy_texts_are_compared(specviz: Call) -> None:
    done = specviz("prove", "greedy", "--prompt", "ab", "--tokens", 8)
    assert done.code == 0, done.err
    assert done.out.startswith("8 of 8 tokens equal plain decoding, in ")


def test_in_a_shorter_format_the_smallest_margin_is_named(specviz: Call) -> None:
    done = specviz("prove", "greedy", "--prompt", "ab", "--tokens", 4, "--dtype", "bfloat16")
    assert done.code == 0, done.err
    assert "\nthe smallest margin of a token is " in done.out
    assert "margin" not in specviz("prove", "greedy", "--prompt", "ab", "--tokens", 4).out


@pytest.mark.parametrize(
    ("drafted", "margins", "said"),
    [
        ((5, 6), (0.25, 0.5), "the smallest margin of a token is 0.2500"),
        ((5, 7), (0.25, 0.5), "the smallest margin of a token is 0.2500, that of token 2, where they part, 0.5000"),
        ((5, 7), (0.25, None), "the smallest margin of a token is 0.2500, that of token 2, where they part, large"),
        ((5, 6), (), ""),
    ],
)
def test_the_margin_is_that_of_the_token_where_the_texts_part(
    drafted: tuple[int, int], margins: tuple[float | None, ...], said: str
) -> None:
    assert prove_parts.margins_text(Equality(2, (5, 6), drafted, 2, True, margins)) == said


def test_weights_that_are_none_are_refused(specviz: Call) -> None:
    done = specviz("prove", "lines", "--target", "a,b")
    assert done.code == 2
    assert "--target is 'a,b', but must be numbers like 0.5,0.3,0.2" in done.err
