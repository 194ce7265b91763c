"""Held-out sums and known facts, answered under lossless and lossy rules from the same drafts.

What is counted does not depend on the machine: right answers, tokens, and passes of the target. Place in the flow:
`specviz study lossy` hands in the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from specviz.bench.core.report import now_utc
from specviz.bench.core.run import Collected, collect
from specviz.corpus.plain_english import facts
from specviz.corpus.plain_english.questions import PLAINLY, prompt_and_answer
from specviz.corpus.prompt_styles import is_right, question, rendered
from specviz.errors import BenchError
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.studies.lossy.result import FACTS, SUMS, LossyFile, RuleRow
from specviz.studies.study import Workplace

GAMMA = 8
"""longer than the windows of `fly`"""
RULES: tuple[tuple[float, str, Mapping[str, float | int | str]], ...] = (
    (0.0, "greedy", {}),
    (0.0, "lenience", {"lenience": 0.2}),
    (0.0, "lenience", {"lenience": 0.05}),
    (0.0, "fly", {"window": 2}),
    (0.0, "fly", {"window": 4}),
    (0.0, "ensemble", {"weight": 0.4}),
    (1.0, "sequential", {}),
    (1.0, "fly", {"window": 2}),
    (1.0, "ensemble", {"weight": 0.7}),
    (1.0, "ensemble", {"weight": 0.4}),
    (1.0, "cascade", {"alpha": 0.3}),
    (1.0, "typical", {}),
)
"""(temperature, verifier, options); the first of a temperature is lossless, and what the others are held against"""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and what makes an answer right."""

    kind: str
    prompt: str
    truth: str

    def right(self, run: Collected) -> bool:
        """A sum: its last number, behind the steps. A fact: the answer is named. Both end with their line."""
        text = run.finished.text
        if self.kind == SUMS:
            return is_right(text, run.finished.reason != "length", int(self.truth))
        return self.truth in text


def asked(count: int, seed: int) -> list[Asked]:
    """`count` held-out sums, and the capitals of as many countries."""
    sums = [question(SUMS, seed, number) for number in range(count)]
    kind = facts.KINDS[0]
    subjects = list(kind.pairs)[:: max(1, len(kind.pairs) // count)][:count]
    capitals = [
        (prompt_and_answer(kind, (PLAINLY, kind.questions[0]), country)[0], kind.pairs[country]) for country in subjects
    ]
    return [Asked(SUMS, rendered(sum_, "direct", "words"), str(sum_.truth)) for sum_ in sums] + [
        Asked(FACTS, prompt, truth) for prompt, truth in capitals
    ]


def measure(workplace: Workplace) -> LossyFile:
    args, source = workplace.args, workplace.source(measure=False)
    questions = asked(args.questions, args.seed)
    template = RunRequest(
        "",
        target=args.target,
        drafter=Choice("model", {"gamma": GAMMA}),
        drafter_model=args.drafter_model,
        seed=args.seed,
        max_new_tokens=args.max_new_tokens,
        stop=("\n",),
        dtype=args.dtype,
        device=args.device,
        record=False,
    )
    rows, exact = list[RuleRow](), dict[tuple[float, str], list[bool]]()
    first: Collected | None = None
    for temperature, verifier, options in RULES:
        request = replace(template, temperature=temperature, verifier=Choice(verifier, dict(options)))
        for kind in (SUMS, FACTS):
            runs = [
                (task, _run(source, replace(request, prompt=task.prompt))) for task in questions if task.kind == kind
            ]
            right = [task.right(run) for task, run in runs]
            first = first or runs[0][1]
            plain = exact.setdefault((temperature, kind), right)
            rows.append(
                RuleRow(
                    temperature,
                    verifier,
                    dict(options),
                    kind,
                    len(runs),
                    sum(right),
                    sum(before and not now for before, now in zip(plain, right, strict=True)),
                    sum(now and not before for before, now in zip(plain, right, strict=True)),
                    sum(len(run.finished.output_ids) for _, run in runs),
                    sum(len(run.rounds) for _, run in runs),
                )
            )
        workplace.say(f"T = {temperature:g}, {verifier} {dict(options) or ''}: {rows[-2].right} and {rows[-1].right}")
    assert first is not None, "there is a rule and a question."
    drafter = first.started.drafter.model
    models = {"target": first.started.target.weights_sha256}
    if drafter is not None:
        models["drafter"] = drafter.weights_sha256
    return LossyFile(tuple(rows), GAMMA, args.seed, args.max_new_tokens, now_utc(), models)


def _run(source: TraceSource, request: RunRequest) -> Collected:
    run = collect(source, request)
    if run is None:
        raise BenchError("the measurement was stopped; run it again.")
    return run
