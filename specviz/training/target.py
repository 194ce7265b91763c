"""The target model: its shape, its loss with early exits, and its held-out loss.

Place in the flow: gives the training loop a fresh `LlamaForCausalLM` and the objective to train it with.
"""

from collections.abc import Callable, Iterable

import torch
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from specviz.training.windows import Batch

EXIT_SCALE = 0.3


def model_config(
    layers: int,
    hidden: int = 384,
    heads: int = 6,
    intermediate: int = 1024,
    vocabulary_size: int = 4096,
    context: int = 1024,
    theta: float = 10000.0,
    tied: bool = True,
) -> LlamaConfig:
    """Llama shape with one key-value head per query head; `tied`: the head is the embedding."""
    return LlamaConfig(
        vocab_size=vocabulary_size,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=context,
        rope_parameters={"rope_type": "default", "rope_theta": theta},
        tie_word_embeddings=tied,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=1,
    )


def moved(
    model: LlamaForCausalLM, device: torch.device | str | None = None, dtype: torch.dtype | None = None
) -> LlamaForCausalLM:
    """The same model on another device or in another precision; torch's own `to`, whose types survive."""
    return torch.nn.Module.to(model, device=device, dtype=dtype)


def new_model(config: LlamaConfig, seed: int) -> LlamaForCausalLM:
    """Fresh weights; the projections back into the residual stream start at zero, so every layer starts as identity."""
    torch.manual_seed(seed)
    model = LlamaForCausalLM(config)
    for layer in model.model.layers:
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
        torch.nn.init.zeros_(layer.mlp.down_proj.weight)
    model.train()
    return model


def layer_outputs(model: LlamaForCausalLM, ids: torch.Tensor, at: torch.Tensor | None = None) -> list[torch.Tensor]:
    """Output of every layer before the final norm. ids [batch, length] -> L tensors [batch, length, D]; `at` are the
    positions [length] of the tokens, 0, 1, 2, … where it is None."""
    # The layers are walked directly: no cache and no mask object, so attention takes its causal fast path.
    inner = model.model
    hidden = inner.embed_tokens(ids)
    positions = (torch.arange(ids.shape[1], device=ids.device) if at is None else at.to(ids.device))[None]
    rotary = inner.rotary_emb(hidden, positions)
    outputs = []
    for layer in inner.layers:
        hidden = layer(hidden, attention_mask=None, position_ids=positions, position_embeddings=rotary)
        outputs.append(hidden)
    return outputs


def logits_of(model: LlamaForCausalLM, hidden: torch.Tensor) -> torch.Tensor:
    """Final norm and head on one layer's output. [batch, length, D] -> [batch, length, V]."""
    logits: torch.Tensor = model.lm_head(model.model.norm(hidden))
    return logits


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean nats per token. logits [batch, length, V], labels [batch, length] -> scalar."""
    return functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())


def read_out_loss(model: LlamaForCausalLM, hidden: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean nats per token of what one layer's output is read out as. hidden [batch, length, D] -> scalar."""
    return cross_entropy(logits_of(model, hidden), labels)


def exit_layer_of(step: int, layers: int) -> int:
    """The exit trained at this step, 1 .. layers - 1 in rotation."""
    return 1 + step % (layers - 1)


def target_objective(
    model: LlamaForCausalLM, batch: Batch, step: int, loss_of: Callable[..., torch.Tensor] = read_out_loss
) -> torch.Tensor:
    """Last-layer loss plus one early-exit loss -> scalar. `loss_of` is `read_out_loss`, or the same compiled.

    The exits follow LayerSkip (Elhoushi et al. 2024, section 4.1): same norm and head, scale rising with depth,
    exits in rotation. Half of the rows suffice for the exit, which keeps its cost at a few percent.
    """
    outputs = layer_outputs(model, batch.ids[:, :-1])
    labels = batch.ids[:, 1:]
    loss = loss_of(model, outputs[-1], labels)
    if len(outputs) > 1:
        layer = exit_layer_of(step, len(outputs))
        half = max(1, len(labels) // 2)
        early = loss_of(model, outputs[layer - 1][:half], labels[:half])
        loss = loss + EXIT_SCALE * layer / len(outputs) * early
    return loss


def plain_objective(model: LlamaForCausalLM, batch: Batch, step: int) -> torch.Tensor:
    """The last layer's cross entropy alone -> scalar."""
    return read_out_loss(model, layer_outputs(model, batch.ids[:, :-1])[-1], batch.ids[:, 1:])


@torch.inference_mode()
def held_out_loss(model: LlamaForCausalLM, batches: Iterable[torch.Tensor]) -> float:
    """Mean nats per token of the last layer over batches of [batch, length + 1]."""
    return losses_by_layer(model, batches, last_only=True)[-1]


@torch.inference_mode()
def losses_by_layer(model: LlamaForCausalLM, batches: Iterable[torch.Tensor], last_only: bool = False) -> list[float]:
    """Mean nats per token read out after each layer (or only the last one); one number per layer."""
    was_training = model.training
    model.eval()
    sums: list[float] = []
    tokens = 0
    for batch in batches:
        batch = batch.to(model.device)
        outputs = layer_outputs(model, batch[:, :-1])[-1 if last_only else 0 :]
        values = [read_out_loss(model, hidden, batch[:, 1:]).item() for hidden in outputs]
        count = batch.shape[0] * (batch.shape[1] - 1)
        sums = [s + v * count for s, v in zip(sums or [0.0] * len(values), values, strict=True)]
        tokens += count
    model.train(was_training)
    return [s / max(1, tokens) for s in sums]
