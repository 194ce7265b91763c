"""What `specviz bench trees` compares: each tree policy, in the shapes an experiment allows, with each verifier.

The two experiments of recursive speculative decoding (2402.14160, §5): a fixed speculation length, and a fixed target
budget of exactly B verified candidates, where each policy may choose its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from specviz.errors import BenchError
from specviz.protocol.choice import Choice
from specviz.protocol.runs import MethodDescription, OptionCard, RunRequest, TraceSource
from specviz.theory import formulas as theory
from specviz.trace.events import Option

Options = Mapping[str, Option]
DEEPEST = 12
"""levels of a shape with branching: what is deeper is hardly ever reached"""
WIDTHS = (2, 3, 4)


@dataclass(frozen=True, slots=True)
class TreeCase:
    """One contestant: a policy in one shape, judged by one verifier."""

    experiment: str
    """`length 3`, `budget 14`"""
    temperature: float
    tree_policy: str
    shape: str
    verifier: str
    request: RunRequest

    @property
    def name(self) -> str:
        return f"{self.experiment}, T={self.temperature:g}: {self.tree_policy} {self.shape}, {self.verifier}"


@dataclass(frozen=True, slots=True)
class TreePlan:
    """What to compare; `template` carries the pair, seed, dtype, device and length of the runs."""

    lengths: Sequence[int]
    budgets: Sequence[int]
    temperatures: Sequence[float]
    shapes: int
    """at most so many shapes per policy and budget: those with the most expected tokens under `vector`"""
    vector: Sequence[float]
    """probability that the first, second, … sibling is the accepted one; for ranking shapes alone"""
    template: RunRequest


def plain_name(temperature: float) -> str:
    """The contestant that speed is compared with: plain decoding at the same temperature."""
    return f"plain, T={temperature:g}"


def cases(source: TraceSource, plan: TreePlan) -> list[TreeCase]:
    """All legal pairings. Raises BenchError where nothing is left to compare."""
    catalog = source.catalog()
    planned = []
    for temperature in plan.temperatures:
        judges = _judges(catalog.verifiers, temperature)
        for experiment, shapes_of in _experiments(plan):
            for tree_policy in (
                method_description for method_description in catalog.tree_policies if method_description.lossless
            ):
                for shape, options in shapes_of(tree_policy):
                    planned += _judged(
                        source, plan, judges, (experiment, temperature, tree_policy.name, shape, options)
                    )
    if not planned:
        raise BenchError("there is nothing to compare; give --lengths, --budgets and --temperatures.")
    return planned


def _experiments(
    plan: TreePlan,
) -> Iterator[tuple[str, Callable[[MethodDescription], Sequence[tuple[str, Options]]]]]:
    for length in plan.lengths:
        yield f"length {length}", lambda tree_policy, length=length: shapes_of_length(tree_policy, length)  # type: ignore[misc]
    for budget in plan.budgets:
        yield f"budget {budget}", lambda tree_policy, budget=budget: shapes_of_budget(tree_policy, budget, plan)  # type: ignore[misc]


def _judges(verifiers: Sequence[MethodDescription], temperature: float) -> list[str]:
    """The lossless ones. At temperature 0 all of them accept the same, so one stands for them."""
    if temperature == 0.0:
        return ["greedy"]
    return [
        method_description.name
        for method_description in verifiers
        if method_description.lossless and method_description.temperatures == "any"
    ]


def _judged(
    source: TraceSource, plan: TreePlan, judges: Sequence[str], setting: tuple[str, float, str, str, Options]
) -> list[TreeCase]:
    experiment, temperature, tree_policy, shape, options = setting
    judged = []
    if temperature == 0.0:  # draws from a point mass are copies; the policy's own choice takes the most probable
        options = {name: value for name, value in options.items() if name != "draw"}
    for judge in judges:
        request = replace(
            plan.template,
            drafter=replace(plan.template.drafter, name="model"),
            tree_policy=Choice(tree_policy, dict(options)),
            verifier=Choice(judge),
            temperature=temperature,
            record=False,
        )
        if source.explain(replace(request, prompt="x")) is None:
            judged.append(TreeCase(experiment, temperature, tree_policy, shape, judge, request))
    return judged


def shapes_of_length(tree_policy: MethodDescription, length: int) -> list[tuple[str, Options]]:
    """One shape of exactly `length` levels, by the options the policy has; none where it has no say in its depth."""
    options = {option.name: option for option in tree_policy.options}
    size: Options = {"budget": 4 * length} if _budgeted(options) else {}
    if "length" in options:
        return [(f"{length}", {"length": length})]
    if "branching" in options:
        shape = (3, *(1,) * (length - 1)) if "draw" in options else (2,) * length
        return [_named(shape, options)]
    if {"width", "depth"} <= options.keys():
        name = f"{4 * length} of width 4, depth {length}" if size else f"width 4, depth {length}"
        return [(name, {"width": 4, "depth": length, **size})]
    if "depth" in options:
        return [(f"{4 * length}, depth {length}", {"depth": length, **size, **_as_asked(options)})]
    return []


def shapes_of_budget(tree_policy: MethodDescription, budget: int, plan: TreePlan) -> list[tuple[str, Options]]:
    """Shapes with exactly `budget` candidates, by the options the policy has; without any, its budget alone; none where
    the shape is a list that somebody wrote."""
    options = {option.name: option for option in tree_policy.options}
    if "length" in options:
        longest = options["length"].maximum
        return [(f"{budget}", {"length": budget})] if longest is None or budget <= longest else []
    if "branching" in options:
        return [_named(shape, options) for shape in _best(branchings(budget), plan)]
    if {"width", "depth"} <= options.keys():
        return _beams(budget, _budgeted(options))[: plan.shapes]
    if not _budgeted(options):
        return []
    depth: Options = {"depth": DEEPEST} if "depth" in options else {}
    return [("", {"budget": budget, **depth, **_as_asked(options)})]


def _budgeted(options: Mapping[str, OptionCard]) -> bool:
    """The policy makes more candidates than it keeps, and its budget says how many; not: its shape says it."""
    return "budget" in options and options["budget"].default != 0


def _as_asked(options: Mapping[str, OptionCard]) -> Options:
    """Keeps a policy from choosing a smaller tree than asked for by the machine's step times."""
    return {"fit": False} if "fit" in options else {}


