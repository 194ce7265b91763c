"""Values that lessons take from formulas and from the measured prompt styles, not from a run.

Expected tokens, modelled speedups and a roofline start from numbers in the lesson's own words. Sums are those asked in
words, decoded plainly unless a drafter is named.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from specviz.errors import LessonError, TraceError
from specviz.lessons.answers import Here, Value, answer
from specviz.protocol.proofs import Toy
from specviz.studies.styles.numbers import PLAIN, Group, StyleRow, group, names
from specviz.studies.styles.result import STUDY
from specviz.theory import formulas
from specviz.theory.roofline import Roofline
from specviz.written_rules.language import RuleError, parse
from specviz.written_rules.law import Law, World
from specviz.written_rules.values import total


@answer
def expected_tokens(_here: Here, alpha: float, gamma: int) -> Value:
    """Tokens per target pass of a chain; see `formulas.expected_tokens`."""
    return formulas.expected_tokens(alpha, gamma)


@answer
def modelled_speedup(_here: Here, alpha: float, gamma: int, cost_ratio: float) -> Value:
    """See `formulas.wall_time_factor`."""
    return formulas.wall_time_factor(alpha, gamma, cost_ratio)


@answer
def round_cost(_here: Here, gamma: int, cost_ratio: float) -> Value:
    """Cost of a round in plain passes: γc + 1."""
    return gamma * cost_ratio + 1


@answer
def best_gamma(_here: Here, alpha: float, cost_ratio: float) -> Value:
    """The γ with the largest modelled speedup; 0: drafting does not pay."""
    return formulas.best_gamma(alpha, cost_ratio)


@answer
def faster_drafter(
    _here: Here, gamma: int, better_alpha: float, better_cost: float, cheaper_alpha: float, cheaper_cost: float
) -> Value:
    """`better` or `cheaper`: which of two drafters gives the larger modelled speedup. Raises LessonError on a tie."""
    better = formulas.wall_time_factor(better_alpha, gamma, better_cost)
    cheaper = formulas.wall_time_factor(cheaper_alpha, gamma, cheaper_cost)
    if better == cheaper:
        raise LessonError("these two drafters are equally fast; choose other numbers.")
    return "better" if better > cheaper else "cheaper"


@answer
def deciding_quantity(
    here: Here, gamma: int, better_alpha: float, better_cost: float, cheaper_alpha: float, cheaper_cost: float
) -> Value:
    """`speedup`, `acceptance` or `cost`: the only one of the three that names the faster drafter in both of two
    comparisons, this one and the one with the costs equal."""
    unequal = faster_drafter(here, gamma, better_alpha, better_cost, cheaper_alpha, cheaper_cost)
    equal = faster_drafter(here, gamma, better_alpha, cheaper_cost, cheaper_alpha, cheaper_cost)
    if unequal == equal:
        return "acceptance"
    return "speedup" if equal == "better" else "cost"


@answer
def roofline_ratio(
    _here: Here, rows: int, billion_parameters: float, bytes_per_parameter: float, tb_per_s: float, tflop_per_s: float
) -> Value:
    """T(rows) ÷ T(1) of a model's weights on a machine that reads and multiplies so fast; attention left out."""
    roof = _roof(billion_parameters, bytes_per_parameter, tb_per_s, tflop_per_s)
    return roof.at(rows) / roof.at(1)


@answer
def free_rows(
    _here: Here, billion_parameters: float, bytes_per_parameter: float, tb_per_s: float, tflop_per_s: float
) -> Value:
    """Rows at which multiplying takes as long as reading the weights: fewer are free, in this model."""
    return int(_roof(billion_parameters, bytes_per_parameter, tb_per_s, tflop_per_s).ridge)


@answer
def limited_by(
    _here: Here, rows: int, billion_parameters: float, bytes_per_parameter: float, tb_per_s: float, tflop_per_s: float
) -> Value:
    """`reading` or `arithmetic`: which of the two a pass over so many rows waits for."""
    ridge = _roof(billion_parameters, bytes_per_parameter, tb_per_s, tflop_per_s).ridge
    return "reading" if rows < ridge else "arithmetic"


def _roof(billions: float, width: float, tb_per_s: float, tflop_per_s: float) -> Roofline:
    parameters = billions * 1e9
    return Roofline(parameters * width, 2 * parameters, tb_per_s * 1e12, tflop_per_s * 1e12)


@answer
def toy_law(_here: Here, token: int, broken: bool = False) -> Value:
    """With which probability the toy of the Proof tab puts out a token (0 is a): its target's p; `broken`: with a
    correction drawn from p itself instead of the residual."""
    p, q = Toy().target, Toy().draft
    accepted = [min(one, other) for one, other in zip(p, q, strict=True)]
    left = 1 - sum(accepted)
    residual = [max(0.0, one - other) / left for one, other in zip(p, q, strict=True)]
    return accepted[token] + left * (p if broken else residual)[token]


