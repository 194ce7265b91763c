"""The bare pass of fixed sizes: the same logits as the engine's forward, and refusals before memory is taken."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from weakref import ref

import pytest
import torch

from specviz.bench.profile import measure as profiling
from specviz.bench.profile.models import BarePasses, EnginePasses, open_model
from specviz.errors import ModelError, OptionError
from specviz.live.source import LiveSource
from specviz.lm.llama import bare
from specviz.lm.llama.bare import BareLlama, BarePass, Graphs, parameters
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.load import load
from specviz.protocol.profiles import ProfileRequest

TEXT = [5, 9, 2, 7, 7, 1, 30, 4]
CPU = torch.device("cpu")
SMALL = ProfileRequest(rows=(1, 2), contexts=(3,), batches=(2,), dtype="float32", device="cpu")
SHAPE = LlamaShape(
    layers=2, hidden_size=24, heads=4, kv_heads=2, head_size=6, vocab_size=60, context_length=48,
    norm_eps=1e-6, rope_theta=1e4, tied=False, ffn_size=40,
)  # fmt: skip


def request(folder: Path, **changes: object) -> ProfileRequest:
    return replace(SMALL, target=str(folder), **changes)


@torch.inference_mode()
@pytest.mark.parametrize("changes", [{}, {"num_key_value_heads": 2}, {"tie_word_embeddings": True}])
def test_a_bare_chain_gives_the_logits_of_the_engine(checkpoint, changes):
    """Five rows into an empty cache; then three more behind their keys and values, for both sequences of a batch."""
    folder = checkpoint("llama", **changes)
    engine = load(str(folder), dtype="float32", device="cpu").model
    bare = open_model(request(folder, contexts=(0,), rows=(8,)), load).model
    first = BarePass(bare, 2, 0, 5)
    first.tokens[:] = torch.tensor(TEXT[:5])
    logits = [first.run()[1]]
    cached = first.cached.clone()
    second = BarePass(bare, 2, 5, 3)
    second.cached[..., :5, :] = cached
    second.tokens[:] = torch.tensor(TEXT[5:])
    logits.append(second.run()[1])
    torch.testing.assert_close(torch.cat(logits), engine.forward(TEXT, engine.new_cache()), atol=1e-4, rtol=1e-4)


def test_what_a_recorded_pass_reads_stays_as_long_as_the_recording(monkeypatch):
    """A graph knows addresses alone: tokens that were given back would be another tensor's by the next launch."""
    nothing = SimpleNamespace(wait_stream=lambda other: None, replay=lambda: None)
    for name in ("graph_pool_handle", "Stream", "current_stream", "CUDAGraph"):
        monkeypatch.setattr(torch.cuda, name, lambda *of: nothing)
    monkeypatch.setattr(torch.cuda, "stream", lambda aside: nullcontext())
    monkeypatch.setattr(torch.cuda, "graph", lambda graph, pool: nullcontext())
    model = BareLlama.random(SHAPE, CPU, torch.float32)
    model.reserve(1, 4)
    recorded = BarePass(model, 1, 2, 2)
    tokens, launch = ref(recorded.tokens), Graphs(CPU).capture(recorded.run)
    del recorded
    launch()
    assert tokens() is not None


def test_a_pass_reads_every_weight_but_an_embedding_that_is_no_head():
    """Two layers: 24 × (24 + 12 + 12) + 24 × 24 attention, 3 × 24 × 40 feed-forward, two norms of 24; one norm and two
    tables of 60 × 24 beside them."""
    layer = 24 * 48 + 24 * 24 + 3 * 24 * 40 + 2 * 24
    assert bare.parameters(SHAPE) == 2 * layer + 24 + 2 * 60 * 24
    assert bare.read_parameters(SHAPE) == 2 * layer + 24 + 60 * 24


def test_a_model_of_random_weights_has_the_tensors_of_its_shape():
    bare = BareLlama.random(SHAPE, CPU, torch.float32)
    bare.reserve(2, 5)
    assert BarePass(bare, 2, 3, 2).run().shape == (2, 2, 60)
    held = [one for layer in bare.layers for one in (layer.qkv, layer.output, layer.gate_up, layer.down)]
    held += [one for layer in bare.layers for one in (layer.attention_norm, layer.ffn_norm)]
    numbers = sum(one.numel() for one in [*held, bare.embedding, bare.head, bare.norm])
    assert numbers == parameters(SHAPE)


@pytest.mark.parametrize(
    ("name", "billions"), [("135m", 0.135), ("0.5b", 0.49), ("1.5b", 1.54), ("7b", 7.6), ("14b", 14.8), ("32b", 32.8)]
)
def test_shapes_have_as_many_parameters_as_their_names_say(name, billions):
    assert bare.parameters(bare.shape_named(name)) / 1e9 == pytest.approx(billions, abs=0.06)


