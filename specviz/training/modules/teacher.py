"""The target as modules learn from it: its states along a batch of texts, from one forward pass.

Place in the flow: between texts and modules. The pass runs in whichever precision is the faster here; modules are given
float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.drafters.learned.module import (
    Distance,
    DrafterModule,
    FeatureBatch,
    RowShape,
    TargetParts,
    TargetRows,
    divergence,
)
from specviz.errors import TrainingError
from specviz.lm.base import GivesFeatures
from specviz.lm.load import load
from specviz.lm.place import locate
from specviz.lm.rotary import turned_by
from specviz.options import Options
from specviz.training.target import layer_outputs, moved
from specviz.training.windows import load_tokenizer


@dataclass(frozen=True, slots=True)
class Reading:
    """A batch of texts as the target read it, for all modules at once."""

    tokens: Tensor
    """[B, T]"""
    states: dict[int, Tensor]
    """depth → [B, T, H] float32, depths as in `lm.base.GivesFeatures`"""
    final: Tensor
    """[B, T, H]"""
    logits: Tensor
    """[B, T, V], what the target says after every token"""
    distance: Distance = divergence
    """what modules learn to make small"""
    rows: TargetRows | None = None
    """of the last layer, where a module reads them"""
    text_alone: bool = False
    """whether the target read nothing, and modules learn what follows in the text"""

    @classmethod
    def of_text(cls, tokens: Tensor) -> Reading:
        """No reading at all: for modules with `learns_text`, which read no states."""
        nothing = torch.empty(*tokens.shape, 0)
        return cls(tokens, {}, nothing, nothing, text_alone=True)

    def batch_for(self, module: DrafterModule[Options]) -> FeatureBatch:
        """What this module reads of it."""
        states = [self.states[depth] for depth in module.depths()]
        features = torch.stack(states, 2) if states else self.final[:, :, None][:, :, :0]
        return FeatureBatch(self.tokens, features, self.final, self.logits, self.distance, self.rows, self.text_alone)


@dataclass(frozen=True)
class Teacher:
    """A Llama target under transformers, with what modules are built on."""

    model: LlamaForCausalLM
    parts: TargetParts
    tokenizer: PreTrainedTokenizerFast

    @classmethod
    def from_folder(cls, folder: Path | str, device: str, dtype: torch.dtype) -> Teacher:
        """Raises ModelError or TrainingError where there is no Llama checkpoint; its passes run in `dtype`."""
        loaded = load(str(folder), device=device, dtype="float32").model
        if not isinstance(loaded, GivesFeatures) or loaded.info.architecture != "LlamaForCausalLM":
            raise TrainingError(
                f"{loaded.info.name} is a {loaded.info.architecture}, and modules are trained on the states of a "
                "LlamaForCausalLM: choose a --target of that architecture."
            )
        parts = TargetParts(loaded.info, loaded.embedding().clone(), loaded.head().clone(), RowShape.of(loaded))
        where = locate(str(folder))
        model: LlamaForCausalLM = LlamaForCausalLM.from_pretrained(where, dtype=dtype)
        return cls(moved(model, device).eval().requires_grad_(False), parts, load_tokenizer(where))

    @property
    def end(self) -> int:
        """The token behind each document."""
        return int(self.tokenizer.eos_token_id)

    @torch.no_grad()
    def read(
        self, tokens: Tensor, depths: Sequence[int], rows: bool = False, positions: Tensor | None = None
    ) -> Reading:
        """One pass over tokens [B, T], which stand at `positions` [T]; states at `depths`, and with `rows` keys and
        values of the last layer."""
        tokens = tokens.to(self.model.device)
        outputs = layer_outputs(self.model, tokens, positions)
        final = self.model.model.norm(outputs[-1])

        after = [self.model.model.embed_tokens(tokens), *outputs[:-1], final]
        states = {depth: after[depth].float() for depth in {*depths}}
        head = self.parts.head.to(final.dtype)
        kept = self._rows(after[-2], positions) if rows else None
        return Reading(tokens, states, final.float(), functional.linear(final, head).float(), rows=kept)

    def _rows(self, states: Tensor, positions: Tensor | None) -> TargetRows:
        """Of what the last layer reads [B, T, H]."""
        layer = self.model.model.layers[-1]
        attention, normed = layer.self_attn, layer.input_layernorm(states)
        keys, values = (
            project(normed).unflatten(-1, (self.parts.row.heads, -1)).transpose(1, 2).float()
            for project in (attention.k_proj, attention.v_proj)
        )
        at = torch.arange(states.shape[1]) if positions is None else positions
        at = at.to(states.device)
        return TargetRows(self.turned(keys, at), values, at, self.turned)

    def turned(self, queries: Tensor, positions: Tensor) -> Tensor:
        """Queries [..., n, D] as the target's attention turns them at these positions [n]."""
        cos, sin = self.model.model.rotary_emb(queries, positions[None])
        half = cos.shape[-1] // 2
        return turned_by(queries, cos[0, :, :half], sin[0, :, :half])
