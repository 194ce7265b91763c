"""`specviz prove`: compute every method's distance from the target's law, by exact enumeration.

Place in the flow: asks `specviz.proof`, prints tables or JSON, keeps docs/losslessness.md up to date.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specviz.cli.commands import prove_experiments as prove_parts
from specviz.cli.terminal import err, out, printable, progress
from specviz.errors import OptionError, ProofError

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "losslessness.md"


@dataclass(slots=True)
class Result:
    """What was found so far."""

    holds: bool
    sections: dict[str, str]
    """of the page, by the names of their marks"""
    data: dict[str, list[dict[str, Any]]]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        metavar="NAME",
        nargs="+",
        action="extend",
        default=[],
        help="only methods in which NAME takes part; several names, or the flag again, for several",
    )
    parser.add_argument(
        "--thorough",
        action="store_true",
        help="also sample large trees on a small Llama, and compare greedy texts of the bundled pair in float32",
    )
    parser.add_argument(
        "--greedy-texts", action="store_true", help="compare greedy texts of the bundled pair alone, nothing else"
    )
    parser.add_argument(
        "--samples", type=int, default=2000, metavar="N", help="texts per large tree (default %(default)s)"
    )
    parser.add_argument("--prompts", type=int, default=20, metavar="N", help="prompts of the set (default %(default)s)")
    parser.add_argument("--tokens", type=int, default=12, metavar="N", help="tokens per prompt (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the tables")
    parser.add_argument("--write", action="store_true", help="also put the tables into docs/losslessness.md")
    prove_parts.configure(parser)


def run(args: argparse.Namespace) -> int:
    return prove_parts.run(args) if args.part else _everything(args)


def _everything(args: argparse.Namespace) -> int:
    from specviz.proof import document, planted, table

    for name in ("samples", "prompts", "tokens"):
        if getattr(args, name) < 1:
            raise OptionError(f"--{name} is {getattr(args, name)}, but must be at least 1.")
    if args.write and not DOCUMENT.is_file():
        raise ProofError(f"there is no '{DOCUMENT}' to write to; use --write in a clone of the repository.")
    if args.greedy_texts:
        result = Result(holds=True, sections={}, data={})
        _compare(args, result)
        return _deliver(args, result)
    cases = table.cases(args.only)
    err().line(f"walking every branch of {len(cases)} methods, then of {len(planted.BUGS)} planted bugs…")
    rows = list(progress(map(table.measure, cases), "methods", len(cases)))
    findings = list(progress(planted.findings(), "planted bugs", len(planted.BUGS)))
    result = Result(
        holds=all(row.kept for row in rows) and all(finding.caught for finding in findings),
        sections={"exact": document.rows_table(rows), "bugs": document.findings_table(findings)},
        data={
            "rows": [{**asdict(row), "kept": row.kept} for row in rows],
            "bugs": [{**asdict(finding), "caught": finding.caught} for finding in findings],
        },
    )
    if args.thorough:
        _sample(args, result)
        _compare(args, result)
    if args.write:
        exact = document.renewed(document.section(DOCUMENT.read_text(encoding="utf-8"), "exact"), rows, table.cases())
        return _deliver(args, result, {"exact": exact})
    return _deliver(args, result)


def _deliver(args: argparse.Namespace, result: Result, renewed: Mapping[str, str] | None = None) -> int:
    """Print, and with --write put the sections into the page; `renewed` are those that stand otherwise there."""
    from specviz.proof import document

    if args.json:
        out().line(json.dumps({"holds": result.holds, **result.data}))
    else:
        out().line(printable("\n\n".join(result.sections.values())))
    if args.write:
        page = document.filled(DOCUMENT.read_text(encoding="utf-8"), {**result.sections, **(renewed or {})})
        DOCUMENT.write_text(page, encoding="utf-8")
    return 0 if result.holds else 1


def _sample(args: argparse.Namespace, result: Result) -> None:
    """Large trees by sampling."""
    from specviz.proof import sampled
    from specviz.proof.document import samples_table
    from specviz.proof.small_models import small_pair

    running = sampled.samples(small_pair(), args.samples, seed=1)
    found = list(progress(running, "large trees", len(sampled.LARGE)))
    wrong = sampled.rejected(found)
    result.holds = result.holds and not wrong
    result.sections["sampled"] = samples_table(found, wrong)
    result.data["sampled"] = [
        {"method": str(one.case), "runs": one.runs, "p_value": one.p_value, "rejected": one in wrong} for one in found
    ]


def _compare(args: argparse.Namespace, result: Result) -> None:
    """Greedy texts of the bundled pair."""
    from specviz.live.catalog import bundled_prompts
    from specviz.lm.load import load
    from specviz.proof import sampled
    from specviz.proof.document import comparisons_table

    target, drafter = (load(name, device="cpu", dtype="float32") for name in ("target", "drafter"))
    prompts = [tuple(target.tokenizer.encode(card.text)) for card in bundled_prompts()[: args.prompts]]
    running = sampled.comparisons((target.model, drafter.model), prompts, args.tokens)
    found = list(progress(running, "greedy texts", len(sampled.greedy_cases())))
    result.holds = result.holds and not any(one.different for one in found)
    pair = ", ".join(f"{one.info.name} (sha256 {one.info.weights_sha256[:12]})" for one in (target, drafter))
    result.sections["greedy"] = f"{comparisons_table(found)}\n\nWritten by {pair} in float32."
    result.data["greedy"] = [{**asdict(one), "case": str(one.case)} for one in found]
