"""EAGLE: rows of a draft are what training unrolls, true states replace guessed ones, files fit or are refused."""

from dataclasses import replace

import pytest
import torch

from specviz.core import compiled
from specviz.core.draws import Chooser
from specviz.drafters.base import DRAFTERS, DraftPolicies
from specviz.drafters.eagle import EagleDrafter, EagleModule
from specviz.drafters.learned.eagle_network import STEP_WEIGHT, EagleShape, LeanTrunk
from specviz.drafters.learned.module import FeatureBatch, TargetParts, divergence, fresh
from specviz.drafters.learned.token_map import TokenMap
from specviz.drafters.learned.weights import read_module, write_module
from specviz.errors import ModelError, OptionError, TrainingError
from specviz.lm.llama.few_rows import SOURCE
from specviz.lm.load import load
from specviz.lm.table import TableModel
from specviz.proof.exhaustive import TARGET_SEED, WARM, ProofCase, toy
from specviz.proof.small_models import SHAPE, small_pair
from specviz.tree_policies.base import TREE_POLICIES
from tests.drafters.asking import batch_of
from tests.engine.sessions import decoded
from tests.lm.tiny_models import random_model, write_tokenizer
from tests.proof.walked import error

TARGET_SHAPE = replace(SHAPE, layers=3, hidden_size=24, head_size=12, vocab_size=40)
SHAPES = {
    "eagle1": EagleShape(),
    "eagle1 with a bias, as published": EagleShape(bias=True, scale_embedding=False),
    "fused": EagleShape(depths=(1, 2, 3)),
    "eagle3": EagleShape(wiring="eagle3", depths=(0, 1, 3), draft_tokens=24, heads=4, kv_heads=2),
    "eagle3 on one depth": EagleShape(wiring="eagle3"),
    "heads normed": EagleShape(wiring="eagle3", depths=(1, 3), heads=4, kv_heads=2, head_norms=True),
    "some rows of the target's head": EagleShape(draft_tokens=24, own_head=False),
}
PARALLEL = {
    "parallel": EagleShape(parallel=3),
    "parallel, fused": EagleShape(wiring="eagle3", depths=(1, 2, 3), parallel=3),
}


@pytest.fixture(scope="module")
def target():
    return small_pair(shape=TARGET_SHAPE)[0]


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def module(target, request):
    made = fresh(EagleModule, TargetParts.of(target), request.param)
    with torch.no_grad():
        for norm in filter(None, (made.block.self_attn.q_norm, made.block.self_attn.k_norm)):
            norm.weight.uniform_(0.5, 2.0)
    if made.map is not None:
        made.map.keep([*range(8), *range(8, 40, 2)])
    return made


def text(n: int) -> list[int]:
    return torch.randint(40, (n,), generator=torch.Generator().manual_seed(3)).tolist()


@torch.inference_mode()
def test_a_draft_row_by_row_is_what_training_unrolls(target, module):
    """From every place of a text: three rows below the text's own, and two beside one another."""
    tokens = text(14)
    batch = batch_of(target, tokens, module.depths())
    wanted = module.drafts(batch, 4)
    lean, cache = module.lean(), module.lean().new_cache()
    states = lean.state_of(batch.features[0])
    for place in range(len(tokens) - 4):
        out = lean.run([tokens[place + 1]], states[place : place + 1], cache)
        cache.keep([place])
        torch.testing.assert_close(lean.logits(out)[0], wanted[0][0, place], rtol=1e-4, atol=1e-4)
        row, lone = place, (tokens[place + 2] + 1) % 40
        for step in range(1, 4):
            following = tokens[place + 1 + step]
            given = [following] if step > 1 else [lone, following]
            out = lean.run(given, out[-1:, : module.hidden_size].expand(len(given), -1), cache, [row] * len(given))
            row = cache.length - 1
            torch.testing.assert_close(lean.logits(out)[-1], wanted[step][0, place], rtol=1e-4, atol=1e-4)
        cache.keep([])


by_compiled_code = pytest.mark.skipif(compiled.library(SOURCE) is None, reason="there is no compiler here")
in_both_formats = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])


