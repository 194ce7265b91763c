"""Drafters with trained heads: what they draft is what their networks say of the whole text at once."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from specviz.drafters.base import DRAFTERS
from specviz.drafters.learned.block_network import BlockNetwork
from specviz.drafters.learned.head_networks import FADE, RANKS, Accuracies
from specviz.drafters.learned.module import MODULES, FeatureBatch, TargetParts, divergence, fresh
from specviz.drafters.learned.weights import write_module
from specviz.engine.session import Session
from specviz.errors import ModelError, OptionError
from specviz.lm.llama.model import LlamaModel
from specviz.options import from_mapping
from specviz.proof.small_models import SHAPE, small_pair
from tests.drafters.asking import batch_of
from tests.engine import sessions

LAYERS, VOCABULARY = 3, 64
HEADS = ("medusa", "hydra", "markov", "masked_block")
EVERY = (*HEADS, "kangaroo")
PROMPT = [3, 14, 15, 9, 26, 5]


def target_of(layers: int) -> LlamaModel:
    """With an identity, so that weights can be for it or not."""
    model, _ = small_pair(
        3, replace(SHAPE, layers=layers, vocab_size=VOCABULARY, hidden_size=24, heads=2, head_size=12)
    )
    model._info = replace(model.info, weights_sha256="a" * 64)
    return model


@pytest.fixture(scope="module")
def target() -> LlamaModel:
    return target_of(LAYERS)


def taught(name: str, target: LlamaModel, **shape):
    """Not trained, but no longer what an untrained one is either: every weight was moved."""
    kind = MODULES.get(name)
    module = fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, shape), seed=4)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return module


@pytest.fixture
def folder(tmp_path, target):
    def write(name: str, **shape) -> str:
        write_module(taught(name, target, **shape), tmp_path / name, {})
        return str(tmp_path / name)

    return write


def session(target, name, options, temperature=0.0, tokens=24, prompt=PROMPT) -> Session:
    return sessions.session(target, DRAFTERS.get(name).of(options), prompt, tokens, temperature)


def drafted(target, name, options, **changes):
    """Per round the text before it and its record."""
    this = session(target, name, options, **changes)
    this.begin()
    found = []
    while this.finished is None:
        before = list(this.tokens)
        found.append((before, this.round()))
    return this, found


def read(target, module, text) -> FeatureBatch:
    return batch_of(target, text, module.depths())


@pytest.mark.parametrize("shape", [{"nodes": 0, "gamma": 4}, {"nodes": 9, "gamma": 3}], ids=["chain", "tree"])
@pytest.mark.parametrize("name", HEADS)
def test_what_is_drafted_is_what_the_batch_says(target, folder, name, shape):
    """At every node of every round: the logits after it are those of the batched pass over the text with its path."""
    weights = folder(name)
    this, rounds = drafted(target, name, {"weights": weights, **shape})
    module, compared = this.method.drafter.module(), 0
    for before, record in rounds:
        tree = record.proposal.tree
        for nodes, rows in record.proposal.draft_logits:
            for node, row in zip(nodes, rows, strict=True):
                path = tree.token_path(node)
                batch = read(target, module, [*before, *path, 0])
                with torch.inference_mode():
                    expected = module.drafts(batch, len(path) + 1)[len(path)][0, len(before) - 2]
                torch.testing.assert_close(row, expected, atol=2e-4, rtol=1e-4)
                compared += 1
    assert compared > 40
    assert len({len(record.verdict.path) for _, record in rounds}) > 1, "rounds of several lengths"


KEPT = [2, 3, 5, 7, 11, 13, 17, 19]


def kept_alone(target, **shape):
    """Medusa's heads on eight tokens of the vocabulary."""
    module = taught("medusa", target, draft_tokens=len(KEPT), **shape)
    module.map.keep(KEPT)
    return module


def test_heads_that_know_some_tokens_draft_these_as_all_the_rows_of_the_head_would_have_them(target, tmp_path):
    module, whole = kept_alone(target, heads=3), taught("medusa", target, heads=3)
    state = torch.randn(2, target.info.hidden_size)
    said, every = module.logits(state), whole.logits(state)  # [2, 3, V]
    torch.testing.assert_close(said[..., KEPT], every[..., KEPT], atol=1e-5, rtol=0.0)
    others = [token for token in range(VOCABULARY) if token not in KEPT]
    assert torch.isinf(said[..., others]).all()
    write_module(module, tmp_path, {})
    _, rounds = drafted(target, "medusa", {"weights": str(tmp_path)})
    candidates = [token for _, record in rounds for token in record.proposal.tree.tokens[1:]]
    assert set(candidates) <= set(KEPT)
    assert len(set(candidates)) > 2