def _beams(budget: int, kept: bool) -> list[tuple[str, Options]]:
    """Widths and depths: of a beam whose nodes are all kept width · depth is the budget, the squarest ones first;
    where the best are kept, every one of the `width` nodes of a level is extended by `width`."""
    if not kept:
        sizes = [(w, budget // w) for w in range(2, budget + 1) if budget % w == 0 and budget // w <= DEEPEST]
        sizes.sort(key=lambda size: abs(size[0] - size[1]))
        return [(f"width {w}, depth {d}", {"width": w, "depth": d}) for w, d in sizes]
    sizes = [(w, d) for w in WIDTHS for d in (6, 4) if w + (d - 1) * w * w >= budget]
    return [(f"width {w}, depth {d}", {"budget": budget, "width": w, "depth": d}) for w, d in reversed(sizes)]


def branchings(budget: int) -> list[tuple[int, ...]]:
    """All trees with the same number of children at every node of a level, never more than the level above, that have
    exactly `budget` candidates and a node with two children."""
    shapes: list[tuple[int, ...]] = []

    def extend(shape: tuple[int, ...], width: int, left: int) -> None:
        if left == 0 and shape[0] > 1:
            shapes.append(shape)
        if len(shape) == DEEPEST:
            return
        for children in range(1, (shape[-1] if shape else left) + 1):
            if width * children <= left:
                extend((*shape, children), width * children, left - width * children)

    extend((), 1, budget)
    return shapes


def _best(shapes: Sequence[tuple[int, ...]], plan: TreePlan) -> list[tuple[int, ...]]:
    return sorted(shapes, key=lambda shape: (-_expected(shape, plan.vector), shape))[: plan.shapes]


def _expected(shape: Sequence[int], vector: Sequence[float]) -> float:
    """Tokens per round where sibling b is accepted with vector[b]: level by level a product of sums (2402.12374)."""
    return theory.expected_tokens_by_depth([min(1.0, sum(vector[:children])) for children in shape])


def _named(shape: tuple[int, ...], options: Mapping[str, OptionCard]) -> tuple[str, Options]:
    """Siblings i.i.d. where the policy leaves it open: those without replacement are another policy's."""
    draw: Options = {"draw": "iid"} if "draw" in options else {}
    return ",".join(map(str, shape)), {"branching": list(shape), **draw}
