"""Blocks that others published: a checkpoint drafts here what transformers' own DFlash drafts, round by round."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM
from transformers.generation.candidate_generator import DFlashTokenCandidateGenerator
from transformers.models.muse_glimmer_assistant.configuration_muse_glimmer_assistant import MuseGlimmerAssistantConfig
from transformers.models.muse_glimmer_assistant.modeling_muse_glimmer_assistant import MuseGlimmerAssistantModel

from specviz.drafters.base import DRAFTERS
from specviz.drafters.learned.flash_published import BESIDE, CONTEXT
from specviz.errors import ModelError
from specviz.lm.load import load
from tests.drafters.test_heads import taught
from tests.engine import sessions
from tests.lm.tiny_models import write_tokenizer

VOCABULARY, HIDDEN, BLOCK, TOKENS = 48, 32, 5, 18
PROMPT = [3, 14, 15, 9, 26, 5]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A target and a block, both random; the block's weights are large enough to guess something."""
    torch.manual_seed(1)
    root = tmp_path_factory.mktemp("published")
    target = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=HIDDEN,
            intermediate_size=64,
            num_hidden_layers=5,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            bos_token_id=0,
            eos_token_id=1,
        )
    )
    block = MuseGlimmerAssistantModel(
        MuseGlimmerAssistantConfig(
            hidden_size=HIDDEN,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            max_position_embeddings=128,
            rope_parameters={"rope_type": "default", "rope_theta": 20000.0},
            layer_types=["full_attention"] * 2,
            block_size=BLOCK,
            mask_token_id=7,
            target_layer_ids=[1, 3],
        )
    )
    with torch.no_grad():
        for parameter in [*target.parameters(), *block.parameters()]:
            if parameter.ndim > 1:
                parameter.mul_(8.0)
    target.eval().save_pretrained(root / "target")
    block.eval().save_pretrained(root / "block")
    write_tokenizer(root / "target", VOCABULARY)
    return root


def drafted_there(folders) -> list[tuple[list[int], list[int]]]:
    """Of each round the text and what was drafted behind it, by transformers."""
    target = LlamaForCausalLM.from_pretrained(folders / "target", dtype=torch.float32).eval()
    block = MuseGlimmerAssistantModel.from_pretrained(folders / "block", dtype=torch.float32).eval()
    rounds, ask = [], DFlashTokenCandidateGenerator.get_candidates

    def noted(self, input_ids, *given, **named):
        candidates, logits = ask(self, input_ids, *given, **named)
        text = input_ids[0].tolist()
        rounds.append((text, candidates[0, len(text) :].tolist()))
        return candidates, logits

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DFlashTokenCandidateGenerator, "get_candidates", noted)
        config = GenerationConfig(max_new_tokens=TOKENS, do_sample=False, speculation_type="dflash", eos_token_id=None)
        target.generate(torch.tensor([PROMPT]), assistant_model=block, generation_config=config)
    return [(text, candidates) for text, candidates in rounds if candidates]


def session(folders, weights="block", gamma=BLOCK - 1):
    target = load(str(folders / "target")).model
    options = {"weights": str(folders / weights), "gamma": gamma}
    return sessions.session(target, DRAFTERS.get("dflash").of(options), PROMPT, TOKENS, 0.0)


def test_a_published_block_drafts_what_transformers_drafts_with_it(folders):
    this = session(folders)
    this.begin()
    here = {}
    while this.finished is None:
        text = tuple(this.tokens)
        here[text] = list(this.round().proposal.tree.tokens[1:])
    there = drafted_there(folders)
    compared = [(candidates, here[tuple(text)]) for text, candidates in there if tuple(text) in here]
    assert len(compared) > 5
    for candidates, drafted in compared:
        assert drafted == candidates[: len(drafted)]
    assert sum(len(drafted) for _, drafted in compared) > 20


