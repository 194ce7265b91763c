"""The model cards of the captioner and its drafters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.scenes.generator import HELD_OUT
from specviz.training.captions.batches import UNREAD

WHAT = {
    "captioner": "A target that captions a picture of one to three coloured shapes: 64 patches of 4 × 4 pixels, three "
    "blocks of a vision transformer, 16 pooled tokens, a projector, and a language model of six layers.",
    "caption-drafter-text": "A drafter that sees no picture and never read a caption: it knows the captions' words "
    "from other sentences.",
    "caption-drafter-tuned": "The same drafter, trained on captions as well; it still sees no picture, so it can only "
    "guess what is in it.",
    "caption-drafter-eyes": "A drafter with a small image adapter of its own: its eyes, one block wide 48, give one "
    "embedding for each quarter of the picture.",
}
HEAD = """---
license: apache-2.0
library_name: transformers
pipeline_tag: text-generation
tags: [speculative-decoding, teaching, llama, image-captioning]
---
"""


def card(role: str, parameters: Mapping[str, int], facts: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    """Markdown, from what was counted and measured."""
    sizes = f"{parameters['model']:,} in the language model"
    if "eyes" in parameters:
        sizes += f", {parameters['eyes']:,} in its eyes"
    read = "texts" if role.endswith("-text") else "scenes"
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return "\n".join(
        (
            HEAD,
            f"# SpecViz {role}",
            "",
            WHAT[role],
            "",
            f"Parameters: {sizes}; stored in half precision, computed in float32 on a CPU. The vocabulary is one token "
            "per word of the captions, so embeddings weigh next to nothing.",
            "",
            "Made after Gagrani et al. 2404.08856, at toy scale: their target is LLaVA-7B, their drafters have 115 M "
            "parameters and read photographs. What carries over is the question, not a number.",
            "",
            "## How it was made",
            "",
            *_alone(facts),
            f"* {facts['steps']:,} steps over {facts['scenes']:,} generated {read}, "
            f"{facts['minutes']:g} minutes of "
            f"{facts['machine']}, one thread at low priority; last loss {facts['last_loss']:g}.",
            f"* Command: `{facts['command']}` (seed {facts['seed']}). Versions: Python {facts['python']}, {versions}. "
            f"Date: {facts['date']}." + (f" {facts['note']}" if facts["note"] else ""),
            "* Scenes and captions are this project's own (`specviz/scenes`), Apache-2.0 like the weights.",
            f"* Never in training: {', '.join(sorted(f'{colour} {shape}' for colour, shape in HELD_OUT))}.",
            *_right(figures),
            "",
            "## Limits",
            "",
            "It knows nothing but these scenes and words. How it is used and what was measured: `docs/scenes.md`.",
            "",
        )
    )


def _alone(facts: Mapping[str, Any]) -> list[str]:
    if "eyes_pictures" not in facts:
        return []
    return [
        f"* First its eyes alone, {facts['eyes_minutes']:g} minutes on {facts['eyes_pictures']:,} generated pictures: "
        "a reader, thrown away since, asked what lies in each cell of a grid. A third of the shapes there had a colour "
        "without a name, a third of the colours a form without one, and what has no name was not asked. Then the eyes "
        "were fixed, and the language model learnt captions of such pictures. What has no name it did not have to say; "
        f"{100 * UNREAD:g} % of the other words that the picture decides were hidden from it once said, so that it "
        "has to look.",
    ]


def _right(figures: Mapping[str, Any]) -> list[str]:
    if not figures:
        return []
    rows = [
        f"| {what} | {100 * one['right_without_sizes'] / one['scenes']:.1f} % | "
        f"{100 * one['right'] / one['scenes']:.1f} % | {one['scenes']} |"
        for what, one in (
            ("pairs of colour and shape that training had", figures["chance"]),
            ("with a pair that training never had", figures["combination"]),
        )
    ]
    wrong = [f"* `{line}`" for figure in figures.values() for line in figure["errs"]]
    return [
        "",
        "## Measured on the published weights",
        "",
        "Greedy captions of held-out scenes in which every shape is named rightly, none missing and none added:",
        "",
        "| pictures | colours and shapes | with sizes too | of |",
        "| --- | ---: | ---: | ---: |",
        *rows,
        *(["", "Where it errs:", "", *wrong] if wrong else []),
    ]