def test_of_some_tokens_heads_learn_and_every_first_choice_of_the_target_is_counted(target):
    """A first choice that cannot be drafted is never right."""
    module = kept_alone(target, heads=1).train()
    batch = read(target, module, [3, 5, 7, 11, 13, 2, 17, 19, 3, 5])
    batch = replace(batch, distance=divergence)
    wanted = batch.target_logits(module.head)[0, 1:].log_softmax(-1)  # [n, V]
    terms = module.loss(batch)
    logits = module.logits(batch.features[0, :-1, 0])[:, 0, KEPT]  # [n, V']
    torch.testing.assert_close(terms["head_1"], divergence(logits, wanted[:, KEPT].log_softmax(-1)))
    right = module.logits(batch.features[0, :-1, 0])[:, 0].topk(RANKS).indices == wanted.argmax(-1, keepdim=True)
    torch.testing.assert_close(module.accuracies.rates[0], right.float().mean(0))
    assert not set(wanted.argmax(-1).tolist()) <= set(KEPT)


def test_heads_of_their_own_cannot_leave_tokens_out(target):
    with pytest.raises(OptionError, match="own_head reads out every token; leave draft_tokens at 0"):
        taught("medusa", target, own_head=True, draft_tokens=8)


@pytest.mark.parametrize("options", [{"gamma": 4}, {"branching": (2, 2, 1)}], ids=["chain", "tree"])
def test_the_adapter_drafts_what_its_batch_says(target, folder, options):
    this, rounds = drafted(target, "kangaroo", {"weights": folder("kangaroo"), "threshold": 0.0, **options})
    module, compared = this.method.drafter._module, 0
    for before, record in rounds:
        for nodes, rows in record.proposal.draft_logits:
            for node, row in zip(nodes, rows, strict=True):
                text = [*before, *record.proposal.tree.token_path(node)]
                with torch.inference_mode():
                    expected = module.drafts(read(target, module, text), 1)[0][0, -1]
                torch.testing.assert_close(row, expected, atol=2e-4, rtol=1e-4)
                compared += 1
    assert compared > 40


def test_after_all_drafts_are_accepted_the_adapters_rows_are_those_of_the_text(target, folder):
    """The last accepted candidate was never asked about, so that its row was missing."""
    options = {"weights": folder("kangaroo"), "threshold": 0.0, "gamma": 2}
    this = session(target, "kangaroo", options, tokens=40)
    this.begin()
    drafter, whole = this.method.drafter, 0
    while this.finished is None:
        record = this.round()
        whole += len(record.verdict.path) == 2
        drafter._adapter.begin(drafter._text)
        batch = read(target, drafter._module, this.tokens[:-1])
        with torch.inference_mode():
            _, keys, values = drafter._module.rows(batch.features[0, :, 0], torch.arange(len(this.tokens) - 1))
        torch.testing.assert_close(drafter._adapter._text[0], keys, atol=2e-4, rtol=1e-4)
        torch.testing.assert_close(drafter._adapter._text[1], values, atol=2e-4, rtol=1e-4)


def test_the_confidence_stop_ends_a_draft_below_an_unlikely_candidate(target, folder):
    weights = folder("kangaroo")
    _, stopped = drafted(target, "kangaroo", {"weights": weights, "gamma": 4, "threshold": 0.3})
    cut = 0
    for _, record in stopped:
        tree = record.proposal.tree
        shown = {
            node: row for nodes, rows in record.proposal.draft_logits for node, row in zip(nodes, rows, strict=True)
        }
        for node in range(1, len(tree)):
            sure = float(shown[tree.parents[node]].softmax(-1)[tree.tokens[node]]) >= 0.3
            deep = tree.depths[node] == 4 or tree.depths[node] == record.proposal.tree.depths[-1]
            assert sure or node not in shown
            cut += not sure and deep
    assert cut > 0
    this = session(target, "kangaroo", {"weights": weights})
    assert this.method.drafter.policies().stop_policy.options.threshold == 0.6


def test_another_stop_policy_replaces_the_confidence_stop():
    from specviz.drafters.base import DraftPolicies
    from specviz.stop_policies.base import STOP_POLICIES

    other = DraftPolicies(stop_policy=STOP_POLICIES.get("entropy").of({}))
    drafter = DRAFTERS.get("kangaroo").of({})
    drafter.follow(other)
    assert (drafter.policies().stop_policy.name, drafter.options.threshold) == ("entropy", 0.0)
    with pytest.raises(OptionError, match=r"threshold is 0\.5, but the stop policy 'entropy' replaces it"):
        DRAFTERS.get("kangaroo").of({"threshold": 0.5}).follow(other)


