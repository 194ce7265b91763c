"""Every number, on rounds small enough to count by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.theory import metrics
from specviz.trace.codec import read
from specviz.trace.events import Finished, Pass, Round, Trace
from specviz.trace.header import MethodCard, Started
from specviz.trace.summary import behind_the_end, counted, drafts

SAMPLE = Path(__file__).parents[1] / "golden" / "trace-1.0-sample.json"


@pytest.fixture(scope="module")
def trace() -> Trace:
    """Eight rounds: drafted 4, 15, 3, 3, 0, 4, 4, 3 candidates and accepted 2, 3, 1, 0, -, 4, 1, 3; a stop string ends
    the text with the second of the last round's three, so that the third and the bonus lie behind the end."""
    return read(SAMPLE)


@pytest.fixture(scope="module")
def rounds(trace: Trace) -> list[Round]:
    return trace.rounds


def test_counts_and_what_is_made_of_them(rounds: list[Round]) -> None:
    assert metrics.num_spec_steps(rounds) == 7
    assert metrics.num_draft_tokens(rounds) == 4 + 15 + 3 + 3 + 0 + 4 + 4 + 2 == 35
    assert metrics.num_accepted_draft_tokens(rounds) == 2 + 3 + 1 + 0 + 4 + 1 + 2 == 13
    assert metrics.acceptance_rate(rounds) == 13 / 35, "of drafts only"
    assert metrics.acceptance_histogram(rounds) == [1, 2, 2, 1, 1]


def test_what_was_accepted_behind_the_end_of_the_text_is_in_no_rate(rounds: list[Round]) -> None:
    """Three candidates and a bonus, of which two are text."""
    last = rounds[-1:]
    assert behind_the_end(last[0]) == {3}
    assert [len(drafts(last[0])), len(counted(last[0]))] == [3, 2]
    assert metrics.tokens_per_target_pass(last) == 2
    assert metrics.mean_acceptance_length(last) == 2
    assert metrics.acceptance_rate(last) == 1
    assert metrics.acceptance_histogram(last) == [0, 0, 1, 0]
    assert metrics.acceptance_by_depth(last) == [[1, 1], [1, 1]]
    assert metrics.levels_by_depth(last) == ((1, 1), (1, 1))
    assert metrics.alpha_reached(last) == 1
    assert len(metrics.first_trials(last[0])) == 2
    assert behind_the_end(rounds[0]) == frozenset(), "a round that did not end the text"


def test_all_below_the_texts_last_token_lies_behind_its_end_and_nothing_beside_it(rounds: list[Round]) -> None:
    """A tree of which the first token of its path ends the text: below it 8 and 9, and theirs."""
    this = rounds[1]
    cut = replace(this.committed, tokens=this.committed.tokens[:1], trimmed="eos", trimmed_tokens=3)
    assert this.judged.path == [3, 8, 14]
    assert behind_the_end(replace(this, committed=cut)) == {8, 9, 14, 15}
    same = [replace(one, token=12) if one.id == 2 else one for one in this.nodes]
    assert behind_the_end(replace(this, committed=cut, nodes=same)) == {6, 7, 8, 9, 12, 13, 14, 15}, "the same text"


def test_the_stored_summary_counts_what_was_judged_as_vllm_does(trace: Trace) -> None:
    stored = trace.summary
    assert (stored.num_draft_tokens, stored.num_accepted_draft_tokens) == (36, 14)
    assert stored.mean_acceptance_length == 1 + 14 / 7
    assert stored.acceptance_histogram == [1, 2, 1, 2, 1]


def riding(rounds: list[Round], *nodes: int) -> list[Round]:
    """The second round alone, 15 candidates of which 3 were accepted, with these nodes riding along."""
    this = rounds[1]
    return [replace(this, drafted=replace(this.drafted, riding=list(nodes)))]


