"""`specviz prove survivors` and `lossy`: what K-SEQ gains, and how lossy the lossy rules are, on the bundled pair.

Place in the flow: asks `specviz.proof`, prints a table or JSON.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from specviz.bench.core.contest import first_prompts
from specviz.bench.core.provenance import origin_here
from specviz.bench.core.report import check_section, markdown_table, with_interval, write_between
from specviz.cli.terminal import out, progress
from specviz.errors import OptionError
from specviz.resources import ROOT

if TYPE_CHECKING:
    from specviz.proof.survivors import Gain

PER_FAMILY = 3
"""prompts of each family: enough for a mean, and minutes instead of a quarter of an hour"""
PAGE = ROOT.parent / "docs" / "methods" / "kseq.md"


def survivors_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--drafts", type=int, default=4, metavar="K", help="independent drafts per round (default %(default)s)")
    add("--levels", type=int, default=4, metavar="N", help="tokens per draft (default %(default)s)")
    add("--temperature", type=float, default=0.8, metavar="T", help="above 0 (default %(default)s)")
    add("--seeds", type=int, default=3, metavar="N", help="runs per prompt, with seeds 0, 1, … (default %(default)s)")
    add("--tokens", type=int, default=64, metavar="N", help="tokens per run (default %(default)s)")
    add(
        "--write",
        action="store_true",
        help="also put the numbers into docs/methods/kseq.md, which has a place for some K and T",
    )
    add("--json", action="store_true", help="print one JSON object")


def survivors(args: argparse.Namespace) -> int:
    from specviz.live.catalog import build
    from specviz.lm.load import load
    from specviz.proof.survivors import case, gain, runs

    for name in ("drafts", "levels", "seeds", "tokens"):
        if getattr(args, name) < 1:
            raise OptionError(f"--{name} is {getattr(args, name)}, but must be at least 1.")
    mark = f"survivors {args.drafts} {args.temperature:g}"
    if args.write:
        check_section(PAGE, mark)
    target, drafter = (load(name, device="cpu", dtype="float32") for name in ("target", "drafter"))
    prompts = [tuple(target.tokenizer.encode(card.text)) for card in first_prompts(build(), PER_FAMILY)]
    cases = [case(args.drafts, args.levels, args.temperature, args.tokens, prompt) for prompt in prompts]
    running = runs((target.model, drafter.model), cases, args.seeds)
    found = gain(list(progress(running, "prompts", len(cases))))
    if args.write:
        write_between(PAGE, mark, survivors_table(args, found, len(cases), f"{origin_here(target, drafter)}"))
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


def survivors_table(args: argparse.Namespace, gain: Gain, prompts: int, origin: str) -> str:
    """The numbers as a table of the page, and where they come from."""
    head = ("K", "T", "survivors go on", "own children only", "counted, with survivors", "rounds")
    numbers = (with_interval(one, 3) for one in (gain.survivors, gain.own, gain.counted))
    row = (str(args.drafts), f"{args.temperature:g}", *numbers, str(gain.rounds))
    command = f"specviz prove survivors --drafts {args.drafts} --temperature {args.temperature:g} --seeds {args.seeds}"
    told = f"`{command}`: {prompts} prompts, {args.tokens} tokens each. {origin}"
    return f"{markdown_table(head, [row], words=0)}\n\n{told}"


def lossy_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--temperature", type=float, default=0.8, metavar="T", help="above 0 (default %(default)s)")
    add("--write", action="store_true", help="also put the table into assets/lossy_distances.json, where runs read it")
    add("--json", action="store_true", help="print one JSON object")


def lossy(args: argparse.Namespace) -> int:
    """How far each lossy method takes the next token's law from the target's; the sequential rule for comparison."""
    import torch

    from specviz.live.catalog import build
    from specviz.lm.load import load
    from specviz.proof.lossy import distances
    from specviz.resources import ROOT
    from specviz.trace.cautions import DISTANCES_FILE

    if args.temperature <= 0:
        raise OptionError(f"--temperature is {args.temperature:g}, but must be above 0.")
    pair = [load(name, device="cpu", dtype="float32") for name in ("target", "drafter")]
    prompts = [tuple(pair[0].tokenizer.encode(card.text)) for card in first_prompts(build(), PER_FAMILY)]
    with torch.inference_mode():
        rows = list(distances((pair[0].model, pair[1].model), prompts, args.temperature))
    data = {
        "rows": [asdict(row) for row in rows],
        "measured": "law of the next token on the bundled pair, default options but for the fork's depth",
        "command": f"specviz prove lossy --temperature {args.temperature:g} --write",
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "models": {one.info.name: one.info.weights_sha256 for one in pair},
    }
    if args.write:
        (ROOT / DISTANCES_FILE).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    if args.json:
        out().line(json.dumps(data))
        return 0
    for row in rows:
        told = f"total variation {row.total_variation:.4f}, at most {row.largest:.4f}, {row.prompts} prompts"
        out().line(f"{row.method:<14} {told}")
    return 0
