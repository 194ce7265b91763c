"""Drafters that fill a block in one pass: what runs is what was trained, and no row sees what it may not."""

from dataclasses import replace

import pytest
import torch

from specviz.core import compiled
from specviz.core.tree import DraftTree
from specviz.drafters import dflash
from specviz.drafters.base import DRAFTERS, DraftPolicies
from specviz.drafters.learned.flash_drafting import LeanFlash
from specviz.drafters.learned.flash_network import FlashShape, Roots, mixed
from specviz.drafters.learned.module import MODULES, TargetParts, divergence, fresh
from specviz.drafters.learned.weights import read_card, write_module
from specviz.engine.pairing import follow
from specviz.errors import ModelError, OptionError
from specviz.lm.llama.few_rows import SOURCE
from specviz.lm.llama.model import LlamaModel
from specviz.options import from_mapping
from specviz.resources import ROOT
from specviz.tree_policies.base import TREE_POLICIES
from tests.drafters.test_heads import VOCABULARY, read, target_of
from tests.drafters.test_heads import taught as moved
from tests.engine import sessions

LAYERS, SLOTS = 5, 4
PROMPT = [3, 14, 15, 9, 26, 5]
NAMES = ("dflash", "dspark")
SHAPES = {
    "both ways": {},
    "from the masks": {"from_root": False},
    "causal": {"causal": True},
    "shared keys": {"heads": 4, "kv_heads": 2, "head_size": 6},
    "some tokens": {"draft_tokens": 40},
}


@pytest.fixture(scope="module")
def target() -> LlamaModel:
    return target_of(LAYERS)


def taught(name: str, target: LlamaModel, **shape):
    return moved(name, target, slots=SLOTS, **shape)


MIXED, SELECTING = {"convolution": 8}, {"selector_rank": 6, "selected": 10}
CASES = {
    **{f"{name}, {label}": (name, shape) for name in NAMES for label, shape in SHAPES.items()},
    "dspark, mixed rows": ("dspark", MIXED),
    "dflash, mixed rows and some of some tokens": ("dflash", {**MIXED, **SELECTING, "draft_tokens": 40}),
}


@pytest.mark.parametrize(("name", "shape"), CASES.values(), ids=CASES)
def test_what_is_drafted_round_by_round_is_what_the_batch_says(target, tmp_path, name, shape):
    """The rows kept of the text, whatever was accepted, are those of one pass over all of it. A third of each level is
    looked at, in every round another."""
    write_module(taught(name, target, **shape), tmp_path / name, {})
    options = {"weights": str(tmp_path / name), "branching": (8, 2, 1)}
    this = sessions.session(target, DRAFTERS.get(name).of(options), PROMPT, 24, 0.0)
    this.begin()
    module, compared, lengths = this.method.drafter.trunk, 0, set()
    while this.finished is None:
        before = list(this.tokens)
        record = this.round()
        lengths.add(len(record.verdict.path))
        for nodes, rows in record.proposal.draft_logits:
            for node, row in list(zip(nodes, rows, strict=True))[len(before) % min(3, len(nodes)) :: 3]:
                path = record.proposal.tree.token_path(node)
                batch = read(target, module, [*before, *path, 0])
                with torch.inference_mode():
                    expected = module.drafts(batch, len(path) + 1)[len(path)][0, len(before) - 2]
                torch.testing.assert_close(row, expected, atol=2e-4, rtol=1e-4)
                compared += 1
    assert compared > 40
    assert len(lengths) > 1, "rounds of several lengths"


@pytest.mark.skipif(compiled.library(SOURCE) is None, reason="there is no compiler here")
@pytest.mark.parametrize("halves", [True, False], ids=["weights in two bytes", "in four"])
@pytest.mark.parametrize("shape", [SHAPES["causal"], SHAPES["from the masks"], SHAPES["shared keys"]], ids=str)
@torch.inference_mode()
def test_one_call_for_the_text_and_one_for_the_block_say_what_torchs_operations_say(target, shape, halves):
    module = taught("dflash", target, **shape)
    for weight in module.network.parameters():
        weight.copy_(weight.bfloat16() if halves else weight)
    leans = LeanFlash(module), LeanFlash(module)
    assert (leans[0].layers[0].weights.qkv.short is not None) is halves
    leans[1]._few_rows = None
    texts, tree = [lean.new_text() for lean in leans], DraftTree.from_root(7)
    for parent, token in [(0, 30), (0, 41), (1, 2)]:
        tree.add(parent, token, "point_mass", None, "dflash")
    for count in (7, 1, 3):
        features = torch.randn(count, len(module.depths()), module.hidden_size)
        for lean, text in zip(leans, texts, strict=True):
            lean.read(features, text)
        rows = [text.room(0)[:, :, : text.length] for text in texts]
        torch.testing.assert_close(*rows, atol=1e-5, rtol=1e-5)
        for ask in (lambda lean, text: lean.fill(5, text, 2), lambda lean, text: lean.branches(tree, range(4), text)):
            said, expected = (ask(lean, text) for lean, text in zip(leans, texts, strict=True))
            torch.testing.assert_close(said, expected, atol=1e-4, rtol=1e-4)
    assert [len(part) for part in leans[0].fill(5, texts[0], 2)] == [SLOTS, 2]


