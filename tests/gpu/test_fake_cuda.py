"""The engine on a device that is not there: every part works with tensors of the device alone, and asks it seldom."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from specviz.core.randomness import SeededRandom, pick
from specviz.core.sampling import Sampling, residual, transform, without
from specviz.core.transfer import Fetch
from specviz.core.tree import DraftTree
from specviz.drafters.base import DRAFTERS
from specviz.engine.scoring import ScoredTree
from specviz.live.source import collect
from specviz.lm.base import Blocks, Share
from specviz.lm.llama.model import PREFILL_ROWS
from specviz.lm.vocabulary import TrimmedModel
from specviz.proof.small_models import option_sets, small_pair
from specviz.protocol.choice import Choice, with_choices
from specviz.protocol.runs import RunRequest
from specviz.trace.codec import assemble
from specviz.trace.events import Round, Step
from specviz.verifiers.base import VERIFIERS, Verdict
from tests.gpu.conftest import CUDA, SIZES, moved, source_of
from tests.gpu.fake_cuda import OnDevice

pytestmark = pytest.mark.fake_cuda
CLOSE = 1e-4
TEXT = [5, 9, 2, 7, 7, 1, 30, 4]


def close(there, here) -> bool:
    assert isinstance(there, OnDevice)
    return float((there.numbers - here).abs().max()) < CLOSE


# --- the device itself ----------------------------------------------------------------------------------------------


def test_tensors_of_two_devices_are_refused_as_by_a_real_one(device):
    there = torch.tensor([1.0, 2.0], device="cuda")
    with pytest.raises(RuntimeError, match="two devices, cuda:0 and cpu"):
        _ = there + torch.ones(2)
    with pytest.raises(RuntimeError, match="two devices"):
        torch.cat([there, torch.ones(2)])
    with pytest.raises(RuntimeError, match="two devices"):
        torch.ones(2).index_select(0, torch.tensor([1], device="cuda"))
    with pytest.raises(RuntimeError, match="numpy"):
        there.numpy()
    assert (there + torch.tensor(3.0)).tolist() == [4.0, 5.0]  # a number from the CPU may go along


def test_only_questions_that_wait_for_the_device_are_counted(device):
    there = torch.tensor([[1.0, 2.0], [4.0, 3.0]], device="cuda")
    _ = there.argmax(-1), there[0], there[[1, 0]], there.t().contiguous(), there.softmax(-1)
    assert device.asked == []
    assert there.argmax(-1).tolist() == [1, 0]
    assert (float(there[1, 0]), int(there[0, 1]), bool(there[0, 0] > 0)) == (4.0, 2, True)
    assert torch.equal(there.cpu(), torch.tensor([[1.0, 2.0], [4.0, 3.0]]))
    assert there[there > 2.5].shape == (2,)
    assert len(device.asked) == 6


def test_what_several_left_is_brought_by_one_transfer(device):
    fetch = Fetch()
    counts = fetch.leave(torch.tensor([3, 1], device="cuda"))
    shares = fetch.leave(torch.tensor([[0.5], [0.25]], device="cuda"), torch.tensor(7.0, device="cuda"))
    assert device.asked == []
    assert [tensor.tolist() for tensor in shares()] == [[[0.5], [0.25]], 7.0]
    assert counts()[0].tolist() == [3.0, 1.0]
    assert len(device.asked) == 1
    late = fetch.leave(torch.tensor([9], device="cuda"))
    assert (late()[0].tolist(), counts()[0].tolist(), len(device.asked)) == ([9.0], [3.0, 1.0], 2)


def test_what_is_written_in_place_stays_on_the_device(device):
    there = torch.zeros(2, 3, device="cuda")
    there[1] = 2.0
    there[:, 1].copy_(torch.tensor([5.0, 6.0], device="cuda"))
    there[[0], [2]] = torch.tensor([7.0], device="cuda")
    assert there.tolist() == [[0.0, 5.0, 7.0], [2.0, 6.0, 2.0]]
    with pytest.raises(AssertionError, match="another device"):
        there[[0]] = torch.ones(1, 3)


# --- language models ------------------------------------------------------------------------------------------------

graphs = pytest.mark.parametrize("graphs", [False, True], ids=["launched", "replayed"])


def rounds(model):
    """Logits of a text, of a chain and of a tree behind it, and of what goes on from a kept path."""
    cache = model.new_cache()
    found = [model.forward(TEXT, cache, last_only=True)]
    cache.keep(range(8))
    found.append(model.forward([1, 2, 3], cache))
    cache.keep([8, 9])
    found.append(model.forward([4, 5, 6, 7, 8], cache, [9, 9, 10, 10, 12]))
    cache.keep([10, 13])
    found.append(model.forward([3], cache))
    return found


@graphs
def test_chains_trees_and_kept_paths_have_the_numbers_of_the_cpu(device, models, graphs):
    there = rounds(moved(models[0], graphs))
    assert all(close(one, other) for one, other in zip(there, rounds(models[0]), strict=True))
    assert device.asked == []


@graphs
def test_a_long_prompt_is_read_in_pieces(device, graphs):
    model, _ = small_pair(3, replace(SIZES, context_length=PREFILL_ROWS + 40))
    text = [i % 40 for i in range(PREFILL_ROWS + 9)]
    there, here = (one.forward(text, one.new_cache(), last_only=True) for one in (moved(model, graphs), model))
    assert close(there, here)
    assert device.asked == []


@graphs
def test_trimmed_heads_hidden_states_features_and_keys_stay_on_the_device(device, models, graphs):
    found = []
    for model in (moved(models[0], graphs), models[0]):
        cache = model.new_cache()
        model.watch(cache, [0, 2, 3])
        trimmed = TrimmedModel(model, [2, 3, 9]).forward(TEXT, model.new_cache())[:, [2, 3, 9]]
        logits, hidden = model.forward_hidden(TEXT, cache)
        keys, values = model.keys_values(cache, 1)
        queries = model.turned(torch.ones(2, 8, 12, device=model.device), torch.arange(8, device=model.device))
        found.append(
            (trimmed, logits, hidden, model.seen(cache), keys, values, queries, model.embedding(), model.head())
        )
    assert all(close(one, other) for one, other in zip(*found, strict=True))


@graphs
def test_some_layers_alone_and_what_they_leave_stay_on_the_device(device, models, graphs):
    found = []
    for model in (moved(models[0], graphs), models[0]):
        cache = model.new_cache()
        model.partial(TEXT, cache, None, Blocks.first(2))
        cache.keep([])
        states = model.partial(TEXT, cache, None, Blocks.first(2))
        aside = model.set_aside(cache, [0, 1, 1], states[[0, 1, 1]], 2)
        found.append((states, model.read_out(states), model.finish([5, 9, 9], cache, [-1, 0, 0], aside)))
    assert all(close(one, other) for one, other in zip(*found, strict=True))


@graphs
def test_texts_of_a_batch_share_passes_on_the_device(device, models, graphs):
    found = []
    for model in (moved(models[0], graphs), models[0]):
        batch = model.new_batch()
        caches = [batch.new_cache() for _ in range(3)]
        batch.forward([Share(TEXT[: 3 + i], cache, None, True) for i, cache in enumerate(caches)])
        for cache in caches:
            cache.keep(range(cache.length))
        trees = [Share([1, 2, 3], cache, [cache.length - 1] * 3, False) for cache in caches]
        found.append(batch.forward(trees))
        batch.leave(caches[0])
        for cache in caches[1:]:
            cache.keep([cache.length - 1])
        found[-1] += batch.forward([Share([9, 8], caches[2], None, False)])
    assert all(close(one, other) for one, other in zip(*found, strict=True))
    assert device.asked == []


# --- sampling -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", [Sampling(0.0), Sampling(0.8, top_k=5), Sampling(1.0, top_p=0.7)], ids=str)
def test_distributions_and_what_rejections_leave_of_them_stay_on_the_device(device, sampling):
    logits = torch.randn(3, 40, generator=torch.Generator().manual_seed(1))
    there, here = transform(logits.to(CUDA), sampling), transform(logits, sampling)
    assert close(there, here)
    assert device.asked == []
    assert close(residual(there[0], there[1])[0], residual(here[0], here[1])[0])
    assert close(without(there[0], [3, 7])[0], without(here[0], [3, 7])[0])
    assert len(device.asked) == 2  # the mass that is left, of each
    assert [pick(row, 0.37) for row in there] == [pick(row, 0.37) for row in here]


# --- whole runs -----------------------------------------------------------------------------------------------------

ELSEWHERE = {"amusd": "drafts in a process of its own, for which a device must be there"}
METHODS = [(name, options) for name in DRAFTERS.names() if name not in ELSEWHERE for options in option_sets(name)]


def request_for(drafter, options, **changes) -> RunRequest:
    prompt = "".join(chr(0x4E00 + token) for token in (1, 2, 3, 1, 2, 3, 1, 2))
    return replace(RunRequest(prompt, drafter=Choice(drafter, options), max_new_tokens=10), **with_choices(changes))


def decisions(trace):
    """All that a run decided, without times and without numbers that two devices may round differently."""
    shape = [
        [(node.parent, node.token, node.kind, node.fate, node.source) for node in one.nodes] for one in trace.rounds
    ]
    ends = [(one.judged.path, one.judged.token, one.judged.origin, one.committed.tokens) for one in trace.rounds]
    return shape, ends, trace.finished.output_ids


FEW = 6
"""tokens, so that a second round follows on the first: an operation takes ten times as long as on the CPU"""


def at_temperatures():
    """A drafter's first options are greedy and drawn; the others are drawn, and slow."""
    for name, options in METHODS:
        number = option_sets(name).index(options)
        first = number == 0
        for temperature in (0.0, 0.9) if first else (0.9,):
            marks = () if first else pytest.mark.slow
            yield pytest.param(name, options, temperature, id=f"{name}-{number}-{temperature}", marks=marks)


