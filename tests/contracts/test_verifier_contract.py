"""What holds for every registered verifier, whatever its rule: discovered, never listed.

Real small models, real traces; that a lossless rule is lossless is the proof's matter.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS
from specviz.engine.pairing import check_pairing
from specviz.errors import PairingError
from specviz.live.source import collect
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check, errors
from specviz.trace.codec import dumps, loads
from specviz.trace.events import Trace
from specviz.verifiers.base import VERIFIERS

DRAFTS: tuple[dict[str, object], ...] = (
    {"gamma": 3},
    {"branching": (2, 2)},
    {"branching": (2, 2), "draw": "iid"},
    {"branching": (2, 2), "draw": "top_k"},
)
PROMPT = "w1 w2 w3 w1 w2"


def request_for(verifier: str, options: dict[str, object], temperature: float) -> RunRequest:
    return RunRequest(
        PROMPT,
        drafter=Choice("model", options),
        verifier=Choice(verifier),
        temperature=temperature,
        max_new_tokens=20,
    )


def legal() -> list[tuple[str, dict[str, object], float]]:
    found, model = [], DRAFTERS.get("model")
    for name, rule in VERIFIERS.items():
        for options in DRAFTS:
            for temperature in (0.0, 0.9):
                try:
                    check_pairing(model.of(options), rule, Sampling(temperature))
                except PairingError:
                    continue
                found.append((name, options, temperature))
    return found


every_pairing = pytest.mark.parametrize(("verifier", "options", "temperature"), legal(), ids=str)


@every_pairing
def test_its_trace_is_true_to_itself(source, verifier, options, temperature):
    trace = collect(source, request_for(verifier, options, temperature))
    assert check(loads(dumps(trace))) == []
    assert trace.started.verifier.lossless is VERIFIERS.get(verifier).lossless


def test_every_verifier_has_a_draft_it_judges():
    assert {name for name, _, _ in legal()} == set(VERIFIERS.names())


TRACES: dict[str, tuple[dict[str, object], float]] = {
    "block": ({"gamma": 3}, 2.0),
    "traversal": ({"branching": (2, 2)}, 0.9),
    "kseq": ({"branching": (2, 2), "draw": "iid"}, 0.9),
    "lenience": ({"gamma": 3}, 0.9),
    "typical": ({"branching": (2, 2)}, 0.9),
    "longest_path": ({"branching": (2, 2)}, 0.9),
}


def broken(trace: Trace, change) -> str | None:
    """What the check says after `change(round, trial)` was applied to the first trial it wants; None without one."""
    data: dict[str, Any] = json.loads(dumps(trace))
    for this in data["rounds"]:
        if any(change(this, trial) for trial in list(this["judged"]["trials"])):
            return "\n".join(map(str, errors(check(loads(json.dumps(data))))))
    return None


def put(place: str, **values: Any):
    """A change of a trial's numbers; `terms` alone where the place says so."""

    def change(this, trial):
        target = trial["terms"] if place == "terms" else trial
        if not set(values) <= set(target):
            return False
        target.update(values)
        return True

    return change


def reorder(this, trial):
    if len(this["judged"]["trials"]) < 2:
        return False
    this["judged"]["trials"].reverse()
    return True


def rename(order):
    def change(this, trial):
        this["judged"]["order"] = order
        return True

    return change


def forget(this, trial):
    trial["terms"].clear()
    return True


@pytest.mark.parametrize(
    ("verifier", "change", "sentence"),
    [
        ("block", put("terms", parent_reach=0.5), "the root's is 1|the probability of its path is|child was told"),
        ("block", put("terms", left=0.123456), "threshold is .*, but the probability of its path is"),
        ("block", forget, "terms give no threshold .*, which 'block' needs"),
        ("block", rename("longest"), "order is 'longest', but 'block' goes 'bottom_up'"),
        ("traversal", put("trial", threshold=0.123456), "but the probability of its path is"),
        ("traversal", reorder, "but from the leaves up they are"),
        ("kseq", put("terms", rho=1.9), "which do not fit 2 siblings"),
        ("kseq", put("terms", beta=0.001), "which do not fit 2 siblings"),
        ("lenience", put("trial", threshold=0.123456), r"but min\(1, p/\(l q\)\) .*is"),
        ("typical", put("trial", threshold=0.5), r"but p > min\(epsilon, delta exp\(-H\)\) is"),
        ("longest_path", rename("top_down"), "goes 'longest'"),
    ],
)
def test_a_broken_verdict_is_named(source, verifier, change, sentence):
    options, temperature = TRACES[verifier]
    request = request_for(verifier, options, temperature)
    tried = (broken(collect(source, replace(request, seed=seed)), change) for seed in range(60))
    said = next(one for one in tried if one is not None)
    assert re.search(sentence, said), said
