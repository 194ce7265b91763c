"""Small option sets per tree and stop policy, shared by the proof and the contracts; the defaults for one not named
here."""

from __future__ import annotations

from specviz.stop_policies.base import STOP_POLICIES, StopOptions, StopPolicy
from specviz.stop_policies.learned import FEATURES, HEAD

TREE_POLICY_SETS: dict[str, tuple[dict[str, object], ...]] = {
    "chain": ({"length": 2},),
    "levels": ({"branching": (2, 1)}, {"branching": (2, 2), "budget": 3}, {"branching": (2, 1), "draw": "iid"}),
    "rsd_c": ({"branching": (2, 2)},),
    "rsd_s": ({"width": 2, "depth": 2}, {"width": 3, "depth": 2, "budget": 4}),
    "dyspec": ({"budget": 4}, {"budget": 4, "threshold": 0.2}),
    "eagle2": ({"budget": 3, "depth": 2, "width": 2},),
    "paths": ({"paths": "0; 1; 0,0"}, {"paths": "1; 1,0; 1,2", "draw": "top_k"}, {"paths": "0; 1; 0,0", "budget": 4}),
    "sequoia": ({"budget": 4, "depth": 2, "acceptance": "0.4,0.3"},),
}
STOP_POLICY_SETS: dict[str, tuple[dict[str, object], ...]] = {
    "heuristic": ({"start_levels": 2},),
    "confidence": ({"threshold": 0.5},),
    "entropy": (
        {"scale": 1.0, "floor": 0.2},
        {"scale": 1.0, "floor": 0.2, "keep": True},
        {"scale": 1.0, "floor": 0.2, "moves": True, "step": 0.5, "inertia": 0.2},
    ),
    "disco": ({"threshold": 0.5},),
    "decision": ({"threshold": 0.5},),
    "specdecpp": ({"threshold": 0.4, "least": 1},),
    "draft_verify": ({"first_threshold": 0.4, "step": 0.5, "inertia": 0.2},),
}


def tree_policy_sets(tree_policy: str) -> tuple[dict[str, object], ...]:
    return TREE_POLICY_SETS.get(tree_policy, ({},))


def stop_policy_sets(stop: str) -> tuple[dict[str, object], ...]:
    return STOP_POLICY_SETS.get(stop, ({},))


def toy_weights(stop: type[StopPolicy[StopOptions]], hidden_size: int, drafter_sha256: str) -> dict[str, object] | None:
    """Untrained weights for a policy that learns, None for the others; they make drafts of all lengths."""
    if stop.recipe is None:
        return None
    features = range(FEATURES) if stop.recipe.features is None else stop.recipe.features
    row = [4.0 * (one == HEAD) for one in features]  # the logarithm of the candidate's own probability
    if HEAD not in features:
        row[0] = 7.0  # that of the largest
    if stop.recipe.from_hidden:
        row = [(-1.0) ** i for i in range(hidden_size)]
    return {
        "mean": [0.0] * len(row),
        "scale": [1.0] * len(row),
        "layers": [{"weight": [row], "bias": [2.0]}],
        "threshold": 0.5,
        "drafter_sha256": drafter_sha256,
    }


def temperature(stop: str, wanted: float) -> float:
    """What is wanted, or 0 for a policy that works there alone."""
    return 0.0 if STOP_POLICIES.get(stop).temperatures == "zero" else wanted