@pytest.mark.parametrize(("name", "shape"), [("dflash", {}), ("dflash", SELECTING), ("dspark", {})], ids=str)
def test_below_each_node_of_a_tree_stand_the_likeliest_behind_its_own_token(target, tmp_path, name, shape):
    write_module(taught(name, target, **shape), tmp_path / name, {})
    drafter = DRAFTERS.get(name).of({"weights": str(tmp_path / name), "gamma": SLOTS})
    follow(drafter, DraftPolicies(TREE_POLICIES.get("ddtree").of({"budget": 10})))
    this = sessions.session(target, drafter, PROMPT, 24, 0.0)
    this.begin()
    proposal = this.round().proposal
    families = proposal.tree.families()
    for (node,), (row,) in proposal.draft_logits:
        tokens = [proposal.tree.tokens[child] for child in families[node]]
        assert tokens == row.topk(len(tokens)).indices.tolist()
    assert max(proposal.tree.depths) > 1


@pytest.mark.parametrize("name", NAMES)
def test_a_block_sees_nothing_of_its_own_future_and_none_of_the_blocks_beside_it(target, name):
    module, text = taught(name, target), [*PROMPT, 7, 30, 2, 41, 8]
    batch = read(target, module, text)
    with torch.inference_mode():
        together = module.states(batch, Roots(torch.tensor([[2, 5]]), SLOTS))
        alone = module.states(batch, Roots(torch.tensor([[5]]), SLOTS))
        changed = replace(batch, features=batch.features.clone())
        changed.features[:, 5:] += 1.0  # the root's own state, and those behind it
        after = module.states(changed, Roots(torch.tensor([[5]]), SLOTS))
        changed.features[:, 4] += 1.0
        before = module.states(changed, Roots(torch.tensor([[5]]), SLOTS))
    torch.testing.assert_close(together[:, 1:], alone)
    torch.testing.assert_close(after, alone)
    assert float((before - alone).abs().max()) > 1e-3


@pytest.mark.parametrize(("causal", "moved"), [(True, [False, False, True, True]), (False, [True] * 4)])
def test_a_shown_token_moves_rows_before_it_only_where_rows_see_both_ways(target, causal, moved):
    module, text = taught("dflash", target, causal=causal), [*PROMPT, 7, 30, 2, 41, 8]
    batch, shown = read(target, module, text), torch.tensor([[2]])
    other = replace(batch, tokens=batch.tokens.clone())
    other.tokens[0, 6] = 50  # two behind the root
    with torch.inference_mode():
        rows, rows_of_other = (module.states(each, Roots(torch.tensor([[4]]), SLOTS), shown) for each in (batch, other))
    assert ((rows - rows_of_other).abs().amax(-1) > 1e-4).tolist() == [[moved]]


@pytest.mark.parametrize(("name", "more"), [("dflash", SELECTING), ("dspark", {})], ids=NAMES)
def test_a_fresh_block_that_is_mixed_and_selected_from_says_what_it_says_without(target, name, more):
    """The convolution begins as nothing, the selector as no opinion: it only leaves out what is unlikely."""
    kind, batch = MODULES.get(name), read(target, taught(name, target), PROMPT)
    parts = TargetParts.of(target)
    with torch.inference_mode():
        bare = fresh(kind, parts, from_mapping(kind.options_type, {"slots": SLOTS}))
        module = fresh(kind, parts, from_mapping(kind.options_type, {"slots": SLOTS, **MIXED, **more}))
        weights = {name: tensor for name, tensor in module.state_dict().items() if name not in bare.state_dict()}
        module.load_state_dict({**bare.state_dict(), **weights})
        said, expected = (each.drafts(batch, 1)[0] for each in (module, bare))
    kept = said.isfinite()
    assert kept.sum(-1).unique().tolist() == [10 if more else VOCABULARY]
    torch.testing.assert_close(said[kept], expected[kept])
    assert (said.argmax(-1) == expected.argmax(-1)).all()


def test_a_row_takes_from_itself_and_from_the_row_before_it_and_the_first_from_itself_alone():
    rows = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    taps = torch.tensor([[1.0, 1.0], [0.5, 2.0]]).expand(3, -1, -1)  # of the row itself, of the row before it
    assert mixed(rows, taps).tolist() == [[1.0, 10.0], [2.5, 40.0], [4.0, 70.0]]


def overheard(batch):
    """The batch with a distance of 1 everywhere, and the list of (logits, wanted) that a loss will ask it for."""
    heard: list[tuple[torch.Tensor, torch.Tensor]] = []

    def distance(logits, wanted):
        heard.append((logits, wanted))
        return torch.ones(())

    return replace(batch, distance=distance), heard


