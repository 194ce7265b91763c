"""What drafters, tree policies and stop policies declare of their drafts, as the text of `assets/methods.json`."""

import json
from dataclasses import asdict
from typing import Any

from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS, Drafter
from specviz.drafters.capabilities import Grows, UsesModel
from specviz.options import Options, describe
from specviz.registry import Registry
from specviz.stop_policies.base import STOP_POLICIES, StopOptions, StopPolicy
from specviz.theory.simulation import DECLARED
from specviz.tree_policies.base import TREE_POLICIES, TreePolicy


def drafter(kind: type[Drafter[Options]]) -> dict[str, Any]:
    """One drafter, with the fields of `KnownDrafter`."""
    said = kind.candidates
    sources = (kind.name,) if said.sources is None else said.sources
    grows = issubclass(kind, Grows)
    return {
        "lossless": kind.lossless,
        "sources": sorted({*sources, *said.found}),
        "found": sorted(said.found),
        "draws": grows,
        "evenly": said.evenly,
        "passes": grows,
        "model": issubclass(kind, UsesModel) and not said.hybrid,
        **_same(said, "most deepest slots reaches leaves"),
        "pass_reads": kind.pass_reads,
        **_same(said, "hybrid planned from_states pairs hands_over own_tokens riding merged shows in_turn beside"),
    }


def tree_policy(kind: type[TreePolicy[Options]]) -> dict[str, Any]:
    """One tree policy, with the fields of `KnownTreePolicy`; kinds are those it draws with its default options."""
    options = {one.name: one for one in describe(kind.options_type)}
    counted = {one.counts: one.name for one in options.values()}
    policy = kind.of({})
    greedy, sampled = ("" if "draw" in options else _one(policy.kinds(Sampling(t))) for t in (0.0, 1.0))
    return {
        "lossless": kind.lossless,
        "opens": kind.opens,
        **_same(kind.trees, "even in_order drops"),
        "greedy_kind": greedy,
        "sampled_kind": sampled,
        "widest": counted.get("per_level", ""),
        "deepest": counted.get("levels", ""),
        "stretches": options["budget"].default == 0,
        **_same(kind.trees, "fan beam forks static best_first depth_first"),
        "notes": sorted(kind.trees.notes),
    }


def stop_policy(kind: type[StopPolicy[StopOptions]]) -> dict[str, Any]:
    """One stop policy, with the fields of `KnownStopPolicy`."""
    return {"lossless": kind.lossless, "deployable": kind.deployable, **asdict(kind.stops)}


def text() -> str:
    """The file's content: the methods of this package, and the drafter that simulated runs name."""
    methods = {
        "drafters": {**{name: drafter(kind) for name, kind in _own(DRAFTERS)}, "simulated": DECLARED},
        "tree_policies": {name: tree_policy(kind) for name, kind in _own(TREE_POLICIES)},
        "stop_policies": {name: stop_policy(kind) for name, kind in _own(STOP_POLICIES)},
    }
    return json.dumps(methods, indent=1) + "\n"


def _same(said: Any, names: str) -> dict[str, Any]:
    """What is declared under these names, and goes by them in the file."""
    return {name: getattr(said, name) for name in names.split()}


def _one(kinds: frozenset[str]) -> str:
    return next(iter(kinds)) if len(kinds) == 1 else ""


def _own(registry: Registry[Any]) -> list[tuple[str, Any]]:
    return [(name, kind) for name, kind in registry.items() if kind.__module__.partition(".")[0] == "specviz"]
