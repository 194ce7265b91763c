"""`python -m tests.js.recordings` runs every shipped recording that the browser's engine can make again under node, and
as many fresh runs of the Python engine in float32, and says where the two differ; `--write` puts that into the page.

Greedy texts are counted token by token up to the first that differs, which is listed with what the target says of it;
of sampled runs every verdict is compared. Exit code 1: too few equal tokens, a difference that is no tie, another
verdict, or a probability further off than rounding explains.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.bench.core.report import check_section, write_between
from specviz.live.source import LiveSource
from specviz.lm.load import LoadedModel, load
from specviz.trace.codec import read
from specviz.trace.events import Judged, Node, TopK, Trace
from specviz.trace.header import Started
from tests.js.engine import CLOSE, asked, engines, prompts, unpacked_modules, written
from tests.js.node import ROOT

TIE = 1e-4
"""nats between two tokens below which rounding may choose either"""
FEWEST_EQUAL = 0.995
"""of greedy tokens, for each drafter"""
DRAFTERS = ("none", "model", "ngram", "token_recycling", "eagle", "medusa")
NOT_HERE = {"cascade", "coupled", "ensemble", "fly", "gls"}
"""verifiers that the browser's engine does not have"""
PAGE = ROOT / "docs" / "browser_engine.md"
MARK = "recordings"
FRESH_TOKENS = 48
TRACES = ROOT / "assets" / "traces"
PACKED = ".json.gz"


@dataclass(frozen=True)
class Parting:
    """The first token that two greedy texts do not share."""

    at: int
    browsers: int
    engines: int
    nats: float
    """by how much the target prefers the engine's token"""


def parting(trace: Trace, due: Trace, target: LoadedModel) -> Parting | None:
    """Where two greedy texts part, measured in a pass over all before it; None where they are equal."""
    ids, due_ids = trace.finished.output_ids, due.finished.output_ids
    for at, (browsers, of_engine) in enumerate(zip(ids, due_ids, strict=False)):
        if browsers != of_engine:
            before = [*due.started.prompt_ids, *due_ids[:at]]
            logits = target.model.forward(before, target.model.new_cache(), None)[-1]  # (vocabulary,)
            return Parting(at, browsers, of_engine, float(logits[of_engine] - logits[browsers]))
    assert len(ids) == len(due_ids), "one text ends where the other goes on"
    return None


def request_of(started: Started) -> dict[str, Any]:
    """What was asked for, as the browser's engine takes it."""
    request: dict[str, Any] = {
        "prompt": started.prompt_text,
        "temperature": started.sampling.temperature,
        "top_k": started.sampling.top_k,
        "top_p": started.sampling.top_p,
        "seed": started.seed,
        "max_new_tokens": started.max_new_tokens,
        "stop": started.stop,
    }
    for role in ("drafter", "verifier", "tree_policy", "stop_policy"):
        card = getattr(started, role)
        if card is not None:
            request |= {role: card.name, f"{role}_options": card.options}
    if started.drafter.model is not None:
        request["drafter_model"] = started.drafter.model.name
    return request


@dataclass(frozen=True)
class Shipped:
    """The recordings of the drafters that the browser's engine has."""

    here: dict[str, Trace]
    bfloat16: list[str]
    other_methods: list[str]


def sorted_out(recordings: dict[str, Trace]) -> Shipped:
    """Those of the bundled target that can be made again, and those that cannot."""
    shipped = Shipped({}, [], [])
    for name, trace in recordings.items():
        started = trace.started
        cards = (started.verifier, started.stop_policy)
        if started.target.name != "target" or started.drafter.name not in DRAFTERS:
            continue
        if started.target.dtype != "float32":
            shipped.bfloat16.append(name)
        elif any(card is not None and card.name in NOT_HERE for card in cards):
            shipped.other_methods.append(name)
        else:
            shipped.here[name] = trace
    return shipped


def recorded(*names: str) -> dict[str, Trace]:
    """The shipped recordings of these names."""
    return {name: read(TRACES / f"{name}{PACKED}") for name in names}


