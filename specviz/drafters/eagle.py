"""EAGLE: a small network drafts from the target's own last states and the tokens drafted so far.

The network is in `learned/eagle_network.py` and what it is made of in `learned/eagle_layers.py`, how its draft is made
in `learned/eagle_drafting.py`; training in `specviz train module eagle`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from specviz.drafters.base import DRAFTERS, Needs
from specviz.drafters.learned.eagle_drafting import StateDrafter, StateOptions
from specviz.drafters.learned.eagle_network import EagleShape, EagleTrunk
from specviz.drafters.learned.module import MODULES
from specviz.drafters.learned.published import published_eagle_folder, read_published_eagle
from specviz.drafters.learned.weights import module_for
from specviz.lm.base import GivesFeatures
from specviz.trace.declared_method import Candidates


@MODULES.register("eagle")
class EagleModule(EagleTrunk[EagleShape]):
    """EAGLE-1 by default; EAGLE-3's fusion, unrolled training and own head are options of it, and so is P-EAGLE's one
    pass."""

    explanation: ClassVar[str] = (
        "One layer that guesses the target's next state from its last one and the token that was drawn."
    )


@DRAFTERS.register("eagle")
class EagleDrafter(StateDrafter[StateOptions]):
    """One layer guesses the target's next state, and the target's head reads the draft from it.

    It is told the token that was drawn beside the state before it, which a state alone leaves open. After every verdict
    the true states of the accepted tokens replace the guessed ones. Where it was trained on another target it drafts
    badly, so that its weights are refused there. Weights trained with `parallel` fill several places in one pass: each
    place is then drawn from its own distribution, whatever stands before it, and judged by it.
    EAGLE (Li et al., 2401.15077), EAGLE-3 (2503.01840), P-EAGLE (2602.01469); EAGLE-2's trees are the tree policy
    `eagle2`.
    """

    candidates: ClassVar[Candidates] = Candidates(slots="slots", pairs=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's states along its own passes",
        training="one layer, on the target's states",
        memory="one layer's weights and cache; the target's embedding and head are shared",
    )

    def network(self, target: GivesFeatures) -> EagleTrunk[Any]:
        folder = published_eagle_folder(self.options.weights, target.info.name)
        if folder is not None:
            module = read_published_eagle(EagleModule, folder, target)
        else:
            module = module_for(EagleModule, self.options.weights, target)
        assert isinstance(module, EagleModule), "the registry gave another class."
        return module
