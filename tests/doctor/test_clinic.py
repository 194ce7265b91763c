"""Verdicts on two answers, from losses written by hand: 1/16 nat is the format's noise throughout."""

from specviz.doctor.clinic import ENOUGH, LEAST_NOISE, Answer, Step, judge, noise_of, parting

NOISE = 0.0625


def step(token: int, loss: float = 0.0) -> Step:
    """A token; the format moves the lead of 1 nat by one noise and the loss not at all."""
    return Step(token, token if not loss else 0, loss, loss, lead=1.0, lead_there=1.0 + NOISE)


def answer(name: str, *steps: Step, ends_early: int | None = None) -> Answer:
    return Answer(name, steps, ends_early)


def parted(left: float, right: float, behind: int = ENOUGH) -> tuple[Answer, Answer]:
    """Two answers whose second tokens lose so much, and as many right tokens behind them."""
    tail = [step(9)] * behind
    return answer("A", step(1), step(2, left), *tail), answer("B", step(1), step(3, right), *tail)


def test_texts_part_where_they_differ_first_and_nowhere_if_one_begins_the_other() -> None:
    assert (parting([1, 2, 3], [1, 4, 3]), parting([1, 2], [1, 2, 3]), parting([], [])) == (1, None, None)


def test_noise_is_the_root_mean_square_of_what_the_format_does_to_leads() -> None:
    moved = Step(1, 1, 0.0, 0.0, lead=2.0, lead_there=1.0)
    still = Step(1, 1, 0.0, 0.0, lead=2.0, lead_there=2.0)
    assert noise_of([answer("A", moved, still, still, still)]) == 0.5


def test_noise_is_never_taken_for_smaller_than_float32s_own() -> None:
    assert noise_of([answer("A")]) == LEAST_NOISE == 2.0**-15


def test_a_margin_of_two_noises_is_a_near_tie_and_a_wider_one_numerics() -> None:
    words = [judge(*parted(0.0, loss)).word for loss in (0.125, 0.1875, 0.5)]
    assert words == ["near tie", "numerics", "numerics"]


def test_a_loss_of_more_than_eight_noises_is_a_bug_and_of_more_than_twenty_surely_one() -> None:
    verdicts = [judge(*parted(0.0, loss)) for loss in (0.5625, 1.3125)]
    seen = [(verdict.word, verdict.confidence, verdict.guilty) for verdict in verdicts]
    assert seen == [("bug", "middle", "B"), ("bug", "high", "B")]


def test_the_answer_with_the_lost_token_is_guilty_whichever_it_is() -> None:
    assert judge(*parted(2.0, 0.0)).guilty == "A"


def test_a_bug_that_begins_at_a_near_tie_is_seen_behind_it() -> None:
    left, right = parted(0.0, 0.0625)
    verdict = judge(left, answer("B", *right.steps, step(5, loss=2.0)))
    assert (verdict.word, verdict.parts_at, verdict.worst_at, verdict.worst) == ("bug", 1, 2 + ENOUGH, 32.0)


def test_few_tokens_behind_a_near_tie_lower_the_confidence() -> None:
    assert [judge(*parted(0.0, 0.0625, behind)).confidence for behind in (ENOUGH, ENOUGH - 1)] == ["high", "low"]


def test_a_token_that_the_format_itself_moves_so_far_is_no_bug() -> None:
    moved = Step(3, 2, loss=0.75, loss_there=-0.25, lead=0.75, lead_there=0.75)
    left, right = parted(0.0, 0.0)
    assert judge(left, answer("B", right.steps[0], moved, *right.steps[2:])).word == "numerics"


def test_both_answers_wrong_are_not_this_targets() -> None:
    assert judge(*parted(4.0, 4.0)).word == "not this target's"


def test_equal_answers_and_a_beginning_are_the_same() -> None:
    long = answer("B", step(1), step(2))
    assert [judge(answer("A", step(1), *tail), long).word for tail in ([step(2)], [])] == ["same", "same"]


def test_two_equal_answers_that_are_not_the_targets_are_not_called_the_same() -> None:
    both = [answer(name, step(1), step(2, loss=4.0)) for name in "AB"]
    assert judge(both[0], both[1]).word == "not this target's"


def test_an_answer_that_goes_on_behind_its_end_is_a_bug() -> None:
    verdict = judge(answer("A", step(1), step(0)), answer("B", step(1), step(0), step(4), ends_early=1))
    assert (verdict.word, verdict.guilty, verdict.worst_at) == ("bug", "B", 1)


def test_empty_answers_are_the_same() -> None:
    assert judge(answer("A"), answer("B")).word == "same"
