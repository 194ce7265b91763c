"""Numbers that papers print, as data with their source: what a formula is held against, and presets to start from.

Nothing here was measured by SpecViz; a screen that shows one of these numbers shows its source too.
"""

from __future__ import annotations

from dataclasses import dataclass

LEVIATHAN = "Leviathan, Kalman, Matias 2023 (arXiv 2211.17192)"
LEVIATHAN_SETTING = f"{LEVIATHAN}, tables 2 and 4: T5-XXL (11B) against the T5X implementation, TPU-v4, batch 1"


@dataclass(frozen=True, slots=True)
class PublishedSpeedup:
    """One row of a paper: what went into its formula, what the formula gave there, what the clock gave."""

    task: str
    drafter: str
    temperature: float
    gamma: int
    alpha: float
    cost_ratio: float
    predicted: float
    """the paper's own prediction from its unrounded alpha and c"""
    measured: float

    @property
    def label(self) -> str:
        how = "greedy" if self.temperature == 0 else f"T {self.temperature:g}"
        return f"{self.task}, {self.drafter}, {how}, γ {self.gamma}"


def _t5(
    task: str, drafter: str, temperature: float, gamma: int, alpha: float, predicted: float, measured: float
) -> PublishedSpeedup:
    """c depends on the drafter alone in table 4."""
    cost_ratio = {"T5-small 77M": 0.02, "T5-base 250M": 0.04, "T5-large 800M": 0.11}[drafter]
    return PublishedSpeedup(task, drafter, temperature, gamma, alpha, cost_ratio, predicted, measured)


LEVIATHAN_SPEEDUPS: tuple[PublishedSpeedup, ...] = (
    _t5("English to German", "T5-small 77M", 0, 7, 0.75, 3.2, 3.4),
    _t5("English to German", "T5-base 250M", 0, 7, 0.80, 3.3, 2.8),
    _t5("English to German", "T5-large 800M", 0, 7, 0.82, 2.5, 1.7),
    _t5("English to German", "T5-small 77M", 1, 7, 0.62, 2.3, 2.6),
    _t5("English to German", "T5-base 250M", 1, 5, 0.68, 2.4, 2.4),
    _t5("English to German", "T5-large 800M", 1, 3, 0.71, 2.0, 1.4),
    _t5("summaries of CNN/DM", "T5-small 77M", 0, 5, 0.65, 2.4, 3.1),
    _t5("summaries of CNN/DM", "T5-base 250M", 0, 5, 0.73, 2.6, 3.0),
    _t5("summaries of CNN/DM", "T5-large 800M", 0, 3, 0.74, 2.0, 2.2),
    _t5("summaries of CNN/DM", "T5-small 77M", 1, 5, 0.53, 1.9, 2.3),
    _t5("summaries of CNN/DM", "T5-base 250M", 1, 3, 0.55, 1.8, 2.2),
    _t5("summaries of CNN/DM", "T5-large 800M", 1, 3, 0.56, 1.6, 1.7),
)
"""alpha: the paper's table 2; c and the prediction: its table 4; measured: its table 2"""

LEVIATHAN_TABLE_1: tuple[tuple[float, int, float, float], ...] = (
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
)
"""the same paper's table 1: alpha, gamma, operations, speed, both for a drafter that costs nothing"""
