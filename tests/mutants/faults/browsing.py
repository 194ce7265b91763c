"""Faults of the browser's engine."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

SAME_DRAFTS = "tests/js/test_engine_policies.py::test_a_seed_gives_the_drafts_that_pythons_policies_make"
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
        "assets/js/engine/tree_drawing.js",
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
    Fault(
        "browser: a tree policy is left out in silence",
        "assets/js/engine/methods.js",
        "if (name === OWN_TREES) return null;",
        "return null;",
        ("tests/js/test_engine_runs.py::test_what_it_cannot_run_it_says_in_a_sentence",),
    ),
    Fault(
        "browser: a candidate is drawn below a node before the stop policy is asked",
        "assets/js/engine/growing.js",
        "this.stop.drawsAt(this, asked[at])",
        "asked.length > at",
        (SAME_DRAFTS,),
    ),
    Fault(
        "browser: a threshold that moves forgets whether the draft was stopped",
        "assets/js/engine/stop_policies.js",
        "this.stopped ||= !reached;",
        "this.stopped = false;",
        (SAME_DRAFTS,),
    ),
    Fault(
        "browser: a policy that numbers nodes anew leaves what the drafter said at the old ones",
        "assets/js/engine/growing.js",
        "this.proposal.logits = new Map(kept.filter(([, row]) => row));",
        "",
        ("tests/js/test_engine_policies.py::test_the_trace_of_every_policy_is_sound",),
    ),
    Fault(
        "browser: the models are fetched for a request that it cannot run",
        "assets/js/engine/worker.js",
        "S.planOf(request, catalog, models);",
        "",
        ("tests/js/test_js.py::test_the_pure_functions",),
    ),
    Fault(
        "browser: the page opens its run unchecked",
        "specviz/app/step/opening.py",
        'checked(codec.loads(text, UPLOAD), "the browser\'s run")',
        "codec.loads(text, UPLOAD)",
        ("tests/app/step/test_here.py",),
    ),
    Fault(
        "browser: its time is not told beside the server's",
        "specviz/app/step/opening.py",
        "if not names and before.where != now.where and BROWSER in (before.where, now.where):",
        "if False:",
        ("tests/app/step/test_here.py",),
    ),
    Fault(
        "browser: a run that grows keeps the rounds of the run before",
        "assets/js/page/growing_run.js",
        "[rounds, vocab, shown] = [[], {}, -Infinity];",
        "shown = -Infinity;",
        ("tests/js/test_js.py::test_the_pure_functions",),
    ),
    Fault(
        "browser: runs that were not asked for are shown as a race",
        "specviz/app/runs/elsewhere.py",
        "if made != wanted:",
        "if False:",
        ("tests/app/race/test_here.py",),
    ),
    Fault(
        "browser: a series stops at what it cannot run",
        "assets/js/engine/series.js",
        "if (refusals[place]) continue;",
        "if (refusals[place]) break;",
        ("tests/js/test_js.py::test_the_pure_functions",),
    ),
    Fault(
        "browser: a rejected candidate is not taken out of what the correction is drawn from",
        "assets/js/engine/verifiers.js",
        "[left, mass] = taken[1] > 0 ? taken : [whole(), 0];",
        "[left, mass] = [whole(), taken[1]];",
        ("tests/js/test_js.py::test_the_pure_functions",),
    ),
    Fault(
        "browser: EAGLE keeps the states that it guessed",
        "assets/js/engine/eagle.js",
        "this.waiting.push(...accepted.map((node) => states[node]));",
        "this.waiting.push(...accepted.map((node) => this.outputs.get(node)?.state ?? states[node]));",
        ("tests/js/test_engine_runs.py::test_a_seed_gives_the_run_that_the_engine_gives",),
    ),
    Fault(
        "browser: Medusa's heads speak of one place too early",
        "assets/js/engine/medusa.js",
        "return nodes.map((node) => rows[proposal.tree.depths[node]]);",
        "return nodes.map(() => rows[0]);",
        ("tests/js/test_engine_runs.py::test_a_seed_gives_the_run_that_the_engine_gives",),
    ),
    Fault(
        "browser: a leaf that is rejected leaves its parent what it was",
        "assets/js/engine/path_verifiers.js",
        "before: reach, reach: reachAfter(reach, left)",
        "before: reach, reach",
        ("tests/js/test_js.py::test_the_pure_functions",),
    ),
)
