"""What the checkpoints say at every node of a round: the target after it, and the drafter's models if it has any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from torch import Tensor

from specviz.live.audit.checkpoints import Checkpoint
from specviz.live.audit.laws import SLACKS, Law, belief, law
from specviz.live.audit.levels import proposal
from specviz.live.audit.views import Says
from specviz.trace.events import Node, TopK
from specviz.trace.rules.distributions import drawn_by
from specviz.trace.rules.scene import Scene

DRAWS_AS_THEY_ARE = {
    "model": ("model",),
    "rasd": ("model",),
    "merged": ("model", "model_2", "model_3", "model_4"),
    "amusd": ("amusd",),
    "pearl": ("pearl",),
}
"""drafters whose models are the header's checkpoints, unchanged → what their candidates are marked with, by model"""
TARGET = "target"


class ModelsSay:
    """One round's distributions, worked out on demand."""

    def __init__(self, scene: Scene, target: Checkpoint, drafters: Mapping[str, Says]) -> None:
        """`drafters`: what candidates are marked with → the checkpoint they were drawn from."""
        self.scene = scene
        self.size = target.card.vocab_size
        self.drafters = drafters
        self._slack = SLACKS.get(target.card.dtype, SLACKS["bfloat16"])
        self._models: dict[str, Says] = {TARGET: target, **drafters}
        self._target: dict[int, Law] = {}
        self._draft: dict[tuple[int, str], Law] = {}

    @cached_property
    def _logits(self) -> dict[str, dict[int, Tensor]]:
        """Per model the logits [V] after each node's text: prompt, committed text and path."""
        nodes, found = self.scene.round.nodes, dict[str, dict[int, Tensor]]()
        parents = {node.parent for node in nodes}
        paths = [list(self.scene.path_to(node.id))[::-1] for node in nodes if node.id not in parents]
        tails = [tuple(nodes[node].token for node in path[1:]) for path in paths]
        once = list(dict.fromkeys(tails))
        for role, model in self._models.items():
            said = dict(zip(once, model.logits(self.scene.text, once), strict=True))
            found[role] = {
                node: said[tail][depth]
                for path, tail in zip(paths, tails, strict=True)
                for depth, node in enumerate(path)
            }
        return found

    def target(self, node: int) -> Law:
        """p after the node, after the sampling transform."""
        if node not in self._target:
            shown = self.scene.round.nodes[node].target
            self._target[node] = law(self._logits[TARGET][node], self.scene.started.sampling, self._slack, shown)
        return self._target[node]

    def target_raw(self, node: int) -> Law:
        return belief(self._logits[TARGET][node], self._slack)

    def draft(self, node: int) -> Law | None:
        """q for the node's children; None where it is no checkpoint of the header that they were drawn from."""
        source = drawn_by(self.scene, node)
        return None if source is None else self._draws(node, source)

    def draft_raw(self, node: int, shown: TopK) -> Law | None:
        """What the model that is shown at a node believes: the one that its first candidate comes from. Of several
        models at a node without one it may be any, so the one closest to the record is taken."""
        children = self.scene.children(node)
        if children and children[0].source in self.drafters:
            return belief(self._logits[children[0].source][node], self._slack)
        every = [belief(self._logits[source][node], self._slack) for source in self.drafters]
        return min(every, key=lambda one: float(np.abs(one.probs[shown.tokens] - shown.probs).sum()), default=None)

    def proposal(self, child: Node, rejected: Sequence[Node]) -> Law | None:
        """Q of a candidate after rejected ones; None: not recomputed."""
        return proposal(self._draws(child.parent, child.source), child, rejected, self.size)

    def _draws(self, node: int, source: str) -> Law | None:
        """q of one of the models at a node; None where it is no checkpoint of the header."""
        if source not in self.drafters:
            return None
        if (node, source) not in self._draft:
            shown = self.scene.round.nodes[node].draft if source == drawn_by(self.scene, node) else None
            logits = self._logits[source][node]
            self._draft[node, source] = law(logits, self.scene.started.sampling, self._slack, shown)
        return self._draft[node, source]