def test_nodes_that_ride_along_count_as_no_drafts_but_their_tokens_count_as_tokens(rounds: list[Round]) -> None:
    """The last node of the accepted path of three rides along: 14 drafts, of which 2 were accepted."""
    made = riding(rounds, rounds[1].judged.path[-1])
    assert (metrics.num_draft_tokens(made), metrics.num_accepted_draft_tokens(made)) == (14, 2)
    assert metrics.acceptance_rate(made) == 2 / 14
    assert metrics.mean_acceptance_length(made) == 1 + 2
    assert metrics.acceptance_histogram(made) == [0, 0, 1, 0]
    assert metrics.acceptance_by_depth(made) == [[1, 1], [1, 1], [1, 0]]
    assert metrics.tokens_per_target_pass(made) == 3 + 1


def test_a_round_in_which_all_nodes_ride_along_drafted_nothing(rounds: list[Round]) -> None:
    made = riding(rounds, *range(1, 16))
    assert (metrics.num_spec_steps(made), metrics.num_draft_tokens(made), metrics.acceptance_rate(made)) == (0, 0, None)
    assert metrics.alpha_reached(made) is None
    assert metrics.tokens_per_target_pass(made) == 4


def test_mean_acceptance_length_counts_the_last_token_too(rounds: list[Round]) -> None:
    """Of the last round it is cut off: six of the seven that drafted kept theirs. Then every round but one drafted."""
    assert metrics.mean_acceptance_length(rounds) == (13 + 6) / 7
    drafted = [this for this in rounds if len(this.nodes) > 1]
    assert metrics.mean_acceptance_length(rounds) == metrics.tokens_per_target_pass(drafted)


def test_acceptance_by_depth(rounds: list[Round]) -> None:
    """Depths drafted: 4, 3, 3, 3, 4, 2, 2."""
    assert metrics.acceptance_by_depth(rounds) == [[7, 6], [7, 4], [5, 2], [2, 1]]


def test_levels_by_depth_leave_unreached_ones_out(rounds: list[Round]) -> None:
    """Tested at depth 1: all 7; at 2: the 6 that passed; at 3: three of the 4 that passed, for with one the text ended;
    at 4: one chain of four."""
    assert metrics.levels_by_depth(rounds) == ((7, 6), (6, 4), (3, 2), (1, 1))


def test_tokens_per_target_pass_counts_every_round(trace: Trace, rounds: list[Round]) -> None:
    assert metrics.tokens_per_target_pass(rounds) == len(trace.finished.output_ids) / len(rounds) == 20 / 8


def left_open(this: Round) -> Round:
    """The round as one that leaves its last token to the next."""
    kept = this.committed.tokens[:-1]
    return replace(this, committed=replace(this.committed, tokens=kept, trimmed="open", trimmed_tokens=1))


def test_a_token_left_to_the_next_round_is_counted_there_alone(rounds: list[Round]) -> None:
    """The first round accepts 2 and leaves its last token open: 2; with the second one's 3 + 1 it is 6 in 2 passes."""
    made = [left_open(rounds[0]), rounds[1]]
    assert metrics.tokens_per_target_pass(made) == (2 + 0 + 3 + 1) / 2
    assert metrics.tokens_per_target_pass([left_open(rounds[0])]) == 2


def with_weights(trace: Trace, target: int, drafter: int) -> Started:
    """The header with models in bfloat16 and float32 whose passes read so many weights."""
    card = replace(trace.started.target, read_per_pass=target, dtype="bfloat16")
    own = replace(card, read_per_pass=drafter, dtype="float32")
    return replace(trace.started, target=card, drafter=replace(trace.started.drafter, model=own, further_models=[]))


def passes(rounds: list[Round], count: int) -> list[Round]:
    """The rounds, each with so many drafter passes."""
    made = [Pass(rows=1, cached_rows=9, seconds=0.1, depth=1)] * count
    return [replace(this, drafted=replace(this.drafted, passes=made)) for this in rounds]


