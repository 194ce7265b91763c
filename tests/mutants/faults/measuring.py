"""Faults of numbers and of the charts that draw them: metrics, what-if, batches, and the lab's sums over a sweep."""

from tests.mutants.faults.fault import Edits, edit

METRICS = "tests/theory/test_metrics.py"
WHAT_IF = "tests/theory/test_what_if.py"
SWEEP_CLOCK, MACHINES = "tests/theory/test_sweep_clock.py", "tests/theory/test_machines.py"
PREDICTING = "tests/app/test_predicting.py"
BATCHES = "tests/studies/test_batches.py"
SUMS = "tests/app/lab/test_views.py"
DRAWN = "tests/app/lab/test_drawn.py"

FAULTS: Edits = {
    ("specviz/theory/metrics.py", METRICS): {
        "metrics: tokens behind the end of the text are in tau": edit(
            "sum(len(this.committed.tokens) for this in rounds)", "sum(len(this.judged.path) + 1 for this in rounds)"
        ),
        "metrics: a prompt's pass is a step of a draft": edit(
            " for pass_ in this.drafted.passes if pass_.rows == 1]", " for pass_ in this.drafted.passes]"
        ),
        "metrics: the cost ratio is to all of scoring": edit(
            "[this.scored.target_pass.seconds for this in rounds]", "[this.scored.seconds for this in rounds]"
        ),
        "metrics: verdicts from the leaves have first trials": edit(
            'if this.judged.order != "top_down":', 'if this.judged.order == "longest":'
        ),
    },
    ("specviz/theory/what_if.py", WHAT_IF): {
        "what-if: a tree's candidates wait for the drafter one by one": edit(
            "-shape.depth * clock.draft_step_s / clock.round_s(shape)",
            "-shape.nodes * clock.draft_step_s / clock.round_s(shape)",
        ),
        "what-if: no alpha brings more tokens than a draft has levels": edit(
            "if tokens > shape.depth + 1:", "if tokens > shape.depth:"
        ),
    },
    ("specviz/theory/sweep_clock.py", SWEEP_CLOCK): {
        "sweep clock: every pass of the other machine costs what one row does": edit(
            "count * self.times_of(point).at(rows) for rows", "count * self.times_of(point).at(1) for rows"
        ),
        "sweep clock: what drafts alike costs what it cost where it was recorded": edit(
            "return was.draft_s * pace.draft_ratio, rest_s", "return was.draft_s, rest_s"
        ),
        "sweep clock: chains of one model are priced by those of any other": edit(
            "return _Kind(models.get(title(point)), has_passes", "return _Kind(None, has_passes"
        ),
        "sweep clock: drafters that work beside the target are predicted like others": edit(
            "return kind.model is None or not point.drafted", "return True"
        ),
        "sweep clock: a chain beyond the longest goes on along a line": edit(
            "min(max((rows - self.rows) / apart, 0.0), 1.0)", "(rows - self.rows) / apart"
        ),
        "sweep clock: a longer chain may draft for nothing": edit(
            "(ends[-1].candidates - ends[0].candidates), 0.0)", "(ends[-1].candidates - ends[0].candidates), -1.0)"
        ),
        "sweep clock: the usual prompt may be one that was sampled": edit(
            "if point.temperature == min(point.temperature for point in points):", "if True:"
        ),
        "sweep clock: every repeat stands beside the first one's plain decoding": edit(
            "return point.prompt, point.repeat, point.temperature", "return point.prompt, 0, point.temperature"
        ),
    },
    ("specviz/studies/branches/measure.py", "tests/studies/test_branches.py"): {
        "branches: a token that was not kept may have all that is left": edit(
            "min(head.rest, min(head.probs))", "head.rest"
        ),
        "branches: at temperature 0 all but one token are ruled out": edit(
            "head = node.target_raw or node.target", "head = node.target or node.target_raw"
        ),
        "branches: the example may be below what the target would not say": edit(" and fits(nodes, node.parent)", ""),
        "branches: the last example is shown": edit("others and example is None and", "others and"),
    },
    ("specviz/studies/blocks/measure.py", "tests/studies/test_blocks.py"): {
        "blocks: every way is measured greedily": edit("        temperature=temperature,\n", ""),
    },
    ("specviz/studies/generations/result.py", "tests/studies/test_generations.py"): {
        "generations: a median may lie outside its quartiles": edit(" or not row.low <= row.ratio <= row.high", ""),
        "generations: a draft without a position passes": edit(" or not row.levels:", ":"),
    },
    ("specviz/app/race/here.py", "tests/app/race/test_here.py"): {
        "race here: what cannot be run is said in another tab": edit(
            "return refused(RACE, str(error))", 'return refused("sweep", str(error))'
        ),
        "race here: any two races stand beside each other": edit(
            "if other is None or other[0] != spec:", "if other is None:"
        ),
        "race here: the times of a visitor who left are kept": edit("        self.plain_s.pop(visitor, None)\n", ""),
        "race here: what came back wrongly takes the race away": edit(
            'return gr.skip(), notices.message(str(error), "error")',
            'return None, notices.message(str(error), "error")',
        ),
    },
    ("specviz/app/speedup/here.py", "tests/app/test_sweep_here.py"): {
        "sweep here: what cannot be measured is said in another tab": edit(
            "return refused(SWEEP, str(error))", 'return refused("race", str(error))'
        ),
        "sweep here: a message takes the chart away": edit(
            "(gr.skip(),) * (len(OUTPUTS) - 1)", "(None,) * (len(OUTPUTS) - 1)"
        ),
    },
    ("specviz/theory/machines.py", MACHINES): {
        "machines: what was kept of the sweep's own processor stands there too": edit(
            "if other.machine.processor != here", "if other.machine.processor"
        )
    },
    ("specviz/app/speedup/predicting.py", PREDICTING): {
        "predicting: a shared page times models that it does not offer": edit(
            "check_models((asked.target, *asked.drafter_models), catalog, limits)", "check_models((), catalog, limits)"
        )
    },
    ("specviz/studies/batches/result.py", BATCHES): {
        "batches: a size pays where its median does": edit("self.speedup.low > 1.0", "self.speedup.median > 1.0"),
        "batches: a size pays where it is as fast as plain decoding": edit(
            "self.speedup.low > 1.0", "self.speedup.low >= 1.0"
        ),
        "batches: texts in a pass are those of the first repeat": edit(
            "sum(point.shares for point in own) / sum(point.target_passes for point in own)",
            "first.shares / first.target_passes",
        ),
        "batches: every text is what it is alone": edit("same=sum(text.same for text in texts)", "same=len(texts)"),
    },
    ("specviz/app/lab/times.py", DRAWN): {
        "lab: the bar of judging has the seconds of committing": edit(
            "lambda sums: sums.judge_s", "lambda sums: sums.commit_s"
        ),
        "lab: the bar of committing has the seconds of judging": edit(
            "lambda sums: sums.commit_s", "lambda sums: sums.judge_s"
        ),
    },
    ("specviz/app/lab/cases.py", DRAWN): {
        "lab: seconds of committing are added up as judging": edit(
            "judge_s=sum(cost.judge_s for", "judge_s=sum(cost.commit_s for"
        ),
        "lab: seconds of judging are added up as committing": edit(
            "commit_s=sum(cost.commit_s for", "commit_s=sum(cost.judge_s for"
        ),
    },
    ("specviz/app/lab/cases.py", SUMS): {
        "lab: a case is divided by the plain runs of some of its prompts": edit(
            "if beside.runs == len(runs) and beside.timed else None", "if beside.timed else None"
        ),
        "lab: a run stands beside the plain run of another repeat": edit(
            "return point.prompt, point.repeat, point.temperature", "return point.prompt, 0, point.temperature"
        ),
        "lab: what has no seconds of passes is timed": edit(
            "min(self.decode_s, self.target_pass_s) > 0", "max(self.decode_s, self.target_pass_s) > 0"
        ),
        "lab: the lengths of a drafter stand from the longest": edit(
            "key=lambda case: case.gamma or 0", "key=lambda case: -(case.gamma or 0)"
        ),
    },
}
