"""The compiled pass over a few rows: the plain forward's numbers, each of them whatever rows stand beside it."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from specviz.core import compiled
from specviz.lm.llama import few_rows
from specviz.lm.llama.few_rows import ATTENTION, SOURCE
from specviz.lm.load import load
from specviz.lm.pages import ROOM, LargePages, shared_cache
from specviz.lm.products import MOST_ROWS, VECTOR_ROWS, most_rows
from tests.lm.tiny_models import error, random_parents, random_tokens, rounded_copy
from tests.processors.processors import on_every_processor

SHAPES = {
    "wide enough for tiles": {"hidden_size": 64, "intermediate_size": 96},
    "grouped": {"hidden_size": 64, "intermediate_size": 96, "num_key_value_heads": 2},
    "of wide heads": {"hidden_size": 64, "intermediate_size": 96, "num_key_value_heads": 2, "head_dim": 96},
    "of odd sizes": {"attention_bias": True, "mlp_bias": True, "head_dim": 10},
}
CONTEXT = 96
needs_compiler = pytest.mark.skipif(compiled.library(SOURCE) is None, reason="there is no compiler here")


@pytest.fixture(params=SHAPES.values(), ids=SHAPES.keys())
def folder(request, checkpoint):
    return str(checkpoint("llama", max_position_embeddings=CONTEXT, **request.param))


@pytest.fixture
def stored_short(folder, tmp_path):
    """The same checkpoint with every weight rounded to bfloat16."""
    return rounded_copy(folder, tmp_path / "short")


def plainly(model, *calls):
    """Logits of the last call, by the forward that needs no compiler."""
    compiled_pass, model._few_rows = model._few_rows, None
    try:
        return logits(model, *calls)
    finally:
        model._few_rows = compiled_pass


def logits(model, *calls):
    cache = model.new_cache()
    for tokens, parents in calls:
        last = model.forward(tokens, cache, parents)
    return last


@needs_compiler
@on_every_processor
@pytest.mark.parametrize(("dtype", "close"), [("float32", 1e-5), ("bfloat16", 0.05)])
def test_a_tree_on_a_text_gets_the_logits_of_the_plain_forward(folder, dtype, close):
    model = load(folder, dtype=dtype).model
    assert model._few_rows.takes(9)
    calls = (random_tokens(0, 7), None), (random_tokens(1, 9), random_parents(2, 7, 7, 9))
    plain = plainly(model, *calls)
    assert error(logits(model, *calls).float(), plain.float()) < close * plain.abs().max().item()


@needs_compiler
@on_every_processor
@torch.inference_mode()
def test_what_attention_adds_is_as_near_to_float32s_as_a_cache_in_bfloat16_is(stored_short):
    """In the logits of so small a model attention hardly shows."""
    short, whole = (load(stored_short, dtype=dtype).model for dtype in ("bfloat16", "float32"))
    short._few_rows.most = MOST_ROWS
    whole._few_rows, caches = None, [short.new_cache(), whole.new_cache()]
    for parents, n in ((None, 41), (random_parents(0, 41, 41, 19), 19)):
        x, added = torch.randn(n, short.shape.hidden_size).bfloat16().float(), []
        for model, cache in zip((short, whole), caches, strict=True):
            placement = cache.place([0] * n, parents, CONTEXT)
            added.append(model._runner(placement, cache)(x, bytes([ATTENTION, 0])) - x)
            cache.add(placement)
        assert error(*added) < 0.01 * added[1].abs().max().item()


@needs_compiler
@pytest.mark.parametrize("n", [17, 32, 33, 64])
@pytest.mark.parametrize("shape", ["chain", "tree"])
def test_a_pass_of_several_blocks_of_sixteen_rows_gets_the_logits_of_the_plain_forward(folder, stored_short, n, shape):
    parents = None if shape == "chain" else random_parents(n, 7, 7, n)
    calls = (random_tokens(0, 7), None), (random_tokens(n, n), parents)
    for checkpoint in (folder, stored_short):
        model = load(checkpoint, dtype="float32").model
        model._few_rows.most = MOST_ROWS
        plain = plainly(model, *calls)
        assert error(logits(model, *calls), plain) < 1e-5 * plain.abs().max().item()


@needs_compiler
@on_every_processor
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_row_is_the_same_bit_for_bit_alone_and_beside_others(folder, dtype):
    model = load(folder, dtype=dtype).model
    model._few_rows.most = MOST_ROWS
    text, following = random_tokens(0, 5), random_tokens(1, MOST_ROWS)
    together, alone = model.new_cache(), model.new_cache()
    for cache in (together, alone):
        model.forward(text, cache)
        cache.keep(range(5))
    rows = model.forward(following, together)
    assert torch.equal(rows, torch.cat([model.forward([token], alone) for token in following]))


@needs_compiler
def test_a_float32_model_is_read_in_bfloat16_where_it_is_stored_so_and_nowhere_else(folder, stored_short):
    model = load(stored_short, dtype="float32").model
    assert (model._few_rows.as_stored, model.info.read_dtype, model.info.dtype) == (True, "bfloat16", "float32")
    calls = (random_tokens(0, 7), None), (random_tokens(1, 9), random_parents(2, 7, 7, 9))
    plain = plainly(model, *calls)
    assert error(logits(model, *calls), plain) < 1e-5 * plain.abs().max().item()
    whole = load(folder, dtype="float32").model
    assert (whole._few_rows.as_stored, whole.info.read_dtype) == (False, "")
    assert not load(stored_short, dtype="bfloat16").model._few_rows.as_stored


@needs_compiler
@on_every_processor
def test_read_as_it_is_stored_a_row_is_the_same_bit_for_bit_alone_and_beside_others(stored_short):
    model = load(stored_short, dtype="float32").model
    model._few_rows.most = MOST_ROWS
    following = random_tokens(1, MOST_ROWS)
    rows = model.forward(following, model.new_cache())
    alone = model.new_cache()
    assert torch.equal(rows, torch.cat([model.forward([token], alone) for token in following]))


@needs_compiler
@on_every_processor
def test_read_as_it_is_stored_numbers_lose_nothing(stored_short):
    """Two numbers of bfloat16 for one of float32 would lose 1e-5."""
    model = load(stored_short, dtype="float32").model
    torch.manual_seed(0)
    x = torch.randn(3, model.shape.hidden_size)
    norm = torch.nn.functional.rms_norm(x, x.shape[1:], model._norm.weight, model.shape.norm_eps)
    with torch.inference_mode():
        exact = norm.double() @ model.head().double().T
        assert error(model.read_out(x), exact.float()) < 1e-6 * exact.abs().max().item()


@needs_compiler
def test_of_a_pass_the_last_row_alone_is_read_out_where_no_other_is_asked_for(folder):
    model = load(folder).model
    tokens = random_tokens(0, 6)
    whole, last = model.new_cache(), model.new_cache()
    assert torch.equal(model.forward(tokens, whole)[-1:], model.forward(tokens, last, last_only=True))


@needs_compiler
@on_every_processor
def test_around_bfloat16_weights_numbers_are_float32_unless_the_processor_multiplies_bfloat16(folder):
    """Rounded to bfloat16 before the product, as torch does, they lose 4e-3; two such numbers lose 1e-5."""
    model = load(folder, dtype="bfloat16").model
    torch.manual_seed(0)
    x = torch.randn(3, model.shape.hidden_size)
    norm = torch.nn.functional.rms_norm(x, x.shape[1:], model._norm.weight.float(), model.shape.norm_eps)
    with torch.inference_mode():
        rounded = norm.bfloat16() if compiled.library(SOURCE).rounds() else norm
        exact = rounded.double() @ model.head().double().T
        assert error(model.read_out(x), exact.float()) < 1e-4 * exact.abs().max().item()


@pytest.mark.parametrize(
    ("tiles", "rounding", "half", "most"),
    [(1, 0, True, MOST_ROWS), (1, 0, False, VECTOR_ROWS), (0, 0, True, VECTOR_ROWS), (0, 1, False, MOST_ROWS)],
    ids=["tiles", "tiles, float32 weights", "vectors", "vectors of Zen 4"],
)
def test_torchs_products_take_over_where_they_are_faster(tiles, rounding, half, most):
    processor = SimpleNamespace(tiles=lambda: tiles, rounds=lambda: rounding)
    assert most_rows(processor, half) == most


@needs_compiler
@pytest.mark.parametrize(("dtype", "width"), [("float32", 4), ("bfloat16", 2)])
def test_weights_are_asked_for_by_the_bytes_in_which_a_pass_reads_them(folder, monkeypatch, dtype, width):
    this = load(folder, dtype=dtype).model._few_rows
    layers = [getattr(layer, name) for layer in this._layers for name in ("qkv", "output", "gate_up", "down")]
    matrices = [*layers, this._model.head]
    most = width * sum(matrix.outs * matrix.ins for matrix in matrices)
    for kept_from, far in ((most, 1), (most + 1, 0)):
        monkeypatch.setattr(few_rows, "FAR", range(kept_from, most + 2))
        this._note_distance()
        assert {matrix.far for matrix in matrices} == {far}


@pytest.mark.parametrize(("stated", "megabytes"), [("16384K\n", 16), ("unknown\n", 32), (None, 32)])
def test_how_much_the_cache_holds_is_what_the_system_states_or_else_what_was_measured(tmp_path, stated, megabytes):
    if stated is not None:
        (tmp_path / "size").write_text(stated)
    assert shared_cache(tmp_path / "size") == megabytes << 20


@needs_compiler
def test_embeddings_are_looked_up_where_none_of_their_numbers_need_be_rounded(folder):
    single, half = (load(folder, dtype=dtype).model._few_rows for dtype in ("float32", "bfloat16"))
    table = torch.zeros(5, 64)
    known = []
    for this in (single, half):
        for words in (table, table.bfloat16()):
            this.look_up_in(words)
            known.append(this.looks_up)
    assert known == [True, True, False, True]


def flags_of(address):
    """What the system notes of the memory at this address (proc(5), `VmFlags`)."""
    inside = False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        first, _, last = line.partition(" ")[0].partition("-")
        if last:
            inside = int(first, 16) <= address < int(last, 16)
        elif inside and line.startswith("VmFlags:"):
            return line.split()[1:]
    raise AssertionError("nothing lies there.")


@needs_compiler
@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="there are no large pages here")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_a_pass_reads_lies_on_large_pages(stored_short, dtype):
    model = load(stored_short, dtype=dtype).model
    layer = model._layers[-1]
    for projection in (layer.qkv, layer.output, layer.gate_up, layer.down, model._head):
        read = projection.short or projection
        assert (read.weight.dtype, read.weight.data_ptr() % 64) == (torch.bfloat16, 0)
        assert "hg" in flags_of(read.weight.data_ptr())


@needs_compiler
def test_weights_that_fill_their_room_go_on_in_another():
    pages, above, below = LargePages(SOURCE), torch.ones(ROOM // 8, 1), torch.zeros(1, 1)
    joined = [pages.joined([above, below]) for _ in range(3)]
    assert [tensor.shape for tensor in joined] == [(ROOM // 8 + 1, 1)] * 3
    assert [(tensor.sum().item(), tensor[-1].item()) for tensor in joined] == [(ROOM // 8, 0)] * 3


@needs_compiler
@on_every_processor
def test_a_pass_is_as_wide_as_its_products(folder, stored_short):
    for checkpoint, half in ((folder, False), (stored_short, True)):
        model = load(checkpoint, dtype="float32").model
        assert model._few_rows.most == most_rows(compiled.library(SOURCE), half)


@needs_compiler
def test_a_wide_pass_takes_the_plain_forward(folder):
    few_rows = load(folder).model._few_rows
    assert [few_rows.takes(n) for n in (1, few_rows.most, few_rows.most + 1)] == [True, True, False]
