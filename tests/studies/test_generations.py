"""Eleven generations: what cannot be so is refused, the sentence follows from the numbers, positions are counted."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from specviz.app.studies.chart import draw
from specviz.core.tree import DraftTree
from specviz.errors import BenchError, OptionError
from specviz.studies.generations import result as generations
from specviz.studies.generations.measure import beside, kept_result, levels
from specviz.studies.generations.native import ARMS, Arm, NativeTraining
from specviz.studies.generations.result import (
    EQUAL,
    GENERATIONS,
    NATIVE,
    POSITION,
    SHIPPED_AS,
    SPEED,
    GenerationRow,
    GenerationsFile,
    NativeArm,
    Taught,
    how,
    sentence,
    unequal,
    view,
)
from specviz.studies.generations.training import NETWORKS


def row(generation: str, weights: str = EQUAL, ratio: float = 1.0, tokens: int = 30, round_ms: float = 10.0):
    """20 rounds; three of four accepted at the first position, one of three at the second."""
    return GenerationRow(
        generation, weights, None if weights == EQUAL else 7000, ((20, 15), (15, 5)), tokens, 20, 2.0, round_ms,
        ratio - 0.1, ratio, ratio + 0.1, 13, 13,
    )  # fmt: skip


def sample() -> GenerationsFile:
    equal = [row("model", ratio=1.5, tokens=40, round_ms=12.0), row("medusa", ratio=0.9), row("dflash", ratio=1.2)]
    shipped = [row("model", SHIPPED_AS, 2.0, 60, 12.0), row("dflash", SHIPPED_AS, 2.5, 50, 8.0)]
    taught = tuple(Taught(label, 1000, 5000, 1.5, 30.0, (0.5, 0.25)) for label in NETWORKS)
    native = tuple(
        NativeArm(name, 400, 2.0, nats, (share, 0.3), (0.4, 0.4))
        for name, nats, share in (("joint", 2.01, 0.35), ("apart", 2.0, 0.31), ("frozen", 1.96, 0.3))
    )
    return GenerationsFile(
        (*equal, *shipped), taught, native, 4, 12, 13, 48, 2.0, "2026-11-27T04:00:00Z", {"target": "a", "drafter": "b"},
        "one machine.",
    )  # fmt: skip


def problems(file):
    return " ".join(generations.problems(file))


def test_what_cannot_be_so_is_refused():
    file = sample()
    assert problems(file) == ""
    first, *others = file.rows
    assert "model accepted more than it asked about" in problems(
        replace(file, rows=(replace(first, levels=((2, 3),)), *others))
    )
    assert "has impossible times: 12.0 of 12.0 ms" in problems(
        replace(file, rows=(replace(first, draft_ms=12.0), *others))
    )
    for impossible in ({"ratio": 9.0}, {"ratio": 0.1}, {"rounds": 0}):
        assert "model has impossible times" in problems(replace(file, rows=(replace(first, **impossible), *others)))
    unasked = replace(file, rows=(replace(first, levels=()), *others))
    assert "model accepted more than it asked about" in problems(unasked)
    assert "there is no generation model with old weights" in problems(
        replace(file, rows=(*file.rows, replace(first, weights="old")))
    )
    assert "with equal weights there is no model to compare with" in problems(replace(file, rows=tuple(others)))
    unlike = (replace(file.taught[0], tokens=4999), *file.taught[1:])
    assert "did not learn from equally many tokens" in problems(replace(file, taught=unlike))
    assert "there is no generation alexnet" in problems(replace(file, rows=(replace(first, generation="alexnet"),)))


def test_where_one_pass_does_not_reach_the_aim_the_sentence_says_what_is_missing():
    """1.2 / 1.5 = 0.8; 1.2 times two tokens a pass at 10 of 12 ms would be needed."""
    assert sentence(sample().of(EQUAL)) == (
        "Most tokens per pass of the target: model, 2.00. Fastest: model, 1.50 × plain decoding. Of those that fill a "
        "draft in one pass DFlash is the fastest, 0.80 × as fast as the small model, not the 1.2 that were hoped for: "
        "a round of it takes 10.0 ms against 12.0, so 2.00 tokens per pass would be needed, and it writes 1.50."
    )


def test_where_it_does_the_sentence_says_that():
    assert sentence(sample().of(SHIPPED_AS)).endswith("1.25 × as fast as the small model: the 1.2 that were hoped for.")


def test_every_view_says_what_it_was_learnt_from_and_can_be_drawn():
    file = sample()
    for weights, learnt in ((EQUAL, "5,000"), (SHIPPED_AS, "7,000")):
        for show in (POSITION, SPEED):
            shown = view(file, weights, show)
            assert draw(shown.chart).data
            assert shown.tables[0].rows[0][:4] == ("model", learnt, "0.75 0.33", f"{file.of(weights)[0].per_pass:.2f}")
    native = view(file, EQUAL, NATIVE)
    assert (
        "accepted 35.0% of the time at the first position, beside a target that learnt alone 31.0%" in native.sentence
    )
    assert draw(native.chart).data
    with pytest.raises(OptionError, match="'other, speed' was not measured"):
        view(file, "other", SPEED)


def test_shipped_weights_measured_anew_stand_beside_equal_training_as_it_was_and_the_page_says_when_each_was(
    tmp_path,
):
    kept, anew = sample(), (row("model", SHIPPED_AS, 2.2), row("dflash", SHIPPED_AS, 3.0))
    found = beside(kept, replace(kept, rows=anew, load=0.4, created="2026-11-28T04:00:00Z", origin="a quiet machine."))
    assert (found.of(EQUAL), found.of(SHIPPED_AS)) == (kept.of(EQUAL), list(anew))
    assert found.earlier == "2 programs wanted the processor. one machine."
    assert how(found).endswith(
        "0 programs wanted it. a quiet machine. That is of the shipped weights; equal training was measured before: "
        "2 programs wanted the processor. one machine."
    )
    again = beside(found, replace(kept, rows=anew, origin="a third machine."))
    assert again.earlier == found.earlier, "the first occasion is still that of equal training"
    generations.STUDY.codec.write(found, tmp_path / "generations.json")
    assert generations.STUDY.codec.read(tmp_path / "generations.json").earlier == found.earlier


def test_equal_training_of_another_run_does_not_stay():
    kept = generations.STUDY.codec.read(generations.STUDY.path)
    run = (kept.gamma, kept.budget, kept.prompts, kept.max_new_tokens)
    assert kept_result(run, kept.models) == kept
    with pytest.raises(BenchError, match="its equal training cannot stay"):
        kept_result(run, kept.models | {"target": "another"})
    with pytest.raises(BenchError, match="its equal training cannot stay"):
        kept_result((kept.gamma + 1, *run[1:]), kept.models)


def test_a_drafter_that_wrote_another_text_is_named():
    file = sample()
    first, *others = file.rows
    wrong = replace(file, rows=(replace(first, alike=11), *others))
    assert unequal(wrong) == ["model (equal training) wrote another text than plain decoding on 2 prompts."]


def test_every_generation_is_trained_but_the_tree_which_has_the_network_of_its_block():
    assert {*NETWORKS} | {"ddtree"} == {*GENERATIONS}
    assert len(GENERATIONS) == 11


def record(parents: list[int], path: list[int]):
    tree = DraftTree.from_root(0)
    for parent in parents:
        tree.add(parent, 1, "point_mass", None, "model")
    return SimpleNamespace(proposal=SimpleNamespace(tree=tree), verdict=SimpleNamespace(path=path))


def test_positions_are_counted_as_far_as_the_target_was_asked():
    """A chain of three of which one was accepted, a tree accepted to its end, and a round without a draft."""
    found = levels([record([0, 1, 2], [1]), record([0, 0, 1], [1, 3]), record([], [])])
    assert found == ((2, 2), (2, 1))


@pytest.mark.parametrize("name", ARMS)
def test_the_heads_loss_reaches_the_target_in_the_joint_arm_alone(module_target, tmp_path, name):
    arm = Arm(NativeTraining(str(module_target), 64, tmp_path, characters=4000), name)
    arm.dtype = torch.float32
    tokens = torch.randint(20, (2, 12), generator=torch.Generator().manual_seed(0))
    arm.loss(tokens).backward()
    layers = [each for each in arm.teacher.model.model.layers.parameters() if each.grad is not None]
    assert bool(layers) is (name != "frozen")
    assert all(each.grad is not None for each in arm.head.block.parameters())
    if layers:
        alone = Arm(NativeTraining(str(module_target), 64, tmp_path, characters=4000), name)
        alone.own_loss(alone.read(tokens)).backward()
        same = all(
            torch.allclose(each.grad, other.grad, atol=1e-6)
            for each, other in zip(layers, alone.teacher.model.model.layers.parameters(), strict=True)
        )
        assert same is (name == "apart")