def altered(folders, tmp_path, name, **changes):
    folder = tmp_path / name
    folder.mkdir()
    config = json.loads((folders / "block" / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps(config))
    save_file(load_file(folders / "block" / "model.safetensors"), folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "llama"}, "its kind is 'llama', and known are muse_glimmer_assistant, qwen3"),
        ({"speculators_model_type": "eagle3"}, "its layout is 'eagle3' of speculators, and known of those is 'dflash'"),
        ({"layer_types": ["sliding_attention"] * 2}, "its layers see [^ ]+ tokens alone, and target reads more"),
        ({"use_sliding_window": True, "layer_types": None, "sliding_window": 64}, "its layers see 64 tokens alone"),
        ({"final_logit_softcapping": 20.0}, "it sets final_logit_softcapping, which is not known here"),
        ({"conv_kernel_size": 3, "conv_group_size": 8}, "its convolution has 3 taps, and known are 2"),
        ({"conv_kernel_size": 2, "conv_group_size": 8}, "it lacks 'layers.0.convolutions.0.base'"),
        ({"selector_rank": 6, "selector_top_k": 5}, "it lacks 'selector.slot.weight'"),
        ({"is_causal": True}, "it sets is_causal, which is not known here"),
        ({"hidden_size": 64}, "its hidden size is 64, and that of target is 32"),
        ({"intermediate_size": 40}, r"'layers.0.mlp.gate_proj.weight' should be \(40, 32\), but is \(48, 32\)"),
        ({"num_hidden_layers": 1}, "it holds 'layers.1.input_layernorm.weight', which is not known here"),
        ({"mask_token_id": 99}, "its mask is the token 99, and target has 48"),
        ({"mask_token_id": VOCABULARY}, "its mask is the token 48, and target has 48"),
        ({"block_size": None}, "its config.json lacks or misstates"),
    ],
)
def test_what_is_not_known_here_is_refused_by_its_name(folders, tmp_path, changes, reason):
    altered(folders, tmp_path, "other", **changes)
    target = load(str(folders / "target")).model
    with pytest.raises(ModelError, match=reason):
        sessions.session(target, DRAFTERS.get("dflash").of({"weights": str(tmp_path / "other")}), PROMPT, 4, 0.0)


def module_of(folders, name, folder):
    target = load(str(folders / "target")).model
    drafter = DRAFTERS.get(name).of({"weights": str(folder)})
    return drafter.load(target), target


def written(folder, config, tensors):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    return folder


def as_speculators(folders, tmp_path, tensors=None, **changes):
    """The same block: sizes in a part of their own, layers counted one further on."""
    own = json.loads((folders / "block" / "config.json").read_text())
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
             "head_dim", "rms_norm_eps", "rope_parameters", "layer_types")  # fmt: skip
    config = {
        "speculators_model_type": "dflash",
        "architectures": ["DFlashSpeculator"],
        "transformer_layer_config": {name: own[name] for name in names},
        "block_size": BLOCK,
        "mask_token_id": 7,
        "aux_hidden_state_layer_ids": [2, 4],
        **changes,
    }
    block = load_file(folders / "block" / "model.safetensors")
    named = {CONTEXT.get(name, name): tensor for name, tensor in block.items()}
    return written(tmp_path / "speculators", config, named | (tensors or {}))


def test_the_same_block_in_the_layout_of_speculators_is_the_same_module(folders, tmp_path):
    here, _ = module_of(folders, "dflash", as_speculators(folders, tmp_path))
    there, _ = module_of(folders, "dflash", folders / "block")
    assert here.options == there.options
    assert here.options.depths == (2, 4)
    assert all(torch.equal(tensor, there.state_dict()[name]) for name, tensor in here.state_dict().items())


def test_a_block_of_speculators_that_drafts_some_tokens_says_which(folders, tmp_path):
    kept = torch.tensor([0, 1, 5, 9, 40])
    _, target = module_of(folders, "dflash", folders / "block")
    maps = {
        "d2t": kept - torch.arange(5),
        "t2d": torch.zeros(VOCABULARY, dtype=torch.bool).index_fill(0, kept, True),
        "lm_head.weight": target.head()[kept].clone(),
    }
    module, _ = module_of(folders, "dflash", as_speculators(folders, tmp_path, maps, draft_vocab_size=5))
    assert module.map.tokens.tolist() == kept.tolist()
    assert torch.equal(module.read_head(), target.head()[kept])


def as_deepspec(folders, tmp_path, module, tensors=None, **changes):
    """A module of SpecViz's in DeepSpec's layout, whose mask is a token."""
    options, sizes = module.options, module.options.sizes(HIDDEN)
    network = {name: tensor for name, tensor in module.network.state_dict().items() if name != "mask"}
    config = {
        "architectures": ["Qwen3DSparkModel"],
        "model_type": "qwen3",
        "hidden_size": HIDDEN,
        "intermediate_size": sizes.ffn,
        "num_hidden_layers": options.layers,
        "num_attention_heads": sizes.heads,
        "num_key_value_heads": sizes.kv_heads,
        "head_dim": sizes.head_size,
        "rms_norm_eps": sizes.eps,
        "rope_theta": sizes.theta,
        "block_size": options.slots,
        "mask_token_id": 7,
        "target_layer_ids": [depth - 1 for depth in options.depths],
        "markov_rank": getattr(options, "rank", 0),
        "markov_head_type": "vanilla",
        **changes,
    }
    copies = {"embed_tokens.weight": module.embedding, "lm_head.weight": module.head}
    return written(tmp_path / "deepspec", config, network | copies | (tensors or {}))


