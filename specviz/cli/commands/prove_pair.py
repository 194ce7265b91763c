"""`specviz prove survivors`: what K-SEQ gains by keeping the surviving drafts, measured on the bundled pair.

Place in the flow: asks `specviz.proof`, prints a table or JSON. Knows nothing about how a rule judges.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from specviz.cli.parts.progress import progress
from specviz.cli.parts.terminal import out
from specviz.errors import OptionError


def survivors_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--drafts", type=int, default=4, metavar="K", help="independent drafts per round (default %(default)s)")
    add("--levels", type=int, default=4, metavar="N", help="tokens per draft (default %(default)s)")
    add("--temperature", type=float, default=0.8, metavar="T", help="above 0 (default %(default)s)")
    add("--seeds", type=int, default=3, metavar="N", help="runs per prompt, with seeds 0, 1, … (default %(default)s)")
    add("--tokens", type=int, default=64, metavar="N", help="tokens per run (default %(default)s)")
    add("--json", action="store_true", help="print one JSON object")


def survivors(args: argparse.Namespace) -> int:
    from specviz.live.catalog import bundled_prompts
    from specviz.lm.load import load
    from specviz.proof.survivors import case, gain, runs

    for name in ("drafts", "levels", "seeds", "tokens"):
        if getattr(args, name) < 1:
            raise OptionError(f"--{name} is {getattr(args, name)}, but must be at least 1.")
    target, drafter = (load(name, device="cpu", dtype="float32") for name in ("target", "drafter"))
    prompts = [tuple(target.tokenizer.encode(card.text)) for card in bundled_prompts()]
    cases = [case(args.drafts, args.levels, args.temperature, args.tokens, prompt) for prompt in prompts]
    running = runs((target.model, drafter.model), cases, args.seeds)
    found = gain(list(progress(running, "prompts", len(cases))))
    if args.json:
        out().line(json.dumps(asdict(found)))
        return 0
    out().line(f"accepted per round, {found.rounds} rounds of {len(cases)} prompts")
    for name, one in (
        ("expected, survivors go on", found.survivors),
        ("expected, own children only", found.own),
        ("counted, survivors go on", found.counted),
    ):
        out().line(f"{name:<28} {one.value:.3f} [{one.low:.3f}–{one.high:.3f}]")
    return 0
