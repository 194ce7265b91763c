"""What a check of a trace found, as plain data: for the command line's `--json` and the page's endpoint."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from specviz.trace.check import check
from specviz.trace.events import Trace
from specviz.trace.unchecked import unchecked, verdicts_known


def report_of(trace: Trace) -> dict[str, Any]:
    """`ok`, `verdict`, `rounds`, `problems` and `not_recomputed`; `sound` only where every verdict was recomputed."""
    found = [{str(key): str(value) for key, value in asdict(problem).items()} for problem in check(trace)]
    report = _with_verdict(found, known=verdicts_known(trace))
    return report | {"rounds": len(trace.rounds), "not_recomputed": unchecked(trace)}


def unreadable(sentence: str) -> dict[str, Any]:
    """The same of what is no trace."""
    return _with_verdict([{"place": "", "sentence": sentence, "severity": "error"}], known=False)


def _with_verdict(problems: list[dict[str, str]], known: bool) -> dict[str, Any]:
    ok = all(problem["severity"] != "error" for problem in problems)
    verdict = "false" if not ok else "sound" if known else "not recomputed"
    return {"ok": ok, "verdict": verdict, "rounds": 0, "problems": problems, "not_recomputed": []}
