"""The checkpoints that a trace's header names, as `transformers` loads them, and full forwards over whole texts.

Weights and tokenizer are held against the header's hashes first. A drafter may read its checkpoint in part: the
target's first layers, or a model whose head keeps some tokens only; that is written down from what the header's options
say, and not taken from the drafters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from specviz.errors import ModelError
from specviz.lm.checkpoint import StoredTensors, read_config, sha256_of, weight_files
from specviz.lm.llama.captioner import Eyes, EyesShape
from specviz.lm.place import choose_device, fetch_weights, locate
from specviz.lm.text import TextCodec
from specviz.scenes.scene import Scene, pixels
from specviz.theory.token_frequencies import kept_by, table_of
from specviz.trace.header import ModelCard, SceneCard, Started, TokenizerCard

BATCH = 16
"""texts in one forward"""


class Checkpoint:
    """One model of the header, in float32."""

    def __init__(self, card: ModelCard, where: str) -> None:
        """Raises ModelError where the checkpoint is missing or another one than the run's."""
        self.card = card
        self.folder = locate(where)
        fetch_weights(where, self.folder)
        found = sha256_of(weight_files(self.folder, card.name))
        if found != card.weights_sha256:
            raise ModelError(
                f"the run was made with weights of {card.name} whose hash begins {card.weights_sha256[:12]}, but the "
                f"checkpoint at hand has {found[:12]}; nothing was recomputed: audit it with its own checkpoint."
            )
        self._model = plain_model(self.folder, card.name)

    def see(self, scene: SceneCard) -> None:
        """Put what the checkpoint's eyes make of the picture into the embeddings of the tokens that stand for it, where
        it has eyes. The eyes are SpecViz's own here too; all behind them is recomputed without its code."""
        config = read_config(self.folder, self.card.name)
        if "eyes" not in config:
            return
        shape = EyesShape.from_config(config["eyes"], self.card.name)
        weights = StoredTensors(
            weight_files(self.folder, self.card.name), self.card.name, torch.float32, self._model.device
        )
        eyes = Eyes.stored(shape, self._model.config.hidden_size, weights, self.card.name)
        picture = torch.from_numpy(pixels(Scene.of(scene.shapes))).to(self._model.device)
        with torch.inference_mode():
            self._model.get_input_embeddings().weight[shape.token_ids] = eyes(picture[None])[0]

    @property
    def has_norm(self) -> bool:
        """Whether layers can be read out through a norm of its own."""
        return hasattr(self._model.base_model, "norm")

    def weights(self) -> tuple[int, int] | None:
        """(parameters, those that a pass reads: all but an input embedding that is no head too); None where the plain
        model is not all that the checkpoint holds."""
        config = read_config(self.folder, self.card.name)
        if "eyes" in config or "quantization_config" in config or self.card.adapter == "table":
            return None
        embedding, head = self._model.get_input_embeddings(), self._model.get_output_embeddings()
        parameters = int(self._model.num_parameters())
        return parameters, parameters - (0 if head.weight is embedding.weight else embedding.weight.numel())

    def logits(self, text: Sequence[int], tails: Sequence[Sequence[int]], after: int | None = None) -> list[Tensor]:
        """Per tail the logits [1 + len(tail), V] after `text` and after each token of the tail, in float64: one full
        forward per text and tail, without a cache, shorter ones filled up behind their end, where nothing looks.

        `after`: read out after so many layers."""
        found: list[Tensor] = []
        for first in range(0, len(tails), BATCH):
            batch = tails[first : first + BATCH]
            longest = max(map(len, batch))
            rows = [[*text, *tail, *[0] * (longest - len(tail))] for tail in batch]
            ids = torch.tensor(rows, device=self._model.device)
            with torch.inference_mode():
                out = self._said(ids, longest + 1, after)
            wide = out[..., : self.card.vocab_size].double().cpu()
            found += [row[: len(tail) + 1] for row, tail in zip(wide, batch, strict=True)]
        return found

    def _said(self, ids: Tensor, last: int, after: int | None) -> Tensor:
        if after is None:
            logits: Tensor = self._model(input_ids=ids, use_cache=False, logits_to_keep=last).logits
            return logits
        states = self._model(input_ids=ids, use_cache=False, output_hidden_states=True).hidden_states[after]
        read_out: Tensor = self._model.get_output_embeddings()(self._model.base_model.norm(states[:, -last:]))
        return read_out


