"""The About tab: what is shown, the drafters side by side, the words, the keys, what the labels promise, the limits."""

from __future__ import annotations

from html import escape

import gradio as gr

from specviz.app.look.glossary import shipped
from specviz.app.tab import Tab, nothing

WHAT = """
### What you are looking at

A language model writes one token per pass. **Speculative decoding** lets a cheap *drafter* guess several tokens ahead;
the *target* model then scores all guesses in **one** pass, and a *verifier* keeps the longest run of guesses it can
without changing the target's distribution. Every round commits at least one token, so nothing is lost but time.

SpecViz runs this for real and records every round: the draft tree, both models' probabilities, each accept-or-reject
decision with its numbers, and what the cache kept. The player steps through that record; stepping never runs a model
again.
"""

KEYS = """
### Keys in the player

`Space` play or pause · `←` `→` one step back or on · `Shift` + `←` `→` a round · `n` / `N` next or previous rejection ·
`b` next bonus · `?` all keys
"""

HONESTY = """
### What the labels promise

- **live**: computed on this machine just now. **recorded**: a real run, computed earlier and replayed.
  **simulated**: no model ran; its times are **modelled**, and its tokens are placeholders.
- **measured** times are the engine's own clock: drafting, target pass, verdicts, commit. They leave out
  showing, animating and recording. **theory** is a formula fed with measured numbers, and is drawn dotted.
- A slowdown is shown as a slowdown. Drafting pays only where guesses are accepted often enough for their cost.

### Limits

The bundled models are small: they know a small world in plain English and Python, nothing else; their text is for
watching decoding. One text at a time (batch 1). Times on a shared machine vary; read the spread, not the second
digit.
"""


DRAFTERS = """
### Drafters, side by side
"""


def words() -> str:
    """The glossary as a table; the same entries that terms on the page explain themselves with."""
    entries = shipped()
    rows = "".join(
        f'<tr><th scope="row">{escape(entry["term"])}</th><td>{escape(entry["meaning"])}</td>'
        f"<td>{escape(entry['others'])}</td></tr>"
        for entry in entries
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("word", "meaning", "other names in the field"))
    table = f'<table class="sv-table sv-words"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div class="sv-table-scroll" tabindex="0">{table}</div>'


def about_tab(table: str) -> None:
    """Build the tab's content inside the current Blocks. `table`: of all drafters, as HTML."""
    with gr.Row(elem_classes="sv-about"):
        with gr.Column(min_width=320):
            gr.Markdown(WHAT)
            gr.Markdown(KEYS)
            gr.Markdown(HONESTY)
        with gr.Column(min_width=320):
            gr.Markdown("### Words")
            with gr.Accordion("All words of this page, each with its meaning", open=False):
                gr.HTML(words(), elem_id="sv-words")
    gr.Markdown(DRAFTERS)
    gr.HTML(table, elem_id="sv-drafters")


TAB = Tab("about", "About", "lab", 9, nothing, lambda page, place, actions: about_tab(page.table))
