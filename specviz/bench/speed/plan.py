"""Who takes part in the bench: the declared list of our settings and of transformers' counterparts.

Place in the flow: `specviz bench` turns its flags into a `BenchOptions` and asks here for contestants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from specviz.bench.core.run import SourceContestant
from specviz.errors import BenchError
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.trace.events import Option

PLAIN = "specviz: plain"
"""name of the baseline; every ratio is against it"""
RECORDED = ", recorded"
"""ends the name of a contestant that also writes its trace"""
TRAINED = ("small_model", "dspark", "dflash")
"""a smaller chain than the drafter model's, and drafters that fill a block in one pass"""
PRICED = frozenset({"none", "model", "ngram"})
"""drafters whose passes alone can be replayed: those of the drafter model, and who makes none"""
BLOCK_BUDGET = 9
"""candidates of the tree over a block that is drafted in one pass"""
YARDSTICK = "specviz: plain"
"""begins the names of our contestants beside llama.cpp, which are on the file that it reads"""


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What to measure; `template` carries target, drafter model, seed, dtype and device."""

    gammas: tuple[int, ...] = (2, 4, 6)
    branching: str = "3,2,1"
    prompts_per_family: int = 1
    repeats: int = 2
    temperatures: tuple[float, ...] = (0.0, 0.8)
    """a contest of its own at each; the repeats differ in their seeds"""
    transformers: bool = True
    trained: bool = False
    """whether `TRAINED` take part too: shipped weights of them fit the target"""
    template: RunRequest = field(default_factory=lambda: RunRequest(prompt="", max_new_tokens=128))


def quick(options: BenchOptions) -> BenchOptions:
    """A minute's version: one length, one prompt a family, one repeat, half the tokens."""
    return replace(
        options,
        gammas=options.gammas[len(options.gammas) // 2 :][:1],
        prompts_per_family=1,
        repeats=1,
        template=replace(options.template, max_new_tokens=min(32, options.template.max_new_tokens)),
    )


def own_contestants(source: TraceSource, options: BenchOptions, temperature: float = 0.0) -> list[SourceContestant]:
    """Plain decoding first, then chains, the tree, n-gram lookup, the middle chain with its trace kept, and, where that
    is wanted, the trained drafters."""
    template = replace(options.template, temperature=temperature)
    middle = middle_gamma(options.gammas)
    settings: list[tuple[str, str, Mapping[str, Option], bool]] = [
        (PLAIN, "none", {}, False),
        *((f"specviz: model γ={gamma}", "model", {"gamma": gamma}, False) for gamma in options.gammas),
        (f"specviz: model tree {options.branching}", "model", {"branching": options.branching}, False),
        *((f"specviz: ngram γ={gamma}", "ngram", {"gamma": gamma}, False) for gamma in options.gammas),
        (f"specviz: model γ={middle}{RECORDED}", "model", {"gamma": middle}, True),
    ]
    requests = {
        name: replace(template.with_drafter(drafter, given), record=record) for name, drafter, given, record in settings
    }
    if options.trained:
        requests |= _trained(template, middle)
    return [SourceContestant(name, source, request) for name, request in requests.items()]


def _trained(template: RunRequest, gamma: int) -> dict[str, RunRequest]:
    """Two as chains, the last as a tree."""
    *chains, tree = TRAINED
    grown = replace(template.with_drafter(tree), tree_policy=Choice("ddtree", {"budget": BLOCK_BUDGET}), record=False)
    return {
        f"specviz: {name} γ={gamma}": replace(template.with_drafter(name, {"gamma": gamma}), record=False)
        for name in chains
    } | {f"specviz: {tree}, ddtree of {BLOCK_BUDGET}": grown}


def middle_gamma(gammas: Sequence[int]) -> int:
    """The speculation length that transformers' assistant and the tracing comparison use."""
    if not gammas:
        raise BenchError("there is no speculation length to measure; give --gammas, for example 2,4,6.")
    return gammas[len(gammas) // 2]
