"""Whatever the engine writes is accepted without a finding: bounds follow from the precision that is stored.

Every registered drafter and tree policy with every verifier that may judge it, above temperature 0, over many seeds and
sampling transforms. Single precision and rounded heads must not look like contradictions.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from specviz.core import draws
from specviz.drafters.base import DRAFTERS
from specviz.drafters.learned.module import MODULES
from specviz.errors import SpecVizError
from specviz.live.source import LiveSource, collect, make_plan
from specviz.lm.load import LoadedModel
from specviz.lm.table import TableModel
from specviz.proof.small_models import option_sets, tree_policy_sets
from specviz.protocol.choice import Choice, with_choices
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check
from specviz.trace.events import Round, Trial
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS
from tests.proof.letters import Letters, LetterTexts

SAMPLINGS = [(0.8, 0, 1.0), (0.3, 0, 1.0), (1.6, 0, 1.0), (1.0, 3, 1.0), (0.7, 0, 0.8), (1.3, 4, 0.6)]
"""temperature, top-k, top-p"""


class SingleTable(TableModel):
    """A toy whose logits have single precision, as those of real models do."""

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        return super().forward(*args, **kwargs).float()


def loader(size: int, precise: bool, spread: float = 1.5, order: int = 4) -> Callable[..., LoadedModel]:
    """Stands in for `load`: `spread` says how peaked distributions are, `order` how much text they look at."""
    kind = TableModel if precise else SingleTable
    seeds = {"target": 1, "drafter": 2, "drafter-weak": 3}

    def load(name: str, device: str, dtype: str) -> LoadedModel:
        model = kind(size, seeds[name], 48, order=order, spread=spread)
        return LoadedModel(model, Letters(size), model.info)

    return load


def requests(**fixed: Any) -> Iterator[RunRequest]:
    """A request for each verifier that may judge what is fixed."""
    for verifier in VERIFIERS.names():
        request = RunRequest("abcab", max_new_tokens=12, verifier=Choice(verifier), **with_choices(fixed))
        try:
            make_plan(replace(request, temperature=0.8))
        except SpecVizError:
            continue
        yield request


DRAFTS = [
    *({"drafter": name, "drafter_options": options} for name in DRAFTERS.names() for options in option_sets(name)),
    *(
        {"tree_policy": name, "tree_policy_options": options}
        for name in TREE_POLICIES.names()
        for options in tree_policy_sets(name)
    ),
]


def parameters() -> Iterator[Any]:
    """The first options of each method are quick and meet two samplings in turn; the others are slow and meet one."""
    seen = set[str]()
    for place, draft in enumerate(DRAFTS):
        method, *_ = draft.values()
        first = method not in seen
        seeds = range(place, place + (2 if first else 1))
        yield pytest.param(draft, seeds, id="-".join(map(str, draft.values())), marks=() if first else pytest.mark.slow)
        seen.add(method)


@pytest.mark.parametrize(("draft", "seeds"), list(parameters()))
def test_a_trace_of_a_toy_has_no_finding(draft: dict[str, Any], seeds: range) -> None:
    sources = [
        LiveSource(load=loader(6, precise=True), measure=False, datastores=LetterTexts()),
        LiveSource(load=loader(24, precise=False), measure=False, datastores=LetterTexts()),
    ]
    judged = list(requests(**draft))
    for seed in seeds:
        request = judged[seed % len(judged)]
        temperature, top_k, top_p = SAMPLINGS[seed % len(SAMPLINGS)]
        sampled = replace(request, seed=seed, temperature=temperature, top_k=top_k, top_p=top_p, top=3 + seed % 6)
        assert check(collect(sources[seed % len(sources)], sampled)) == [], sampled


@pytest.mark.parametrize("seed", [1, 5])
def test_probabilities_that_single_precision_adds_up_to_more_than_1_are_no_contradiction(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rejected guess of no probability leaves the whole target: a mass of 1.0000012 as torch adds it up."""
    monkeypatch.setattr(draws, "_library", lambda: None)
    source = LiveSource(load=loader(4096, precise=False, spread=3.0, order=2), measure=False)
    request = RunRequest(
        "abcab", drafter=Choice("jacobi"), verifier=Choice("sequential"), max_new_tokens=24, temperature=0.8, seed=seed
    )
    trace = collect(source, request)
    assert max(this.judged.residual_mass or 0.0 for this in trace.rounds) > 1 + 1e-6
    assert check(trace) == []


