"""Faults of charts: what stands where, and how far its whiskers reach."""

from tests.mutants.faults.fault import Edits, edit

DRAWN = "tests/app/test_drawn.py::test_{}"
BATCHES = DRAWN.format("batches_stand_beside_each_other_at_their_size_with_whiskers_to_their_quartiles")
LANES = DRAWN.format("spans_of_lanes_begin_where_they_began_and_are_as_long_in_milliseconds")
MACHINE = DRAWN.format("pass_times_have_their_quartiles_and_the_knee_stands_at_its_width")
TRAINING = DRAWN.format("a_training_is_drawn_over_its_seconds_with_the_shipped_module_dotted")

FAULTS: Edits = {
    ("specviz/app/studies/chart.py", BATCHES): {
        "batch chart: a whisker is as long as its end is high": edit(
            "high - value for high, value in", "high for high, value in"
        ),
        "batch chart: the lower whisker is as long as its end is high": edit(
            "value - low for low, value in", "low for low, value in"
        ),
    },
    ("specviz/studies/batches/result.py", BATCHES): {
        "batch chart: only the second shape stands aside": edit(
            "APART ** (index - (len(shapes) - 1) / 2)", "APART ** index"
        )
    },
    ("specviz/app/studies/chart.py", LANES): {
        "lanes: a bar is as long as its span ends late": edit(
            "x=[1000 * (span.end_s - span.start_s) for", "x=[1000 * span.end_s for"
        ),
        "lanes: a bar begins where its span ends": edit("base=[1000 * span.start_s for", "base=[1000 * span.end_s for"),
        "lanes: every verification is wholly accepted": edit(
            "span.accepted == span.tokens", "span.accepted <= span.tokens"
        ),
        "lanes: the first method is at the foot": edit("categoryarray=labels[::-1]", "categoryarray=labels"),
    },
    ("specviz/app/machine/view.py", MACHINE): {
        "pass times: a whisker is the whole interval": edit(
            "pass_.high_ms - pass_.median_ms", "pass_.high_ms - pass_.low_ms"
        ),
        "pass times: the knee stands a row before its width": edit(
            "_upright(view.knee, low, high,", "_upright(view.knee - 1, low, high,"
        ),
        "pass times: the knee's limit is that of the widest pass": edit(
            "first_s = times[0] / 1e3", "first_s = times[-1] / 1e3"
        ),
    },
    ("specviz/app/train/view.py", TRAINING): {
        "training: agreement is drawn as acceptance": edit(
            "y=[mark.acceptance[depth] for mark in marks]", "y=[mark.agreement[depth] for mark in marks]"
        ),
        "training: the shipped module's agreement is its acceptance": edit(
            "figure.add_hline(shipped.acceptance[depth]", "figure.add_hline(shipped.agreement[depth]"
        ),
        "training: the largest term is the sum": edit(
            "[mark.total for mark in marks]", "[max(mark.terms.values()) for mark in marks]"
        ),
    },
}
