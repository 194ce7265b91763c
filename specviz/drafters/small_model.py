"""A small language model made on the target's own embedding and head: little enough to learn to draft in minutes.

    token ─► target's embedding, narrowed ─► a few narrow blocks ─► widened ─► target's head ─► next token …

It reads tokens alone, as the drafter `model` does; what it has of the target is the two largest matrices of a small
model, which need no training. A network is called by its layers and its width, "4x160".

For the study of depth and width there are networks of six depths at one size, twice: what "equally many parameters"
means is open at this scale, so one family counts what lies between embedding and head, the other all that the network
runs with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal
from specviz.drafters.capabilities import Attaches, Begins
from specviz.drafters.drafting.draft_model import ModelDraft
from specviz.drafters.drafting.growing import GrowingDrafter, ShapeOptions
from specviz.drafters.learned.eagle_layers import BlockShape, DraftBlock, Memory
from specviz.drafters.learned.head_networks import NOTHING, Places
from specviz.drafters.learned.module import MODULES, DrafterModule, FeatureBatch, TargetParts
from specviz.drafters.learned.weights import WEIGHTS_HELP, module_for, shown_weights
from specviz.errors import ModelError, OptionError
from specviz.lm.base import Cache, GivesFeatures, LanguageModel
from specviz.lm.llama.model import LlamaModel
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.vocabulary import TrimmedModel
from specviz.options import Options, option
from specviz.protocol.trainings import SHIPPED

DEPTHS = (1, 2, 3, 4, 8, 16)
BLOCKS, WHOLE = "blocks", "whole"
"""the families: equal parameters of the blocks, or of the network as it runs, embedding and head with its width"""
WIDTHS: Mapping[str, tuple[int, ...]] = {BLOCKS: (320, 224, 184, 160, 112, 80), WHOLE: (112, 104, 96, 88, 76, 60)}
"""by depth, as in DEPTHS; chosen for a vocabulary of 4096, to within some percent"""
USUAL = "2x128"
"""what `specviz train module small_model` trains unless it is told otherwise"""


def name_of(layers: int, size: int) -> str:
    """What the network of this shape is called."""
    return f"{layers}x{size}"


def shape_of(name: str) -> tuple[int, int]:
    """Layers and size of a network's name."""
    layers, _, size = (USUAL if name == AUTO else name).partition("x")
    return int(layers), int(size)


def members(family: str) -> tuple[str, ...]:
    """The family's networks, the shallowest first."""
    return tuple(name_of(layers, size) for layers, size in zip(DEPTHS, WIDTHS[family], strict=True))


AUTO = "auto"
"""the usual network, or the one that lies in a folder of weights"""
STUDIED = (*members(BLOCKS), *members(WHOLE))
"""the networks of both families"""
EXTREMES = (members(BLOCKS)[0], members(BLOCKS)[-1])
"""those that are shipped: the shallowest and the deepest; `specviz study depth-width --train` makes the others"""
NETWORKS = (AUTO, *EXTREMES)
"""what a drafter can be asked for by name"""


def block_parameters(layers: int, size: int) -> int:
    """Of the blocks' matrices: four of attention, three of an MLP twice as wide."""
    return 10 * size * size * layers


def running_parameters(layers: int, size: int, vocabulary: int) -> int:
    """Of the network as it runs: blocks, embedding and head."""
    return block_parameters(layers, size) + 2 * vocabulary * size


HEAD_SIZE = 32


