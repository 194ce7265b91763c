"""The drafter: a shallow Llama cut out of the target, and the loss that teaches it to agree with the target.

Place in the flow: after the target; the training loop runs this objective over taught windows.
"""

import numpy as np
import torch
from torch.nn import functional
from transformers import LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from specviz.errors import TrainingError
from specviz.training.generation import TaughtRows
from specviz.training.loop import Objective
from specviz.training.target import layer_outputs, logits_of, model_config, moved, new_model
from specviz.training.windows import Batch


@torch.no_grad()
def drafter_from(target: LlamaForCausalLM, layers: int, intermediate: int, seed: int) -> LlamaForCausalLM:
    """A drafter that starts as the target's first layers: embedding, norms and attention whole, the MLP thinned.

    The early-exit losses have already taught the target to predict from those layers, which saves most of the
    drafter's own training.
    """
    c = target.config
    drafter = moved(
        new_model(model_config(layers, c.hidden_size, c.num_attention_heads, intermediate, c.vocab_size), seed),
        target.device,
    )
    drafter.model.embed_tokens.load_state_dict(target.model.embed_tokens.state_dict())
    drafter.model.norm.load_state_dict(target.model.norm.state_dict())
    for own, other in zip(drafter.model.layers, target.model.layers, strict=False):
        _copy_layer(own, other, intermediate)
    return drafter


def _copy_layer(own: LlamaDecoderLayer, other: LlamaDecoderLayer, intermediate: int) -> None:
    """Copies attention and norms; of the MLP the `intermediate` units with the largest product of weight norms."""
    for name in ("self_attn", "input_layernorm", "post_attention_layernorm"):
        getattr(own, name).load_state_dict(getattr(other, name).state_dict())
    gate, up, down = other.mlp.gate_proj.weight, other.mlp.up_proj.weight, other.mlp.down_proj.weight
    strength = gate.norm(dim=1) * up.norm(dim=1) * down.norm(dim=0)
    kept = strength.topk(min(intermediate, len(strength))).indices
    own.mlp.gate_proj.weight[: len(kept)] = gate[kept]
    own.mlp.up_proj.weight[: len(kept)] = up[kept]
    own.mlp.down_proj.weight[:, : len(kept)] = down[:, kept]


def distillation_objective(head: torch.Tensor, hard_share: float) -> Objective:
    """Forward KL to the target, plus `hard_share` times the cross entropy on the target's most likely token.

    head: the target's output matrix [V, D]. Forward KL is the DistillSpec default (Zhou et al. 2023, section 4);
    the hard term aims at greedy acceptance, which counts only the most likely token.
    """

    def objective(model: LlamaForCausalLM, batch: Batch, step: int) -> torch.Tensor:
        if batch.teacher is None:
            raise TrainingError("Distillation needs the target's states beside the tokens: run the `teach` stage.")
        logits = logits_of(model, layer_outputs(model, batch.ids[:, :-1])[-1]).float()
        teacher = batch.teacher.to(head.dtype) @ head.T
        own = functional.log_softmax(logits.flatten(0, 1), dim=-1)
        wanted = functional.log_softmax(teacher.flatten(0, 1), dim=-1)
        loss = functional.kl_div(own, wanted, reduction="batchmean", log_target=True)
        if hard_share > 0:
            loss = loss + hard_share * functional.nll_loss(own, wanted.argmax(-1))
        return loss

    return objective


class TaughtWindows:
    """Shuffled batches of taught rows; a new permutation every epoch."""

    def __init__(self, rows: TaughtRows, batch_size: int, seed: int) -> None:
        """Rows may be memory-mapped."""
        if len(rows.ids) < batch_size:
            raise TrainingError(
                f"{len(rows.ids)} taught windows are fewer than one batch of {batch_size}: raise --teach-minutes."
            )
        self.rows, self.batch_size, self.seed = rows, batch_size, seed

    def batch(self, step: int) -> Batch:
        """Token ids with the target's states."""
        per_epoch = len(self.rows.ids) // self.batch_size
        epoch, place = divmod(step, per_epoch)
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.rows.ids))
        chosen = order[place * self.batch_size : (place + 1) * self.batch_size]
        ids = torch.from_numpy(self.rows.ids[chosen].astype(np.int64))
        return Batch(ids, torch.from_numpy(self.rows.states[chosen].astype(np.float32)))


@torch.inference_mode()
def agreement(drafter: LlamaForCausalLM, target: LlamaForCausalLM, batches: list[torch.Tensor]) -> float:
    """Share of positions, in [0, 1], where both models have the same most likely token; batches [batch, length+1]."""
    same = total = 0
    for batch in batches:
        ids = batch[:, :-1].to(target.device)
        own = logits_of(drafter, layer_outputs(drafter, ids)[-1]).argmax(-1)
        wanted = logits_of(target, layer_outputs(target, ids)[-1]).argmax(-1)
        same += int((own == wanted).sum())
        total += ids.numel()
    return same / max(1, total)