def test_a_shape_that_does_not_fit_is_refused_before_any_memory_is_taken(monkeypatch):
    monkeypatch.setattr(bare, "free_bytes", lambda device: 4_000_000_000)
    monkeypatch.setattr(BareLlama, "random", lambda *arguments: pytest.fail("took memory"))
    with pytest.raises(ModelError, match=r"7b shape, random weights needs 30\.5 GB .* but cpu has 4\.0 GB free"):
        open_model(ProfileRequest(shape="7b", dtype="float32", device="cpu"), load)


def test_the_smaller_of_the_systems_and_the_containers_limits_counts(monkeypatch, tmp_path):
    (tmp_path / "memory.max").write_text("7000\n", encoding="ascii")
    (tmp_path / "memory.current").write_text("3000\n", encoding="ascii")
    assert bare._container(tmp_path) == 4000
    monkeypatch.setattr(bare.psutil, "virtual_memory", lambda: SimpleNamespace(available=5120))
    for container, smaller in ((4000, 4000), (6000, 5120), (None, 5120)):
        monkeypatch.setattr(bare, "_container", lambda left=container: left)
        assert bare.free_bytes(CPU) == smaller


def test_one_sequence_is_timed_on_the_engines_own_pass(checkpoint):
    timed = open_model(request(checkpoint("llama"), batches=(1,)), load)
    assert isinstance(timed, EnginePasses)
    assert timed.sizes.read_parameters == timed.sizes.parameters - 60 * 24
    assert timed.pass_timer(3, 1, 2, lambda: 1.0)() == 0.0


def test_weights_that_a_pass_reads_as_they_are_stored_are_counted_so(checkpoint):
    def stored_short(*given, **asked):
        loaded = load(*given, **asked)
        loaded.model._info = replace(loaded.model.info, read_dtype="bfloat16")
        return loaded

    folder = checkpoint("llama")
    whole, short = (open_model(request(folder, batches=(1,)), loader).sizes for loader in (load, stored_short))
    assert (whole.number_bytes, whole.stored_bytes) == (4, None)
    assert (short.number_bytes, short.stored_bytes, short.weight_bytes) == (4, 2, whole.weight_bytes / 2)


def test_other_batches_are_timed_on_bare_passes_of_the_same_sizes(checkpoint):
    folder = checkpoint("llama")
    engine, bare = (open_model(request(folder, batches=batches), load) for batches in ((1,), (2,)))
    assert isinstance(bare, BarePasses)
    assert bare.sizes == engine.sizes
    assert not bare.cuda_graphs
    ticks = iter([1.0, 3.5])
    assert bare.pass_timer(3, 2, 2, lambda: next(ticks))() == 2.5


@pytest.mark.parametrize("changes", [{}, {"bare": True}])
def test_more_rows_than_the_context_holds_are_refused(checkpoint, changes):
    with pytest.raises(OptionError, match="holds 48 tokens, but 40 cached rows and 9 new ones make 49"):
        open_model(request(checkpoint("llama"), batches=(1,), contexts=(40,), rows=(9,), **changes), load)


def test_what_a_bare_pass_cannot_run_is_refused(checkpoint):
    with pytest.raises(ModelError, match="knows no biases"):
        open_model(request(checkpoint("llama", attention_bias=True)), load)
    with pytest.raises(ModelError, match="leave out --bare"):
        open_model(request(checkpoint("qwen3")), load)
    with pytest.raises(OptionError, match="there is no shape '9b'"):
        open_model(ProfileRequest(shape="9b", device="cpu"), load)


def test_the_live_source_times_the_very_model_it_runs(checkpoint, monkeypatch):
    monkeypatch.setattr(profiling, "READ_BYTES", {"cpu": 1 << 16})
    monkeypatch.setattr(profiling, "SIDE", {"cpu": 8})
    source = LiveSource(measure=False)
    *_, last = source.profile(request(checkpoint("llama"), batches=(1,), repeats=3))
    assert [(one.n, one.context, one.repeats) for one in last.curve.rows] == [(1, 3, 3), (2, 3, 3)]
    assert last.curve.command.startswith("specviz profile --target tiny-llama")
    (held,) = source.models.held
    assert held.info.weights_sha256 == last.curve.model.weights_sha256


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_captured_pass_gives_the_logits_of_the_same_pass_uncaptured():
    device = torch.device("cuda")
    bare = BareLlama.random(SHAPE, device, torch.float32)
    bare.reserve(2, 8)
    graphs = Graphs(device)
    for n in (1, 3):
        one = BarePass(bare, 2, 5, n)
        expected, found = one.run().clone(), torch.zeros(2, n, 60, device=device)
        replay = graphs.capture(lambda one=one, found=found: found.copy_(one.run()))
        found.zero_()
        replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(found, expected)
