"""cross_kv: text and tree merged are one softmax, a drafted row is what training sees, own rows keep to a window."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from specviz.drafters.base import DRAFTERS
from specviz.drafters.cross_kv import CrossKVModule, TextRows, attend, merge
from specviz.drafters.learned import weights as module_weights
from specviz.drafters.learned.cross_network import PRESETS, CrossKVShape, Masks, by_blocks, look
from specviz.drafters.learned.module import FeatureBatch, RowShape, TargetParts, TargetRows, fresh
from specviz.drafters.learned.weights import read_card, read_module, write_module
from specviz.errors import ModelError, OptionError
from specviz.lm.load import load
from specviz.proof.small_models import SHAPE, small_pair
from specviz.resources import ROOT
from tests.engine.sessions import decoded, session
from tests.lm.tiny_models import random_model, write_tokenizer

TARGET_SHAPE = replace(SHAPE, layers=3, hidden_size=24, heads=4, kv_heads=2, head_size=6, vocab_size=40)
SHAPES = {
    "longspec": CrossKVShape(),
    "longspec, a window of 3": CrossKVShape(window=3),
    "longspec, the root alone": CrossKVShape(window=1),
    "glide": CrossKVShape(preset="glide", heads=2),
    "tandem": CrossKVShape(preset="tandem"),
}


@pytest.fixture(scope="module")
def target():
    return small_pair(shape=TARGET_SHAPE)[0]


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def module(target, request):
    return fresh(CrossKVModule, TargetParts.of(target), request.param)


def text(n: int) -> list[int]:
    return torch.randint(40, (n,), generator=torch.Generator().manual_seed(3)).tolist()


def batch_of(target, tokens, depths) -> FeatureBatch:
    cache, layers = target.new_cache(), target.info.layers
    target.watch(cache, [*depths, layers])
    target.forward(tokens, cache)
    seen = target.seen(cache)[None].clone()
    keys, values = (one[None].clone() for one in target.keys_values(cache, layers - 1))

    def turned(queries, positions):
        return torch.stack([target.turned(one, positions) for one in queries])

    rows = TargetRows(keys, values, torch.arange(len(tokens)), turned)
    return FeatureBatch(torch.tensor([tokens]), seen[:, :, :-1], seen[:, :, -1], rows=rows)


def run(target, options, tokens, new_tokens=24, temperature=1.0):
    return decoded(target, DRAFTERS.get("cross_kv").of(options), tokens, new_tokens, temperature)


@torch.inference_mode()
def test_text_and_tree_merged_are_one_softmax_over_both():
    """Prefix attention and tree attention, apart and merged by log-sum-exp, against the whole with a tree mask."""
    torch.manual_seed(0)
    queries, keys, values = torch.randn(2, 3, 4), torch.randn(2, 8, 4), torch.randn(2, 8, 5)
    tree = torch.tensor([[True, False, False], [True, True, False], [True, False, True]])
    seen = torch.cat([torch.ones(3, 5, dtype=torch.bool), tree], 1)
    whole = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, seen)
    prefix = attend(queries, keys[:, :5], values[:, :5])
    merged = merge(prefix, attend(queries, keys[:, 5:], values[:, 5:], tree))
    torch.testing.assert_close(merged, whole)
    assert not torch.allclose(prefix.found, whole, atol=0.1), "the tree changes nothing here: nothing was merged"
    torch.testing.assert_close(attend(queries, keys, values, seen).found, whole)


def test_large_scores_merge_without_overflow_and_an_empty_side_counts_nothing():
    queries, keys = torch.full((1, 1, 1), 200.0), torch.tensor([[[1.0], [2.0]]])
    values = torch.tensor([[[5.0], [7.0]]])
    first, second = (attend(queries, keys[:, i : i + 1], values[:, i : i + 1]) for i in range(2))
    assert merge(first, second).item() == pytest.approx(7.0)
    nothing = attend(queries, keys, values, torch.tensor([[False, False]]))
    assert nothing.found.item() == 0.0
    assert merge(first, nothing).item() == merge(nothing, first).item() == 5.0


def test_masks_say_who_sees_whom():
    """Six tokens, the target three rows behind: token 4 belongs to a draft from root 2, and a window of two."""
    masks = Masks(torch.full((6,), 3), 1)
    assert masks.root.tolist() == [-2, -1, 0, 1, 2, 3]
    assert masks.target[4].tolist() == [True, True, False, False, False, False]
    assert masks.own[4].tolist() == [False, True, True, True, True, False]
    blocks = by_blocks(6, 3, 1, torch.device("cpu"))
    assert blocks.tolist() == [2, 3, 1, 2, 3, 1]
    tandem = Masks(blocks, 0)
    assert tandem.own[4].tolist() == [False, False, True, True, True, False]
    assert tandem.target[4].tolist() == [True, True, False, False, False, False]
    assert Masks(blocks, None).own[4].tolist() == [True, True, True, True, True, False]


def test_a_query_that_sees_nothing_finds_nothing():
    queries = torch.ones(4, 2, 3)
    keys = values = torch.ones(2, 5, 3)
    seen = torch.tensor([[False] * 5, [True] * 5])
    found = look(queries, keys, values, seen)
    assert found.shape == (4, 2, 3)
    assert found[:, 0].abs().max() == 0.0
    torch.testing.assert_close(found[:, 1], torch.ones(4, 3))
    torch.testing.assert_close(look(queries, keys, values)[:, 1], found[:, 1])


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("branching", [(), (3, 2)])
def test_every_row_of_a_draft_is_what_training_sees(target, tmp_path, preset, branching):
    """In every round, at the root and below every node: the same as over the whole text with this draft's end."""
    shape = CrossKVShape(preset=preset, window=4 if preset == "longspec" else 0)
    module = fresh(CrossKVModule, TargetParts.of(target), shape)
    write_module(module, tmp_path, {})
    stored = read_module(tmp_path, target)
    options = {"weights": str(tmp_path), "preset": preset, "branching": branching}
    written, records = run(target, options, text(7))
    assert len({len(record.verdict.path) for record in records}) > 1, "every round accepted alike"
    compared = 0
    for record in records:
        tree = record.proposal.tree
        for nodes, logits in record.proposal.draft_logits:
            for node, row in zip(nodes, logits, strict=True):
                path = tree.token_path(node)
                tokens = [*written.tokens[: record.base_length], *path]
                batch = batch_of(target, tokens, stored.depths())
                wanted = stored.drafts(batch, len(path) + 1)[-1][0, -1].detach()
                torch.testing.assert_close(row, wanted, rtol=1e-3, atol=1e-3)
                compared += 1
    assert compared > 20


