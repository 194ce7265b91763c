"""A race of the visitor's own tab under node: the numbers and sentences that Python makes of the same runs."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from specviz.app.race.view import RaceView, RunnerView, race_view
from specviz.protocol.races import Race, Runner, read
from specviz.resources import asset_path
from specviz.theory import metrics
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.summary import drafts_beside
from tests.js.engine import answer

WAYS = [{"drafter": "model", "shape": "g4"}, {"drafter": "ngram", "shape": "g6"}, {"drafter": "medusa", "shape": "own"}]
LABELS = ["a small model, γ 4", "copies from the text, γ 6", "Medusa, its own tree"]
NUMBERS = ("finish_s", "prefill_s", "tokens", "passes", "tokens_per_pass", "ratio", "differs_at")
WORDS = ("label", "methods", "lossless", "output")


def float32(trace: Trace) -> Trace:
    return replace(trace, started=replace(trace.started, machine=replace(trace.started.machine, dtype="float32")))


def raced_once(label: str, trace: Trace, ratio: float | None) -> Runner:
    return Runner(label, trace, () if ratio is None else (ratio,))


@pytest.fixture(scope="module")
def recorded() -> Race:
    """The shipped race under the names that the tab has for its ways; none was repeated, and nobody works beside the
    target there."""
    raced = read(asset_path("races", "opening.json.gz")).runners
    traces = [float32(one.trace) for one in raced if not drafts_beside(one.trace.rounds)][: 1 + len(WAYS)]
    names = ["plain decoding", *LABELS]
    ratios = [metrics.speedup(trace, traces[0]) for trace in traces]
    return Race(tuple(map(raced_once, names, traces, ratios)))


def raced_in_the_tab(race: Race) -> dict[str, Any]:
    traces = [codec.to_data(runner.trace) for runner in race.runners]
    shown: dict[str, Any] = answer("race", ways=WAYS[: len(traces) - 1], traces=traces)
    return shown


def assert_same_runner(shown: dict[str, Any], due: RunnerView) -> None:
    assert [shown[word] for word in WORDS] == [getattr(due, word) for word in WORDS]
    assert [shown[number] for number in NUMBERS] == [pytest.approx(getattr(due, number)) for number in NUMBERS]
    segments = [tuple(asdict(span).values()) for span in due.segments]
    assert [(phase, index) for _, _, phase, index in shown["segments"]] == [span[2:] for span in segments]
    assert [span[:2] for span in shown["segments"]] == [pytest.approx(span[:2]) for span in segments]
    assert [tuple(token[1:]) for token in shown["arrivals"]] == [(token.text, token.origin) for token in due.arrivals]
    assert [token[0] for token in shown["arrivals"]] == pytest.approx([token.time_s for token in due.arrivals])


def assert_same_race(shown: dict[str, Any], due: RaceView) -> None:
    assert (shown["prompt"], shown["equality"]) == (due.prompt, due.equality)
    assert shown["longest_s"] == pytest.approx(due.longest_s)
    for runner, same in zip(shown["runners"], due.runners, strict=True):
        assert_same_runner(runner, same)


def test_the_same_runs_are_the_same_race_here_and_there(recorded: Race) -> None:
    assert_same_race(raced_in_the_tab(recorded), race_view(recorded))


def with_output(trace: Trace, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Trace:
    ids = change(tuple(trace.finished.output_ids))
    return replace(trace, finished=replace(trace.finished, output_ids=type(trace.finished.output_ids)(ids)))


def sampled(trace: Trace) -> Trace:
    warm = replace(trace.started.sampling, temperature=0.8)
    return with_output(
        replace(trace, started=replace(trace.started, sampling=warm)), lambda ids: (ids[0] + 1, *ids[1:])
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda trace: with_output(trace, lambda ids: (*ids[:-1], ids[-1] + 1)), "only a tie within rounding"),
        (lambda trace: with_output(trace, lambda ids: ids[:-1]), "one of the two ended earlier"),
        (sampled, "texts are sampled"),
    ],
    ids=["another token", "a token less", "another temperature"],
)
def test_why_a_text_is_not_plain_decodings_is_said_here_as_there(
    recorded: Race, change: Callable[[Trace], Trace], why: str
) -> None:
    plain, drafted, *_ = recorded.runners
    race = Race((plain, replace(drafted, trace=change(drafted.trace))))
    shown = raced_in_the_tab(race)
    assert why in shown["runners"][1]["output"]
    seen = (shown["equality"], shown["runners"][1]["output"])
    assert seen == (race_view(race).equality, race_view(race).runners[1].output)