@pytest.mark.parametrize("seed", range(3))
def test_what_rounding_does_to_a_small_remainder_is_no_contradiction(seed: int) -> None:
    """Where earlier siblings took nearly all of q, six decimals of it say little about what was left."""
    source = LiveSource(load=loader(512, precise=False, spread=6.0, order=2), measure=False)
    request = RunRequest(
        "abcab", drafter=Choice("model", {"branching": (3, 2, 1)}), max_new_tokens=24, temperature=0.8, seed=seed
    )
    trace = collect(source, request)
    assert any(_off(this, trial) for this in trace.rounds for trial in this.judged.trials)
    assert check(trace) == []


@pytest.mark.parametrize("temperature", [0.001, 1e-5])
def test_distributions_next_to_temperature_0_are_no_contradiction(temperature: float) -> None:
    """Powers of a small probability by 1 / temperature are 0 in every format, and so would be their sum."""
    source = LiveSource(load=loader(24, precise=False), measure=False)
    trace = collect(source, RunRequest("abcab", max_new_tokens=24, temperature=temperature, top=5))
    heads = [node.target_raw.probs for this in trace.rounds for node in this.nodes if node.target_raw is not None]
    assert min(head[0] ** (1 / temperature) for head in heads) == 0.0
    assert check(trace) == []


def _off(this: Round, trial: Trial) -> bool:
    """Whether Q of a trial differs from what the rounded numbers give by more than rounding alone."""
    node = this.nodes[trial.node]
    earlier = [one for one in this.nodes if one.parent == node.parent and one.id < node.id]
    left = 1 - sum(one.draft_prob or 0.0 for one in earlier)
    return left <= 0 or abs((node.draft_prob or 0.0) / left - trial.draft_prob) > 1e-4 * (1 + trial.draft_prob)


MODELS: list[dict[str, Any]] = [
    *({"drafter": name} for name in DRAFTERS.names() if name not in MODULES.names()),
    *(
        {"drafter": name, "drafter_options": {"weights": "untrained"}}
        for name in DRAFTERS.names()
        if name in MODULES.names()
    ),
    {"drafter_options": {"branching": (3, 2, 1)}},
    {"drafter_options": {"branching": (3, 2, 1)}, "verifier": "traversal"},
    {"drafter_options": {"branching": (3, 2), "draw": "iid"}, "verifier": "kseq"},
    {"drafter_options": {"gamma": 5}, "verifier": "block"},
    {"tree_policy": "dyspec"},
    {"tree_policy": "target_init", "verifier": "longest_path"},
]


@pytest.fixture(scope="module")
def pair() -> LiveSource:
    """One for all: it keeps its models, and to load them takes longer than a run."""
    return LiveSource(measure=False)


DRAWN = [("float32", 0.8, 0, 1.0), ("bfloat16", 0.8, 50, 0.95), ("float32", 0.6, 20, 1.0), ("float32", 1.4, 0, 0.9)]
"""precision, temperature, top-k, top-p"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draft", "place"),
    [pytest.param(draft, place, id="-".join(map(str, draft.values()))) for place, draft in enumerate(MODELS)],
)
def test_a_trace_of_the_bundled_pair_has_no_finding(draft: dict[str, Any], place: int, pair: LiveSource) -> None:
    """Its vocabulary is so large that a softmax of single precision adds up to 1.000002. Four ways of drawing in turn,
    one of them in half precision."""
    dtype, temperature, top_k, top_p = DRAWN[place % len(DRAWN)]
    request = RunRequest("def read(path):\n", max_new_tokens=6, seed=place, dtype=dtype, **with_choices(draft))
    sampled = replace(request, temperature=temperature, top_k=top_k, top_p=top_p)
    assert check(collect(pair, sampled)) == [], sampled


@pytest.mark.parametrize("prompt", ["Hello<|endoftext|>", "<|endoftext|>Hello", "Hello"])
def test_a_prompt_that_ends_with_an_end_of_text_is_spelt_by_its_ids(prompt: str, pair: LiveSource) -> None:
    """The tokenizer puts one before it, which is no part of what was written."""
    trace = collect(pair, RunRequest(prompt, drafter=Choice("none"), max_new_tokens=2))
    assert len(trace.started.prompt_ids) == 1 + len(prompt.replace("Hello", ".").replace("<|endoftext|>", "."))
    assert check(trace) == []
