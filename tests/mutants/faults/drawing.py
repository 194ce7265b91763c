"""Faults of charts: what stands where, and how far its whiskers reach."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

DRAWN = "tests/app/test_drawn.py::test_{}"
BATCHES = DRAWN.format("batches_stand_beside_each_other_at_their_size_with_whiskers_to_their_quartiles")
LANES = DRAWN.format("spans_of_lanes_begin_where_they_began_and_are_as_long_in_milliseconds")
MACHINE = DRAWN.format("pass_times_have_their_quartiles_and_the_knee_stands_at_its_width")
TRAINING = DRAWN.format("a_training_is_drawn_over_its_seconds_with_the_shipped_module_dotted")

FAULTS: tuple[Fault, ...] = (
    Fault(
        "batch chart: a whisker is as long as its end is high",
        "specviz/app/studies/chart.py",
        "high - value for high, value in",
        "high for high, value in",
        (BATCHES,),
    ),
    Fault(
        "batch chart: the lower whisker is as long as its end is high",
        "specviz/app/studies/chart.py",
        "value - low for low, value in",
        "low for low, value in",
        (BATCHES,),
    ),
    Fault(
        "batch chart: only the second shape stands aside",
        "specviz/studies/batches/result.py",
        "APART ** (index - (len(shapes) - 1) / 2)",
        "APART ** index",
        (BATCHES,),
    ),
    Fault(
        "lanes: a bar is as long as its span ends late",
        "specviz/app/studies/chart.py",
        "x=[1000 * (span.end_s - span.start_s) for",
        "x=[1000 * span.end_s for",
        (LANES,),
    ),
    Fault(
        "lanes: a bar begins where its span ends",
        "specviz/app/studies/chart.py",
        "base=[1000 * span.start_s for",
        "base=[1000 * span.end_s for",
        (LANES,),
    ),
    Fault(
        "lanes: every verification is wholly accepted",
        "specviz/app/studies/chart.py",
        "span.accepted == span.tokens",
        "span.accepted <= span.tokens",
        (LANES,),
    ),
    Fault(
        "lanes: the first method is at the foot",
        "specviz/app/studies/chart.py",
        "categoryarray=labels[::-1]",
        "categoryarray=labels",
        (LANES,),
    ),
    Fault(
        "pass times: a whisker is the whole interval",
        "specviz/app/machine/view.py",
        "pass_.high_ms - pass_.median_ms",
        "pass_.high_ms - pass_.low_ms",
        (MACHINE,),
    ),
    Fault(
        "pass times: the knee stands a row before its width",
        "specviz/app/machine/view.py",
        "_upright(view.knee, low, high,",
        "_upright(view.knee - 1, low, high,",
        (MACHINE,),
    ),
    Fault(
        "pass times: the knee's limit is that of the widest pass",
        "specviz/app/machine/view.py",
        "limit = times[0] * (1 + SLACK)",
        "limit = times[-1] * (1 + SLACK)",
        (MACHINE,),
    ),
    Fault(
        "training: agreement is drawn as acceptance",
        "specviz/app/train/view.py",
        "y=[mark.acceptance[depth] for mark in marks]",
        "y=[mark.agreement[depth] for mark in marks]",
        (TRAINING,),
    ),
    Fault(
        "training: the shipped module's agreement is its acceptance",
        "specviz/app/train/view.py",
        "figure.add_hline(shipped.acceptance[depth]",
        "figure.add_hline(shipped.agreement[depth]",
        (TRAINING,),
    ),
    Fault(
        "training: the largest term is the sum",
        "specviz/app/train/view.py",
        "[mark.total for mark in marks]",
        "[max(mark.terms.values()) for mark in marks]",
        (TRAINING,),
    ),
)