def test_a_selector_is_held_to_the_target_among_the_tokens_it_scores_behind_the_texts_own_token(target):
    module, text = taught("dflash", target, **SELECTING).train(), [*PROMPT, 7, 30, 2, 41, 8]
    batch, heard = overheard(read(target, module, text))
    terms = module.loss(batch)
    assert float(terms["pairs"]) == pytest.approx(1.0)
    slots, pairs = heard[:SLOTS], heard[SLOTS:]
    said = batch.target_logits(module.head)[0]
    drafts = module.drafts(batch, SLOTS)
    for k, ((blind, _), (scores, wanted)) in enumerate(zip(slots, pairs, strict=True)):
        chosen = blind[0].topk(10).indices  # [blocks, 10], of roots 1 to 7
        torch.testing.assert_close(wanted[0], said[1 + k : 8 + k].gather(-1, chosen).log_softmax(-1))
        torch.testing.assert_close(scores[0], drafts[k][0, :7].gather(-1, chosen))
    module.loss(replace(batch, distance=divergence))["pairs"].backward()
    assert all(float(part.weight.grad.abs().max()) > 0.0 for part in module.selector.children())


@pytest.mark.parametrize("name", NAMES)
def test_each_slot_is_held_to_what_the_target_says_there_and_nearer_ones_count_more(target, name):
    module, text = taught(name, target).train(), [*PROMPT, 7, 30, 2, 41, 8]
    batch, heard = overheard(read(target, module, text))
    terms = module.loss(batch)
    slots = [float(terms[f"slot_{k}"]) for k in range(1, 1 + SLOTS)]
    assert [round(share, 4) for share in slots] == [0.3499, 0.2725, 0.2122, 0.1653]
    said = batch.target_logits(module.head)[0].log_softmax(-1)
    for k, (_, wanted) in enumerate(heard):  # eleven tokens hold seven blocks, of roots 1 to 7
        torch.testing.assert_close(wanted[0], said[1 + k : 8 + k])


def test_the_depths_that_are_read_are_spread_over_the_target():
    taps = FlashShape().taps
    assert [taps(layers) for layers in (2, 8, 30)] == [(1, 2), (2, 4, 6), (2, 15, 28)]


def test_of_a_large_vocabulary_the_frequent_tokens_alone_are_drafted(target):
    module = taught("dflash", target, draft_tokens=40)
    module.calibrate(torch.tensor([63, 62, 61] * 50))
    with torch.inference_mode():
        logits = module.drafts(read(target, module, PROMPT), 1)[0]
    assert logits.shape == (1, 5, VOCABULARY)
    assert {63, 62, 61} <= {*logits[0, 0].isfinite().nonzero()[:, 0].tolist()}
    assert int(logits[0, 0].isfinite().sum()) == 40


def test_sizes_that_do_not_fit_the_target_are_refused_in_a_sentence(target):
    with pytest.raises(OptionError, match=r"depths name 9, but .* has 5 layers"):
        taught("dflash", target, depths=(2, 9))
    with pytest.raises(OptionError, match=r"draft_tokens is 99, but .* has 64 tokens"):
        taught("dflash", target, draft_tokens=99)
    with pytest.raises(OptionError, match="convolution is 7, but a hidden size of 24"):
        taught("dflash", target, convolution=7)
    with pytest.raises(OptionError, match="3 heads cannot share 2"):
        taught("dflash", target, heads=3, kv_heads=2)
    with pytest.raises(ModelError, match="elsewhere holds no trained drafter module"):
        sessions.session(target, DRAFTERS.get("dflash").of({"weights": "elsewhere"}), PROMPT, 4, 0.0)


def test_other_shipped_weights_are_chosen_by_what_they_were_trained_as(target, tmp_path, monkeypatch):
    monkeypatch.setattr(dflash, "MODULES_FOLDER", tmp_path)
    for trained, shape in (("selector", SELECTING), ("causal", {"causal": True})):
        write_module(taught("dflash", target, **shape), tmp_path / f"dflash_{trained}", {})

    def drafting(**options):
        return sessions.session(target, DRAFTERS.get("dflash").of(options), PROMPT, 4, 0.0).method.drafter

    selecting, causal = drafting(trained="selector"), drafting(trained="causal")
    assert selecting.trunk.options.selector_rank == 6
    assert not selecting.by_depth(), "what it says hangs on the token before, and not on the place alone"
    assert causal.trunk.options.causal
    assert causal.by_depth()
    assert (causal.options.trained, causal.options.weights) == ("causal", "shipped"), "as a trace names them"
    with pytest.raises(OptionError, match=r"trained is causal, which chooses among shipped weights, but weights is un"):
        drafting(trained="causal", weights="untrained")


@pytest.mark.parametrize("trained", ["selector", "causal"])
def test_what_is_shipped_beside_the_usual_block_is_stored_on_it_and_says_how_it_was_trained(trained):
    usual, card = (read_card(ROOT / "modules" / name) for name in ("dflash", f"dflash_{trained}"))
    assert (card.base, card.target_sha256) == ("dflash", usual.target_sha256)
    assert card.training["started_from"]["tokens"] == usual.training["tokens"]
    assert card.options["causal"] is (trained == "causal")
    assert (card.options["selector_rank"] > 0) is (trained == "selector")
    kind = MODULES.get("dflash")
    assert kind.folder_name(from_mapping(kind.options_type, card.options)) == f"dflash_{trained}"
