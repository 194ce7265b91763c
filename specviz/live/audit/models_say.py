"""What the checkpoints say at every node of a round: the target after it, and the drafter's model if it has one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from torch import Tensor

from specviz.live.audit.checkpoints import Checkpoint
from specviz.live.audit.laws import SLACKS, Law, belief, law
from specviz.live.audit.levels import proposal
from specviz.trace.events import Node
from specviz.trace.rules.distributions import drawn_by
from specviz.trace.rules.scene import Scene

DRAWS_AS_IT_IS = {"model": "model", "rasd": "model", "merged": "model"}
"""drafters whose model is the header's checkpoint, unchanged → the source its candidates are marked with"""


class ModelsSay:
    """One round's distributions, worked out on demand."""

    def __init__(self, scene: Scene, target: Checkpoint, drafter: Checkpoint | None) -> None:
        self.scene = scene
        self.size = target.card.vocab_size
        self.drafts = DRAWS_AS_IT_IS.get(scene.started.drafter.name) if drafter is not None else None
        """source of the candidates whose q is recomputed; None: nobody's is"""
        self._slack = SLACKS.get(target.card.dtype, SLACKS["bfloat16"])
        self._models = {"target": target, "draft": drafter}
        self._target: dict[int, Law] = {}
        self._draft: dict[int, Law] = {}

    @cached_property
    def _logits(self) -> dict[str, dict[int, Tensor]]:
        """Per model the logits [V] after each node's text: prompt, committed text and path."""
        nodes, found = self.scene.round.nodes, dict[str, dict[int, Tensor]]()
        parents = {node.parent for node in nodes}
        paths = [list(self.scene.path_to(node.id))[::-1] for node in nodes if node.id not in parents]
        tails = [tuple(nodes[node].token for node in path[1:]) for path in paths]
        once = list(dict.fromkeys(tails))
        for role, model in self._models.items():
            if model is None or (role == "draft" and self.drafts is None):
                continue
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
            self._target[node] = law(self._logits["target"][node], self.scene.started.sampling, self._slack, shown)
        return self._target[node]

    def target_raw(self, node: int) -> Law:
        return belief(self._logits["target"][node], self._slack)

    def draft(self, node: int) -> Law | None:
        """q for the node's children; None where it is not the header's checkpoint that they were drawn from."""
        if self.drafts is None or drawn_by(self.scene, node) != self.drafts:
            return None
        if node not in self._draft:
            shown = self.scene.round.nodes[node].draft
            self._draft[node] = law(self._logits["draft"][node], self.scene.started.sampling, self._slack, shown)
        return self._draft[node]

    def draft_raw(self, node: int) -> Law | None:
        return None if self.drafts is None else belief(self._logits["draft"][node], self._slack)

    def proposal(self, child: Node, rejected: Sequence[Node]) -> Law | None:
        """Q of a candidate after rejected ones; None: not recomputed."""
        q = self.draft(child.parent) if child.source == self.drafts else None
        return proposal(q, child, rejected, self.size)