@pytest.mark.parametrize(("drafter", "options", "temperature"), list(at_temperatures()))
def test_every_drafter_drafts_and_repairs_on_the_device_what_it_does_on_the_cpu(
    device, models, drafter, options, temperature
):
    """Greedy runs replay their passes; drawn ones launch them."""
    request = request_for(drafter, options, temperature=temperature, max_new_tokens=FEW)
    there = collect(source_of(*(moved(model, graphs=temperature == 0.0) for model in models)), request)
    here = collect(source_of(*models), request)
    assert decisions(there) == decisions(here)


RULES = [
    (name, temperature)
    for name, rule in VERIFIERS.items()
    for temperature in (0.0, 0.9)
    if rule.temperatures == "any" or not temperature
]
SHAPES = ({"gamma": 3}, {"branching": (2, 2)}, {"branching": (2, 1), "draw": "iid"}, {"gamma": 3, "draw": "top_k"})


def judged(verifier: str, place: torch.device, seed: int) -> Verdict:
    """What a rule says of two siblings without replacement: one has two drawn children, the other a point mass."""
    tree, q = DraftTree.from_root(0), torch.tensor([0.25, 0.25, 0.5]).to(place)
    for parent, token in ((0, 2), (0, 1), (1, 0), (1, 1)):
        tree.add(parent, token, "without_replacement", q, "model")
    tree.add(2, 2, "point_mass", None, "copy")
    logits = torch.tensor(
        [[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [1.0, 0.0, 0.25], [0.0, 0.0, 0.5], [0.0, 0.5, 0.0], [0.5, 0.0, 0.0]]
    )
    scored = ScoredTree(tree, logits.to(place), Sampling(0.5))
    return VERIFIERS.get(verifier).of({}).judge(tree, scored, SeededRandom(seed), 4)


def numbers_of(verdict: Verdict) -> list[float]:
    found = [] if verdict.residual_mass is None else [verdict.residual_mass, *verdict.residual.tolist()]
    for trial in verdict.trials:
        found += [trial.target_prob, trial.draft_prob, trial.threshold, *trial.terms.values()]
    return found


@pytest.mark.parametrize("verifier", ["sequential", "traversal"])
def test_what_was_worked_out_beforehand_is_what_a_walk_works_out_step_by_step(device, verifier):
    lengths = set()
    for seed in range(40):
        there, here = judged(verifier, CUDA, seed), judged(verifier, torch.device("cpu"), seed)
        assert (there.path, there.token, there.origin, there.u) == (here.path, here.token, here.origin, here.u)
        assert numbers_of(there) == pytest.approx(numbers_of(here), abs=1e-6)
        lengths.add(len(here.path))
    assert lengths >= {0, 2}  # all was rejected, or a whole path accepted


PHASES = {
    "engine.session._propose": "draft",
    "engine.session._observe": "draft",
    "engine.scoring.score": "pass",
    "engine.session._judge": "verdicts",
    "engine.session._commit": "commit",
    "engine.recorder.rounds": "record",
}


def counted(device, steps, waits: list[Counter[str]]) -> Iterator[Step]:
    """The steps of a run; per round, how often each phase waited for the device."""
    for step in steps:
        if isinstance(step.event, Round):
            names = [name for line in device.asked for name in line.split(" < ") if name in PHASES]
            waits.append(Counter(PHASES[name] for name in names))
        device.asked.clear()
        yield step


LOOKS_AGAIN = {("cascade", 0.0): 7, ("cascade", 0.9): 10, ("kseq", 0.0): 7, ("kseq", 0.9): 7, ("lenience", 0.0): 5}
"""rules that want to see more at the nodes they come to, and at most how often they then wait"""


@pytest.mark.parametrize(("verifier", "temperature"), RULES)
def test_every_rule_judges_on_the_device_as_on_the_cpu_and_waits_once_for_verdicts_and_record(
    device, models, verifier, temperature
):
    there, here = source_of(*(moved(model) for model in models)), source_of(*models)
    waits: list[Counter[str]] = []
    for options in SHAPES:
        request = request_for("model", options, verifier=verifier, temperature=temperature, max_new_tokens=FEW)
        if here.explain(request) is None:
            trace = assemble(counted(device, there.run(request), waits))
            assert decisions(trace) == decisions(collect(here, request))
    assert {one["record"] for one in waits} == {1}
    assert max(one["verdicts"] for one in waits) <= LOOKS_AGAIN.get((verifier, temperature), 1)


NO_MODEL = {"ngram": 0, "none": 0, "rest": 0, "suffix": 0, "jacobi": 1, "lookahead": 1, "token_recycling": 1}
LEVELS = "cross_kv cross_vocabulary eagle early_exit fspad model self_speculative small_model vocabtrim"
PER_LEVEL = dict.fromkeys(LEVELS.split(), 2)
"""drafts of two levels: the tokens of a level are named before the next one is asked for"""
DRAFT_WAITS = {**NO_MODEL, **PER_LEVEL}


@pytest.mark.parametrize("drafter", DRAFT_WAITS)
def test_a_greedy_round_waits_once_per_level_once_for_its_verdicts_and_once_for_its_record(device, models, drafter):
    source = source_of(*(moved(model, graphs=True) for model in models))
    found: list[Counter[str]] = []
    assemble(counted(device, source.run(request_for(drafter, option_sets(drafter)[0])), found))
    assert max(one["draft"] for one in found) == DRAFT_WAITS[drafter]
    assert {one["verdicts"] for one in found} == {1}
    assert {one["record"] for one in found} == {1}
    assert all(one["pass"] == one["commit"] == 0 for one in found)
