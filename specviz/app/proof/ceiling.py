"""*Proof*, who accepts most: every rule on the candidates of the toy, under the ceiling that no lossless rule crosses.

Acceptance is added up from the lines of the exact proof, the ceiling is the optimum of a transport problem over the
same candidates. A rule above it is lossy: nothing else needs to be known of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from specviz.app.look import notices
from specviz.app.look.events import latest
from specviz.app.proof.view import Pair, bars, part_heading, verdict_line
from specviz.errors import PairingError, SpecVizError
from specviz.protocol.proofs import Lines, Toy
from specviz.theory.formulas import list_agreement_bound, list_bound, race_agreement

INTRO = (
    "The probability that one of the candidates chosen above is accepted, rule by rule. The ceiling is the optimal "
    "transport from the law of the candidates to p; for a single candidate it is 1 − TV, the maximal coupling."
)
EXACT = "every way is added up; nothing is sampled"
Ask = Callable[[Toy], Lines]
LANES = "gls"
"""the rule that races in a lane for each candidate"""


@dataclass(frozen=True, slots=True)
class Rung:
    """One rule."""

    name: str
    acceptance: float
    ceiling: float
    lossless: bool

    @property
    def above(self) -> bool:
        return self.acceptance > self.ceiling + 1e-12


def rungs(ask: Ask, toy: Toy, verifiers: Sequence[str]) -> Iterator[Rung]:
    """Every rule that judges such candidates, with nothing broken. Raises OptionError for what makes no toy."""
    for name in verifiers:
        try:
            lines = ask(replace(toy, verifier=name, broken=""))
        except PairingError:
            continue
        lists: dict[tuple[int, ...], float] = {}
        for line in lines.lines:
            drawn = tuple(candidate.token for candidate in line.drafted)
            lists[drawn] = lists.get(drawn, 0.0) + line.prob
        accepted = sum(line.prob for line in lines.lines if line.source == "accepted")
        yield Rung(name, accepted, list_bound(lines.target, lists), lines.lossless)


def ceiling_view(compared: Sequence[Rung], lines: Lines) -> str:
    """A sentence and a pair of bars per rule, those that accept most first."""
    ordered = sorted(compared, key=lambda rung: -rung.acceptance)
    fair = [rung for rung in ordered if rung.lossless]
    above = [rung.name for rung in ordered if rung.above]
    best = f"Of the lossless rules {fair[0].name} accepts most, {fair[0].acceptance:.4f}." if fair else ""
    lossy = f" Above the ceiling, and so lossy: {', '.join(above)}." if above else ""
    note = ""
    if lines.toy.candidates == 1:
        together = sum(p * q for p, q in zip(lines.target, lines.draft, strict=True))
        distance = sum(abs(p - q) for p, q in zip(lines.target, lines.draft, strict=True)) / 2
        note = (
            f'<p class="sv-proof-why">Two independent draws agree with probability {together:.4f}, one race for both '
            f"with {race_agreement(lines.target, lines.draft):.4f} (at least (1 − TV)/(1 + TV) = "
            f"{(1 - distance) / (1 + distance):.4f}), the maximal coupling with 1 − TV = {1 - distance:.4f}.</p>"
        )
    elif any(rung.name == LANES for rung in compared):
        least = list_agreement_bound(lines.target, lines.draft, lines.toy.candidates)
        note = (
            f'<p class="sv-proof-why">A race in {lines.toy.candidates} lanes, one for each candidate, has its winner '
            f"among them with probability {least:.4f} at least.</p>"
        )
    pairs = [_pair(rung) for rung in ordered]
    return verdict_line(best + lossy, "plain") + note + bars(pairs, "ceiling", "accepted", marked=False)


def _pair(rung: Rung) -> Pair:
    mark = "" if rung.lossless else " ✕ lossy"
    explanation = f"{rung.name}: {rung.acceptance:.6f} accepted; no lossless rule accepts more than {rung.ceiling:.6f}"
    return Pair(
        rung.name + mark, rung.ceiling, rung.acceptance, f"{rung.ceiling:.4f}", f"{rung.acceptance:.4f}", explanation
    )


def ceiling_part(ask: Ask, verifiers: Sequence[str], toy_of: Callable[..., Toy], controls: Sequence[Any]) -> None:
    """Build the part inside the current Blocks; `controls` are the toy's, in the order of `toy_of`'s parameters."""
    gr.HTML(part_heading("Who accepts most", "exact", EXACT))
    gr.Markdown(INTRO, elem_classes="sv-intro")
    compare = gr.Button("Compare all rules", min_width=140, elem_id="sv-ceiling-compare")
    shown = gr.HTML(notices.message("Nothing compared yet."), elem_id="sv-ceiling")

    def drawn(*given: Any) -> str:
        try:
            toy = toy_of(*given)
            return ceiling_view(list(rungs(ask, toy, verifiers)), ask(replace(toy, broken="")))
        except SpecVizError as error:
            return notices.message(str(error), "error")

    gr.on([compare.click], drawn, list(controls), shown, **latest())