def test_memory_bound_speedup_counts_the_passes_that_were_made(trace: Trace, rounds: list[Round]) -> None:
    """A target of 800 weights x 2 bytes, a drafter of 100 x 4: c = 4; 20 tokens in 8 rounds, 4 passes in each."""
    started = with_weights(trace, 800, 100)
    assert metrics.memory_ratio(started, passes(rounds, 4)) == 4.0
    assert metrics.mbsu(started, passes(rounds, 4)) == pytest.approx(20 / 8 * 4 / (4 + 4))
    assert metrics.mbsu(started, passes(rounds, 2)) == pytest.approx(20 / 8 * 4 / (2 + 4))
    assert metrics.mbsu(started, passes(rounds, 0)) == 20 / 8, "without passes it reads nothing"


def test_memory_bound_speedup_is_none_where_nobody_counted(trace: Trace, rounds: list[Round]) -> None:
    four = passes(rounds, 4)
    uncounted, counted = with_weights(trace, 800, 0), with_weights(trace, 800, 100)
    several = replace(counted.drafter, further_models=[counted.target])
    for started in (
        uncounted,
        with_weights(trace, 0, 100),
        replace(counted, drafter=several),
        replace(counted, drafter=replace(counted.drafter, model=None)),
    ):
        assert (metrics.memory_ratio(started, four), metrics.mbsu(started, four)) == (None, None)
    assert metrics.mbsu(counted, []) is None


def reading(rounds: list[Round], *read: int | None) -> list[Round]:
    """The rounds, each with passes that read so many bytes."""
    made = [Pass(rows=1, cached_rows=9, seconds=0.1, depth=1, read=one) for one in read]
    return [replace(this, drafted=replace(this.drafted, passes=made)) for this in rounds]


def test_memory_bound_speedup_goes_by_what_each_pass_says_that_it_reads(trace: Trace, rounds: list[Round]) -> None:
    """A target of 1600 bytes; passes of 300 and 100 in every round: c = 1600 / 200, and a round reads 2000 bytes in
    place of 1600. Neither the card of a model nor that of several is asked then."""
    counted = with_weights(trace, 800, 100)
    several = replace(counted, drafter=replace(counted.drafter, further_models=[counted.target]))
    no_model = replace(counted, drafter=replace(counted.drafter, model=None))
    for started in (counted, several, no_model):
        assert metrics.memory_ratio(started, reading(rounds, 300, 100)) == 8.0
        assert metrics.mbsu(started, reading(rounds, 300, 100)) == pytest.approx(20 / 8 * 1600 / 2000)
    assert metrics.mbsu(no_model, reading(rounds, 400, 0)) == pytest.approx(20 / 8 * 1600 / 2000)
    nothing = reading(rounds, 0)
    assert (metrics.mbsu(no_model, nothing), metrics.memory_ratio(no_model, nothing)) == (20 / 8, None)
    assert metrics.mbsu(counted, reading(rounds, 300, None)) is None, "nobody counted one of them"
    assert metrics.drafter_bytes(counted, reading(rounds, 300, 100)) == 400 * len(rounds)


def test_alpha_leaves_never_reached_candidates_out(rounds: list[Round]) -> None:
    """Tested 3, 5, 2, 1, 0, 4, 4 and 2 candidates, of which 13 were accepted. Levels, where siblings are one: 4 were
    rejected, of rounds 0, 2, 3 and 6."""
    assert metrics.alpha(rounds) == pytest.approx(13 / 21)
    assert metrics.alpha_reached(rounds) == pytest.approx(13 / 17)
    assert sum(len(metrics.first_trials(one)) for one in rounds) == 17


def test_time_shares(rounds: list[Round]) -> None:
    """Round 0 at toy durations: 4 drafter passes of 2 ms, a target pass of 10 ms, three times 0.5 ms around them."""
    shares = metrics.time_shares(rounds[:1])
    assert shares is not None
    assert shares.draft == pytest.approx(8.5 / 19.5)
    assert shares.target == pytest.approx(10 / 19.5)
    assert shares.judge == shares.commit == pytest.approx(0.5 / 19.5)