def beside(module):
    return {name: module.state_dict()[own] for name, own in BESIDE.items()}


def block_of(folders, name):
    target = load(str(folders / "target")).model
    module = taught(name, target, slots=3, layers=1, depths=(1, 4), heads=4, kv_heads=2, head_size=8, ffn=24)
    with torch.no_grad():
        module.network.mask.copy_(module.embedding[7])
    return module


@pytest.mark.parametrize("name", ["dflash", "dspark"])
def test_a_block_in_the_layout_of_deepspec_is_the_module_that_it_was_written_from(folders, tmp_path, name):
    written_from = block_of(folders, name)
    tensors = beside(written_from) if name == "dspark" else {}
    module, _ = module_of(folders, name, as_deepspec(folders, tmp_path, written_from, tensors))
    assert module.options == written_from.options
    own = {name for name in written_from.state_dict() if not name.startswith("blind.")}  # nobody else's
    assert all(torch.equal(module.state_dict()[name], written_from.state_dict()[name]) for name in own)


def test_a_guess_that_was_made_without_the_table_reads_nothing_of_it(folders, tmp_path):
    written_from = block_of(folders, "dspark")
    tensors = beside(written_from)
    tensors["confidence_head.proj.weight"] = tensors["confidence_head.proj.weight"][:, :HIDDEN]
    module, _ = module_of(folders, "dspark", as_deepspec(folders, tmp_path, written_from, tensors))
    assert torch.equal(module.confidence.weight[:, :HIDDEN], written_from.confidence.weight[:, :HIDDEN])
    assert not module.confidence.weight[:, HIDDEN:].any()


@pytest.mark.parametrize(
    ("drafter", "changes", "tensors", "reason"),
    [
        ("dspark", {"markov_head_type": "rnn"}, {}, "its table is 'rnn', and known is 'vanilla'"),
        ("dflash", {}, {}, "it is a block of 'dspark', and 'dflash' was asked for"),
        ("dspark", {"markov_rank": 0}, {}, "it is a block of 'dflash', and 'dspark' was asked for"),
        ("dspark", {"target_layer_ids": [-1, 3]}, {}, "lacks or misstates 'target_layer_ids'"),
        ("dspark", {}, {"lm_head.weight": torch.ones(VOCABULARY, HIDDEN)}, "its 'lm_head.weight' is not that of"),
        ("dspark", {}, {"gate.weight": torch.ones(1)}, "it holds 'gate.weight', which is not known here"),
    ],
)
def test_what_of_deepspec_is_not_known_here_is_refused_by_its_name(
    folders, tmp_path, drafter, changes, tensors, reason
):
    written_from = block_of(folders, "dspark")
    folder = as_deepspec(folders, tmp_path, written_from, beside(written_from) | tensors, **changes)
    with pytest.raises(ModelError, match=reason):
        module_of(folders, drafter, folder)


def test_maps_of_speculators_that_disagree_and_other_projectors_are_refused(folders, tmp_path):
    maps = {"d2t": torch.tensor([0, 1]), "t2d": torch.zeros(VOCABULARY, dtype=torch.bool)}
    with pytest.raises(ModelError, match="its maps d2t and t2d do not name the same tokens"):
        module_of(folders, "dflash", as_speculators(folders, tmp_path, maps))
    (tmp_path / "a").mkdir()
    padding = {"d2t": torch.tensor([0, 47]), "t2d": torch.zeros(49, dtype=torch.bool)}
    padding["t2d"][[0, 48]] = True  # the same tokens, of which the target has not the last
    with pytest.raises(ModelError, match="its maps d2t and t2d do not name the same tokens of the target"):
        module_of(folders, "dflash", as_speculators(folders, tmp_path / "a", padding))
    (tmp_path / "b").mkdir()
    with pytest.raises(ModelError, match="its layout is 'dflash domino' of speculators"):
        module_of(folders, "dflash", as_speculators(folders, tmp_path / "b", projector_type="domino"))


SECOND_NAMES = (("convolutions.0", "attention_conv"), ("convolutions.1", "mlp_conv"), (".base", ".base_kernel"),
                (".changes.", ".kernel_projection."))  # fmt: skip


