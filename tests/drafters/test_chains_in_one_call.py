"""A chain that the model writes by one call is, in every number of the run and its trace, the one drawn by steps."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from specviz.cli.sources import SharedModels, live_source
from specviz.core import compiled
from specviz.core.draws import Chooser
from specviz.core.randomness import SeededRandom, TokenDraw
from specviz.drafters.base import DraftPolicies
from specviz.drafters.capabilities import with_model
from specviz.drafters.drafting.draft_model import DraftCache
from specviz.drafters.drafting.growing import PlainChains, ShapeOptions
from specviz.drafters.merged import MergedDrafter
from specviz.drafters.model import ModelDrafter
from specviz.engine.recorder import Recorder
from specviz.live.source import collect
from specviz.lm.base import ModelInfo
from specviz.lm.llama.few_rows import SOURCE
from specviz.lm.llama.model import LlamaModel
from specviz.lm.llama.shape import LlamaShape
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.events import Agreement
from specviz.tree_policies.base import TREE_POLICIES
from tests.drafters.asking import context
from tests.engine.sessions import decoded
from tests.proof.letters import Letters

pytestmark = pytest.mark.skipif(compiled.library(SOURCE) is None, reason="there is no compiler here")


V = 60


def random_llama(layers):
    shape = LlamaShape(layers, 32, 4, 2, 8, V, 48, 1e-5, 1e4, tied=True, ffn_size=48)
    numbers = torch.Generator().manual_seed(layers)
    weights = {name: torch.randn(size, generator=numbers) * 0.3 for name, size in shape.weight_sizes().items()}
    info = ModelInfo("tiny", "llama", "lean", 0, layers, 32, V, 48, "float32", "", ())
    return LlamaModel(shape, weights, info)


@pytest.fixture
def models():
    """A target and a drafter."""
    return [random_llama(layers) for layers in (2, 1)]


@pytest.fixture
def calls(monkeypatch):
    """The lengths of the chains that were written by one call; the method itself is what is undone below."""
    lengths, write_chain = [], LlamaModel.write_chain

    def counted(model, tokens, cache, chooser):
        chain = write_chain(model, tokens, cache, chooser)
        lengths.append(None if chain is None else len(chain.tokens))
        return chain

    monkeypatch.setattr(LlamaModel, "write_chain", counted)
    return lengths


def near(agreement):
    """A call tells which logits a distribution was made of, and no logarithm of it is rounded then."""
    return pytest.approx(dataclasses.astuple(agreement), abs=1.01e-4)


def untimed(value, bits=dataclasses.astuple):
    """Without the seconds, which no two runs share."""
    if isinstance(value, Agreement):
        return bits(value)
    if dataclasses.is_dataclass(value):
        fields = (field.name for field in dataclasses.fields(value))
        return {name: untimed(getattr(value, name), bits) for name in fields if name not in ("seconds", "start_s")}
    return [untimed(item, bits) for item in value] if isinstance(value, list) else value


def run(models, temperature, bits=dataclasses.astuple, tree_policy=None, **options):
    """Committed text, the rounds with their draws, and the trace's rounds."""
    target, model = models
    drafter = with_model(ModelDrafter(ShapeOptions(**options)), model)
    if tree_policy is not None:
        name, shape = tree_policy
        drafter.follow(DraftPolicies(TREE_POLICIES.get(name).of(shape)))
    session, records = decoded(target, drafter, [5, 17, 2, 40], temperature=temperature)
    recorder = Recorder(Letters(V))
    return session.tokens, records, [untimed(recorder.round(record).event, bits) for record in records]


@pytest.mark.parametrize(
    ("length", "options"),
    [
        (4, {"gamma": 4}),
        (1, {"gamma": 1}),
        (3, {"gamma": 3, "draw": "top_k"}),
        (3, {"tree_policy": ("levels", {"branching": (1, 1, 1)})}),
        (3, {"tree_policy": ("rsd_c", {"branching": (1, 1, 1)})}),
    ],
    ids=str,
)
@pytest.mark.parametrize("temperature", [0.0, 0.8, 1.0])
def test_text_draws_and_trace_are_those_of_a_draft_by_steps(models, calls, monkeypatch, temperature, length, options):
    tokens, records, rounds = run(models, temperature, **options)
    assert max(calls) == length
    assert calls == [record.proposal.tree.drafted for record in records if record.proposal.tree.drafted]
    monkeypatch.setattr(LlamaModel, "write_chain", lambda *_: None)
    other_tokens, other_records, other_rounds = run(models, temperature, near, **options)
    assert (tokens, rounds) == (other_tokens, other_rounds)
    for one, other in zip(records, other_records, strict=True):
        proposals = zip(one.proposal.tree.proposals, other.proposal.tree.proposals, strict=True)
        assert all(a is b is None or torch.equal(a, b) for a, b in proposals)
        drafts = [[rows for _, rows in record.proposal.draft_logits] for record in (one, other)]
        assert drafts == [[], []] or torch.equal(*map(torch.cat, drafts))


