"""The EAGLE-3 head that is on the hub for Qwen3-1.7B: its layout, name by name, on a tiny target of the same family.

Names, formats and sizes are those of `AngelSlim/Qwen3-1.7B_eagle3`: its `config.json` (also in the repository of its
authors, `Tencent/AngelSlim`, under `angelslim/compressor/speculative/train/configs`), and its `pytorch_model.bin` of 15
tensors and 274,132,734 bytes, as those tell who read it. The head is a Llama block, though the target norms its queries
and keys. The hub cannot be asked here, so the file itself was never read.
"""

import json
from math import prod

import pytest
import torch
from torch.nn import functional

from specviz.drafters.base import DRAFTERS
from specviz.drafters.eagle import EagleDrafter, EagleModule
from specviz.drafters.learned import published
from specviz.drafters.learned.published import HEADS, published_eagle_folder, read_published_eagle
from specviz.errors import ModelError
from specviz.lm.load import load
from tests.engine.sessions import decoded
from tests.lm.conftest import checkpoint, one_thread
from tests.lm.tiny_models import VOCABULARY, random_tokens

__all__ = ["checkpoint", "one_thread"]

PUBLISHED = {
    "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "attention_bias": False, "head_dim": 128,
    "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 40960,
    "num_attention_heads": 16, "num_hidden_layers": 1, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
    "rope_scaling": None, "rope_theta": 1000000, "tie_word_embeddings": True, "torch_dtype": "float16",
    "vocab_size": 151936, "draft_vocab_size": 32000,
}  # fmt: skip
FILE_BYTES = 274_132_734
TINY = {
    **PUBLISHED, "head_dim": 8, "hidden_size": 24, "intermediate_size": 40, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 48, "vocab_size": VOCABULARY + 4, "draft_vocab_size": 12,
}  # fmt: skip
KEPT = torch.arange(1, VOCABULARY, 5)
"""the tokens that the tiny head can draft"""


def tensors_of(config: dict) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
    """Names, shapes and formats that the file of a head with this configuration has."""
    hidden, ffn, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    shapes = {
        "midlayer.self_attn.q_proj.weight": (queries, 2 * hidden),
        "midlayer.self_attn.k_proj.weight": (keys, 2 * hidden),
        "midlayer.self_attn.v_proj.weight": (keys, 2 * hidden),
        "midlayer.self_attn.o_proj.weight": (hidden, queries),
        "midlayer.mlp.gate_proj.weight": (ffn, hidden),
        "midlayer.mlp.up_proj.weight": (ffn, hidden),
        "midlayer.mlp.down_proj.weight": (hidden, ffn),
        "midlayer.hidden_norm.weight": (hidden,),
        "midlayer.input_layernorm.weight": (hidden,),
        "midlayer.post_attention_layernorm.weight": (hidden,),
        "norm.weight": (hidden,),
        "fc.weight": (hidden, 3 * hidden),
        "lm_head.weight": (config["draft_vocab_size"], hidden),
    }
    halves = {name: (shape, torch.float16) for name, shape in shapes.items()}
    maps = {"d2t": ((config["draft_vocab_size"],), torch.int64), "t2d": ((config["vocab_size"],), torch.bool)}
    return halves | maps


def tiny() -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(5)
    found = {
        name: (torch.randn(shape, generator=draw) / 4).half()
        for name, (shape, dtype) in tensors_of(TINY).items()
        if dtype == torch.float16
    }
    known = torch.zeros(TINY["vocab_size"], dtype=torch.bool).index_fill(0, KEPT, True)
    return found | {"d2t": KEPT - torch.arange(len(KEPT)), "t2d": known}


def write(folder, tensors, config=TINY):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    torch.save(tensors, folder / "pytorch_model.bin")
    return folder


@pytest.fixture(scope="module")
def target(checkpoint):
    found = load(str(checkpoint("qwen3", num_hidden_layers=8)), dtype="float32").model
    assert (found.info.architecture, found.info.adapter) == ("Qwen3ForCausalLM", "transformers")
    return found


def test_at_the_published_sizes_these_tensors_make_a_file_as_large_as_the_published_one():
    sizes = [prod(shape) * dtype.itemsize for shape, dtype in tensors_of(PUBLISHED).values()]
    assert len(sizes) == 15
    assert 0 < FILE_BYTES - sum(sizes) < 40_000, "names and gaps between tensors; every matrix and map is larger"