@torch.inference_mode()
@by_compiled_code
@in_both_formats
def test_a_chain_by_one_call_is_the_one_row_by_row_bit_for_bit(target, module, dtype):
    """Behind three rows of text; what a smaller head says goes through its map in both."""
    tokens = text(6)
    states = module.lean().state_of(batch_of(target, tokens, module.depths()).features[0])[:5]
    lean = LeanTrunk(module.to(dtype))
    cache, other = lean.new_cache(), lean.new_cache()
    for each in (cache, other):
        lean.run(tokens[1:4], states[:3], each)
        each.keep(range(3))
    chain = lean.block.write_chain(tokens[4:], states[3:], cache, Chooser.of(4))
    out, row = lean.run(tokens[4:], states[3:], other)[-1:], 4
    for logits, token in zip(chain.logits, chain.tokens, strict=True):
        assert torch.equal(logits[None], lean.logits(out))
        assert token == int(logits.argmax())
        out, row = lean.run([token], out, other, [row]), row + 1
    assert (cache.tokens, cache.length) == (tokens[1:], 5)


@torch.inference_mode()
@by_compiled_code
@pytest.mark.parametrize("wide", [2, 70], ids=["one call", "more rows than one call takes"])
def test_in_bfloat16_rows_say_what_they_say_in_float32_but_for_its_digits(target, module, wide):
    """A row of text, then so many beside one another below it."""
    state = module.lean().state_of(batch_of(target, text(2), module.depths()).features[0])[:1]
    said = []
    for dtype in (torch.bfloat16, torch.float32):  # the same weights, rounded, and then with more digits
        lean = LeanTrunk(module.to(dtype))
        cache = lean.new_cache()
        out = lean.run([7], state, cache)
        below = lean.run([index % 40 for index in range(wide)], out.expand(wide, -1), cache, [0] * wide)
        said.append(lean.logits(below).float())
    assert said[0].shape == (wide, 40)
    torch.testing.assert_close(said[0], said[1], rtol=0.05, atol=0.05)


@torch.inference_mode()
@pytest.mark.parametrize("shape", PARALLEL.values(), ids=PARALLEL)
def test_placeholders_are_drafted_in_one_pass_as_they_are_trained(target, shape):
    """After the root stand rows of a learnt word and state, at places of their own; rows of the text stay."""
    module = fresh(EagleModule, TargetParts.of(target), shape)
    tokens = text(14)
    batch = batch_of(target, tokens, module.depths())
    wanted = module.drafts(batch, 5)
    assert len(wanted) == 3
    lean, cache = module.lean(), module.lean().new_cache()
    states = lean.state_of(batch.features[0])
    for place in range(len(tokens) - 3):
        given, before = lean.with_unknown([tokens[place + 1]], states[place : place + 1], 2)
        rows = lean.logits(lean.run(given, before, cache))  # the root's, and two placeholders'
        cache.keep([place])
        torch.testing.assert_close(rows, torch.stack([each[0, place] for each in wanted]), rtol=1e-4, atol=1e-4)


def test_a_parallel_draft_makes_one_pass_however_deep_and_forgets_its_placeholders(target, tmp_path):
    module = fresh(EagleModule, TargetParts.of(target), EagleShape(parallel=3))
    write_module(module, tmp_path, {})
    session, records = run(target, EagleDrafter.of({"weights": str(tmp_path), "gamma": 5}), text(5))
    module = read_module(tmp_path, target)  # eight bits were kept of each weight
    whole = [record for record in records if len(record.proposal.tree) == 4]
    assert len(whole) > 2
    for record in whole:
        (made,) = record.proposal.passes
        assert made.cached_rows + made.rows == record.base_length + 1  # the text but its last token, and two
        wanted = module.drafts(batch_of(target, session.tokens[: record.base_length], (3,)), 1)[0][0, -1]
        torch.testing.assert_close(record.proposal.draft_logits[0][1][0], wanted.detach(), rtol=1e-3, atol=1e-3)


def run(target, drafter, tokens, new_tokens=24, temperature=1.0):
    return decoded(target, drafter, tokens, new_tokens, temperature)


@pytest.mark.parametrize("branching", [(), (3, 2)])
def test_after_every_verdict_the_draft_goes_on_from_the_true_states(target, tmp_path, module, branching):
    """What it says at the root is what a fresh reading of the whole text says; drafts were accepted and rejected."""
    write_module(module, tmp_path, {})
    drafter = EagleDrafter.of({"weights": str(tmp_path), "branching": branching})
    session, records = run(target, drafter, text(5))
    stored = read_module(tmp_path, target)
    accepted = {len(record.verdict.path) for record in records}
    assert len(accepted) > 1, "every round accepted alike"
    for record in records:
        tokens = session.tokens[: record.base_length]
        if not record.proposal.draft_logits:
            continue
        wanted = stored.drafts(batch_of(target, tokens, stored.depths()), 1)[0][0, -1].detach()
        torch.testing.assert_close(record.proposal.draft_logits[0][1][0], wanted, rtol=1e-3, atol=1e-3)