def fresh(count: int) -> dict[str, Trace]:
    """Greedy runs of the Python engine in float32, of every drafter over so many prompts of the set."""
    source, texts = LiveSource(measure=False), prompts(1)
    chosen = texts[:: max(1, len(texts) // max(1, count))][:count]
    return {
        f"fresh {drafter} {place}": engines(source, asked(text, {"drafter": drafter, "max_new_tokens": FRESH_TOKENS}))
        for drafter in DRAFTERS
        for place, text in enumerate(chosen, start=1)
    }


@dataclass(frozen=True)
class Compared:
    """A run of the Python engine beside the browser's."""

    name: str
    drafter: str
    greedy: bool
    tokens: int
    equal: int
    """tokens before the first that differs; of a sampled run all, or those before the first other verdict"""
    rounds: int
    equal_verdicts: int
    furthest: float
    """largest difference of two probabilities of the same token at the same node"""
    parted: Parting | None


def verdict(judged: Judged) -> tuple[Any, ...]:
    trials = [(trial.node, trial.u, trial.accepted) for trial in judged.trials]
    return judged.path, judged.token, judged.origin, judged.u, trials


def gap(mine: TopK | None, other: TopK | None) -> float:
    if mine is None or other is None:
        return 0.0 if mine is other else 1.0
    due = dict(zip(other.tokens, other.probs, strict=True))
    return max(
        (abs(p - due[token]) for token, p in zip(mine.tokens, mine.probs, strict=True) if token in due), default=0
    )


def gaps(mine: Node, other: Node) -> Iterator[float]:
    """How far the probabilities of a node are apart, list by list."""
    for which in ("target", "draft", "target_raw", "draft_raw"):
        yield gap(getattr(mine, which), getattr(other, which))
    for which in ("draft_prob", "target_prob"):
        yield abs((getattr(mine, which) or 0.0) - (getattr(other, which) or 0.0))


def compared(name: str, trace: Trace, due: Trace, target: LoadedModel) -> Compared:
    """Probabilities count up to the first round whose tree or verdict is another one."""
    greedy = due.started.sampling.temperature == 0.0
    parted = parting(trace, due, target) if greedy else None
    same, settled, furthest = 0, 0, 0.0
    for this, other in zip(trace.rounds, due.rounds, strict=False):
        if [node.token for node in this.nodes] != [node.token for node in other.nodes]:
            break
        furthest = max([furthest, *(gap for pair in zip(this.nodes, other.nodes, strict=True) for gap in gaps(*pair))])
        if verdict(this.judged) != verdict(other.judged):
            break
        same, settled = same + 1, settled + len(other.committed.tokens)
    tokens = len(due.finished.output_ids)
    equal = settled if not greedy else tokens if parted is None else parted.at
    drafter = due.started.drafter.name
    return Compared(name, drafter, greedy, tokens, equal, len(due.rounds), same, furthest, parted)


def compare(runs: dict[str, Trace], target: LoadedModel) -> list[Compared]:
    """Make runs of the Python engine again under node."""
    requests = [request_of(trace.started) for trace in runs.values()]
    with tempfile.TemporaryDirectory() as folder:
        made = written(requests, unpacked_modules(Path(folder)))
    return [compared(name, trace, due, target) for (name, due), trace in zip(runs.items(), made, strict=True)]


def failures(results: Sequence[Compared]) -> list[str]:
    """What is not as it must be, a sentence each."""
    said = []
    for drafter in dict.fromkeys(result.drafter for result in results):
        cold = [result for result in results if result.drafter == drafter and result.greedy]
        equal, tokens = sum(result.equal for result in cold), sum(result.tokens for result in cold)
        if equal < FEWEST_EQUAL * tokens:
            said.append(f"{drafter}: {equal} of {tokens} greedy tokens are equal.")
    for result in results:
        if result.parted is not None and result.parted.nats >= TIE:
            said.append(f"{result.name}: token {result.parted.at} is off by {result.parted.nats:.2g} nats, no tie.")
        if not result.greedy and result.equal_verdicts < result.rounds:
            said.append(f"{result.name}: the verdict of round {result.equal_verdicts + 1} is another one.")
        if result.furthest > CLOSE:
            said.append(f"{result.name}: a probability is off by {result.furthest:.2g}.")
    return said


def table(results: Sequence[Compared], out_of_reach: Shipped) -> str:
    """The section of the page."""
    lines = [
        "| drafter | greedy runs | tokens | equal | sampled runs | verdicts | equal | probabilities: furthest apart |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for drafter in DRAFTERS:
        of_it = [result for result in results if result.drafter == drafter]
        cold, warm = [each for each in of_it if each.greedy], [each for each in of_it if not each.greedy]
        furthest = max((each.furthest for each in of_it), default=0.0)
        counted = [len(cold), sum(each.tokens for each in cold), sum(each.equal for each in cold)]
        counted += [len(warm), sum(each.rounds for each in warm), sum(each.equal_verdicts for each in warm)]
        lines.append(f"| `{drafter}` | {' | '.join(map(str, counted))} | {furthest:.1e} |")
    partings = [(each.name, each.parted) for each in results if each.parted is not None]
    listed = [
        f"- {name}: from token {parted.at} on, where the target prefers Python's by {parted.nats:.1e} nats"
        for name, parted in partings
    ]
    fresh_runs = sum(each.name.startswith("fresh") for each in results)
    bfloat16, others = out_of_reach.bfloat16, out_of_reach.other_methods
    return "\n".join(
        [
            f"{len(results) - fresh_runs} shipped recordings and {fresh_runs} fresh runs of the Python engine, all in",
            "float32, each made again by the browser's engine under node:",
            "",
            *lines,
            "",
            *(["Greedy texts that part:", "", *listed] if listed else ["No greedy text parts from Python's."]),
            "",
            f"Left out are {len(bfloat16)} recordings made in bfloat16, which rounds otherwise",
            f"({', '.join(bfloat16)}),",
            f"and {len(others)} with a verifier that the browser's engine does not have",
            f"({', '.join(others)}).",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.js.recordings", description=__doc__)
    parser.add_argument("--fresh", type=int, default=6, help="prompts of the set that every drafter runs on anew")
    parser.add_argument("--write", action="store_true", help=f"say in docs/{PAGE.name} what came out")
    args = parser.parse_args()
    if args.write:
        check_section(PAGE, MARK)  # before the work, not after it
    shipped = sorted_out(recorded(*(path.name.removesuffix(PACKED) for path in sorted(TRACES.glob(f"*{PACKED}")))))
    results = compare(shipped.here | fresh(args.fresh), load("target", dtype="float32"))
    text = table(results, shipped)
    sys.stdout.write(f"{text}\n")
    if args.write:
        write_between(PAGE, MARK, text)
    wrong = failures(results)
    sys.stderr.writelines(f"{sentence}\n" for sentence in wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
