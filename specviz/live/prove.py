"""Proofs on the toys and on the bundled pair; what is sampled is computed in float32, like the exact law beside it."""

from __future__ import annotations

from specviz.live.models import Models
from specviz.protocol.proofs import Prover
from specviz.protocol.runs import RunRequest


def prover(models: Models) -> Prover:
    """See `TraceSource.prover`."""
    from specviz.proof.prover import ToyAndPair

    exact = RunRequest(prompt="", dtype="float32")
    return ToyAndPair(lambda: (models.get(exact.target, exact), models.get(exact.drafter_model, exact)), models.lane)