def plain_model(folder: Path, name: str, dtype: torch.dtype = torch.float32) -> Any:
    """A checkpoint as transformers loads it, with plain attention. Raises ModelError where it cannot."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=dtype,
            attn_implementation="eager",
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
        )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise ModelError(f"transformers cannot load {name} ({error}); nothing was recomputed.") from error
    return model.to(choose_device("auto")).eval()


def tokenizer_of(checkpoint: Checkpoint, card: TokenizerCard) -> TextCodec:
    """The target's tokenizer. Raises ModelError where it is another one than the run's."""
    text = TextCodec.from_folder(checkpoint.folder, card.name)
    if text.sha256 != card.sha256:
        raise ModelError(
            f"the run was made with a tokenizer whose hash begins {card.sha256[:12]}, but the checkpoint of "
            f"{checkpoint.card.name} has {text.sha256[:12]}; nothing was recomputed."
        )
    return text


class Says(Protocol):
    """Whatever gives logits after texts."""

    def logits(self, text: Sequence[int], tails: Sequence[Sequence[int]]) -> list[Tensor]:
        """As `Checkpoint.logits`."""
        ...


@dataclass(frozen=True)
class FirstLayers:
    """The target read out after so many layers, through its own norm and head (LayerSkip, 2404.16710)."""

    whole: Checkpoint
    layers: int

    def logits(self, text: Sequence[int], tails: Sequence[Sequence[int]]) -> list[Tensor]:
        return self.whole.logits(text, tails, self.layers)


@dataclass(frozen=True)
class TrimmedHead:
    """A model that can say some tokens only."""

    whole: Checkpoint
    kept: Sequence[int]

    def logits(self, text: Sequence[int], tails: Sequence[Sequence[int]]) -> list[Tensor]:
        found = []
        for rows in self.whole.logits(text, tails):
            trimmed = torch.full_like(rows, -torch.inf)
            trimmed[:, list(self.kept)] = rows[:, list(self.kept)]
            found.append(trimmed)
        return found


def _first_layers(started: Started, target: Checkpoint, own: Sequence[Checkpoint]) -> Says | None:
    after = started.drafter.options.get("exit_layer")
    return FirstLayers(target, after) if isinstance(after, int) and target.has_norm else None


def _trimmed(started: Started, target: Checkpoint, own: Sequence[Checkpoint]) -> Says | None:
    size, calibration = (started.drafter.options.get(name) for name in ("head_size", "calibration"))
    table = table_of(started.tokenizer.sha256)
    if not own or table is None or not isinstance(size, int) or calibration not in table.texts:
        return None
    return TrimmedHead(own[0], kept_by(table, str(calibration), size, started.eos_ids))


BY_OPTIONS: Mapping[str, Callable[[Started, Checkpoint, Sequence[Checkpoint]], Says | None]] = {
    "early_exit": _first_layers,
    "vocabtrim": _trimmed,
}
"""drafters that change a checkpoint as their options say → what they draw from"""


def drafts_through(started: Started, target: Checkpoint, own: Sequence[Checkpoint]) -> dict[str, Says]:
    """What candidates are marked with → what they were drawn from, of `BY_OPTIONS`; empty for others, and where it
    cannot be done with this checkpoint."""
    made = BY_OPTIONS.get(started.drafter.name)
    said = None if made is None else made(started, target, own)
    return {} if said is None else {started.drafter.name: said}