@torch.no_grad()
def test_the_head_reads_three_depths_and_computes_what_its_authors_do(target, tmp_path):
    """Fused states and the next token's embedding, normed apart and read side by side; the residual is not normed."""
    tensors = tiny()
    module = read_published_eagle(EagleModule, write(tmp_path / "head", tensors), target)
    assert module.depths() == (2, 4, 5), "before the layers 2, half and last but two, as their code takes them"
    w = {name: tensor.float() for name, tensor in tensors.items()}

    def norm(x, name):
        return functional.rms_norm(x, x.shape, w[name], 1e-6)

    cache = target.new_cache()
    target.watch(cache, (2, 4, 5))
    target.forward([7, 11], cache)
    state = w["fc.weight"] @ target.seen(cache)[0].flatten()
    word = target.embedding()[11]
    both = torch.cat([norm(word, "midlayer.input_layernorm.weight"), norm(state, "midlayer.hidden_norm.weight")])
    value = w["midlayer.self_attn.v_proj.weight"] @ both  # the only row there is to attend to
    attended = value.view(2, 1, 8).expand(2, 2, 8).flatten()  # two query heads share one of keys and values
    x = state + w["midlayer.self_attn.o_proj.weight"] @ attended
    inner = norm(x, "midlayer.post_attention_layernorm.weight")
    gate, up = (w[f"midlayer.mlp.{part}_proj.weight"] @ inner for part in ("gate", "up"))
    x = x + w["midlayer.mlp.down_proj.weight"] @ (functional.silu(gate) * up)
    wanted = w["lm_head.weight"] @ norm(x, "norm.weight")

    lean = module.lean()
    out = lean.run([11], lean.state_of(target.seen(cache)[:1]), lean.new_cache())
    logits = lean.logits(out)[0]
    torch.testing.assert_close(logits[KEPT], wanted, rtol=1e-3, atol=1e-3)
    others = torch.ones(VOCABULARY, dtype=torch.bool).index_fill(0, KEPT, False)
    assert torch.isneginf(logits[others]).all()


def like(target) -> dict[str, torch.Tensor]:
    """A head that often says what the target does: it adds little to the deepest state, and the target's head reads."""
    found = tiny()
    for name in ("self_attn.o_proj", "mlp.down_proj"):
        found[f"midlayer.{name}.weight"] *= 0.05
    found["fc.weight"] = torch.cat([torch.zeros(24, 48), torch.eye(24)], 1).half()
    found["norm.weight"] = torch.ones(24).half()
    found["lm_head.weight"] = target.head()[KEPT].half()
    return found


@pytest.mark.parametrize("branching", [(), (4, 3, 2)], ids=["chain", "tree"])
def test_the_text_is_that_of_plain_decoding(target, tmp_path, branching):
    folder = write(tmp_path / "head", like(target))
    taken, drafted = 0, set()
    for seed in range(3):
        prompt = random_tokens(seed, 6)
        plain, _ = decoded(target, DRAFTERS.get("none").of({}), prompt, 20)
        drafter = EagleDrafter.of({"weights": str(folder), "branching": branching})
        session, records = decoded(target, drafter, prompt, 20)
        assert session.tokens == plain.tokens
        taken += sum(len(record.verdict.path) for record in records)
        drafted |= {token for record in records for token in record.proposal.tree.tokens[1:]}
    assert drafted <= {*KEPT.tolist()}
    assert taken > 5, "a draft of which nothing is ever taken shows little"


WRONG = {
    r"lacks what 'block\.self_attn\.k_norm\.weight' is filled with": lambda t: t.update(
        {"midlayer.self_attn.q_norm.weight": torch.ones(8)}
    ),
    r"holds 'model\.embed_tokens\.weight', which is not known": lambda t: t.update(
        {"model.embed_tokens.weight": torch.ones(64, 24)}
    ),
    r"lacks what 'block\.mlp\.up_proj\.weight'": lambda t: t.pop("midlayer.mlp.up_proj.weight"),
    r"'fuse\.weight' should be \(24, 72\), but is \(24, 120\)": lambda t: t.update({"fc.weight": torch.ones(24, 120)}),
}


@pytest.mark.parametrize("reason", WRONG)
def test_a_file_that_is_another_is_refused_by_the_name_that_does_not_fit(target, tmp_path, reason):
    tensors = tiny()
    WRONG[reason](tensors)
    with pytest.raises(ModelError, match=f"the EAGLE weights in head cannot be used because .*{reason}"):
        read_published_eagle(EagleModule, write(tmp_path / "head", tensors), target)


class Runs:
    """What a pickle would do where it is opened without care."""

    def __reduce__(self):
        return print, ("this must not be run",)


def test_a_pickle_is_read_as_tensors_alone(target, tmp_path, capsys):
    for number, (content, said) in enumerate({"a": (Runs(), "cannot be read as tensors"), "b": ([1], "else")}.values()):
        folder = write(tmp_path / f"head{number}", content)
        with pytest.raises(ModelError, match=f"pytorch_model.bin .*{said}"):
            read_published_eagle(EagleModule, folder, target)
    assert capsys.readouterr().out == ""


def test_for_a_target_without_shipped_weights_the_heads_of_the_hub_stand_for_them(monkeypatch, tmp_path):
    asked = []

    def from_hub(name, patterns):
        asked.append(name)
        assert {"config.json", "pytorch_model.bin"} <= set(patterns)
        return tmp_path / "head"

    write(tmp_path / "head", {})
    monkeypatch.setattr(published, "from_hub", from_hub)
    assert HEADS == {"Qwen/Qwen3-1.7B": "AngelSlim/Qwen3-1.7B_eagle3"}
    for weights, target, expected in (
        ("shipped", "Qwen/Qwen3-1.7B", ["AngelSlim/Qwen3-1.7B_eagle3"]),
        ("shipped", "Qwen/Qwen3-1.7B@main", ["AngelSlim/Qwen3-1.7B_eagle3"]),
        ("shipped", "target", []),
        ("untrained", "Qwen/Qwen3-1.7B", []),
        ("some/head@v1", "target", ["some/head@v1"]),
        (str(tmp_path / "head"), "target", []),
    ):
        asked.clear()
        found = published_eagle_folder(weights, target)
        assert (asked, found is None) == (expected, not expected and weights in ("shipped", "untrained"))
