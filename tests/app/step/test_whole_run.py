"""What the panels below the player show of a whole run: a parallel decoding's convergence, a matrix of followers."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.app.runs.panels import EARLIER, Cell, heat_map, iterations, matrix_of, matrix_table, summary_of
from specviz.app.runs.stage import panels_of
from specviz.live.source import LiveSource, collect
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check
from specviz.trace.codec import read
from specviz.trace.events import Trace, VocabEntry
from tests.app.doubles import sample
from tests.proof.letters import toy_loader

TRACES = Path(__file__).parents[3] / "assets" / "traces"
GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture(scope="module")
def source() -> LiveSource:
    return LiveSource(load=toy_loader(), measure=False)


@pytest.fixture(scope="module")
def jacobi(source: LiveSource) -> Trace:
    return collect(source, RunRequest("abc", drafter=Choice("jacobi", {"block": 3}), max_new_tokens=8))


def test_an_iteration_has_what_was_final_what_it_froze_and_what_it_guessed(jacobi: Trace) -> None:
    """By hand from the run: guesses against the output, and the length of the accepted path."""
    output, made = jacobi.finished.output_ids, iterations(jacobi)
    assert [one.number for one in made] == list(range(1, len(jacobi.rounds) + 1))
    assert [one.final for one in made] == [this.base_length - 3 for this in jacobi.rounds]
    for one, this in zip(made, jacobi.rounds, strict=True):
        guesses = [node.token for node in this.nodes[1:]]
        states = [cell.state for cell in one.cells][: len(guesses)]
        frozen = len(this.judged.path)
        assert states[:frozen] == ["frozen"] * frozen
        for offset in range(frozen, len(guesses)):
            there = output[one.final + offset] if one.final + offset < len(output) else None
            assert states[offset] == ("right" if guesses[offset] == there else "wrong")


def test_the_first_wrong_guess_is_never_called_right(jacobi: Trace) -> None:
    cells = [(one, cell) for one in iterations(jacobi) for cell in one.cells]
    assert any(cell.state == "wrong" for _, cell in cells)
    for one in iterations(jacobi):
        rest = [cell.state for cell in one.cells if cell.state != "frozen"]
        assert rest[:1] in ([], ["wrong"], ["last"])


def test_a_right_guess_behind_a_wrong_one_is_told_apart() -> None:
    """Output 5 6 7; the first pass guesses 9 6 and freezes nothing."""
    run = read(TRACES / "drafter-jacobi.json.gz")
    this = run.rounds[0]
    nodes = [this.nodes[0], replace(this.nodes[1], token=9), replace(this.nodes[2], token=6)]
    first = replace(this, nodes=nodes, judged=replace(this.judged, path=[]))
    vocab = {str(token): VocabEntry("", str(token)) for token in (5, 6, 7, 9)}
    made = replace(run, rounds=[first], vocab=vocab, finished=replace(run.finished, output_ids=[5, 6, 7]))
    assert iterations(made)[0].cells == (Cell(0, "wrong", "9"), Cell(1, "right", "6"))


def test_the_recorded_run_opens_with_its_heat_map_and_others_have_none() -> None:
    run = read(TRACES / "drafter-jacobi.json.gz")
    drawn = heat_map(iterations(run))
    assert drawn.count('class="sv-heat-frozen" x=') == run.summary.num_accepted_draft_tokens > 0
    assert f"{len(run.rounds)} iterations over" in drawn
    assert drawn in panels_of(run)
    assert iterations(sample()) == []
    assert heat_map([]) == ""


def recycled(source: LiveSource, **request: object) -> Trace:
    return collect(source, RunRequest("abcabc", drafter=Choice("token_recycling"), max_new_tokens=10, **request))


def test_the_matrix_is_the_drafters_own_after_every_round(source: LiveSource) -> None:
    """What the trace tells of it is what the drafter hands on to the next run."""
    cold = recycled(source, memory="reset")
    found = matrix_of(cold)
    hot = recycled(source, memory="warm")
    again = matrix_of(hot)
    assert check(cold) == check(hot) == []
    assert (found.hot, again.hot) == (False, True)
    assert found.size_bytes == 6 * 6 * 4
    assert found.known_at_start == 3
    at_start = next(one for this in hot.rounds[:1] for one in this.drafted.knew if "before the first" in one.title)
    kept = {row.tokens[0]: tuple(row.tokens[1:]) for row in at_start.rows}
    prompt = {row.tokens[0] for row in at_start.rows if row.label == "from the prompt"}
    assert prompt == {1, 2, 3}
    assert {row.token: row.followers for row in found.rows if row.token not in prompt} == {
        token: row for token, row in kept.items() if token not in prompt
    }


def test_the_table_says_how_the_matrix_began_and_lets_no_markup_through(source: LiveSource) -> None:
    run = recycled(source)
    vocab = {**run.vocab, "1": VocabEntry("", "<b>")}
    drawn = matrix_table(matrix_of(run), vocab)
    assert "cold start" in drawn
    assert "144 bytes" in drawn
    assert "<b>" not in drawn
    assert "&lt;b&gt;" in drawn
    assert drawn.count("<tr><th scope=row>") == len(matrix_of(run).rows)


def test_an_older_recording_shows_the_rows_it_used() -> None:
    run = read(GOLDEN / "recorded" / "drafter-token-recycling.json.gz")
    found = matrix_of(run)
    assert {row.origin for row in found.rows} <= {EARLIER, *(f"round {index}" for index in range(len(run.rounds)))}
    assert "start" in summary_of(found)
    assert matrix_of(sample()) is None
    assert matrix_table(None, {}) == ""
