"""Multi-step speculative sampling: i.i.d. siblings, each tried against what the earlier ones have left.

The same steps as the sequential rule, restricted to the candidates its paper proves it for.
"""

from __future__ import annotations

from typing import ClassVar

from specviz.options import Options
from specviz.trace.events import CandidateKind
from specviz.verifiers.base import VERIFIERS
from specviz.verifiers.sequential import SequentialVerifier


@VERIFIERS.register("specinfer")
class SpecInferVerifier(SequentialVerifier[Options]):
    """Multi-step speculative sampling: tries i.i.d. siblings one after the other, each against its predecessors' rest.

    A child is accepted with probability min(1, p/q); a rejection turns p into norm(max(0, p - q)) for the next sibling,
    which is judged by the same q. Siblings that repeat a token must stay in the tree: merging them is lossy.
    SpecInfer (Miao et al., 2305.09781, §4.3, algorithm 2, theorem 4.2).
    """

    judges: ClassVar[frozenset[CandidateKind]] = frozenset(["iid"])