def test_a_prompt_of_one_token_has_no_state_to_draft_from_yet(target, tmp_path):
    drafter = EagleDrafter.of({"weights": "untrained"})
    _, records = run(target, drafter, [3])
    assert [len(record.proposal.tree) for record in records[:2]] == [1, 5]


OTHERS = {
    "eagle3": EagleShape(wiring="eagle3", depths=(0, 1, 2)),
    "two tokens": EagleShape(draft_tokens=2),
    "parallel": EagleShape(parallel=2),
    "parallel, eagle3": EagleShape(wiring="eagle3", depths=(0, 1, 2), parallel=2),
}


@pytest.mark.parametrize("shape", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("verifier", ["sequential", "naive"])
def test_other_shapes_are_lossless_too(tmp_path, shape, verifier):
    module = fresh(EagleModule, TargetParts.of(toy(3, TARGET_SEED)), shape)
    write_module(module, tmp_path, {})
    case = ProofCase("eagle", verifier, (("weights", str(tmp_path)), ("gamma", 2)), WARM)
    assert error(case) < 1e-9


@pytest.mark.parametrize("shape", (SHAPES | PARALLEL).values(), ids=SHAPES | PARALLEL)
def test_the_loss_of_every_shape_reaches_every_weight(target, shape):
    module = fresh(EagleModule, TargetParts.of(target), shape)
    module.train()
    batch = batch_of(target, text(12), module.depths())
    sum(module.loss(batch).values()).backward()
    assert [name for name, one in module.named_parameters() if one.grad is None or not one.grad.any()] == []


@torch.no_grad()
def test_it_starts_as_the_best_linear_guess_of_the_next_state(target):
    """Found on one text, it guesses the states of another better than their mean does, and than chance weights do."""
    module = fresh(EagleModule, TargetParts.of(target), EagleShape())
    draw = torch.Generator().manual_seed(0)
    texts = [batch_of(target, torch.randint(40, (60,), generator=draw).tolist(), (3,)) for _ in range(13)]
    seen = FeatureBatch(
        *(torch.cat([getattr(one, name) for one in texts[:12]]) for name in ("tokens", "features", "final"))
    )
    other = texts[12]

    def error() -> float:
        return float((module.unroll(other, 1)[0] - other.final[:, 1:]).square().mean())

    drawn = error()
    module.begin(seen)
    assert error() < 0.95 * float(other.final.var()) < drawn


@torch.no_grad()
def test_another_distance_takes_the_place_of_the_divergence_in_the_token_loss(target):
    """KL through the general way is the cross entropy of the short one, less the target's own entropy."""
    parts = TargetParts.of(target)
    batch = batch_of(target, text(12), (3,))
    module = fresh(EagleModule, parts, EagleShape(unroll=2))
    general = module.loss(replace(batch, distance=lambda logits, wanted: divergence(logits, wanted)))
    known = batch.target_logits(module.head).log_softmax(-1)
    own = [-(known[:, first:].exp() * known[:, first:]).sum(-1).mean() for first in (1, 2)]
    entropy = (own[0] + STEP_WEIGHT * own[1]) / (1 + STEP_WEIGHT)
    short = module.loss(batch)
    weight = module.options.token_weight
    assert float(general["token"]) == pytest.approx(float(short["token"] - weight * entropy), rel=1e-4)
    assert float(general["feature"]) == pytest.approx(float(short["feature"]))


@torch.no_grad()
def test_the_unrolled_loss_counts_later_steps_less(target):
    """One step more adds its term, weighted, and the weights sum to one."""
    parts = TargetParts.of(target)
    batch = batch_of(target, text(12), (3,))
    losses = [float(fresh(EagleModule, parts, EagleShape(unroll=n)).loss(batch)["token"]) for n in (1, 2)]
    module = fresh(EagleModule, parts, EagleShape())
    wanted = batch.target_logits(module.head)[:, 2:].softmax(-1)
    second = -(wanted * module.drafts(batch, 2)[1].log_softmax(-1)).sum(-1).mean()
    assert losses[1] == pytest.approx((losses[0] + 0.8 * float(second)) / 1.8, rel=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("own_head", [True, False])
def test_a_smaller_head_learns_where_the_targets_choice_is_one_of_its_tokens(target, own_head):
    module = fresh(EagleModule, TargetParts.of(target), EagleShape(draft_tokens=20, own_head=own_head, unroll=1))
    batch = batch_of(target, text(30), module.depths())
    wanted = batch.target_logits(module.head)[0, 1:]
    own = module.drafts(batch, 1)[0][0]
    kept = [row for row in range(len(wanted)) if int(wanted[row].argmax()) < 20]
    assert 0 < len(kept) < len(wanted)
    each = [-(wanted[row, :20].softmax(-1) * own[row, :20].log_softmax(-1)).sum() for row in kept]
    assert float(module.loss(batch)["token"]) == pytest.approx(float(torch.stack(each).mean()), rel=1e-4)


def test_the_map_keeps_frequent_and_special_tokens_and_knows_its_coverage():
    chosen = TokenMap(3, 10)
    chosen.choose(torch.tensor([5, 7] * 50), special=[0])
    assert chosen.tokens.tolist() == [0, 5, 7]
    assert chosen.coverage == 1.0
    chosen.check([0])
    with pytest.raises(TrainingError, match=r"2 draft tokens cover 50\.0% of held-out text"):
        TokenMap(2, 10).choose(torch.tensor([5, 7] * 50), special=[0])


def moved(one: TokenMap) -> None:
    one.d2t.copy_(torch.tensor([0, 1, 1]))
    one.t2d.copy_(torch.tensor([1, 0, 1, 1] + [0] * 6, dtype=torch.bool))


BREAKS = {
    "another hash": moved,
    "names tokens that do not exist": lambda one: one.d2t.fill_(9),
    "not in ascending order": lambda one: one.d2t.copy_(torch.tensor([2, 0, -2])),
    "of other tokens": lambda one: one.t2d.fill_(True),
    "leaves out the special token 9": lambda one: None,
}


@pytest.mark.parametrize("reason", BREAKS)
def test_a_map_that_does_not_fit_is_refused(reason):
    broken = TokenMap(3, 10)
    BREAKS[reason](broken)
    with pytest.raises(ModelError, match=reason):
        broken.check([9] if "special" in reason else [0])


def test_weights_of_another_target_are_refused(target, tmp_path):
    table = TableModel(3, seed=1)
    write_module(fresh(EagleModule, TargetParts.of(table), EagleShape()), tmp_path, {})
    with pytest.raises(ModelError, match="were trained on the states of the target"):
        run(target, EagleDrafter.of({"weights": str(tmp_path)}), text(4))


def test_shapes_that_do_not_fit_the_target_are_refused(target):
    parts = TargetParts.of(target)
    with pytest.raises(OptionError, match="depths name 4, but random-target has 3 layers"):
        fresh(EagleModule, parts, EagleShape(depths=(4,)))
    with pytest.raises(OptionError, match="draft_tokens is 41, but random-target has 40 tokens"):
        fresh(EagleModule, parts, EagleShape(draft_tokens=41))
    with pytest.raises(OptionError, match="6 heads cannot share 4"):
        EagleShape(heads=6, kv_heads=4)


@pytest.mark.parametrize("growth", [{}, {"tree_policy": "eagle2"}, {"tree_policy": "dyspec"}])
def test_any_target_that_tells_its_states_and_any_tree_policy_will_do(tmp_path, growth):
    """Through transformers, where features come of `output_hidden_states`: greedy text is that of plain decoding."""
    random_model("qwen3").save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    target = load(str(tmp_path), adapter="transformers", dtype="float32").model
    drafter = EagleDrafter.of({"weights": "untrained"})
    if growth:
        drafter.follow(DraftPolicies(TREE_POLICIES.get(growth["tree_policy"]).of({})))
    session, records = run(target, drafter, [3, 1, 2], 16, temperature=0.0)
    plain, _ = run(target, DRAFTERS.get("none").of({}), [3, 1, 2], 16, temperature=0.0)
    assert session.tokens == plain.tokens
    assert records[1].proposal.note["states_read"] == len(records[0].commitment.tokens)
    assert max(len(record.proposal.tree) for record in records) > 4
