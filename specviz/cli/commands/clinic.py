"""`specviz clinic`: two greedy answers differ; say whether that is a near tie, the number format, or a bug.

Place in the flow: reads two answers, asks the target what each token costs (`live.clinic`), prints the verdict. Exit
codes: 0 no bug, 1 a bug, 2 nothing could be said.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from dataclasses import asdict
from pathlib import Path

from specviz.cli.commands.audit import places
from specviz.cli.request import read_prompt
from specviz.cli.terminal import Terminal, out, printable
from specviz.doctor.answers import read
from specviz.doctor.consultation import Diagnosis, Place, Question
from specviz.errors import PromptError
from specviz.trace import codec

WIDTH = 100
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
    from specviz.live.clinic import consult

    answers = (read(args.a), read(args.b))
    names = (Path(args.a).name, Path(args.b).name)
    if names[0] == names[1]:
        names = ("A", "B")
    trace = None if args.trace is None else codec.read(args.trace)
    named = {} if trace is None else {trace.started.target.name: args.target}
    question = Question(
        args.target,
        args.format,
        answers,
        names,
        read_prompt(args),
        _prompt_ids(args.prompt_ids),
        args.chat,
        trace,
        {**named, **places(args.model)},
    )
    for diagnosis in consult(question):
        if args.json:
            out().line(json.dumps(as_data(diagnosis)))
        else:
            show(out(), diagnosis)
        return CODES.get(diagnosis.verdict.word, 0)
    return 0


def _prompt_ids(path: Path | None) -> tuple[int, ...] | None:
    if path is None:
        return None
    ids = read(path).tokens
    if ids is None:
        raise PromptError(f"{path.name} is no list of token ids; give a text with --prompt-file.")
    return ids


def as_data(diagnosis: Diagnosis) -> dict[str, object]:
    """What `--json` prints. Stable: keys are added, never renamed."""
    verdict = diagnosis.verdict
    parts_at = verdict.parts_at
    answers = {answer.name: answer for answer in diagnosis.answers}
    return {
        "target": diagnosis.target,
        "format": diagnosis.format,
        "prompt_tokens": diagnosis.prompt_tokens,
        "tokens": {name: len(answer.steps) for name, answer in answers.items()},
        **asdict(verdict),
        "broken_rule": None if diagnosis.broken is None else asdict(diagnosis.broken),
        "parting": None
        if parts_at is None
        else {name: asdict(answer.steps[parts_at]) for name, answer in answers.items()},
    }


def show(terminal: Terminal, diagnosis: Diagnosis) -> None:
    """Where they part, what the target says there, the verdict."""
    verdict = diagnosis.verdict
    first, second = diagnosis.answers
    terminal.line(
        f"{diagnosis.target}, float32 against {diagnosis.format}: {first.name} {len(first.steps)} tokens, "
        f"{second.name} {len(second.steps)} tokens, {diagnosis.prompt_tokens} of prompt"
    )
    if diagnosis.parting is not None:
        _at(terminal, "They part at token", diagnosis.parting)
    if diagnosis.worst is not None:
        _at(terminal, "The worst token is number", diagnosis.worst)
    style = "error" if CODES.get(verdict.word) else "accepted"
    terminal.line(f"Verdict: {terminal.paint(verdict.word, style)}, confidence {verdict.confidence}")
    sentences = [verdict.why, verdict.settle]
    if diagnosis.anew and verdict.word in CODES:
        sentences.append(f"Split into tokens anew, for they came as text: {', '.join(diagnosis.anew)}.")
    for sentence in filter(None, [*sentences, diagnosis.rule]):
        _tell(terminal, sentence)


def _at(terminal: Terminal, words: str, spot: Place) -> None:
    terminal.line(f"{words} {spot.index}, behind {printable(_quoted(spot.before), keep='')}:")
    for cost in spot.costs:
        loss = (
            "the target's choice"
            if cost.is_choice
            else f"{cost.loss:.4g} nats below {_quoted(cost.best)} in float32, {cost.loss_there:.4g} in the engine's "
            "format"
        )
        terminal.line(f"    {printable(f'{cost.name} writes {_quoted(cost.written)}: {loss}', keep='')}")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _tell(terminal: Terminal, sentence: str) -> None:
    for line in textwrap.wrap(printable(sentence, keep=""), WIDTH, initial_indent="    ", subsequent_indent="    "):
        terminal.line(line)
