"""Faults of the browser's engine."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

SOUND = "tests/js/test_engine_runs.py::test_every_trace_is_sound_and_its_header_sealed"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "browser: a sibling is judged by the target before the rejections",
        "assets/js/engine/verifiers.js",
        "const p = rejected.length ? whole()[token] : target.candidateProb(child);",
        "const p = target.candidateProb(child);",
        (SOUND,),
    ),
    Fault(
        "browser: a draw without replacement keeps what was drawn",
        "assets/js/engine/drafters.js",
        'if (how === "without_replacement" && children.length < width)',
        "if (children.length > width)",
        (SOUND,),
    ),
    Fault(
        "browser: the seal takes whole numbers of Python's floats for integers",
        "assets/js/engine/header.js",
        "if (isFloat && Number.isInteger(value)) return value.toFixed(1);",
        "",
        (SOUND,),
    ),
    Fault(
        "browser: a damaged file is taken as it came",
        "assets/js/engine/download.js",
        "if ((await S.sha256(bytes)) !== file.sha256) {",
        "if (!bytes.length) {",
        ("tests/js/test_js.py::test_the_pure_functions",),
    ),
)