def drafted(drafter, model, *further, randomness=None):
    """What it proposes above temperature 0, with these models."""
    with_model(drafter, model, further)
    drafter.begin([5, 17, 2, 40])
    asked = context([5, 17, 2, 40], temperature=0.8)
    return drafter.propose(asked if randomness is None else dataclasses.replace(asked, randomness=randomness))


def test_models_that_draft_together_draw_their_chains_with_noise_of_their_own(models, calls, monkeypatch):
    """One and the same model twice: with the same noise both chains would be the same too."""
    made = [drafted(MergedDrafter.of({"branching": ()}), models[1], models[1])]
    assert calls == [4, 4]
    monkeypatch.setattr(LlamaModel, "write_chain", lambda *_: None)
    made.append(drafted(MergedDrafter.of({"branching": ()}), models[1], models[1]))
    one, other = (proposal.tree for proposal in made)
    assert (one.tokens, one.parents, one.sources) == (other.tokens, other.parents, other.sources)


class Sevens(SeededRandom):
    def draw(self, probs, key):
        return TokenDraw(7, None)


def test_whoever_decides_draws_otherwise_than_a_seed_does_is_asked_for_each(models, calls):
    tree = drafted(ModelDrafter(ShapeOptions(gamma=3)), models[1], randomness=Sevens(0)).tree
    assert (tree.tokens[1:], calls) == ([7, 7, 7], [])


def test_rows_of_a_chain_stay_as_far_as_the_text_went_on_with_them(models):
    """Whoever else drafts may have written what the text has behind them."""
    cache, text = DraftCache(models[1]), [5, 17, 2, 40]
    cache.begin(text)
    chain = cache.write_chain(text, Chooser.of(3))
    first, second, _ = chain.tokens
    assert cache.length == 6
    assert cache.settle([*text, first, (second + 1) % V, 7]) == 5


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"temperature": 0.8, "top_p": 0.9}, "what is cut off is known to torch alone"),
        ({"drafter": Choice("model", {"branching": (2, 1)})}, "a tree has levels"),
        (
            {"drafter": Choice("model"), "tree_policy": Choice("chain", {"budget": 3})},
            "a budget goes beyond the length",
        ),
        (
            {
                "drafter": Choice("model"),
                "tree_policy": Choice("target_init", {"width": 1}),
                "verifier": Choice("longest_path"),
            },
            "the target may have proposed its first candidate",
        ),
        ({"drafter": Choice("model", {"gamma": 3}), "stop_policy": Choice("entropy")}, "the stop policy has a say"),
        ({"temperature": 0.8, "drafter": Choice("model"), "verifier": Choice("coupled")}, "the target's race is run"),
        ({"temperature": 0.0, "drafter": Choice("model", {"draw": "iid"})}, "a point mass is drawn"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_draft_in_which_somebody_has_a_say_goes_step_by_step(calls, changes, why):
    source = live_source(SharedModels(), measure=False)
    steps = list(source.run(RunRequest("Tom had a", max_new_tokens=12, **changes)))
    assert len(steps) > 2
    assert calls == []


CHAINS = {
    "medusa": Choice("medusa", {"nodes": 0}),
    "markov": Choice("markov", {"nodes": 0, "gamma": 3}),
    "hydra": Choice("hydra", {"nodes": 0}),
    "masked block": Choice("masked_block", {"nodes": 0, "passes": 1}),
    "its slots as they are": Choice("masked_block", {"nodes": 0, "lattice": False}),
    "dflash": Choice("dflash", {"gamma": 5}),
    "dspark": Choice("dspark", {"gamma": 5}),
    "eagle": Choice("eagle"),
    "fspad": Choice("fspad"),
}


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("drafter", CHAINS.values(), ids=CHAINS)
def test_a_network_that_drafts_a_chain_by_one_call_runs_as_one_that_drafts_it_by_steps(
    monkeypatch, drafter, temperature
):
    request = RunRequest("Tom had a", max_new_tokens=14, temperature=temperature, drafter=drafter)
    source, by_one_call, drawn = live_source(SharedModels(), measure=False), [], PlainChains.drawn

    def watched(*given):
        by_one_call.append(drawn(*given))
        return by_one_call[-1]

    monkeypatch.setattr(PlainChains, "drawn", watched)
    rounds = [untimed(step.event) for step in source.run(request)]
    assert True in by_one_call
    monkeypatch.setattr(Chooser, "of", lambda *_: None)
    by_one_call.clear()
    assert [untimed(step.event, near) for step in source.run(request)][1:-1] == rounds[1:-1]
    assert set(by_one_call) == {False}


@pytest.mark.parametrize("drafter", ["medusa", "dflash", "eagle"])
def test_a_tree_of_a_network_is_as_deep_as_its_stop_policy_allows(drafter):
    policies = {"tree_policy": Choice("rsd_s"), "stop_policy": Choice("fixed", {"longest": 2})}
    request = RunRequest("Tom had a", max_new_tokens=12, temperature=0.8, drafter=Choice(drafter), **policies)
    rounds = collect(live_source(SharedModels(), measure=False), request).rounds
    assert max(node.depth for this in rounds for node in this.nodes) == 2
