"""Published EAGLE weights: tiny checkpoints in each layout, mapped name by name, anything unknown refused."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.models.qwen3.modeling_qwen3 import apply_rotary_pos_emb

from specviz.drafters.eagle import EagleDrafter, EagleModule
from specviz.drafters.learned.eagle_network import EagleShape
from specviz.drafters.learned.module import TargetParts, fresh
from specviz.drafters.learned.published import is_published, read_published_eagle, write_speculators
from specviz.errors import ModelError
from specviz.proof.small_models import small_pair
from tests.drafters.asking import batch_of
from tests.drafters.test_eagle import TARGET_SHAPE, run, text

HIDDEN, HEADS, FFN = 24, 2, 20
SIZES = {"hidden_size": HIDDEN, "num_attention_heads": HEADS, "intermediate_size": FFN, "num_hidden_layers": 1}


@pytest.fixture(scope="module")
def target():
    return small_pair(shape=replace(TARGET_SHAPE, layers=6))[0]


def layer(prefix: str, inputs: int) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(1)
    sizes = {
        **{f"self_attn.{one}_proj": (HIDDEN, inputs) for one in "qkv"},
        "self_attn.o_proj": (HIDDEN, HIDDEN),
        "mlp.gate_proj": (FFN, HIDDEN),
        "mlp.up_proj": (FFN, HIDDEN),
        "mlp.down_proj": (HIDDEN, FFN),
    }
    found = {f"{prefix}{name}.weight": torch.randn(size, generator=draw) / 5 for name, size in sizes.items()}
    return found | {f"{prefix}post_attention_layernorm.weight": torch.rand(HIDDEN, generator=draw)}


def eagle1(target) -> tuple[dict, dict]:
    tensors = layer("layers.0.", HIDDEN) | {
        "fc.weight": torch.randn(HIDDEN, 2 * HIDDEN) / 5,
        "fc.bias": torch.randn(HIDDEN),
        "embed_tokens.weight": target.embedding().clone(),
    }
    return {"architectures": ["LlamaForCausalLM"], **SIZES}, tensors


def eagle3(target, prefix="midlayer.") -> tuple[dict, dict]:
    kept = torch.tensor([0, 3, 4, 7, 20, 39])
    tensors = layer(prefix, 2 * HIDDEN) | {
        "fc.weight": torch.randn(HIDDEN, 3 * HIDDEN) / 5,
        f"{prefix}hidden_norm.weight": torch.rand(HIDDEN),
        f"{prefix}input_layernorm.weight": torch.rand(HIDDEN),
        "norm.weight": torch.rand(HIDDEN),
        "lm_head.weight": torch.randn(6, HIDDEN),
        "d2t": kept - torch.arange(6),
        "t2d": torch.zeros(44, dtype=torch.bool).index_fill(0, kept, True),  # four rows pad the vocabulary
    }
    return {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 6, **SIZES}, tensors


def speculators(target) -> tuple[dict, dict]:
    _, tensors = eagle3(target, "layers.0.")
    config = {"speculators_model_type": "eagle3", "transformer_layer_config": SIZES, "draft_vocab_size": 6}
    return {**config, "eagle_aux_hidden_state_layer_ids": [1, 2, 5]}, tensors


def deepspec(target) -> tuple[dict, dict]:
    """Five depths, counted from 0, a head of all tokens, and norms of queries and keys."""
    tensors = layer("layers.0.", 2 * HIDDEN) | {
        "fc.weight": torch.randn(HIDDEN, 5 * HIDDEN) / 5,
        **{f"layers.0.{name}.weight": torch.rand(HIDDEN) for name in ("hidden_norm", "input_layernorm")},
        **{f"layers.0.self_attn.{one}_norm.weight": 0.5 + torch.rand(HIDDEN // HEADS) for one in "qk"},
        "norm.weight": torch.rand(HIDDEN),
        "lm_head.weight": target.head().clone(),
        "embed_tokens.weight": target.embedding().clone(),
    }
    config = {"architectures": ["Qwen3Eagle3Model"], "model_type": "qwen3", "ttt_length": 7, "step_loss_decay": 0.8}
    return {**config, "target_layer_ids": [0, 1, 2, 3, 5], **SIZES}, tensors


LAYOUTS = {"eagle1": eagle1, "eagle3": eagle3, "speculators": speculators, "deepspec": deepspec}


DEPTHS = {"eagle1": (6,), "eagle3": (2, 3, 3), "speculators": (1, 2, 5), "deepspec": (1, 2, 3, 4, 6)}


def write(folder, config, tensors):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_a_folder_with_a_card_of_ours_is_not_published_weights_whatever_else_it_holds(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert is_published(tmp_path)
    (tmp_path / "module.json").write_text("{}")
    assert not is_published(tmp_path)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_drafts_with_its_own_weights(target, tmp_path, layout):
    folder = write(tmp_path / "published", *LAYOUTS[layout](target))
    assert is_published(folder)
    module = read_published_eagle(EagleModule, folder, target)
    tensors = load_file(folder / "model.safetensors")
    block = next(name for name in tensors if name.endswith("q_proj.weight"))
    assert torch.equal(module.block.self_attn.q_proj.weight, tensors[block])
    joined = module.fc if layout == "eagle1" else module.fuse
    assert torch.equal(joined.weight, tensors["fc.weight"])
    assert module.depths() == DEPTHS[layout]
    _, records = run(target, EagleDrafter.of({"weights": str(folder)}), text(5))
    assert max(len(record.proposal.tree) for record in records) == 5
    if layout in ("eagle3", "speculators"):
        assert module.map.tokens.tolist() == [0, 3, 4, 7, 20, 39]
        drafted = {token for record in records for token in record.proposal.tree.tokens[1:]}
        assert drafted <= {0, 3, 4, 7, 20, 39}


@torch.no_grad()
def test_eagle_1_is_what_its_authors_compute(target, tmp_path):
    """fc on [embedding; state] with a bias, the layer without its first norm, the target's own head."""
    config, tensors = eagle1(target)
    module = read_published_eagle(EagleModule, write(tmp_path / "one", config, tensors), target)
    batch = batch_of(target, text(2), module.depths())
    x = torch.cat([target.embedding()[batch.tokens[0, 1]], batch.features[0, 0, 0]])
    x = tensors["fc.weight"] @ x + tensors["fc.bias"]
    x = x + tensors["layers.0.self_attn.o_proj.weight"] @ (tensors["layers.0.self_attn.v_proj.weight"] @ x)
    normed = x / (x.square().mean() + 1e-6).sqrt() * tensors["layers.0.post_attention_layernorm.weight"]
    gate, up, down = (tensors[f"layers.0.mlp.{one}_proj.weight"] for one in ("gate", "up", "down"))
    x = x + down @ (torch.nn.functional.silu(gate @ normed) * (up @ normed))
    torch.testing.assert_close(module.drafts(batch, 1)[0][0, 0], target.head() @ x, rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_an_eagle_3_head_of_deepspec_is_what_it_computes(target, tmp_path):
    """Two tokens: state and word normed side by side, queries and keys normed head by head and then turned."""
    config, tensors = deepspec(target)
    module = read_published_eagle(EagleModule, write(tmp_path / "one", config, tensors), target)
    batch = batch_of(target, text(3), module.depths())
    block = {name.removeprefix("layers.0."): tensor for name, tensor in tensors.items()}

    def normed(x, weight):
        return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)

    states = batch.features[0, :2].flatten(1) @ tensors["fc.weight"].T  # [2, H]
    words = target.embedding()[batch.tokens[0, 1:]]
    parts = normed(words, block["input_layernorm.weight"]), normed(states, block["hidden_norm.weight"])
    inputs = torch.cat(parts, -1)
    size = HIDDEN // HEADS
    queries, keys, values = (
        (inputs @ block[f"self_attn.{one}_proj.weight"].T).view(2, HEADS, size).transpose(0, 1) for one in "qkv"
    )
    angles = torch.arange(2.0)[:, None] / 10000.0 ** (torch.arange(0, size, 2) / size)
    cos, sin = (part.repeat(1, 2) for part in (angles.cos(), angles.sin()))
    queries, keys = apply_rotary_pos_emb(
        normed(queries, block["self_attn.q_norm.weight"])[None],
        normed(keys, block["self_attn.k_norm.weight"])[None],
        cos[None],
        sin[None],
    )
    read = torch.nn.functional.scaled_dot_product_attention(queries, keys, values[None], is_causal=True)[0]
    x = states + read.transpose(0, 1).flatten(1) @ block["self_attn.o_proj.weight"].T
    after = normed(x, block["post_attention_layernorm.weight"])
    gate, up, down = (block[f"mlp.{one}_proj.weight"] for one in ("gate", "up", "down"))
    x = x + (torch.nn.functional.silu(after @ gate.T) * (after @ up.T)) @ down.T
    wanted = normed(x, tensors["norm.weight"]) @ target.head().T
    torch.testing.assert_close(module.drafts(batch, 1)[0][0], wanted, rtol=1e-4, atol=1e-4)