@pytest.mark.parametrize(("preset", "grows"), [("longspec", False), ("glide", True), ("tandem", True)])
def test_own_rows_stop_growing_with_the_text_in_longspec_alone(target, tmp_path, preset, grows):
    """After texts of 3, 9 and 30 tokens with a window of 5: the root's row is the draft's, four are the text's."""
    shape = CrossKVShape(preset=preset, window=0 if grows else 5)
    write_module(fresh(CrossKVModule, TargetParts.of(target), shape), tmp_path, {})
    heads, size = shape.own_heads(24)
    row = 2 * heads * size * 4 * max(1, len(shape.depths(3)))
    for length in (3, 9, 30):
        drafter = DRAFTERS.get("cross_kv").of({"weights": str(tmp_path), "preset": preset})
        begun = session(target, drafter, text(length), 5, verifier="greedy")
        begun.begin()
        record = begun.round()
        kept = record.base_length - 1 if grows else min(4, record.base_length - 1)
        if preset == "tandem":
            kept += 1 + len(record.verdict.path)  # the states of the round are read at its end
        assert drafter.cache_bytes == kept * row


def test_rows_of_the_text_are_the_last_ones_in_order():
    rows = torch.arange(7.0).reshape(1, 7, 1)
    for most, wanted in ((None, [0, 1, 2, 3, 4, 5, 6]), (3, [4, 5, 6]), (0, [])):
        kept = TextRows(most)
        for part in (rows[:, :2], rows[:, 2:3], rows[:, 3:]):
            kept.append(part, -part)
        found = [] if kept.kept is None else kept.kept[0][0, :, 0].tolist()
        assert (found, kept.length, kept.bytes) == (wanted, len(wanted), 8 * len(wanted))
    assert kept.kept is None


def test_anchors_stay_and_the_rest_of_a_text_moves_on_together(target):
    """Drawn in training only: 20 tokens within a context of 128."""
    parts = TargetParts.of(target)
    room = target.info.context_length
    module = fresh(CrossKVModule, parts, CrossKVShape())
    assert module.positions(20) is None
    module.train()
    seen, furthest = set(), 0
    for _ in range(200):
        positions = module.positions(20).tolist()
        steps = [after - before for before, after in pairwise(positions)]
        jumps = [place for place, step in enumerate(steps) if step != 1]
        assert len(jumps) <= 1
        assert positions[-1] < room
        seen.add(jumps[0] + 1 if jumps else 0)
        furthest = max(furthest, positions[-1])
    assert seen == {0, 1, 2, 3, 4}, "0 to 4 anchors"
    assert furthest > room - 20
    for shape in (CrossKVShape(anchors="off"), CrossKVShape(preset="glide")):
        assert fresh(CrossKVModule, parts, shape).train().positions(20) is None