@pytest.mark.parametrize("name", EVERY)
def test_the_loss_is_the_divergence_of_the_drafts(target, name):
    """Outside training every place counts, so that a term can be worked out from `drafts`, bigram included."""
    module = taught(name, target)
    torch.manual_seed(1)
    batch = read(target, module, torch.randint(0, VOCABULARY, (20,)).tolist())
    with torch.no_grad():
        terms, rows = module.loss(batch), module.drafts(batch, 4)
        target_says = batch.target_logits(module.head).log_softmax(-1)
        places = 20 - 4 - (name == "masked_block")
        if name == "kangaroo":
            assert float(terms["adapter"]) == pytest.approx(float(divergence(rows[0], target_says[:, 1:])), rel=1e-4)
            return
        last = {"medusa": "head", "hydra": "head", "markov": "markov", "masked_block": "bigram"}[name]
        for k, row in enumerate(rows):
            expected = FADE**k * divergence(row[:, :places], target_says[:, 1 + k : 1 + k + places])
            assert float(terms[f"{last}_{k + 1}"]) == pytest.approx(float(expected), rel=1e-4)


@pytest.mark.parametrize("name", EVERY)
def test_the_loss_takes_whatever_distance_the_batch_names(target, name):
    module = taught(name, target)
    torch.manual_seed(1)
    batch = read(target, module, torch.randint(0, VOCABULARY, (20,)).tolist())
    with torch.no_grad():
        terms = module.loss(batch)
        halved = module.loss(replace(batch, distance=lambda logits, wanted: divergence(logits, wanted) / 2))
        assert {key: float(one) for key, one in halved.items()} == pytest.approx(
            {key: float(one) / 2 for key, one in terms.items()}
        )


@pytest.mark.parametrize("name", EVERY)
def test_a_few_steps_of_training_lower_the_loss(target, name):
    module = fresh(MODULES.get(name), TargetParts.of(target), MODULES.get(name).options_type())
    torch.manual_seed(2)
    texts = [read(target, module, torch.randint(0, VOCABULARY, (24,)).tolist()) for _ in range(6)]
    batch = FeatureBatch(
        *(torch.cat(parts).clone() for parts in zip(*((t.tokens, t.features, t.final) for t in texts), strict=True))
    )
    optimiser = torch.optim.AdamW(module.parameters(), lr=3e-3)
    module.eval()
    with torch.no_grad():
        before = float(sum(module.loss(batch).values()))
    module.train()
    for _ in range(25):
        optimiser.zero_grad()
        total = sum(module.loss(batch).values())
        total.backward()
        optimiser.step()
    module.eval()
    with torch.no_grad():
        assert float(sum(module.loss(batch).values())) < 0.97 * before


def test_blocks_of_a_head_have_weights_of_their_own(target):
    """The authors' code repeats one block: then training one layer trains them all."""
    module = taught("medusa", target, layers=2)
    first, second, _ = module.heads[0]
    assert not torch.equal(first.linear.weight, second.linear.weight)
    hydra = taught("hydra", target, layers=3)
    assert len({id(block) for head in hydra.heads for block in head}) == 12


def test_an_untrained_head_says_what_the_target_said(target):
    for name in ("medusa", "hydra", "markov", "masked_block"):
        module = fresh(MODULES.get(name), TargetParts.of(target), MODULES.get(name).options_type())
        batch = read(target, module, PROMPT)
        with torch.inference_mode():
            rows = module.drafts(batch, 2)
        for k, row in enumerate(rows):
            torch.testing.assert_close(row[0], batch.target_logits(module.head)[0, : len(row[0])], msg=f"{name} {k}")


def test_accuracies_are_measured_on_the_first_batch_and_remembered():
    """Target 1, 1, 0; the head holds 1, 0, 1 most probable and the other second."""
    accuracies = Accuracies(1)
    assert not accuracies.measured
    logits = torch.tensor([[0.0, 2.0, -1.0], [2.0, 1.0, -1.0], [0.0, 2.0, -1.0]])
    wanted = torch.tensor([[0.1, 0.8, 0.1], [0.2, 0.7, 0.1], [0.9, 0.05, 0.05]]).log()
    accuracies.count(0, logits, wanted)
    assert accuracies.rates[0, :3].tolist() == pytest.approx([1 / 3, 2 / 3, 0.0])
    accuracies.count(0, logits[:1], wanted[:1])
    assert accuracies.rates[0, :2].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert accuracies.measured
    assert accuracies.rates.shape == (1, RANKS)


