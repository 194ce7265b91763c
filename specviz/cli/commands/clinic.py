"""`specviz clinic`: two greedy answers differ; say whether that is a near tie, the number format, or a bug.

Place in the flow: reads two answers, asks the target what each token costs (`live.clinic`), prints the verdict. Exit
codes: 0 no bug, 1 a bug, 2 nothing could be said.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.cli.commands.audit import places
from specviz.cli.request import read_prompt
from specviz.cli.terminal import Terminal, out, printable
from specviz.doctor.answers import Written, read
from specviz.doctor.broken_rules import Broken
from specviz.doctor.clinic import Answer, parting
from specviz.errors import PromptError

if TYPE_CHECKING:
    from specviz.live.clinic import Diagnosis, Target
    from specviz.lm.text import TextCodec

WIDTH = 100
AROUND = 24
"""tokens before another that are shown"""
NOTHING_BROKEN = (
    "The trace shows no broken rule: it is true to itself and to the checkpoints, as far as its number format allows."
)
CODES = {"bug": 1, "not this target's": 2}


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("a", metavar="A", help="an answer: a text, a JSON list of token ids, an engine's response, or a trace")
    add("b", metavar="B", help="the other one, in any of these forms")
    add(
        "--target",
        required=True,
        metavar="NAME",
        help="the model that both answered with: name, folder, GGUF or hub id",
    )
    add(
        "--format",
        default="bfloat16",
        metavar="D",
        help="in which the engine computed: float32, bfloat16 (the default) or float16",
    )
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument("--prompt", metavar="TEXT", help="what both answer; - reads standard input")
    prompt.add_argument("--prompt-file", metavar="FILE", type=Path, help="the same from a UTF-8 file")
    prompt.add_argument("--prompt-ids", metavar="FILE", type=Path, help="the same as a JSON list of token ids")
    add("--chat", action="store_true", help="the prompt is a message to an instruct model: use its template")
    add("--trace", metavar="TRACE", type=Path, help="the run that gave one of the answers: say which rule it broke")
    add(
        "--model",
        action="append",
        default=[],
        metavar="NAME=WHERE",
        help="take the trace's model NAME from there: bundled name, folder or hub id",
    )
    add("--json", action="store_true", help="print one JSON object instead of sentences")


def run(args: argparse.Namespace) -> int:
    from specviz.live.clinic import Target

    answers = [read(args.a), read(args.b)]
    text = read_prompt(args)
    target = Target.load(args.target, args.format)
    prompt_ids = _prompt(args, text, answers, target)
    names = [Path(args.a).name, Path(args.b).name]
    if names[0] == names[1]:
        names = ["A", "B"]
    diagnosis = target.examine(
        prompt_ids, [(name, target.ids(answer)) for name, answer in zip(names, answers, strict=True)]
    )
    rule = None if args.trace is None else _broken(args, diagnosis)
    if args.json:
        out().line(json.dumps(as_data(diagnosis, rule)))
    else:
        anew = [name for name, answer in zip(names, answers, strict=True) if answer.tokens is None]
        show(out(), diagnosis, anew)
        if args.trace is not None:
            _tell(out(), str(rule) if rule else NOTHING_BROKEN)
    return CODES.get(diagnosis.verdict.word, 0)


def _prompt(args: argparse.Namespace, text: str | None, answers: Sequence[Written], target: Target) -> Sequence[int]:
    """The prompt's ids: as given, else as an answer tells them. Raises PromptError where nobody tells."""
    if args.prompt_ids is not None:
        ids = read(args.prompt_ids).tokens
        if ids is None:
            raise PromptError(f"{args.prompt_ids.name} is no list of token ids; give a text with --prompt-file.")
        return ids
    if text is not None:
        codec = target.codec
        return codec.encode_rendered(codec.rendered(text)) if args.chat else codec.encode(text)
    ids = next((answer.prompt_ids for answer in answers if answer.prompt_ids), None)
    if ids is None:
        raise PromptError("neither answer names its prompt; give it with --prompt, --prompt-file or --prompt-ids.")
    return ids


