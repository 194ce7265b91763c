"""The parts of `specviz prove`: a decision line by line, a sampling test, greedy texts, survivors, lossy methods.

Place in the flow: asks the live source's prover, prints tables or JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from specviz.bench.core.contest import first_prompts
from specviz.bench.core.report import check_section, markdown_table, origin_here, with_interval, write_between
from specviz.cli import generated_texts
from specviz.cli.sources import live_source
from specviz.cli.terminal import bar, out, printable, progress
from specviz.errors import OptionError
from specviz.options import several_numbers
from specviz.protocol.choice import Choice
from specviz.protocol.proofs import (
    BREAKS,
    DRAWS,
    MOST_CANDIDATES,
    NAMES,
    Lines,
    ProofLine,
    SampleQuestion,
    Toy,
)
from specviz.protocol.races import Equality, compare
from specviz.protocol.runs import RunRequest
from specviz.resources import ROOT
from specviz.theory.grammar import Brackets, total_variation

if TYPE_CHECKING:
    from specviz.proof.survivors import Gain


def configure(parser: argparse.ArgumentParser) -> None:
    """The parts as commands below `prove`."""
    parts = parser.add_subparsers(dest="part", metavar="PART")
    for name, (summary, flags, _) in PARTS.items():
        flags(parts.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + "."))


def run(args: argparse.Namespace) -> int:
    return PARTS[args.part][2](args)


def _toy_flags(parser: argparse.ArgumentParser) -> None:
    default = Toy()
    add = parser.add_argument
    add("--verifier", default=default.verifier, metavar="NAME", help="the rule (default %(default)s)")
    add(
        "--tree",
        type=int,
        default=default.candidates,
        metavar="N",
        help=f"candidates drafted at one level, 1 to {MOST_CANDIDATES} (default %(default)s)",
    )
    add("--draw", choices=DRAWS, default=default.draw, help="how they are drawn (default %(default)s)")
    add("--target", default=_numbers(default.target), metavar="P,P,P", help="p as weights (default %(default)s)")
    add("--draft", default=_numbers(default.draft), metavar="Q,Q,Q", help="q as weights (default %(default)s)")
    add("--break", dest="broken", default="", choices=[one.name for one in BREAKS], help="a bug to plant")
    add("--json", action="store_true", help="print one JSON object instead of the table")


def _sample_flags(parser: argparse.ArgumentParser) -> None:
    _toy_flags(parser)
    default = SampleQuestion()
    add = parser.add_argument
    add("--runs", type=int, default=default.runs, metavar="N", help="texts to count (default %(default)s)")
    add("--seed", type=int, default=default.seed, metavar="N", help="the first run's (default %(default)s)")
    add("--prompt", default="", metavar="TEXT", help="count what the bundled pair writes next; without it, the toy")
    add(
        "--temperature",
        type=float,
        default=default.temperature,
        metavar="T",
        help="of the pair, above 0 (default %(default)s)",
    )


def _greedy_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--drafter", default=RunRequest("").drafter.name, metavar="NAME", help="the drafter (default %(default)s)")
    add("--prompt", required=True, metavar="TEXT", help="the prompt")
    add("--tokens", type=int, default=64, metavar="N", help="tokens to compare (default %(default)s)")
    add(
        "--dtype",
        default="float32",
        metavar="D",
        help="number format; in others than float32 the margin is named where the texts part (default %(default)s)",
    )
    add("--json", action="store_true", help="print one JSON object")


def grammar_flags(parser: argparse.ArgumentParser) -> None:
    default = Brackets()
    add = parser.add_argument
    add("--opening", type=float, default=default.opening, metavar="P", help='p of "(" (default %(default)s)')
    add("--ending", type=float, default=default.ending, metavar="P", help="p of the end (default %(default)s)")
    add("--most", type=int, default=4, metavar="N", help="brackets in a word at most (default %(default)s)")
    add("--ahead", type=int, default=0, metavar="N", help="tokens that the rows look ahead (default %(default)s: mask)")


def grammar(args: argparse.Namespace) -> int:
    """Laws side by side; on up to four brackets the engine's, walked with the sequential rule, as well."""
    from specviz.proof.grammar import MOST_WALKED, words

    brackets = Brackets(args.opening, args.ending, args.most)
    laws = {"asked for": brackets.conditional(), "sampled by the rows": brackets.law(args.ahead)}
    if args.most <= MOST_WALKED:
        laws["speculative decoding of these rows"] = words("model", "sequential", brackets, args.ahead)
    lines = [(word or "(none)", *(f"{law.get(word, 0.0):.6f}" for law in laws.values())) for word in brackets.law(0)]
    out().line(markdown_table(("word", *laws), lines))
    for name, law in list(laws.items())[1:]:
        out().line(f"{name}: total variation {total_variation(law, laws['asked for']):.4f} from the law asked for")
    return 0


