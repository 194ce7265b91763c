"""`specviz run`: decode a prompt and print the text as it comes.

Place in the flow: arguments → `RunRequest` → a trace source's steps → terminal, JSON or trace file.
"""

from __future__ import annotations

import argparse
import json
import threading
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from specviz.cli import method_flags, request
from specviz.cli.printed_run import TokenTexts, add_template_flag, hidden_tokens, prompt_text, show_summary
from specviz.cli.sources import live_source
from specviz.cli.terminal import Terminal, bar, err, out, printable, stop_on_interrupt
from specviz.errors import OptionError, TraceError
from specviz.trace import cautions
from specviz.trace.events import Round, Step, Trace, VocabEntry
from specviz.trace.header import FORMER_NAMES, MethodCard, Started

ECHO = 300
"""characters of a long prompt that are shown at either end"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_own_flags(parser)
    catalog, own = live_source().catalog(), own_flags()
    method_flags.add_flags(parser, "drafter", catalog.drafters, own)
    method_flags.add_flags(parser, "tree_policy", catalog.tree_policies, own)
    method_flags.add_flags(parser, "stop_policy", catalog.stop_policies, own)
    method_flags.add_flags(parser, "verifier", catalog.verifiers, own)


@cache
def own_flags() -> tuple[str, ...]:
    """The flags that are there whatever methods there are."""
    parser = argparse.ArgumentParser()
    add_own_flags(parser)
    return tuple(parser._option_string_actions)


def add_own_flags(parser: argparse.ArgumentParser) -> None:
    """All but those of the methods' options."""
    request.add_flags(parser)
    parser.add_argument("--trace", metavar="OUT", type=Path, help="write the trace to OUT (.json or .json.gz)")
    parser.add_argument(
        "--resume", metavar="TRACE", type=Path, help="continue this trace; its settings are the defaults"
    )
    parser.add_argument("--round", metavar="R", type=int, help="with --resume: from the start of round R (default 0)")
    parser.add_argument("--force-token", metavar="ID", type=int, help="with --resume: this token id comes next")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print one JSON object: text, output_ids, summary and more")
    shown.add_argument("--quiet", action="store_true", help="print the text alone")
    add_template_flag(parser)


def run(args: argparse.Namespace) -> int:
    from specviz.lm.place import chosen_format  # brings torch, without which the help is printed
    from specviz.trace.codec import assemble

    if args.trace is not None:
        _check_place(args.trace)
    source = live_source()
    resume = request.read_resume(args)
    wanted = request.build_request(args, source.catalog(), resume)
    reason = source.explain(wanted)
    if reason:
        raise OptionError(reason)
    if not args.quiet and (kept := chosen_format(wanted.target, wanted.device, wanted.dtype)):
        err().line(kept)
    begun, stopped = threading.Event(), threading.Event()
    printer = _Printer(out(), silent=args.json, prompt=not args.quiet, template=args.template)
    counter = bar(wanted.max_new_tokens, "tokens", shown=args.json)
    steps: list[Step] = []
    with stop_on_interrupt(begun, stopped):
        for step in source.run(wanted, stopped.is_set, resume):
            begun.set()
            steps.append(step)
            printer.show(step)
            counter.update(len(step.event.committed.tokens) if isinstance(step.event, Round) else 0)
    counter.close()
    printer.end()
    trace = assemble(steps)
    return _report(args, trace)


def _report(args: argparse.Namespace, trace: Trace) -> int:
    """Write the trace, print the summary; 1 where the run failed or was stopped."""
    from specviz.trace import codec

    if args.trace is not None:
        codec.write(trace, args.trace)
    if args.json:
        out().line(json.dumps(as_data(trace, args.trace)))
    elif not args.quiet:
        show_summary(out(), trace)
        if args.trace is not None:
            out().line(f"{'trace':>22}  {printable(str(args.trace), keep='')}")
    if trace.finished.reason == "failed":
        err().line(f"specviz: {printable(trace.finished.message or 'the run failed.', keep='')}")
    return 1 if trace.finished.reason in ("failed", "cancelled") else 0


def as_data(trace: Trace, path: Path | None) -> dict[str, Any]:
    """What `--json` prints. Stable: keys are added, never renamed."""
    started, finished = trace.started, trace.finished
    cards = {"tree_policy": started.tree_policy, "stop_policy": started.stop_policy}
    policies = {name: None if card is None else _as_part(card, started) for name, card in cards.items()}
    return {
        "text": finished.text,
        "output_ids": finished.output_ids,
        "summary": asdict(trace.summary),
        "reason": finished.reason,
        "message": finished.message,
        "prompt": started.prompt_text,
        "prompt_ids": started.prompt_ids,
        "target": asdict(started.target),
        "drafter": _as_part(started.drafter, started),
        **policies,
        **{FORMER_NAMES[name]: card for name, card in policies.items()},
        "verifier": _as_part(started.verifier, started),
        "lossless": not cautions.lossy_methods(started),
        "lossy": [
            {"name": card.name, "measured": cautions.lossy_distance(card)} for card in cautions.lossy_methods(started)
        ],
        "sampling": asdict(started.sampling),
        "seed": started.seed,
        "run_id": started.run_id,
        "prefill_s": finished.prefill_s,
        "decode_s": finished.decode_s,
        "machine": asdict(started.machine),
        "trace": None if path is None else str(path),
    }


def _as_part(card: MethodCard, started: Started) -> dict[str, Any]:
    """A method as it took part: nothing of a lossy run is called lossless."""
    return {**asdict(card), "lossless": not cautions.lossy_methods(started)}


def _check_place(path: Path) -> None:
    """Say before the run, not after it, that the trace cannot be written."""
    if not path.name.endswith((".json", ".json.gz")):
        raise TraceError(f"--trace is '{path}', but a trace is written to a name ending in .json or .json.gz.")
    if not path.parent.is_dir():
        raise TraceError(f"there is no folder '{path.parent}' to write '{path.name}' to; make it first.")


def echo(started: Started, template: bool = False) -> str:
    """The prompt as it is shown before its continuation; of a long one beginning and end, and how much is between."""
    text, tokens = prompt_text(started, template), len(started.prompt_ids)
    if len(text) <= 2 * ECHO:
        return text
    return f"{text[:ECHO]} […{len(text) - 2 * ECHO:,} characters of a prompt of {tokens:,} tokens…] {text[-ECHO:]}"


class _Printer:
    """Prompt and tokens as they come, each token in the colour of its origin."""

    def __init__(self, terminal: Terminal, silent: bool, prompt: bool, template: bool) -> None:
        self.terminal = terminal
        self.silent = silent
        self.prompt = prompt
        self.template = template
        self.vocab: dict[str, VocabEntry] = {}
        self.pieces = TokenTexts(self.vocab)

    def show(self, step: Step) -> None:
        self.vocab.update(step.vocab)
        if isinstance(step.event, Started):
            self.pieces.hidden = hidden_tokens(step.event, self.template)
        if self.silent:
            return
        if isinstance(step.event, Started) and self.prompt:
            self.terminal.write(self.terminal.paint(printable(echo(step.event, self.template)), "dim"))
        if isinstance(step.event, Round):
            for item in step.event.committed.tokens:
                style = "accepted" if item.origin == "draft" else item.origin
                self.terminal.write(self.terminal.paint(printable(self.pieces.next(item.token)), style))

    def end(self) -> None:
        if not self.silent:
            self.terminal.line(printable(self.pieces.rest()))