def _broken(args: argparse.Namespace, diagnosis: Diagnosis) -> Broken | None:
    """The rule that the trace's run broke. Its answer is the one that begins most like its output."""
    from specviz.live.clinic import broken_rule
    from specviz.trace import codec

    trace = codec.read(args.trace)
    output = tuple(trace.finished.output_ids)
    handed_out = max(diagnosis.answers, key=lambda answer: _alike(answer.tokens, output))
    return broken_rule(trace, handed_out.tokens, {**{trace.started.target.name: args.target}, **places(args.model)})


def _alike(left: Sequence[int], right: Sequence[int]) -> tuple[bool, int]:
    parts_at = parting(left, right)
    return left == right, min(len(left), len(right)) if parts_at is None else parts_at


def as_data(diagnosis: Diagnosis, rule: Broken | None) -> dict[str, object]:
    """What `--json` prints. Stable: keys are added, never renamed."""
    verdict = diagnosis.verdict
    parts_at = verdict.parts_at
    answers = {answer.name: answer for answer in diagnosis.answers}
    return {
        "target": diagnosis.target,
        "format": diagnosis.format,
        "prompt_tokens": len(diagnosis.prompt_ids),
        "tokens": {name: len(answer.steps) for name, answer in answers.items()},
        **asdict(verdict),
        "broken_rule": None if rule is None else asdict(rule),
        "parting": None
        if parts_at is None
        else {name: asdict(answer.steps[parts_at]) for name, answer in answers.items()},
    }


def show(terminal: Terminal, diagnosis: Diagnosis, anew: Sequence[str]) -> None:
    """Where they part, what the target says there, the verdict. `anew`: answers whose text was split into tokens."""
    verdict, codec = diagnosis.verdict, diagnosis.codec
    first, second = diagnosis.answers
    terminal.line(
        f"{diagnosis.target}, float32 against {diagnosis.format}: {first.name} {len(first.steps)} tokens, "
        f"{second.name} {len(second.steps)} tokens, {len(diagnosis.prompt_ids)} of prompt"
    )
    if verdict.parts_at is not None:
        terminal.line(f"They part at token {verdict.parts_at}, behind {_before(codec, first, verdict.parts_at)}:")
        for answer in diagnosis.answers:
            terminal.line(f"    {_costs(codec, answer, verdict.parts_at)}")
    if verdict.guilty and verdict.worst_at is not None and verdict.worst_at != verdict.parts_at:
        guilty = next(answer for answer in diagnosis.answers if answer.name == verdict.guilty)
        terminal.line(
            f"The worst token is number {verdict.worst_at}, behind {_before(codec, guilty, verdict.worst_at)}:"
        )
        terminal.line(f"    {_costs(codec, guilty, verdict.worst_at)}")
    style = "error" if CODES.get(verdict.word) else "accepted"
    terminal.line(f"Verdict: {terminal.paint(verdict.word, style)}, confidence {verdict.confidence}")
    sentences = [verdict.why, verdict.settle]
    if anew and verdict.word in CODES:
        sentences.append(f"Split into tokens anew, for they came as text: {', '.join(anew)}.")
    for sentence in filter(None, sentences):
        _tell(terminal, sentence)


def _tell(terminal: Terminal, sentence: str) -> None:
    for line in textwrap.wrap(printable(sentence, keep=""), WIDTH, initial_indent="    ", subsequent_indent="    "):
        terminal.line(line)


def _before(codec: TextCodec, answer: Answer, index: int) -> str:
    """The end of the answer before a token, in quotes."""
    text = codec.decode(answer.tokens[max(0, index - AROUND) : index])
    return printable(json.dumps(text[-60:], ensure_ascii=False), keep="")


def _costs(codec: TextCodec, answer: Answer, index: int) -> str:
    step = answer.steps[index]
    written, best = (json.dumps(codec.token_text(token), ensure_ascii=False) for token in (step.token, step.best))
    loss = (
        "the target's choice"
        if step.token == step.best
        else f"{step.loss:.4g} nats below {best} in float32, {step.loss_there:.4g} in the engine's format"
    )
    return printable(f"{answer.name} writes {written}: {loss}", keep="")
