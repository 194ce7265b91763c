"""*Proof* under a grammar: the law that users think they get, the one that masking samples, and the correction between.

Two bars per word of brackets, redrawn at every touch. Everything is worked out here from `specviz.theory.grammar`; no
engine is asked, for the walk of the engine says the same (`specviz prove grammar`).
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from specviz.app.look import notices
from specviz.app.look.events import latest
from specviz.app.proof.view import Pair, bars, part_heading, verdict_line
from specviz.errors import SpecVizError
from specviz.theory.grammar import MOST_BRACKETS, Brackets, mean_brackets, total_variation

INTRO = (
    "A model writes brackets, and a grammar admits words whose brackets all close. Masking illegal tokens at each step "
    "is *not* the model's law given a legal word: the mask does not know how improbable the way out is. Speculative "
    "decoding is lossless for the masked rows, and repeats their law exactly. Let the rows look ahead and the two laws "
    "meet."
)
EXACT = "every word is added up; nothing is sampled"
SHOWN = 14
"""words with a pair of bars; the others are summed up in one"""


def grammar_view(opening: float, ending: float, most: int, ahead: int) -> str:
    """Verdict and bars. Raises OptionError for numbers that make no model."""
    brackets = Brackets(opening, ending, most)
    wanted, sampled = brackets.conditional(), brackets.law(ahead)
    distance = total_variation(wanted, sampled)
    if distance < 1e-12:
        verdict, tone = "Equal: with so far a look ahead the rows sample the model's law given a legal word.", "good"
    else:
        how = "Masked" if ahead == 0 else f"Masked, looking {ahead} tokens ahead"
        verdict, tone = f"{how}: total variation {distance:.4f} from the law that was asked for.", "bad"
    why = (
        f"{len(wanted)} words. The model alone writes a legal one with probability {brackets.mass:.4f}. A word has "
        f"{mean_brackets(wanted):.2f} brackets on average by the law that was asked for, "
        f"{mean_brackets(sampled):.2f} as sampled."
    )
    named = sorted(wanted, key=lambda word: -max(wanted[word], sampled[word]))
    pairs = [_pair(word or "(no bracket)", wanted[word], sampled[word]) for word in named[:SHOWN]]
    rest = named[SHOWN:]
    if rest:
        sums = (sum(law[word] for word in rest) for law in (wanted, sampled))
        pairs.append(_pair(f"{len(rest)} others", *sums))
    return f'{verdict_line(verdict, tone)}<p class="sv-proof-why">{why}</p>' + bars(
        pairs, "wanted", "sampled", tone == "bad"
    )


def _pair(label: str, wanted: float, sampled: float) -> Pair:
    explanation = f"{label}: {wanted:.6f} given a legal word, {sampled:.6f} as sampled"
    return Pair(label, wanted, sampled, f"{wanted:.4f}", f"{sampled:.4f}", explanation)


def _drawn(opening: float, ending: float, most: float, ahead: float) -> str:
    try:
        return grammar_view(float(opening), float(ending), int(most), int(ahead))
    except SpecVizError as error:
        return notices.message(str(error), "error")


def grammar_part(tab: gr.Tab) -> dict[str, Any]:
    """Build the part inside the current Blocks. Returns its controls by name."""
    gr.HTML(part_heading("Under a grammar", "exact", EXACT))
    gr.Markdown(INTRO, elem_classes="sv-intro")
    usual = Brackets()
    with gr.Row():
        opening = gr.Slider(0.05, 0.85, value=usual.opening, step=0.05, label='p of "("', min_width=150)
        ending = gr.Slider(0.05, 0.5, value=usual.ending, step=0.05, label="p of the end", min_width=150)
        most = gr.Slider(2, MOST_BRACKETS, value=usual.most, step=2, label="brackets at most", min_width=150)
        ahead = gr.Slider(
            0,
            MOST_BRACKETS,
            value=0,
            step=1,
            label="tokens that the rows look ahead",
            min_width=150,
            elem_id="sv-grammar-ahead",
        )
    shown = gr.HTML(elem_id="sv-grammar")
    controls = [opening, ending, most, ahead]
    gr.on([tab.select, *(control.change for control in controls)], _drawn, controls, shown, **latest())
    return dict(zip(("grammar.opening", "grammar.ending", "grammar.most", "grammar.ahead"), controls, strict=True))
