"""The exact measure of acceptance: by hand, against counted rounds at temperature 0, against enumerated draws."""

from itertools import product

import pytest
import torch

from specviz.training.alignment.measure import (
    Counts,
    JudgedText,
    WrittenText,
    at_temperature,
    counted,
    expected_rounds,
    judged,
    measured,
)
from specviz.training.pair_report import greedy_text, replay_rounds
from specviz.training.target import model_config, new_model


def random_model(seed: int) -> torch.nn.Module:
    model = new_model(model_config(2, 32, 2, 48, 40), seed=seed).eval()
    torch.manual_seed(seed)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def rounds_of(accepted: tuple[bool, ...], gamma: int) -> tuple[int, list[int], list[int]]:
    """One outcome of every draft, played."""
    place, rounds, tested, kept = 0, 0, [0] * gamma, [0] * gamma
    while place < len(accepted):
        rounds += 1
        for depth in range(min(gamma, len(accepted) - place)):
            tested[depth] += 1
            if not accepted[place + depth]:
                break
            kept[depth] += 1
        else:
            depth = min(gamma, len(accepted) - place)
        place += depth + 1
    return rounds, tested, kept


def test_expected_rounds_equal_the_sum_over_every_outcome() -> None:
    chances = [0.5, 0.25, 1.0, 0.0, 0.75]
    for gamma in (1, 2, 4):
        totals = torch.zeros(1 + 2 * gamma, dtype=torch.float64)
        for outcome in product((False, True), repeat=len(chances)):
            weight = torch.tensor([c if yes else 1 - c for c, yes in zip(chances, outcome, strict=True)]).prod()
            rounds, tested, kept = rounds_of(outcome, gamma)
            totals += weight * torch.tensor([rounds, *tested, *kept], dtype=torch.float64)
        rounds, tested, accepted = expected_rounds(chances, gamma)
        assert torch.tensor([rounds, *tested, *accepted]).tolist() == pytest.approx(totals.tolist())


def test_all_accepted_and_none() -> None:
    assert expected_rounds([1.0] * 10, 4)[0] == 2
    assert expected_rounds([0.0] * 10, 4)[0] == 10


def test_greedy_rounds_are_the_ones_that_are_played() -> None:
    target, drafter = random_model(0), random_model(1)
    drafter.load_state_dict(
        {name: value + 0.05 * torch.randn_like(value) for name, value in target.state_dict().items()}
    )
    text = greedy_text(target, torch.arange(2, 10)[None], 30)
    found = measured(drafter, judged(target, [WrittenText("any", "english", text[0], 8)], 0.0), 0.0, 4)["english"]
    played = replay_rounds(drafter, text, 8, 4)
    assert (found.rounds, found.tokens) == (played.rounds, 30)
    assert sum(found.accepted) == played.accepted


def test_one_position_by_hand() -> None:
    """p = (1/2, 1/2, 0 …), q = (3/4, 1/4, 0 …), the text holds token 1: alpha 3/4; given token 1, which q says half as
    often as p, the draft was accepted with 1/2."""
    p, q = torch.zeros(1, 6), torch.zeros(1, 6)
    p[0, :2], q[0, :2] = torch.tensor([0.5, 0.5]), torch.tensor([0.75, 0.25])
    one = JudgedText(WrittenText("any", "english", torch.tensor([3, 1]), 1), p)
    found = counted(one, q.log(), 1.0, gamma=4)
    assert (found.tokens, found.rounds) == (1, 1)
    assert found.alpha == pytest.approx(0.75)
    assert found.covered == pytest.approx(1.0)
    assert found.tested == [1.0, 0, 0, 0]
    assert found.accepted[0] == pytest.approx(0.5)


def test_alpha_is_what_acceptance_is_on_average_over_the_target_s_words() -> None:
    """Over x ~ p, min(1, q / p)(x) averages to sum min(p, q)."""
    p = torch.tensor([[0.5, 0.2, 0.2, 0.1, 0.0]])
    logits = torch.randn(1, 5, generator=torch.Generator().manual_seed(0))
    kept = 0.0
    for token in range(4):
        one = JudgedText(WrittenText("any", "english", torch.tensor([0, token]), 1), p)
        counts = counted(one, logits, 0.7, gamma=2)
        kept += float(p[0, token]) * counts.accepted[0]
    assert kept == pytest.approx(counts.alpha, rel=1e-6)


def test_the_target_as_its_own_drafter_is_always_accepted() -> None:
    target = random_model(2)
    text = WrittenText("any", "python", torch.arange(2, 32), 5)
    for temperature in (0.7, 1.0):
        found = measured(target, judged(target, [text], temperature), temperature, 4)["python"]
        assert found.alpha == pytest.approx(25, rel=1e-5)
        assert found.block_efficiency == pytest.approx(5, rel=1e-4)
        assert found.by_position == pytest.approx([1.0] * 4, rel=1e-4)


def test_temperature_0_puts_all_on_the_most_likely_token() -> None:
    assert at_temperature(torch.tensor([[1.0, 3.0, 2.0]]), 0.0).tolist() == [[0, 1, 0]]
    halves = at_temperature(torch.tensor([[0.0, 0.7]]), 0.7)
    assert halves.tolist()[0] == pytest.approx(torch.tensor([0.0, 1.0]).softmax(-1).tolist())


def test_counts_of_drafts_of_different_depth_add_up() -> None:
    total = Counts()
    total.add(Counts(3, 1.5, 2.0, 2.0, [2.0], [1.0]))
    total.add(Counts(1, 0.5, 1.0, 1.0, [1.0, 1.0], [1.0, 0.0]))
    assert (total.tokens, total.alpha, total.covered, total.rounds) == (4, 2.0, 3.0, 3.0)
    assert total.by_position == [2 / 3, 0.0]
    assert total.block_efficiency == pytest.approx(4 / 3)
