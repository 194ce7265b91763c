"""Writes the model cards from measured facts.

Place in the flow: called by the export stage; every number in a card comes from its arguments.
"""

from collections.abc import Mapping, Sequence
from typing import Any

CARD = """---
license: {licence}
library_name: transformers
pipeline_tag: text-generation
tags: [speculative-decoding, teaching, llama]
---

# {title}

{purpose}

{shape}

## How it was made

* Corpus: {corpus}. Python is split by file (`split.json` lists every file with its SHA-256), plain \
English by the words that meet; tokenizer and weights saw training text only.
* Corpus licences: PSF-2.0 (Python Software Foundation License) and Apache-2.0. Weights: Apache-2.0.
* Command: `{command}` (seed {seed}).
* Versions: {versions}.
* Run: {run}.
* Date: {date}.

{recipe}

![loss]({figure})

## Measured on the published weights

Weights are stored in bfloat16; every number below was measured on these rounded weights, computed in fp32.

Python. {numbers}

The small world:

{extra}

## Samples

{samples}

## Limits

{limits}
"""

LIMITS = """* A teaching model, trained for a few hours on a small CPU: it knows short English texts of the kind shown
  here and the form of Python, nothing else. Its programs do not work, and what it says of the world outside its small
  fact base is made up.
* The English half is generated from templates: fluent there, lost elsewhere. How often facts and sums are right stands
  in the table above.
* Standard library modules share idioms, licence headers and some code, so held-out files are new files,
  not new territory: {repeated:.1%} of the long lines of held-out files also occur in a training file.
* Contexts beyond 512 tokens were never trained; the configuration allows 1024 positions."""


def fenced(title: str, prompt: str, text: str) -> str:
    """A sample as Markdown: the end of its prompt, then the continuation."""
    tail = "\n".join(prompt.splitlines()[-4:])
    return f"{title}\n\n````text\n{tail}⟦{text}⟧\n````"


def held_out_table(names: Sequence[str], nats: Sequence[float], bits: Sequence[float]) -> str:
    """One row per read-out layer: nats per token and bits per byte."""
    rows = [f"| {name} | {n:.3f} | {b:.3f} |" for name, n, b in zip(names, nats, bits, strict=True)]
    return "\n".join(["| read out | nats per token | bits per byte |", "|---|---|---|", *rows])


def card(facts: Mapping[str, Any]) -> str:
    """The card's Markdown; a missing fact is an error, never a blank."""
    return CARD.format(**facts)