def broken(target, change):
    config, tensors = eagle3(target)
    change(config, tensors)
    return config, tensors


REFUSALS = {
    r"holds 'extra\.weight', which is not known": lambda c, t: t.update({"extra.weight": torch.zeros(1)}),
    r"lacks what 'norm\.weight'": lambda c, t: t.pop("norm.weight"),
    r"'fuse\.weight' should be": lambda c, t: t.update({"fc.weight": torch.zeros(HIDDEN, 2 * HIDDEN)}),
    "does not say for which": lambda c, t: t.pop("d2t"),
    "says of other tokens": lambda c, t: t.update(t2d=torch.ones(44, dtype=torch.bool)[:40]),
    "sets fc_norm, which is not known": lambda c, t: c.update(fc_norm=True),
    "sets fc_norm_perslice, which is not known": lambda c, t: c.update(fc_norm_perslice=True),
    r"holds 'midlayer\.self_attn\.q_proj\.bias'": lambda c, t: t.update(
        {"midlayer.self_attn.q_proj.bias": torch.ones(1)}
    ),
    "hidden size is 32": lambda c, t: c.update(hidden_size=32),
    "has 2 layers, and one is known": lambda c, t: c.update(num_hidden_layers=2),
    "rotary embedding is scaled": lambda c, t: c.update(rope_scaling={"rope_type": "llama3"}),
    "its kind is 'dflash'": lambda c, t: c.update(speculators_model_type="dflash"),
    "lacks or misstates 'intermediate_size'": lambda c, t: c.pop("intermediate_size"),
    "made for another target": lambda c, t: t.update({"embed_tokens.weight": torch.ones(40, HIDDEN)}),
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_what_does_not_fit_is_refused_with_the_reason(target, tmp_path, reason):
    folder = write(tmp_path / "published", *broken(target, REFUSALS[reason]))
    with pytest.raises(ModelError, match=reason):
        read_published_eagle(EagleModule, folder, target)


def test_ours_come_back_from_the_speculators_layout(target, tmp_path):
    shape = EagleShape(wiring="eagle3", depths=(1, 2, 5), draft_tokens=12, scale_embedding=False)
    module = fresh(EagleModule, TargetParts.of(target), shape)
    write_speculators(module, tmp_path / "out")
    again = read_published_eagle(EagleModule, tmp_path / "out", target)
    state = again.state_dict()
    assert all(torch.equal(tensor, state[name]) for name, tensor in module.state_dict().items())
    batch = batch_of(target, text(8), module.depths())
    for one, two in zip(module.drafts(batch, 3), again.drafts(batch, 3), strict=True):
        torch.testing.assert_close(one, two)
    with pytest.raises(ModelError, match="holds EAGLE-3's wiring with three depths"):
        write_speculators(fresh(EagleModule, TargetParts.of(target), EagleShape()), tmp_path / "other")
