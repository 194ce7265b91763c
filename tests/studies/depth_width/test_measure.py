"""Replay counts what the engine does, times and runs are of every network, the tables say what was found."""

from dataclasses import replace

import pytest

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS
from specviz.drafters.capabilities import with_model
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import BenchError
from specviz.lm.base import LanguageModel
from specviz.proof.small_models import small_pair
from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.depth_width.compare import matched_by_gamma, untrained
from specviz.studies.depth_width.runs import (
    PLAIN,
    RecordedText,
    Runs,
    TimedRun,
    counted,
    hits,
    kept_by_round,
    of_traces,
    time_passes,
)
from specviz.studies.depth_width.tables import markdown
from specviz.verifiers.base import VERIFIERS
from tests.studies.depth_width.sample import STUDY, TWO_SETS

PROMPT = (1, 2, 3)
MOST = 24


def test_rounds_of_a_replayed_text_by_hand() -> None:
    """. wrong, R right: the target's own token is written behind what is kept."""
    found = [one == "R" for one in "RR.RRRR.R"]
    assert kept_by_round(found, 2, 9) == [2, 2, 1]  # RR and ., RR and R, R and ., and R with no room for a draft
    assert kept_by_round([True] * 9, 4, 9) == [4, 3]  # the last round has room for three beside the target's own
    assert kept_by_round([False] * 3, 4, 3) == [0, 0]  # in the third nothing can be drafted
    assert counted([True] * 9, 4, 9) == (7.0, 2.0)
    assert kept_by_round([True, True], 4, 9) == [2]  # the text ended of itself


def _decoded(target: LanguageModel, drafter: LanguageModel, gamma: int) -> tuple[list[int], list[int]]:
    """Output of the engine at temperature 0, and drafted tokens kept by each round that drafted."""
    own = with_model(DRAFTERS.get("model").of({"gamma": gamma}), drafter)
    method = Method(own, VERIFIERS.get("greedy").of({}), Sampling(0.0), SeededRandom(1))
    session = Session(target, method, Start(list(PROMPT)), Ending(Limits(MOST), lambda token: b""))
    session.begin()
    kept = []
    while not session.finished:
        one = session.round()
        if len(one.proposal.tree) > 1:
            kept.append(len(one.verdict.path))
    return session.tokens[len(PROMPT) :], kept


@pytest.mark.parametrize("gamma", [1, 2, 5])
def test_replay_counts_every_round_as_the_engine_decodes_it(gamma: int) -> None:
    target, drafter = small_pair(noise=0.3)
    output, kept = _decoded(target, drafter, gamma)
    assert 0 < sum(kept) < gamma * len(kept), "nothing to tell apart"
    text = RecordedText("a prompt", (*PROMPT, *output), len(PROMPT))
    assert kept_by_round(hits(drafter, text), gamma, MOST) == kept
    (found,) = matched_by_gamma(drafter, [text], [gamma], MOST)
    assert found.value == pytest.approx(sum(kept) / len(kept), abs=1e-4)
    (sure,) = matched_by_gamma(target, [text], [gamma], MOST)
    assert sure.value > found.value


def test_texts_of_one_token_have_no_round() -> None:
    target, _ = small_pair()
    with pytest.raises(BenchError, match="nothing was drafted"):
        matched_by_gamma(target, [RecordedText("a prompt", (1, 2), 1)], [2], 1)
    with pytest.raises(BenchError, match="nothing to replay"):
        of_traces([], "0" * 64)


def test_every_network_and_every_length_is_timed() -> None:
    target, drafter = small_pair()
    found = time_passes(target, {"1x2": drafter, "2x2": drafter}, [1, 3], 2)
    assert set(found.steps) == {"1x2", "2x2"}
    assert set(found.passes) == {1, 2, 4}
    times = [*found.steps.values(), *found.passes.values()]
    assert all(0 < one.low_ms <= one.median_ms <= one.high_ms for one in times)


def test_a_run_stands_beside_plain_decoding_of_the_same_prompt() -> None:
    text = (1, 2, 3)
    runs = Runs(
        {
            PLAIN: {"a": [TimedRun(10, 1.0, 0, 0, text)], "b": [TimedRun(10, 2.0, 0, 0, text)]},
            ("1x2", 4): {"a": [TimedRun(10, 0.5, 6, 4, text)], "b": [TimedRun(10, 1.0, 2, 4, (1, 2, 4))]},
        }
    )
    assert runs.plain().value == pytest.approx(20 / 3, abs=1e-4)
    (found,) = runs.measured()
    assert found.speedup == Estimate(2.0, 2.0, 2.0)
    assert found.tokens_per_s.value == pytest.approx(20 / 1.5, abs=1e-4)
    assert (found.matched, found.same_text, found.runs) == (1.0, 1, 2)


def test_the_tables_say_what_was_measured_and_what_modelled() -> None:
    lines = markdown(replace(STUDY, load=None)).splitlines()
    assert "| `16x5` | 0.00 M | 0.00 M | 0.00 M | 40.0 | 0.500 | 0.400 | 5.00 [4.50–5.50] |" in lines
    assert any(
        line.startswith("| blocks `16x5` | 0.50 [0.25–0.75] | 1.00 [0.50–1.50] | 1.10 | 2.33 |") for line in lines
    )
    assert "| blocks `16x5` | 1 | 107 [89–125] | 0.86 | 36% |" in lines
    assert "| `16x5` | 2 | 80 [70–90] | 100 | 0.80 [0.70–0.90] | 0.80 | 0.90 | 5 of 6 |" in lines
    assert lines[-1] == "A <machine>, a day. Made by `the command`."
    lines = markdown(replace(STUDY, times_origin="Today.")).splitlines()
    assert lines[-3] == "Trained and replayed: A <machine>, a day. Made by `the command`."
    assert lines[-1].startswith("Times and runs: Today. Load of the machine: 1.5. Made by `specviz study depth-width")
    assert "Load of the machine: 1.5." in markdown(STUDY)


def test_the_second_set_has_tables_of_its_own_which_say_that_nothing_of_it_ran() -> None:
    lines = markdown(TWO_SETS).splitlines()
    begin = lines.index("**The second set, plain cross entropy**")
    assert "| both | 6 | -0.36 | -0.43 | +0.83 |" in lines[begin:]
    assert "| plain cross entropy | 3 | -0.50 | -0.50 | +0.87 |" in lines[begin:]
    assert (
        "| blocks `16x5` | 50.0 | 0.250 | 0.200 | 0.25 [0.25–0.25] | 0.25 [0.25–0.25] | 1 | 89 [89–89] | 0.71 | 107 |"
    ) in lines[begin:]
    assert any("60% of those tokens" in line and "timed or run in the engine**" in line for line in lines[begin:])
    assert lines[-1] == "The second set: Another day. Made by `another command`."
    assert "second set" not in markdown(STUDY)
    first = [line for line in markdown(STUDY).splitlines() if line.startswith("|")]
    assert [line for line in lines[:begin] if line.startswith("|")] == first


def test_untrained_networks_have_the_shapes_that_their_names_say_and_run() -> None:
    target, _ = small_pair()
    models = untrained(target, ["1x20", "3x8"])
    assert {name: (model.info.layers, model.info.hidden_size) for name, model in models.items()} == {
        "1x20": (1, 20),
        "3x8": (3, 8),
    }
    for model in models.values():
        assert model.forward([0, 1], model.new_cache()).shape == (2, target.info.vocab_size)
