"""A sweep as a list of cases: what runs, in which order, and what is asked for in each run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from specviz.errors import OptionError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE, Policies, SweepPoint, title
from specviz.trace.events import Option


@dataclass(frozen=True, slots=True)
class SweepDrafter:
    """One drafter of a sweep and the options it keeps throughout."""

    name: str
    options: Mapping[str, Option] = field(default_factory=dict)
    length_option: str | None = "gamma"
    """the option that the sweep sets to each speculation length; None: run once, with `options` as they are"""
    lengths: tuple[int, ...] = ()
    """its own speculation lengths; empty: those of the sweep"""
    label: str = ""
    """for tables and charts; empty: the drafter's name"""
    policies: Policies = field(default_factory=Policies)
    drafter_model: str = ""
    """weights of its own; empty: those of the sweep"""


@dataclass(frozen=True, slots=True)
class SweepSpec:
    """What to measure. `template` supplies target, models, verifier, seed, dtype and device of every run."""

    drafters: tuple[SweepDrafter, ...]
    gammas: tuple[int, ...]
    prompt_ids: tuple[str, ...]
    temperatures: tuple[float, ...] = (0.0,)
    repeats: int = 1
    max_new_tokens: int = 64
    template: RunRequest = field(default_factory=lambda: RunRequest(prompt=""))
    own_prompts: tuple[PromptCard, ...] = ()
    """in place of the source's set"""


@dataclass(frozen=True, slots=True)
class SweepCase:
    """One column of the sweep: a drafter at one speculation length. `gamma` is None where it has none to set."""

    drafter: str
    label: str
    gamma: int | None
    options: Mapping[str, Option]
    policies: Policies = field(default_factory=Policies)
    drafter_model: str = ""
    """weights of its own; empty: those of the sweep"""


def cases(spec: SweepSpec) -> tuple[SweepCase, ...]:
    """Plain decoding first, then every drafter at every speculation length, each case once."""
    found = [SweepCase(BASELINE, BASELINE, None, {})]
    for drafter in spec.drafters:
        if drafter.name == BASELINE:
            continue
        label, own = drafter.label or drafter.name, (drafter.policies, drafter.drafter_model)
        if drafter.length_option is None:
            found.append(SweepCase(drafter.name, label, None, dict(drafter.options), *own))
            continue
        for gamma in drafter.lengths or spec.gammas:
            options = {**drafter.options, drafter.length_option: gamma}
            found.append(SweepCase(drafter.name, label, gamma, options, *own))
    return tuple(found)


def run_count(spec: SweepSpec) -> int:
    """How many runs, and so how many points, a sweep makes: for progress."""
    return len(cases(spec)) * len(spec.prompt_ids) * spec.repeats * len(spec.temperatures)


def request_for(spec: SweepSpec, case: SweepCase, temperature: float) -> RunRequest:
    """What one case asks for on any prompt."""
    return replace(
        spec.template.with_drafter(case.drafter, case.options),
        drafter_model=case.drafter_model or spec.template.drafter_model,
        tree_policy=case.policies.tree_policy,
        stop_policy=case.policies.stop_policy,
        temperature=temperature,
        max_new_tokens=spec.max_new_tokens,
        record=False,
    )


RunKey = tuple[str, int | None, str, int, float]
"""case, length, prompt id, repeat, temperature: which run of a sweep it is"""


def run_key(one: SweepCase | SweepPoint, prompt: str, repeat: int, temperature: float) -> RunKey:
    """What a planned run and its point have in common."""
    return title(one), one.gamma, prompt, repeat, temperature


def prompts_of(source: TraceSource, spec: SweepSpec) -> list[PromptCard]:
    """The prompts of a sweep. Raises OptionError for an id there is not."""
    ids = spec.prompt_ids
    known = {card.id: card for card in spec.own_prompts or source.catalog().prompts}
    missing = [name for name in ids if name not in known]
    if missing:
        raise OptionError(f"there is no prompt '{missing[0]}' in the prompt set; `specviz list prompts` shows the ids.")
    return [known[name] for name in ids]