def test_in_training_the_targets_last_rows_are_left_out_as_the_preset_says(target):
    parts = TargetParts.of(target)
    torch.manual_seed(1)

    def gaps(**shape):
        module = fresh(CrossKVModule, parts, CrossKVShape(**shape)).train()
        return [module._gaps(6, torch.device("cpu")).tolist() for _ in range(40)]

    assert {tuple(one) for one in gaps()} == {(k,) * 6 for k in (1, 2, 3, 4)}
    assert {tuple(one) for one in gaps(preset="tandem", block=2)} == {(1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1)}
    assert {tuple(one) for one in gaps(noisy=False)} == {(1,) * 6}


def test_a_row_of_the_target_that_a_draft_will_not_have_changes_nothing_in_training(target, module):
    """The loss at three tokens' distance does not see keys, values and states closer than that."""
    tokens = text(12)
    batch = batch_of(target, tokens, module.depths())
    masks = Masks(torch.full((12,), 3), module.options.text_tokens)
    before = module.states(batch, masks)[0, 9]
    batch.rows.keys[:, :, 7:] = 9.0
    batch.rows.values[:, :, 7:] = 9.0
    batch.features[:, 7:] = 9.0
    torch.testing.assert_close(module.states(batch, masks)[0, 9], before)
    batch.rows.keys[:, :, 6] = 9.0
    batch.rows.values[:, :, 6] = 9.0
    batch.features[:, 6] = 9.0
    assert not torch.allclose(module.states(batch, masks)[0, 9], before, atol=1e-3), "it reads nothing of the target"


def test_queries_are_turned_as_the_target_turns_its_own(tmp_path):
    """The lean forward and transformers, whose keys stand in different orders, give the same scores."""
    model = random_model("llama", num_key_value_heads=2)
    model.save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    tokens, scores = [3, 1, 4, 1, 5], []
    row = None
    for adapter in ("lean-llama", "transformers"):
        loaded = load(str(tmp_path), device="cpu", dtype="float32", adapter=adapter).model
        row = RowShape.of(loaded)
        cache = loaded.new_cache()
        loaded.forward(tokens, cache)
        keys, _ = loaded.keys_values(cache, loaded.info.layers - 1)
        queries = torch.randn(row.heads, 2, row.key_size, generator=torch.Generator().manual_seed(0))
        scores.append(loaded.turned(queries, torch.tensor([4, 7])) @ keys.mT)
    assert row is not None
    assert row.heads == 2
    torch.testing.assert_close(scores[0], scores[1], rtol=1e-4, atol=1e-4)
    assert not torch.allclose(scores[0][:, 0], scores[0][:, 1], atol=1e-3)


@pytest.mark.parametrize("preset", PRESETS)
def test_weights_of_every_preset_are_shipped(preset):
    folder = ROOT / "modules" / CrossKVModule.folder_name(CrossKVShape(preset=preset))
    assert read_card(folder).options["preset"] == preset


def test_weights_of_another_preset_and_weights_that_are_not_shipped_are_refused(target, tmp_path, monkeypatch):
    write_module(fresh(CrossKVModule, TargetParts.of(target), CrossKVShape(preset="tandem")), tmp_path, {})
    with pytest.raises(OptionError, match=r"preset is longspec, but the weights in .* were trained as tandem"):
        run(target, {"weights": str(tmp_path)}, text(4))
    monkeypatch.setattr(module_weights, "MODULES_FOLDER", tmp_path / "nothing")
    with pytest.raises(ModelError, match="no weights of 'cross_kv_glide' are shipped"):
        run(target, {"preset": "glide"}, text(4))
    with pytest.raises(OptionError, match="window is 8, but glide has none"):
        CrossKVShape(preset="glide", window=8)


def test_only_tandem_asks_the_target_for_states(target):
    """The others read its cache alone; nothing is copied on the way for them."""
    for preset, watched in (("longspec", ()), ("glide", ()), ("tandem", (1, 3))):
        written, _ = run(target, {"weights": "untrained", "preset": preset}, text(5), new_tokens=3)
        assert written._cache.watched == watched


def test_shipped_shapes_have_less_than_a_million_numbers_of_their_own():
    shape = RowShape(6, 64, 64)
    info = replace(small_pair()[0].info, layers=8, hidden_size=384)
    table = torch.zeros(10, 384)
    for preset in PRESETS:
        module = CrossKVModule(TargetParts(info, table, table, shape), CrossKVShape(preset=preset))
        assert 900_000 < module.parameter_count() <= 1_000_000
