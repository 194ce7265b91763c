"""The drafter's hidden states at the candidates of a trace: its model reads the logged rounds once more."""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.errors import TrainingError
from specviz.lm.base import GivesHidden, LanguageModel
from specviz.trace.events import Trace


@torch.inference_mode()
def hidden_states(trace: Trace, model: LanguageModel) -> list[dict[int, Tensor]]:
    """Per round in which something was drafted: candidate → last hidden state [H] once it was read, float32 on the CPU.

    Raises TrainingError where the model is not the one that drafted, or gives none.
    """
    _check_model(trace, model)
    assert isinstance(model, GivesHidden)
    cache = model.new_cache()
    text = list(trace.started.prompt_ids)
    model.forward(text, cache, last_only=True)
    cache.keep(range(len(text)))
    found = []
    for this in trace.rounds:
        if len(this.nodes) > 1:
            parents = [cache.length - 1 + node.parent for node in this.nodes[1:]]
            _, states = model.forward_hidden([node.token for node in this.nodes[1:]], cache, parents)
            found.append({node.id: state for node, state in zip(this.nodes[1:], states.float().cpu(), strict=True)})
            cache.keep([])
        committed = [one.token for one in this.committed.tokens]
        before = cache.length
        if before + len(committed) < model.info.context_length:
            model.forward(committed, cache, last_only=True)
            cache.keep(range(before, cache.length))
    return found


def _check_model(trace: Trace, model: LanguageModel) -> None:
    drafted = trace.started.drafter.model
    if drafted is None or drafted.weights_sha256 != model.info.weights_sha256:
        raise TrainingError(
            f"the trace {trace.started.run_id} was drafted with other weights than {model.info.name} has here, and "
            "hidden states can be had of its own drafter alone; make new runs."
        )
    if not isinstance(model, GivesHidden):
        raise TrainingError(f"{model.info.name} gives no hidden states; learn another stop policy.")
