"""What the trace format knows of drafters, tree policies and stop policies: who proposes what, of which size.

A table like that of the verifiers. What is not in it (another package's) is held to the general rules alone, and the
check says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from specviz.trace.events import MethodCard

FALLBACK = "model"
"""value of a hybrid's option `fallback`, and source of the candidates that come of it"""


@dataclass(frozen=True, slots=True)
class KnownDrafter:
    """One drafter, as a trace shows it."""

    sources: frozenset[str]
    """what its candidates are marked with"""
    draws: bool = False
    """above temperature 0 its candidates are drawn from a model (`draw`, `branching` and `gamma` say how); False:
    they are point masses"""
    model: bool = False
    """it has a language model of its own, which the header names"""
    most: str | None = None
    """the option that bounds its candidates per round"""
    deepest: str | None = None
    """the option that bounds their depth"""
    hybrid: bool = False
    """it has a model, and candidates of it, where its option `fallback` says `model`"""
    riding: str | None = None
    """source of the nodes that ride along in the target's pass and are no drafts"""


def _drafter(*sources: str, **how: bool | str) -> KnownDrafter:
    return KnownDrafter(frozenset(sources), **how)  # type: ignore[arg-type]


DRAFTERS: Mapping[str, KnownDrafter] = {
    "none": _drafter(),
    "model": _drafter("model", draws=True, model=True),
    "vocabtrim": _drafter("vocabtrim", "model", draws=True, model=True),  # "model" in runs of older engines
    "early_exit": _drafter("early_exit", draws=True),
    "self_speculative": _drafter("self_speculative", draws=True),
    "rasd": _drafter("model", "text", "datastore", draws=True, model=True),
    "ngram": _drafter("ngram", deepest="gamma"),
    "jacobi": _drafter("jacobi", deepest="block"),
    "lookahead": _drafter("window", "pool", riding="window"),
    "token_recycling": _drafter("token_recycling", most="nodes"),
    "suffix": _drafter("suffix", most="max_nodes", hybrid=True),
    "rest": _drafter("rest", most="max_nodes"),
    "simulated": _drafter("simulated"),
}


def known_drafter(card: MethodCard) -> KnownDrafter | None:
    """What is known of a header's drafter with its options; None of one that is not in the table."""
    known = DRAFTERS.get(card.name)
    if known is not None and known.hybrid and card.options.get("fallback") == FALLBACK:
        return replace(known, sources=known.sources | {FALLBACK}, model=True)
    return known


TREE_POLICIES: Mapping[str, bool] = {
    "chain": True,
    "levels": True,
    "rsd_c": True,
    "rsd_s": True,
    "sequoia": True,
    "dyspec": True,
    "eagle2": True,
    "target_init": False,
}
"""name → whether it is lossless"""

STOP_POLICIES: Mapping[str, bool] = {
    "fixed": True,
    "confidence": True,
    "decision": True,
    "disco": True,
    "draft_verify": True,
    "entropy": True,
    "heuristic": True,
    "oracle": False,
    "specdecpp": True,
}
"""name → whether it is deployable; all are lossless"""

FROM_TARGET = "target"
"""source of the candidates that `target_init` takes from the target's own last pass"""