def as_dflash2(folders, tmp_path, **changes):
    """A block with convolution and selector in the layout of DFlash 2: tables stand upright, windows are longer than
    any text, and the mask is a token."""
    target = load(str(folders / "target")).model
    shape = {"slots": BLOCK - 1, "from_root": False, "layers": 2, "depths": (2, 4), "heads": 4, "kv_heads": 2,
             "head_size": 8, "ffn": 48, "convolution": 8, "selector_rank": 6, "selected": 5,
             "selector_tables": True}  # fmt: skip
    module = taught("dflash", target, **shape)
    with torch.no_grad():
        module.network.mask.copy_(module.embedding[7])
    tensors = {
        "candidate_selector.hidden_projection.weight": module.selector.slot.weight,
        "candidate_selector.predecessor_codebook": module.selector.before.weight.T,
        "candidate_selector.successor_codebook": module.selector.after.weight.T,
    }
    for name, tensor in module.network.state_dict().items():
        for own, theirs in SECOND_NAMES:
            name = name.replace(own, theirs) if "convolutions" in name or "_conv" in name else name
        tensors |= {} if name == "mask" else {name: tensor}
    config = {
        "architectures": ["DFlash2DraftModel"],
        "model_type": "qwen3",
        "hidden_size": HIDDEN,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "rms_norm_eps": module.options.eps,
        "rope_theta": module.options.theta,
        "is_causal": False,
        "layer_types": ["sliding_attention"] * 2,
        "use_sliding_window": True,
        "sliding_window": 256,
        "dflash_config": {"block_size": BLOCK, "conv_group_size": 8, "conv_kernel_size": 2, "mask_token_id": 7,
                          "selector_rank": 6, "selector_top_k": 5, "target_layer_ids": [1, 3]},
        **changes,
    }  # fmt: skip
    return module, written(tmp_path / "dflash2", config, {name: tensor.detach() for name, tensor in tensors.items()})


def test_a_block_in_the_layout_of_dflash_2_is_the_module_that_it_was_written_from(folders, tmp_path):
    written_from, folder = as_dflash2(folders, tmp_path)
    module, _ = module_of(folders, "dflash", folder)
    assert module.options == written_from.options
    assert all(torch.equal(tensor, written_from.state_dict()[name]) for name, tensor in module.state_dict().items())


def test_rows_of_the_selector_that_pad_the_vocabulary_are_left_out(folders, tmp_path):
    written_from, folder = as_dflash2(folders, tmp_path)
    tensors = load_file(folder / "model.safetensors")
    for name in ("candidate_selector.predecessor_codebook", "candidate_selector.successor_codebook"):
        tensors[name] = torch.cat([tensors[name], torch.ones(4, 6)])
    save_file(tensors, folder / "model.safetensors")
    module, _ = module_of(folders, "dflash", folder)
    assert torch.equal(module.selector.before.weight, written_from.selector.before.weight)
    assert torch.equal(module.selector.after.weight, written_from.selector.after.weight)


def test_a_block_of_dflash_2_drafts_by_its_tables_behind_the_token_before(folders, tmp_path):
    """Of each slot's 5 likeliest tokens the one that scores best by the published tensors, from the root on."""
    _, folder = as_dflash2(folders, tmp_path)
    this = session(folders, folder)
    this.begin()
    drafter, tensors = this.method.drafter, load_file(folder / "model.safetensors")
    project, before, after = (tensors[f"candidate_selector.{name}"] for name in
                              ("hidden_projection.weight", "predecessor_codebook", "successor_codebook"))  # fmt: skip
    compared = 0
    while this.finished is None:
        root = this.tokens[-1]
        tokens = this.round().proposal.tree.tokens[1:]
        for slot, token in enumerate(tokens):
            unary, candidates = drafter.slots[slot].topk(5)
            scores = unary + (after[candidates] * before[root] * (project @ drafter.states[slot])).sum(-1)
            assert token == int(candidates[scores.argmax()])
            root, compared = token, compared + 1
    assert compared > 20


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sliding_window": 130}, "its layers see 130 tokens alone, and target reads more"),
        ({"is_causal": None}, "its layers see 256 tokens alone, and target reads more"),
        ({"output_multiplier": 0.2}, "it sets output_multiplier, which is not known here"),
    ],
)
def test_what_of_dflash_2_is_not_known_here_is_refused_by_its_name(folders, tmp_path, changes, reason):
    _, folder = as_dflash2(folders, tmp_path, **changes)
    with pytest.raises(ModelError, match=reason):
        module_of(folders, "dflash", folder)
