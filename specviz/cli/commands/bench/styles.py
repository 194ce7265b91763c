"""`specviz bench styles`: the same questions in five prompt styles: what does a right answer cost, with which drafter?

Place in the flow: an experiment of `specviz bench`; loads the pair, measures, prints tables, keeps the result.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.bench.core.provenance import machine_load, now_utc, origin_of
from specviz.bench.core.report import check_section, write_between
from specviz.cli.experiment import PAIR, add_count, add_pair_flags, at_least_one, complain, time_limit
from specviz.cli.sources import SharedModels, live_source
from specviz.cli.terminal import err, out, printable
from specviz.errors import OptionError
from specviz.protocol import styles
from specviz.protocol.runs import RunRequest
from specviz.protocol.styles import ASKED, KINDS, PLAIN, TITLES, StyleFile
from specviz.resources import ROOT, STYLES
from specviz.trace.files import check_place

if TYPE_CHECKING:
    from specviz.studies.styles.measure import StylePlan

SUMMARY = "the same questions in five prompt styles: acceptance, tokens, accuracy, seconds per correct answer"
PAGE = ROOT.parent / "docs" / "styles.md"
MARK = "bench styles"
BOTH = Path()
"""`--write` without a page: the documentation's, and the file that the page draws"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--drafters", default="model,ngram", metavar="NAME,…",
        help="beside plain decoding, each with its default options (default %(default)s)")  # fmt: skip
    add("--kinds", default=",".join(KINDS), metavar="NAME,…", help="of questions (default %(default)s)")
    add("--asked", default="words,tag", metavar="WAY,…",
        help="how a style is asked for: words behind the question, the corpus's tag before it "
        "(default %(default)s)")  # fmt: skip
    add("--chat", action="store_true",
        help="the questions are messages, put into the target's chat template; in place of --asked")  # fmt: skip
    add_count(parser, "--questions", 12, "questions of each kind, the same in every style")
    add_count(parser, "--max-new-tokens", 96, "tokens per answer, where it does not end before")
    add_count(parser, "--repeats", 1, "times everything is measured")
    add("--max-minutes", type=float, metavar="M", help="stop after M minutes and report the questions that are done")
    add("--result", type=Path, metavar="FILE", help="every answer and run, to a .json or .json.gz")
    add("--write", type=Path, nargs="?", const=BOTH, metavar="PAGE",
        help="write the tables between the marks of a page; where none is named, of docs/styles.md, and the file that "
        "the Studies tab draws")  # fmt: skip
    add("--tables", type=Path, nargs="?", const=STYLES, metavar="FILE",
        help="measure nothing: the tables of a result, the shipped one where none is named")  # fmt: skip
    add("--prompts", type=Path, metavar="FILE.jsonl",
        help="measure nothing: write the prompts, a family for each style, for `specviz bench sweep --own-prompts`, "
        "the When-it-pays tab and whatever else takes prompts of one's own")  # fmt: skip
    add_pair_flags(parser)


def run(args: argparse.Namespace) -> int:
    from specviz.bench.styles.table import report

    if args.prompts is not None:
        return _write_prompts(args)
    page = PAGE if args.write == BOTH else args.write
    results = [one for one in (STYLES if args.write == BOTH and not args.tables else None, args.result) if one]
    if page is not None:
        check_section(page, MARK)
    for one in results:
        check_place(one, "a file of styles")
    file, wrong = (styles.read(args.tables), list[str]()) if args.tables else _measured(args)
    text = report(file)
    out().line(printable(text))
    for one in results:
        styles.write(file, one)
    if page is not None:
        write_between(page, MARK, text)
    return complain(wrong)


def _measured(args: argparse.Namespace) -> tuple[StyleFile, list[str]]:
    """The result, and who wrote another text where none may."""
    from specviz.bench.core.clock import work_clock
    from specviz.studies.styles.measure import compare

    at_least_one(args, ("questions", "max_new_tokens", "repeats", "threads"))
    plan = _plan(args)
    source = live_source(models := SharedModels(), args.threads)
    first = next(plan.cells())
    for _, request in plan.requests:
        reason = source.explain(replace(request, prompt=plan.prompt(first)))
        if reason:
            raise OptionError(reason)
    clock, name = work_clock(models(args.target, device=args.device, dtype=args.dtype).model.device)
    with time_limit(args.max_minutes) as cancelled:
        found = compare(source, plan, clock, cancelled, err().line)
    origin = origin_of(found.headers)
    file = StyleFile(
        styles.FORMAT, styles.VERSION, origin.machine, origin.target, origin.drafters, now_utc(), name,
        machine_load(), _command(args), args.seed, args.max_new_tokens, found.answers, found.runs,
    )  # fmt: skip
    return file, found.unequal() if origin.target.dtype == "float32" else []


def _write_prompts(args: argparse.Namespace) -> int:
    """One line a prompt. Its family names kind, way and style, so that whatever groups by family groups by style."""
    at_least_one(args, ("questions",))
    plan = _plan(args)
    lines = [
        json.dumps({"id": f"{one.kind}-{one.number + 1}-{one.asked}-{one.style}",
                    "family": f"{TITLES[one.style]}, {KINDS[one.kind]}, {ASKED[one.asked]}", "text": plan.prompt(one)})
        for one in plan.cells()
    ]  # fmt: skip
    try:
        args.prompts.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise OptionError(f"cannot write '{args.prompts}' ({error.strerror}); choose another place.") from None
    out().line(f"{len(lines)} prompts in {len(TITLES)} styles: {printable(str(args.prompts), keep='')}")
    return 0


def _plan(args: argparse.Namespace) -> StylePlan:
    from specviz.studies.styles.measure import StylePlan

    drafters = _names(args.drafters, "drafters", ())
    template = RunRequest(
        prompt="", chat=args.chat, record=False,
        **{name: getattr(args, name) for name in (*PAIR, "max_new_tokens")},
    )  # fmt: skip
    requests = ((PLAIN, template.with_drafter("none")), *((name, template.with_drafter(name)) for name in drafters))
    kinds = _names(args.kinds, "kinds", KINDS)
    asked = ("message",) if args.chat else _names(args.asked, "asked", [one for one in ASKED if one != "message"])
    return StylePlan(requests, kinds, asked, args.questions, args.seed, args.repeats)


def _names(text: str, flag: str, known: object) -> tuple[str, ...]:
    """Raises OptionError for none, for one twice and for one that there is not."""
    found = tuple(one.strip() for one in text.split(",") if one.strip())
    choices = tuple(known) if isinstance(known, dict | list | tuple) else ()
    odd = next((one for one in found if choices and one not in choices), None)
    if odd is not None:
        raise OptionError(f"--{flag} has '{odd}', but there are: {', '.join(choices)}.")
    if not found or len(set(found)) < len(found) or {"none", PLAIN} & set(found):
        raise OptionError(f"--{flag} is '{text}', but must name different ones, beside plain decoding.")
    return found


def _command(args: argparse.Namespace) -> str:
    """The words that measure this again."""
    words = ["specviz bench styles"]
    if args.target != "target" or args.drafter_model != "drafter":
        words.append(f"--target {args.target} --drafter-model {args.drafter_model}")
    words.append(f"--drafters {args.drafters} --kinds {args.kinds}")
    words.append("--chat" if args.chat else f"--asked {args.asked}")
    words.append(f"--questions {args.questions} --max-new-tokens {args.max_new_tokens} --repeats {args.repeats}")
    return " ".join([*words, f"--dtype {args.dtype} --seed {args.seed}"])
