"""The About tab: what is shown, the words, the keys, what the labels promise, and the limits.

Plain text only.
"""

from __future__ import annotations

import gradio as gr

WHAT = """
### What you are looking at

A language model writes one token per pass. **Speculative decoding** lets a cheap *drafter* guess several tokens ahead;
the *target* model then scores all guesses in **one** pass, and a *verifier* keeps the longest run of guesses it can
without changing the target's distribution. Every round commits at least one token, so nothing is lost but time.

SpecViz runs this for real and records every round: the draft tree, both models' probabilities, each accept-or-reject
decision with its numbers, and what the cache kept. The player steps through that record; stepping never runs a model
again.
"""

WORDS = """
### Words

| word | meaning |
|---|---|
| **target** | the model whose distribution must be reproduced |
| **drafter** | whatever proposes tokens: a small model, or a lookup in the text |
| **draft tree** | the proposed continuations; its root is the last committed token |
| **round** | one draft, one target pass, the verdicts, the commit |
| **trial** | one decision: accept when u < min(1, p / q), with p from the target, q from the drafter |
| **accepted, rejected, unreached** | a node's fate; unreached: never asked, because another node decided first |
| **residual** | what the target wants more than the drafter offered: max(0, p − q), normalised |
| **correction** | the token drawn from the residual after a rejection |
| **bonus** | the extra token when a whole path was accepted |
| **acceptance rate** | accepted / drafted; bonus and correction do not count |
| **mean acceptance length** | 1 + accepted per round that drafted: tokens per round, the round's last token included |
| **speedup** | measured tokens per second against plain decoding of the same prompt in the same sweep |
| **lossless** | the output follows exactly the law of the target alone |
"""

KEYS = """
### Keys in the player

`Space` play or pause · `←` `→` one step back or on · `Shift` + `←` `→` a round · `n` / `N` next or previous rejection ·
`b` next bonus · `?` all keys
"""

HONESTY = """
### What the labels promise

- **live**: computed on this machine just now. **recorded**: a real run, computed earlier and replayed.
  **simulated**: no model ran; its times are **modelled**, and its tokens stand for none.
- **measured** times are the engine's own clock: drafting, target pass, verdicts, commit. Showing, animating and
  recording are not in them. **theory** is a formula fed with measured numbers, and is drawn dotted.
- A slowdown is shown as a slowdown. Drafting pays only where guesses are accepted often enough for their cost.

### Limits

The bundled models are small and know little but Python's standard library: their text is for watching decoding, not for
reading. One text at a time (batch 1). Times on a shared machine wander; read the spread, not the second digit.
"""


def about_tab() -> None:
    """Build the tab's content inside the current Blocks."""
    with gr.Row(elem_classes="sv-about"):
        with gr.Column(min_width=320):
            gr.Markdown(WHAT)
            gr.Markdown(KEYS)
            gr.Markdown(HONESTY)
        with gr.Column(min_width=320):
            gr.Markdown(WORDS)
