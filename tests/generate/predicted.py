"""The table of `docs/theory.md`: predicted and measured speedup of the drafter model in the shipped sweep."""

from statistics import median

from specviz.app.lab.chart import chart
from specviz.app.lab.expected import PREDICTION
from specviz.app.runs.gallery import recorded
from specviz.protocol.sweeps.result import points_of
from specviz.resources import ROOT

SECTION, DRAFTER = "predicted", "model"
TREE = f"{DRAFTER} · dyspec"


def section() -> str:
    """Markdown: chains of each length at temperature 0, then the tree."""
    sweep = recorded(ROOT / "sweeps")
    points = chart(SECTION).of([one for one in points_of(sweep.result) if one.temperature == 0.0])
    found = PREDICTION.cases(points)
    chains = [one for one in found if one.series == DRAFTER]
    trees = [one for one in found if one.series.startswith(TREE)]
    off = [one.expected / one.measured for one in chains]
    return "\n".join(
        (
            f"On the sweep that the When-it-pays tab opens with (temperature 0, the "
            f"{len({one.prompt for one in points})} prompts whose text does not repeat itself, "
            f"{sweep.result.provenance.machine.dtype}, {sweep.result.provenance.machine.processor}) "
            f"chains come out {_missed(median(off))} in the median, "
            f"{_missed(max(off, key=lambda ratio: abs(ratio - 1)))} at worst:",
            "",
            f"| {' | '.join(('γ', *(one.name.rpartition('=')[2] for one in chains)))} |",
            f"|---|{'---:|' * len(chains)}",
            f"| predicted, × plain decoding | {' | '.join(f'{one.expected:.2f}' for one in chains)} |",
            f"| measured | {' | '.join(f'{one.measured:.2f}' for one in chains)} |",
            f"| predicted ÷ measured | {' | '.join(f'{one:.2f}' for one in off)} |",
            *(f"\nThe tree of `{one.name}` comes out {_missed(one.expected / one.measured)}." for one in trees),
        )
    )


def _missed(ratio: float) -> str:
    """How far a prediction is from what was measured."""
    return f"{abs(ratio - 1):.0%} too {'high' if ratio > 1 else 'low'}"
