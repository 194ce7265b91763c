"""Faults of the browser's engine."""

from tests.mutants.faults.fault import Edits, edit

SAME_DRAFTS = "tests/js/test_engine_policies.py::test_a_seed_gives_the_drafts_that_pythons_policies_make"
SOUND = "tests/js/test_engine_runs.py::test_every_trace_is_sound_and_its_header_sealed"

FAULTS: Edits = {
    ("assets/js/engine/verifiers.js", SOUND): {
        "browser: a sibling is judged by the target before the rejections": edit(
            "const p = rejected.length ? whole()[token] : target.candidateProb(child);",
            "const p = target.candidateProb(child);",
        )
    },
    ("assets/js/engine/tree_drawing.js", SOUND): {
        "browser: a draw without replacement keeps what was drawn": edit(
            'if (how === "without_replacement" && children.length < width)', "if (children.length > width)"
        )
    },
    ("assets/js/engine/header.js", SOUND): {
        "browser: the seal takes whole numbers of Python's floats for integers": edit(
            "if (isFloat && Number.isInteger(value)) return value.toFixed(1);", ""
        )
    },
    ("assets/js/engine/download.js", "tests/js/test_js.py::test_the_pure_functions"): {
        "browser: a damaged file is taken as it came": edit(
            "if ((await S.sha256(bytes)) !== file.sha256) {", "if (!bytes.length) {"
        )
    },
    ("assets/js/engine/methods.js", "tests/js/test_engine_runs.py::test_what_it_cannot_run_it_says_in_a_sentence"): {
        "browser: a tree policy is left out in silence": edit("if (name === OWN_TREES) return null;", "return null;")
    },
    ("assets/js/engine/growing.js", SAME_DRAFTS): {
        "browser: a candidate is drawn below a node before the stop policy is asked": edit(
            "this.stop.drawsAt(this, asked[at])", "asked.length > at"
        )
    },
    ("assets/js/engine/stop_policies.js", SAME_DRAFTS): {
        "browser: a threshold that moves forgets whether the draft was stopped": edit(
            "this.stopped ||= !reached;", "this.stopped = false;"
        )
    },
    ("assets/js/engine/growing.js", "tests/js/test_engine_policies.py::test_the_trace_of_every_policy_is_sound"): {
        "browser: a policy that numbers nodes anew leaves what the drafter said at the old ones": edit(
            "this.proposal.logits = new Map(kept.filter(([, row]) => row));", ""
        )
    },
    ("assets/js/engine/worker.js", "tests/js/test_js.py::test_the_pure_functions"): {
        "browser: the models are fetched for a request that it cannot run": edit(
            "S.planOf(request, catalog, models);", ""
        )
    },
    ("specviz/app/step/opening.py", "tests/app/step/test_here.py"): {
        "browser: the page opens its run unchecked": edit(
            'checked(codec.loads(text, UPLOAD), "the browser\'s run")', "codec.loads(text, UPLOAD)"
        ),
        "browser: its time is not told beside the server's": edit(
            "if not names and before.where != now.where and BROWSER in (before.where, now.where):", "if False:"
        ),
    },
    ("assets/js/page/growing_run.js", "tests/js/test_js.py::test_the_pure_functions"): {
        "browser: a run that grows keeps the rounds of the run before": edit(
            "[rounds, vocab, shown] = [[], {}, -Infinity];", "shown = -Infinity;"
        )
    },
    ("specviz/app/runs/elsewhere.py", "tests/app/race/test_here.py"): {
        "browser: runs that were not asked for are shown as a race": edit("if made != wanted:", "if False:")
    },
    ("assets/js/engine/series.js", "tests/js/test_js.py::test_the_pure_functions"): {
        "browser: a series stops at what it cannot run": edit(
            "if (refusals[place]) continue;", "if (refusals[place]) break;"
        )
    },
    ("assets/js/engine/verifiers.js", "tests/js/test_js.py::test_the_pure_functions"): {
        "browser: a rejected candidate is not taken out of what the correction is drawn from": edit(
            "[left, mass] = taken[1] > 0 ? taken : [whole(), 0];", "[left, mass] = [whole(), taken[1]];"
        )
    },
    ("assets/js/engine/eagle.js", "tests/js/test_engine_runs.py::test_a_seed_gives_the_run_that_the_engine_gives"): {
        "browser: EAGLE keeps the states that it guessed": edit(
            "this.waiting.push(...accepted.map((node) => states[node]));",
            "this.waiting.push(...accepted.map((node) => this.outputs.get(node)?.state ?? states[node]));",
        )
    },
    ("assets/js/engine/medusa.js", "tests/js/test_engine_runs.py::test_a_seed_gives_the_run_that_the_engine_gives"): {
        "browser: Medusa's heads speak of one place too early": edit(
            "return nodes.map((node) => rows[proposal.tree.depths[node]]);", "return nodes.map(() => rows[0]);"
        )
    },
    ("assets/js/engine/path_verifiers.js", "tests/js/test_js.py::test_the_pure_functions"): {
        "browser: a leaf that is rejected leaves its parent what it was": edit(
            "before: reach, reach: reachAfter(reach, left)", "before: reach, reach"
        )
    },
}
