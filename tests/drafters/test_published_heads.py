"""Heads as others published them: their names mapped, their read-outs found, and what is none of them refused."""

import pytest
import torch
from safetensors.torch import save_file

from specviz.errors import ModelError
from specviz.lm.llama.model import LlamaModel
from tests.drafters.test_heads import LAYERS, drafted, session, target_of


@pytest.fixture(scope="module")
def target() -> LlamaModel:
    return target_of(LAYERS)


def published(target, heads=2, layers=1, own=True) -> dict[str, torch.Tensor]:
    size, vocabulary = target.info.hidden_size, target.info.vocab_size
    found = {}
    torch.manual_seed(6)
    for k in range(heads):
        for i in range(layers):
            found |= {f"{k}.{i}.linear.weight": torch.randn(size, size), f"{k}.{i}.linear.bias": torch.randn(size)}
        if own:
            found[f"{k}.{layers}.weight"] = torch.randn(vocabulary, size)
    return found


@pytest.mark.parametrize("kind", ["safetensors", "pt"])
def test_published_heads_load_with_their_names_mapped(target, tmp_path, kind):
    tensors = published(target, heads=3, layers=2)
    file = tmp_path / f"medusa_lm_head.{kind}"
    (save_file if kind == "safetensors" else torch.save)(tensors, file)
    this, _ = drafted(target, "medusa", {"weights": str(tmp_path), "gamma": 4}, tokens=6)
    module = this.method.drafter.module()
    assert (module.options.heads, module.options.layers, module.options.own_head) == (3, 2, True)
    assert this.method.drafter.options.gamma == 3
    state = torch.randn(target.info.hidden_size)
    with torch.inference_mode():
        found = module.logits(state)[1]
        x = state
        for i in range(2):
            x = x + torch.nn.functional.silu(tensors[f"1.{i}.linear.weight"] @ x + tensors[f"1.{i}.linear.bias"])
        torch.testing.assert_close(found, tensors["1.2.weight"] @ x, atol=1e-3, rtol=1e-5)


def test_published_heads_without_a_read_out_use_the_targets(target, tmp_path):
    save_file(published(target, own=False), tmp_path / "medusa_lm_head.safetensors")
    this, _ = drafted(target, "medusa", {"weights": str(tmp_path)}, tokens=3)
    assert not this.method.drafter.module().options.own_head


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda found: found | {"0.0.norm.weight": torch.zeros(2)},
            r"holds '0\.0\.norm\.weight', so these are no Medusa",
        ),
        (
            lambda found: {name: one for name, one in found.items() if name != "1.0.linear.bias"},
            r"lacks '1\.0\.linear\.bias'",
        ),
        (lambda found: {"embed": torch.zeros(2)}, "holds 'embed'"),
        (
            lambda found: found | {"0.1.weight": torch.zeros(9, 24)},
            "do not fit random-target .hidden size 24, 64 tokens",
        ),
    ],
    ids=["unknown", "missing", "foreign", "size"],
)
def test_what_is_no_published_head_is_refused(target, tmp_path, change, sentence):
    save_file(change(published(target)), tmp_path / "medusa_lm_head.safetensors")
    with pytest.raises(ModelError, match=sentence):
        session(target, "medusa", {"weights": str(tmp_path)})


def test_a_pickle_that_holds_more_than_tensors_is_not_executed(target, tmp_path):
    class Evil:
        def __reduce__(self):
            return (print, ("executed",))

    torch.save({"0.0.linear.weight": Evil()}, tmp_path / "medusa_lm_head.pt")
    with pytest.raises(ModelError, match=r"medusa_lm_head\.pt cannot be read as tensors"):
        session(target, "medusa", {"weights": str(tmp_path)})