@dataclass(frozen=True)
class SmallModelShape(Options):
    """Its size."""

    size: int = option(128, help="width of its blocks; a multiple of 4", minimum=4, maximum=4096)
    layers: int = option(2, help="its blocks", minimum=1, maximum=32)
    draft_tokens: int = option(0, help="tokens that it can draft, the most frequent ones; 0: all of them", minimum=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size % 4:
            raise OptionError(
                f"size is {self.size}, but positions turn pairs in two heads at least; take a multiple of 4."
            )

    def block(self) -> BlockShape:
        """Sizes of a block."""
        heads = self.size // HEAD_SIZE if self.size % HEAD_SIZE == 0 else 2
        return BlockShape(self.size, self.size, heads, heads, self.size // heads, 2 * self.size)


@MODULES.register("small_model")
class SmallModelModule(DrafterModule[SmallModelShape]):
    """Llama blocks between two matrices of its own. Shapes: d its width, the others as in `learned/module`."""

    learns_text: ClassVar[bool] = True
    explanation: ClassVar[str] = "A small language model that reads tokens alone, on the target's embedding and head."

    def __init__(self, target: TargetParts, options: SmallModelShape) -> None:
        super().__init__(target, options)
        shape = options.block()
        self.narrow = nn.Linear(self.hidden_size, options.size, bias=False)
        self.input_norms = nn.ModuleList(nn.RMSNorm(options.size, shape.eps) for _ in range(options.layers))
        self.blocks = nn.ModuleList(DraftBlock(shape) for _ in range(options.layers))
        self.norm = nn.RMSNorm(options.size, shape.eps)
        self.widen = nn.Linear(options.size, self.hidden_size, bias=False)
        spread = float(target.embedding.float().std())
        self.scale = 1.0 / spread if spread > 0 else 1.0
        self.keep_tokens(options.draft_tokens)

    @classmethod
    def folder_name(cls, options: Options) -> str:
        assert isinstance(options, SmallModelShape), "these are options of another module."
        network = name_of(options.layers, options.size)
        return cls.name if network == USUAL else f"{cls.name}_{network}"

    def depths(self) -> Sequence[int]:
        return ()

    def states(self, tokens: Tensor) -> Tensor:
        """What the target's head reads [B, T, H]: row t speaks of the token after token t."""
        x = self.narrow(functional.embedding(tokens, self.embedding) * self.scale)
        for norm, block in zip(self.input_norms, self.blocks, strict=True):
            x = block(norm(x), x, Memory())
        wide: Tensor = self.widen(self.norm(x))
        return wide

    def logits(self, tokens: Tensor) -> Tensor:
        """What it says after every token [B, T, V]."""
        return self.whole(functional.linear(self.states(tokens), self.read_head()))

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """The distance of the target to it, or its cross entropy to the text where that alone is to be learnt."""
        places = Places.of(batch, 1, self.training)
        said = functional.linear(self.states(batch.tokens)[places.text, places.token + 1], self.read_head())
        if batch.text_alone:
            following = places.following(batch)[:, 0]
            if self.map is not None:
                following = following.masked_fill(~self.map.t2d[following.clamp(min=0)], NOTHING)
            return {"text": functional.cross_entropy(self.whole(said), following, ignore_index=NOTHING)}
        return {"tokens": batch.distance(said, self.known(places.wanted(batch, self.head)[:, 0]).log_softmax(-1))}

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        """It reads nothing of the target, so each depth is its answer at that place."""
        logits = self.logits(batch.tokens)
        return [logits[:, 1 + k :] for k in range(min(most, batch.tokens.shape[1] - 1))]

    @torch.no_grad()
    def as_model(self) -> LlamaModel:
        """The same network as a Llama checkpoint of width d, which the lean forward runs."""
        block = self.options.block()
        shape = LlamaShape(
            layers=self.options.layers,
            hidden_size=block.hidden,
            heads=block.heads,
            kv_heads=block.kv_heads,
            head_size=block.head_size,
            vocab_size=len(self.embedding),
            context_length=self.target.context_length,
            norm_eps=block.eps,
            rope_theta=block.theta,
            tied=False,
            ffn_size=block.ffn,
        )
        weights = {
            "model.embed_tokens.weight": functional.linear(self.embedding * self.scale, self.narrow.weight),
            "model.norm.weight": self.norm.weight.detach(),
            "lm_head.weight": self.head @ self.widen.weight,
        }
        for number, (norm, own) in enumerate(zip(self.input_norms, self.blocks, strict=True)):
            prefix = f"model.layers.{number}."
            weights |= {prefix + name: tensor.detach() for name, tensor in own.state_dict().items()}
            weights[prefix + "input_layernorm.weight"] = norm.state_dict()["weight"]
        read = sum(tensor.numel() for name, tensor in weights.items() if "embed" not in name)
        info = replace(
            self.target,
            name=self.name,
            architecture="LlamaForCausalLM",
            parameters=self.parameter_count(),
            layers=shape.layers,
            hidden_size=shape.hidden_size,
            weights_sha256="",
            read_per_pass=read,
            window=0,
        )
        return LlamaModel(shape, weights, info)


@dataclass(frozen=True)
class SmallModelOptions(ShapeOptions):
    """Weights, which network, and shape of the draft."""

    weights: str = option(SHIPPED, help=WEIGHTS_HELP)
    network: str = option(
        AUTO,
        help="layers x width of shipped or untrained weights, the shallowest and the deepest of the study of depth "
        f"against width; auto: the usual {USUAL}, or what the folder holds",
        choices=NETWORKS,
    )


@DRAFTERS.register("small_model")
class SmallModelDrafter(GrowingDrafter[SmallModelOptions], Attaches, Begins):
    """A small model that was trained for minutes, on the target's embedding and head, drafts a chain or a tree.

    The drafter `model` for those who train their own: embedding and head are the target's, narrowed and widened by two
    small matrices, so that only a few narrow blocks must be learnt, by distillation from the target (DistillSpec,
    2310.08461, with the loss of one's choice). Drafts and is judged as `model` is (2211.17192).
    """

    needs: ClassVar[Needs | None] = Needs(
        guesses_from="a small language model on the target's embedding and head",
        training="the small model, on the target's distributions",
        memory="the small model's weights and cache",
    )
    pass_reads: ClassVar[str] = "its narrow blocks and its head, the target's as wide as they are"

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        """Raises ModelError where the target's embedding cannot be read, the weights are not for it, or are of another
        network than was asked for."""
        if not isinstance(target, GivesFeatures):
            raise ModelError(
                f"the drafter '{self.name}' is made on the target's embedding and head, but the adapter "
                f"'{target.info.adapter}' of {target.info.name} does not give them; choose another drafter."
            )
        weights, network = self.options.weights, self.options.network
        layers, size = shape_of(network)
        module = module_for(SmallModelModule, weights, target, {"size": size, "layers": layers})
        assert isinstance(module, SmallModelModule), f"'{module.name}' is no small model."
        held = name_of(module.options.layers, module.options.size)
        if network not in (AUTO, held):
            raise ModelError(
                f"network is {network}, but the weights in {weights} are of {held}; set network to '{AUTO}', or choose "
                "other weights."
            )
        self.options = replace(self.options, weights=shown_weights(self.options.weights))
        self.learnt_from = module.learnt_from
        self._draft = ModelDraft(running(module), self.name)

    def begin(self, tokens: Sequence[int]) -> None:
        self._draft.begin(tokens, self.draft_policies.stop_policy)

    def propose(self, context: DraftContext) -> Proposal:
        return self._draft.propose(context, self.tree_policy, self.draft_policies.stop_policy)


_MODELS: WeakKeyDictionary[SmallModelModule, LanguageModel] = WeakKeyDictionary()


def running(module: SmallModelModule) -> LanguageModel:
    """The network as it drafts; the same one each time: its routines are chosen by trying them."""
    if module not in _MODELS:
        model = module.as_model()
        _MODELS[module] = model if module.map is None else TrimmedModel(model, module.map.tokens.tolist())
    return _MODELS[module]
