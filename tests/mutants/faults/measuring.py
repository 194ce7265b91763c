"""Faults of numbers and of the charts that draw them: metrics, what-if, batches, and the lab's sums over a sweep."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

METRICS = "tests/theory/test_metrics.py"
WHAT_IF = "tests/theory/test_what_if.py"
RECLOCK, MACHINES = "tests/theory/test_reclock.py", "tests/theory/test_machines.py"
PREDICTING = "tests/app/test_predicting.py"
BATCHES = "tests/studies/test_batches.py"
SUMS = "tests/app/lab/test_views.py"
DRAWN = "tests/app/lab/test_drawn.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "metrics: tokens behind the end of the text are in tau",
        "specviz/theory/metrics.py",
        "sum(len(this.committed.tokens) for this in rounds)",
        "sum(len(this.judged.path) + 1 for this in rounds)",
        (METRICS,),
    ),
    Fault(
        "metrics: a prompt's pass is a step of a draft",
        "specviz/theory/metrics.py",
        " for pass_ in this.drafted.passes if pass_.rows == 1]",
        " for pass_ in this.drafted.passes]",
        (METRICS,),
    ),
    Fault(
        "metrics: the cost ratio is to all of scoring",
        "specviz/theory/metrics.py",
        "[this.scored.target_pass.seconds for this in rounds]",
        "[this.scored.seconds for this in rounds]",
        (METRICS,),
    ),
    Fault(
        "metrics: verdicts from the leaves have first trials",
        "specviz/theory/metrics.py",
        'if this.judged.order != "top_down":',
        'if this.judged.order == "longest":',
        (METRICS,),
    ),
    Fault(
        "what-if: a tree's candidates wait for the drafter one by one",
        "specviz/theory/what_if.py",
        "-shape.depth * clock.draft_step_s / clock.round_s(shape)",
        "-shape.nodes * clock.draft_step_s / clock.round_s(shape)",
        (WHAT_IF,),
    ),
    Fault(
        "what-if: no alpha brings more tokens than a draft has levels",
        "specviz/theory/what_if.py",
        "if tokens > shape.depth + 1:",
        "if tokens > shape.depth:",
        (WHAT_IF,),
    ),
    Fault(
        "reclock: every pass of the other machine costs what one row does",
        "specviz/theory/reclock.py",
        "times.at(was.target_rows / point.rounds)",
        "times.at(1)",
        (RECLOCK,),
    ),
    Fault(
        "reclock: a drafter's passes cost what they cost where they were recorded",
        "specviz/theory/reclock.py",
        "draft_s = was.draft_pass_s * step",
        "draft_s = was.draft_pass_s",
        (RECLOCK,),
    ),
    Fault(
        "reclock: drafters that work beside the target are predicted like others",
        "specviz/theory/reclock.py",
        "return model is None or not point.drafted",
        "return True",
        (RECLOCK,),
    ),
    Fault(
        "machines: what was kept of the sweep's own processor stands there too",
        "specviz/theory/machines.py",
        "if other.machine.processor != here",
        "if other.machine.processor",
        (MACHINES,),
    ),
    Fault(
        "predicting: a shared page times models that it does not offer",
        "specviz/app/speedup/predicting.py",
        "check_models((asked.target, *asked.drafter_models), catalog, limits)",
        "check_models((), catalog, limits)",
        (PREDICTING,),
    ),
    Fault(
        "batches: a size pays where its median does",
        "specviz/studies/batches/result.py",
        "self.speedup.low > 1.0",
        "self.speedup.median > 1.0",
        (BATCHES,),
    ),
    Fault(
        "batches: a size pays where it is as fast as plain decoding",
        "specviz/studies/batches/result.py",
        "self.speedup.low > 1.0",
        "self.speedup.low >= 1.0",
        (BATCHES,),
    ),
    Fault(
        "batches: texts in a pass are those of the first repeat",
        "specviz/studies/batches/result.py",
        "sum(point.shares for point in own) / sum(point.target_passes for point in own)",
        "first.shares / first.target_passes",
        (BATCHES,),
    ),
    Fault(
        "batches: every text is what it is alone",
        "specviz/studies/batches/result.py",
        "same=sum(text.same for text in texts)",
        "same=len(texts)",
        (BATCHES,),
    ),
    Fault(
        "lab: the bar of judging has the seconds of committing",
        "specviz/app/lab/times.py",
        "lambda sums: sums.judge_s",
        "lambda sums: sums.commit_s",
        (DRAWN,),
    ),
    Fault(
        "lab: the bar of committing has the seconds of judging",
        "specviz/app/lab/times.py",
        "lambda sums: sums.commit_s",
        "lambda sums: sums.judge_s",
        (DRAWN,),
    ),
    Fault(
        "lab: seconds of committing are added up as judging",
        "specviz/app/lab/cases.py",
        "judge_s=sum(cost.judge_s for",
        "judge_s=sum(cost.commit_s for",
        (DRAWN,),
    ),
    Fault(
        "lab: seconds of judging are added up as committing",
        "specviz/app/lab/cases.py",
        "commit_s=sum(cost.commit_s for",
        "commit_s=sum(cost.judge_s for",
        (DRAWN,),
    ),
    Fault(
        "lab: a case is divided by the plain runs of some of its prompts",
        "specviz/app/lab/cases.py",
        "if beside.runs == len(runs) and beside.timed else None",
        "if beside.timed else None",
        (SUMS,),
    ),
    Fault(
        "lab: a run stands beside the plain run of another repeat",
        "specviz/app/lab/cases.py",
        "return point.prompt, point.repeat, point.temperature",
        "return point.prompt, 0, point.temperature",
        (SUMS,),
    ),
    Fault(
        "lab: what has no seconds of passes is timed",
        "specviz/app/lab/cases.py",
        "min(self.decode_s, self.target_pass_s) > 0",
        "max(self.decode_s, self.target_pass_s) > 0",
        (SUMS,),
    ),
    Fault(
        "lab: the lengths of a drafter stand from the longest",
        "specviz/app/lab/cases.py",
        "key=lambda case: case.gamma or 0",
        "key=lambda case: -(case.gamma or 0)",
        (SUMS,),
    ),
)
