"""What all verifiers declare of their rules, as the text of `assets/rules.json`.

The check of a trace, the player and the documentation read it instead of knowing each rule again. `make generate`
writes it anew; a test fails where it lags behind.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from specviz.options import Options
from specviz.trace.declared_rule import parse
from specviz.verifiers.base import VERIFIERS, Verifier


def declared(verifier: type[Verifier[Options]]) -> dict[str, Any]:
    """One verifier's rule and what its class says besides, as JSON data."""
    assert verifier.rule is not None
    return {
        **asdict(verifier.rule),
        "equation": verifier.rule.threshold,
        "threshold": parse(verifier.rule.threshold),
        "lossless": verifier.lossless,
        "judges": sorted(verifier.judges),
        "chains": verifier.shapes == "chain",
        "greedy": verifier.temperatures == "zero",
    }


def text() -> str:
    """The file's content: every registered verifier that declares a rule, indented, so that changes are read easily."""
    rules = {name: declared(kind) for name, kind in VERIFIERS.items() if kind.rule is not None}
    return json.dumps(rules, indent=1, ensure_ascii=False) + "\n"