def test_the_static_tree_follows_the_measured_accuracies_and_is_noted(target, tmp_path):
    module = taught("medusa", target)
    module.accuracies.rates[:] = 0.01
    module.accuracies.rates[:, 1] = 0.5
    module.accuracies.batches += 1
    write_module(module, tmp_path / "heads", {})
    options = {"weights": str(tmp_path / "heads"), "nodes": 3, "gamma": 3}
    this, rounds = drafted(target, "medusa", options)
    assert this.method.drafter.tree_policy.paths == [(1,), (1, 1), (1, 1, 1)]
    note = rounds[0][1].proposal.note
    assert note["heads_right_percent"] == [1, 1, 1]
    assert note["expected_accepted"] == pytest.approx(0.875, abs=0.01)
    assert this.method.drafter.options.weights == "heads", "a trace must not carry paths"


def test_a_guessed_accuracy_is_not_shown(target):
    _, rounds = drafted(target, "medusa", {"weights": "untrained"}, tokens=6)
    assert "heads_right_percent" not in rounds[0][1].proposal.note
    assert "expected_accepted" not in rounds[0][1].proposal.note


@pytest.mark.parametrize("name", EVERY)
def test_weights_for_another_target_are_refused_by_their_hash(target, folder, name):
    weights = folder(name)
    other = LlamaModel.__new__(LlamaModel)
    other.__dict__ = target.__dict__ | {"_info": replace(target.info, name="other", weights_sha256="b" * 64)}
    with pytest.raises(
        ModelError, match=r"trained on the states of the target aaaaaaaaaaaa .*, but other has the weights bbbb"
    ):
        session(other, name, {"weights": weights})


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("changes", [{"prompt": [7]}, {"tokens": 1}, {"tokens": 2}], ids=str)
def test_short_texts_and_short_prompts(target, folder, name, changes):
    for shape in ({"nodes": 5}, {"nodes": 0, "gamma": 1}):
        this, rounds = drafted(target, name, {"weights": folder(name), **shape}, **{"tokens": 6, **changes})
        plain, _ = drafted(target, "none", {}, **{"tokens": 6, **changes})
        assert this.tokens == plain.tokens
        assert max(max(record.proposal.tree.depths) for _, record in rounds) <= shape.get("gamma", 4)


def test_refinement_shows_the_surest_slots_and_counts_what_each_pass_got_right(target, folder):
    options = {"weights": folder("masked_block"), "passes": 3, "nodes": 0, "gamma": 4, "lattice": False}
    this, rounds = drafted(target, "masked_block", options, tokens=30)
    totals = [0, 0, 0, 0]
    for (before, record), (after, _) in pairwise([*rounds, (this.tokens, None)]):
        if not record.proposal.tree.drafted:
            continue  # the last token needs no draft
        rows = record.proposal.late_exhibits[0]().rows
        assert [row.label for row in rows] == ["pass 1", "pass 2", "pass 3", "pass 4"][: len(rows)]
        assert record.proposal.note["right_by_pass"] == totals
        for earlier, later in pairwise(rows):
            assert all(later.tokens[slot] == earlier.tokens[slot] for slot in later.marks)
            surest = sorted(range(4), key=lambda slot: -earlier.scores[slot])[: len(later.marks)]
            assert later.marks == sorted(surest)
        assert [len(row.marks) for row in rows] == [0, 1, 2, 3]
        written = after[len(before) :]
        for number, row in enumerate(record.learned[0].rows):
            right = 0
            while right < min(4, len(written)) and row.tokens[right] == written[right]:
                right += 1
            assert row.marks == list(range(right))
            assert row.label == f"pass {number + 1}: {right} right"
            totals[number] += right
    assert this.method.drafter._right == totals


def test_a_block_sees_nothing_where_the_text_has_not_begun_and_everything_that_is_there():
    """Of a context of three places the first is absent: what stands there changes no slot, the others do."""
    torch.manual_seed(1)
    network = BlockNetwork(12, slots=2, window=3, layers=2)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    states, words = torch.randn(1, 3, 12), torch.randn(1, 3, 12)
    absent, known = torch.tensor([[True, False, False]]), torch.tensor([[True, False, False]])

    def said(states, words=words):
        with torch.inference_mode():
            return network(network.context(states), torch.ones(1, 12), absent, words, known)

    def changed(rows, place):
        rows = rows.clone()
        rows[0, place] += torch.randn(12)
        return rows

    torch.testing.assert_close(said(changed(states, 0)), said(states), atol=1e-6, rtol=0.0)
    for place in (1, 2):
        assert (said(changed(states, place)) - said(states)).abs().amax(-1).min() > 1e-3
    assert (said(states, changed(words, 0)) - said(states)).abs().amax(-1).min() > 1e-3, "the root's token"
    assert (said(states[:, [0, 2, 1]]) - said(states)).abs().max() > 1e-3, "in another order"
    masked = said(states, changed(words, 2))
    torch.testing.assert_close(masked, said(states), atol=1e-6, rtol=0.0)