def test_cost_ratio(rounds: list[Round]) -> None:
    assert metrics.cost_ratio(rounds) == pytest.approx(0.002 / 0.010)
    assert metrics.cost_ratio(rounds[4:5]) is None, "no drafter pass in this round"


def test_the_cost_ratio_is_of_one_token_passes_and_of_the_pass_alone(rounds: list[Round]) -> None:
    """A prompt's pass of 9 rows and 60 ms is no step of a draft; scoring takes 25 ms, of which 10 in the pass."""
    wide, one = Pass(rows=9, cached_rows=0, seconds=0.060, depth=1), Pass(rows=1, cached_rows=9, seconds=0.002, depth=1)
    drafted, scored = replace(rounds[0].drafted, passes=[wide, one, one]), replace(rounds[0].scored, seconds=0.025)
    assert metrics.cost_ratio([replace(rounds[0], drafted=drafted, scored=scored)]) == pytest.approx(0.002 / 0.010)


def test_where_verdicts_are_not_given_from_the_top_no_candidate_is_a_first_trial(rounds: list[Round]) -> None:
    for order in ("bottom_up", "longest"):
        made = [replace(this, judged=replace(this.judged, order=order)) for this in rounds]
        assert [metrics.first_trials(this) for this in made] == [[]] * len(made)
        assert metrics.alpha([*rounds[:1], *made[:1]]) is None, "one such round, and there is no alpha of the run"


def test_nothing_drafted_gives_none_not_zero(rounds: list[Round]) -> None:
    plain = rounds[4:5]
    assert metrics.acceptance_rate(plain) is None
    assert metrics.mean_acceptance_length(plain) is None
    assert metrics.acceptance_histogram(plain) == []
    assert metrics.acceptance_by_depth(plain) == []
    assert (metrics.alpha(plain), metrics.alpha_reached(plain)) == (None, None)
    assert metrics.tokens_per_target_pass(plain) == 1.0


def test_no_rounds_at_all() -> None:
    assert metrics.tokens_per_target_pass([]) is None
    assert metrics.time_shares([]) is None
    assert metrics.cost_ratio([]) is None
    assert metrics.acceptance_by_depth([]) == []


def measured(trace: Trace, decode_s: float, tokens: int) -> Trace:
    """As if the run were live: only what a speed is made of."""
    finished = Finished("length", None, [4] * tokens, "", 0.0, decode_s, 0.0)
    return replace(trace, started=replace(trace.started, source="live"), finished=finished)


def test_speed_is_output_over_decode_time_and_speedup_a_ratio_of_speeds(trace: Trace) -> None:
    assert metrics.tokens_per_second(measured(trace, 0.5, 20)) == 40.0
    assert metrics.speedup(measured(trace, 0.5, 20), measured(trace, 1.0, 25)) == 1.6


def test_a_simulated_run_has_no_speed(trace: Trace) -> None:
    assert metrics.tokens_per_second(trace) is None
    assert metrics.speedup(trace, measured(trace, 1.0, 20)) is None
    assert metrics.speedup(measured(trace, 1.0, 20), trace) is None


def test_the_stored_summary_is_the_recomputed_one(trace: Trace) -> None:
    assert metrics.summary(trace.started, trace.rounds, trace.finished) == trace.summary


def test_a_run_that_asked_the_target_beforehand_has_no_speed(trace: Trace) -> None:
    asked = measured(trace, 0.5, 20)
    asked = replace(asked, started=replace(asked.started, stop_policy=MethodCard("seer", {}, True, deployable=False)))
    assert metrics.tokens_per_second(asked) is None
    assert metrics.speedup(asked, measured(trace, 1.0, 25)) is None
