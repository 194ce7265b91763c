"""The list of the lab's charts: name, title, the question each answers, its figure and its rows for a file.

Place in the flow: read by the Speedup tab and by whoever exports pictures. Adding a chart is a file with `figure` and
`rows`, and an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from specviz.app.lab import by_position, economy, families, lengths, phases, plane, predicted, waterfall, why_here
from specviz.app.lab.cases import Rows
from specviz.app.lab.figure_parts import sentence
from specviz.protocol.sweeps.points import SweepPoint
from specviz.theory.repetition import varied

NOTHING = "Nothing is measured yet: run a sweep, and this chart draws itself from its points."


@dataclass(frozen=True, slots=True)
class LabChart:
    """One chart over the points of a sweep."""

    name: str
    """in links and file names"""
    title: str
    question: str
    reading: str
    """how to read it, in a sentence or two"""
    missing: str
    """what the points lack where there is nothing to draw"""
    draw: Callable[[Sequence[SweepPoint]], go.Figure | None]
    rows: Callable[[Sequence[SweepPoint]], Rows]
    """one dictionary per number drawn, all with the same columns; none where there is nothing"""
    every_text: bool = False
    """it also has the texts that repeat themselves; otherwise they are left out"""

    def build(self, points: Sequence[SweepPoint]) -> go.Figure:
        """The figure; where there is nothing to draw, one that says what is missing."""
        drawn = self.draw(self.of(points)) if points else None
        return drawn if drawn is not None else sentence(self.missing if points else NOTHING)

    def of(self, points: Sequence[SweepPoint]) -> Sequence[SweepPoint]:
        """The points that the chart is about."""
        return points if self.every_text else varied(points)


NO_DRAFTS = "None of the runs measured here drafted anything: choose a drafter and run the sweep again."
NO_PLAIN = "Some drafter and the plain run of the same prompt are needed, and these results have none with times."

CHARTS = (
    LabChart(
        "waterfall",
        "Speedup waterfall",
        "Where do the tokens per target pass go on their way to the clock?",
        "Each drafter starts at its tokens per target pass and loses to drafting, to the wider target pass and to the "
        "engine around them; the green bar is the measured speedup, and the factors multiply to it exactly. Each "
        f"drafter at its fastest setting, the {waterfall.MOST} fastest of them; all numbers are sums over its runs.",
        NO_PLAIN,
        waterfall.figure,
        waterfall.rows,
    ),
    LabChart(
        "plane",
        "Latency–acceptance plane",
        "Is a drafter worth its time: what does it cost, and what does it bring?",
        "To the left drafting is cheap, upwards the target accepts more. Dotted lines join equal speedups, with one "
        "price for the wider target pass: the median measured here, and no engine overhead; the dashed one is "
        "break-even.",
        NO_PLAIN,
        plane.figure,
        plane.rows,
    ),
    LabChart(
        "position",
        "Acceptance by position",
        "How deep do the guesses hold?",
        "Solid: of the rounds that drafted this deep, the share that accepted this depth. Dotted: the same given that "
        "the depths before were accepted. All speculation lengths of a drafter together.",
        NO_DRAFTS,
        by_position.figure,
        by_position.rows,
    ),
    LabChart(
        "lengths",
        "Accepted lengths",
        "How many drafted tokens does a round keep?",
        "The share of the rounds that drafted by how many tokens they accepted, the round's own last token not "
        "counted. Each drafter at its fastest setting.",
        NO_DRAFTS,
        lengths.figure,
        lengths.rows,
    ),
    LabChart(
        "phases",
        "Time per round",
        "What does a round spend its time on?",
        "Mean engine time of a round, stacked by phase, beside a round of plain decoding, which brings one token. "
        "Each drafter at its fastest setting.",
        "These results have no times for a round.",
        phases.figure,
        phases.rows,
    ),
    LabChart(
        "families",
        "Winners by prompt family",
        "Which drafter is the fastest for which kind of text?",
        "Median speedup per family, ★ the fastest there; of several speculation lengths the fastest in that family.",
        NO_DRAFTS,
        families.figure,
        families.rows,
    ),
    LabChart(
        "why",
        "Why this drafter wins here",
        "Does a drafter win by foresight, or because the text repeats itself?",
        "One mark per prompt: to the right the text repeats more of its 4-grams, which anyone can copy; upwards a "
        "target pass brings more tokens. Right of the dashed line texts are reported apart and are in no other chart. "
        f"Each drafter at its fastest setting, the {why_here.MOST} fastest of them.",
        "These results do not say how much each text repeats itself: run the sweep again.",
        why_here.figure,
        why_here.rows,
        every_text=True,
    ),
    LabChart(
        "economy",
        "Wasted drafts against target passes",
        "Which way of ending a draft saves target passes without wasting candidates?",
        "Left and low is better; the dashed line joins those that nothing beats in both. Counts, no times, and only "
        "prompts that every setting ran. Tick stop policies above to compare them.",
        "There is no prompt yet that every setting has run: let the sweep go on.",
        economy.figure,
        economy.rows,
    ),
    LabChart(
        "predicted",
        "Predicted against measured",
        "Do acceptance and pass times explain the clock?",
        "Predicted from the acceptance per depth and the step times measured at load; on the dashed line the "
        "prediction holds, below it the engine or the moment cost more.",
        "A prediction needs a drafter's acceptance, step times and plain runs, and these results lack one of them.",
        predicted.figure,
        predicted.rows,
    ),
)  # fmt: skip


def chart(name: str) -> LabChart:
    """The chart of that name; the first one for a name that is none, such as one from an old link."""
    return next((one for one in CHARTS if one.name == name), CHARTS[0])