@answer
def toy_accepted(_here: Here, token: int) -> Value:
    """min(p, q) of a token of that toy: how often it comes out as an accepted candidate."""
    return min(Toy().target[token], Toy().draft[token])


@answer
def toy_left(_here: Here) -> Value:
    """How often that toy's candidate is rejected: the mass of its residual."""
    return 1 - sum(map(min, Toy().target, Toy().draft))


def _written(rule: str) -> Law:
    """Raises LessonError where the rule cannot be read."""
    toy = Toy()
    try:
        return Law(parse(rule), World(list(toy.target), list(toy.draft)))
    except RuleError as error:
        raise LessonError(f"the rule of a value cannot be read: {error}") from error


@answer
def written_law(_here: Here, rule: str, token: int) -> Value:
    """With which probability a written rule puts out a token of that toy (0 is a)."""
    return _written(rule).text(1)[token]


@answer
def written_kept(_here: Here, rule: str) -> Value:
    """With which probability a written rule keeps a guess of that toy."""
    return total(_written(rule).level().kept)


@answer
def acceptance_of(_here: Here, p: float, q: float) -> Value:
    """min(1, p/q): with which probability a guess is accepted."""
    return min(1.0, p / q)


@answer
def overlap_of(_here: Here, p: list[float], q: list[float]) -> Value:
    """Σ min(p, q): how often a guess drawn from q is accepted."""
    return sum(map(min, p, q))


@answer
def left_of(_here: Here, p: list[float], q: list[float]) -> Value:
    """Σ max(0, p − q): the mass of the residual, and how often a guess is rejected."""
    return sum(max(0.0, wanted - guessed) for wanted, guessed in zip(p, q, strict=True))


@answer
def residual_of(_here: Here, p: list[float], q: list[float], token: int) -> Value:
    """With which probability a correction is this token (0 is the first)."""
    return max(0.0, p[token] - q[token]) / float(left_of(_here, p, q))


@answer
def most_tokens(_here: Here, gamma: int) -> Value:
    """Tokens of a round whose chain of γ guesses is wholly accepted: the guesses and the bonus."""
    return gamma + 1


@answer
def pass_rows(_here: Here, candidates: int) -> Value:
    """New rows of the target's pass: the root and every candidate."""
    return 1 + candidates


@answer
def passes_saved_of(_here: Here, tokens: int, passes: int) -> Value:
    """Passes that plain decoding would need more for as many tokens."""
    return tokens - passes


@answer
def modelled_pace(_here: Here, alpha: float, gamma: int, cost_ratio: float) -> Value:
    """`faster`, `slower` or `equal`: the modelled speedup against plain decoding."""
    speedup = formulas.wall_time_factor(alpha, gamma, cost_ratio)
    return "faster" if speedup > 1 else "slower" if speedup < 1 else "equal"


@cache
def _sums(path: Path = STUDY.path) -> Group:
    """Raises LessonError where they were not measured."""
    assert STUDY.codec is not None
    try:
        file = STUDY.codec.read(path)
    except TraceError as error:
        raise LessonError(f"the measured prompt styles are missing: {error}") from error
    name = next((name for name, key in names(file).items() if key == ("sums", "words")), None)
    if name is None:
        raise LessonError("sums asked in words were not measured; `specviz study styles --write` measures them.")
    return group(file, name)


def _row(style: str, drafter: str) -> StyleRow:
    found = _sums().row(style, drafter)
    if found is None:
        raise LessonError(f"style '{style}' with '{drafter}' was not measured.")
    return found


@answer
def style_tokens(_here: Here, style: str) -> Value:
    """Tokens per answer to a sum asked in a prompt style, on average; measured"""
    return _row(style, PLAIN).tokens.value


@answer
def style_accuracy(_here: Here, style: str) -> Value:
    """Share of right answers to sums asked in a prompt style; measured"""
    return _row(style, PLAIN).accuracy.value or 0.0


@answer
def style_cost(_here: Here, style: str, drafter: str = PLAIN) -> Value:
    """Seconds per correct answer to sums asked in a prompt style; measured. Raises LessonError where none was right"""
    found = _row(style, drafter).cost
    if found is None:
        raise LessonError(f"no answer in style '{style}' was right, so none has a cost.")
    return found.value


@answer
def cheaper_style(_here: Here, one: str, other: str) -> Value:
    """Which of two prompt styles takes fewer seconds per correct answer, by its name; measured. Raises LessonError on a
    tie, and where one has no right answer"""
    costs = {style: style_cost(_here, style) for style in (one, other)}
    if costs[one] == costs[other]:
        raise LessonError("these two styles cost the same; choose others.")
    return min(costs, key=lambda style: costs[style])
