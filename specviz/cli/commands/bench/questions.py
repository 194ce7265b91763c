"""`specviz bench questions`: one document, many questions. What is it worth to read it once, and to answer all of
them in one pass?

Place in the flow: an experiment of `specviz bench`; loads the target, prints one table. Not speculation.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from specviz.bench.core.provenance import origin_here
from specviz.bench.core.report import check_section, markdown_table, write_between
from specviz.cli.experiment import add_count, add_target_flags, at_least_one
from specviz.cli.sources import SharedModels
from specviz.cli.terminal import out
from specviz.errors import OptionError
from specviz.resources import ROOT

SUMMARY = "one document, many questions: read once, answered together (no speculation, for comparison)"
PAGE = ROOT.parent / "docs" / "questions.md"
MARK = "bench questions"
HEAD = ("way", "× read again", "quartiles", "tokens/s", "passes", "rows computed", "rows held", "same answers")
DOCUMENT = (
    "Text: On Friday, Mia went out. It was windy, and Mia went to the harbour. At the harbour, Mia found a red kite. "
    "The kite is in the garden. The sailor from Porto sold a heavy lamp. On Monday, Leo met a duck at the station. "
    "The duck ate the bread of Leo. In March, Mia and Leo went to Vienna. Later Mia told Leo about it."
)
QUESTIONS = (
    "\nIn short:", "\nSummary:", "\nWho was it?", "\nWho? Mia. What?", "\nCan you repeat that? Yes:", "\nThe next day",
    "\nWhat is the capital of France?", "\nHow many words are there? kite, lamp, duck.",
)  # fmt: skip
"""each continues the document, in forms that the bundled target knows"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--document", type=Path, metavar="FILE", help="UTF-8 text that all questions share (default: a short one)")
    add("--questions", type=Path, metavar="FILE", help="UTF-8 text, one question a line, set behind the document")
    add_count(parser, "--max-new-tokens", 32, "tokens per answer, where it does not end before")
    add_count(parser, "--repeats", 5, "times everything is answered in each way")
    add("--write", type=Path, nargs="?", const=PAGE, metavar="PAGE",
        help="write the table between the marks of a page, docs/questions.md where none is named")  # fmt: skip
    add_target_flags(parser)


def run(args: argparse.Namespace) -> int:
    from specviz.lm.step_time import use_threads
    from specviz.studies.questions.measure import Task, compare

    at_least_one(args, ("max_new_tokens", "repeats"))
    document = _text(args.document) if args.document else DOCUMENT
    questions = _lines(args.questions) if args.questions else QUESTIONS
    if args.write:
        check_section(args.write, MARK)
    use_threads(args.threads)
    target = SharedModels()(args.target, device=args.device, dtype=args.dtype)
    text, eos = target.tokenizer, target.info.eos_ids
    task = Task(text.encode(document), [text.encode_rendered(one) for one in questions], args.max_new_tokens)
    _check(text.encode_rendered(document), "document")
    for one, tokens in zip(questions, task.questions, strict=True):
        _check(tokens, f"question '{one.strip()[:40]}'")
    rows = compare(target.model, task, lambda token: token in eos, args.repeats)
    body = [
        (one.way, f"{one.ratio:.2f}", f"{one.ratio_low:.2f} to {one.ratio_high:.2f}", f"{one.tokens_per_s:.0f}",
         str(one.passes), str(one.rows), str(one.held), f"{one.same}/{len(questions)}")
        for one in rows
    ]  # fmt: skip
    report = (
        f"{len(questions)} questions to a document of {len(task.document)} tokens, at most {task.most} tokens an "
        f"answer, greedy, {args.repeats} repeats:\n\n{markdown_table(HEAD, body)}\n\n{origin_here(target)}"
    )
    out().line(report)
    if args.write:
        write_between(args.write, MARK, report)
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read '{path}' ({error}); give a file of UTF-8 text.") from None


def _lines(path: Path) -> tuple[str, ...]:
    found = tuple("\n" + line for line in _text(path).splitlines() if line.strip())
    if not found:
        raise OptionError(f"'{path}' holds no question; write one on each line.")
    return found


def _check(tokens: Sequence[int], what: str) -> None:
    if not tokens:
        raise OptionError(f"the {what} has no tokens; write some text.")
