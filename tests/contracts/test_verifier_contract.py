"""What holds for every registered verifier, whatever its rule: discovered, never listed.

Real small models, real traces; that a lossless rule is lossless is the proof's matter.
"""

import pytest

from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS
from specviz.engine.pairing import check_pairing
from specviz.errors import PairingError
from specviz.live.source import collect
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check
from specviz.trace.codec import dumps, loads
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
        PROMPT, drafter=Choice("model", options), verifier=Choice(verifier), temperature=temperature, max_new_tokens=20
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
