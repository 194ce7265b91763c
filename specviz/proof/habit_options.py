"""Small option sets per growth and stop policy, shared by the proof and the contracts; the defaults for one not named
here."""

from __future__ import annotations

GROWTH_SETS: dict[str, tuple[dict[str, object], ...]] = {
    "chain": ({"length": 2},),
    "levels": ({"branching": (2, 1)}, {"branching": (2, 2), "budget": 3}, {"branching": (2, 1), "draw": "iid"}),
    "rsd_c": ({"branching": (2, 2)},),
    "rsd_s": ({"width": 2, "depth": 2}, {"width": 3, "depth": 2, "budget": 4}),
    "dyspec": ({"budget": 4}, {"budget": 4, "threshold": 0.2}),
    "eagle2": ({"budget": 3, "depth": 2, "width": 2},),
    "sequoia": ({"budget": 4, "depth": 2, "acceptance": "0.4,0.3"},),
}
STOP_SETS: dict[str, tuple[dict[str, object], ...]] = {
    "heuristic": ({"start_levels": 2},),
    "confidence": ({"threshold": 0.5},),
    "entropy": ({"scale": 1.0, "floor": 0.2}, {"scale": 1.0, "floor": 0.2, "keep": True}),
    "draft_verify": ({"first_threshold": 0.4, "step": 0.5, "inertia": 0.2},),
}


def growth_sets(growth: str) -> tuple[dict[str, object], ...]:
    return GROWTH_SETS.get(growth, ({},))


def stop_sets(stop: str) -> tuple[dict[str, object], ...]:
    return STOP_SETS.get(stop, ({},))