def _toy(args: argparse.Namespace) -> Toy:
    p, q = (several_numbers(f"--{name}", getattr(args, name), float, "0.5,0.3,0.2") for name in ("target", "draft"))
    return Toy(p, q, args.verifier, args.tree, args.draw, args.broken)


def _numbers(values: tuple[float, ...]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _lines(args: argparse.Namespace) -> int:
    found = live_source().prover().lines(_toy(args))
    if args.json:
        sums = {"error": found.error, "total_variation": found.total_variation, "exact": found.exact}
        out().line(json.dumps({**asdict(found), **sums}))
        return 0
    for line in found.lines:
        out().line(line_text(line))
    out().line(sums_text(found))
    return 0


def line_text(line: ProofLine) -> str:
    """One way, as a line of text: what is drafted, how it is judged, what is committed, the product."""
    drafted = " ".join(f"{NAMES[one.token]}({one.prob:.4f})" for one in line.drafted)
    trials = ", ".join(
        f"{NAMES[trial.token]} {'accepted' if trial.accepted else 'rejected'} u in [{trial.low:.4f}, {trial.high:.4f}) "
        f"({trial.prob:.4f})"
        for trial in line.trials
    )
    end = f"{line.source} {NAMES[line.token]} ({line.token_prob:.4f})"
    return f"drafted {drafted} | {trials or 'no trial'} | {end} | {line.prob:.6f}"


def sums_text(lines: Lines) -> str:
    """The sums per token against p, and what they say."""
    rows = zip(NAMES, lines.output, lines.target, strict=True)
    sums = "\n".join(
        f"sum {name}: {output:.6f}   p: {p:.6f}   difference {output - p:+.6f}" for name, output, p in rows
    )
    verdict = "the target's law" if lines.exact else f"biased: total variation {lines.total_variation:.6f}"
    return f"{sums}\nlargest difference {lines.error:.1e}: {verdict}"


def _sample(args: argparse.Namespace) -> int:
    question = SampleQuestion(_toy(args), args.prompt, args.temperature, args.runs, args.seed)
    with bar(args.runs, "texts") as shown:
        for last in live_source().prover().sample(question):
            shown.update(last.runs - shown.n)
    if args.json:
        out().line(json.dumps({**asdict(last), "noise_bound": last.noise_bound}))
        return 0
    for cell in last.cells:
        out().line(f"{cell.count:>7} counted {cell.prob * last.runs:>10.1f} expected  {printable(cell.label, keep='')}")
    out().line(f"G = {last.statistic:.3f} at {last.freedom} degrees of freedom, p = {last.p_value:.4g}")
    out().line(f"total variation {last.total_variation:.4f}; noise alone would give {last.noise:.4f}")
    return 0


def _greedy(args: argparse.Namespace) -> int:
    request = RunRequest(args.prompt, drafter=Choice(args.drafter), max_new_tokens=args.tokens)
    with bar(2 * args.tokens, "tokens") as shown:
        for last in compare(live_source(), request, dtype=args.dtype):
            shown.update(len(last.plain) + len(last.drafted) - shown.n)
    if args.json:
        out().line(json.dumps({**asdict(last), "equal": last.equal, "holds": last.holds}))
    else:
        out().line(f"{last.equal} of {len(last.plain)} tokens equal plain decoding, in {last.passes} target passes")
        if margins := margins_text(last):
            out().line(margins)
    return 0 if last.holds else 1


def margins_text(equality: Equality) -> str:
    """How near plain decoding came to another token: at its nearest, and where the texts part; empty where nobody
    kept the margins."""
    parted, known = equality.first_difference, [margin for margin in equality.margins if margin is not None]
    if not known:
        return ""
    said = f"the smallest margin of a token is {min(known):.4f}"
    if parted is None or parted >= len(equality.margins):
        return said
    here = equality.margins[parted]
    return f"{said}, that of token {parted + 1}, where they part, {'large' if here is None else f'{here:.4f}'}"


Flags = Callable[[argparse.ArgumentParser], None]
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


PARTS: Mapping[str, tuple[str, Flags, Callable[[argparse.Namespace], int]]] = {
    "lines": ("every way one decision on three tokens can go, and the sums against p", _toy_flags, _lines),
    "sample": ("count texts and compare the counts with the target's law", _sample_flags, _sample),
    "greedy": ("compare a drafter's greedy text with plain decoding, token for token", _greedy_flags, _greedy),
    "chat": (
        "compare an instruct model's greedy texts, with every drafter, with those of transformers.generate",
        generated_texts.flags,
        generated_texts.run,
    ),
    "survivors": (
        "count the drafts that K-SEQ accepts, with and without the surviving ones",
        survivors_flags,
        survivors,
    ),
    "grammar": ("the laws of words under a grammar: asked for, masked, corrected, and walked", grammar_flags, grammar),
    "lossy": ("measure how far each lossy method is from the target's law", lossy_flags, lossy),
}
