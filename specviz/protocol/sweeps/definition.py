"""What a sweep is, in words, the same for a file, the page's form and a result's header; and as a list of cases: what
runs, in which order, and what is asked for in each run.

    sweep file ─┐
                ├─► SweepDefinition ─► expand (with the catalogue) ─► SweepSpec
    the form ───┘

Knows no method by name: what can be varied is read off the option cards.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from specviz.errors import OptionError
from specviz.options import idle_among
from specviz.protocol.choice import FORMER_NAMES, STANDARD, Choice
from specviz.protocol.pairs import for_target
from specviz.protocol.runs import Catalog, MethodDescription, OptionCard, PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE, Policies, SweepPoint, title, words
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
    known = {card.id: card for card in spec.own_prompts or for_target(source.catalog(), spec.template.target).prompts}
    missing = [name for name in ids if name not in known]
    if missing:
        raise OptionError(f"there is no prompt '{missing[0]}' in the prompt set; `specviz list prompts` shows the ids.")
    return [known[name] for name in ids]


LENGTH = "gamma"
"""the option that is a speculation length, in every drafter that has one"""
_STANDARD = RunRequest(prompt="")


@dataclass(frozen=True, slots=True)
class DrafterEntry:
    """One drafter of a sweep. One that stands there by its name alone is crossed with trees, tree policies and stop
    policies; one with anything of its own is measured as it stands, at its lengths."""

    name: str
    options: dict[str, Option] = field(default_factory=dict)
    length: str = LENGTH
    """the option that takes each speculation length; a drafter without it, or with others that replace it, runs once"""
    lengths: tuple[int, ...] | None = None
    """its own speculation lengths; none at all: it runs once, with its options. Left out: those of the sweep"""
    label: str = ""
    """for tables and charts; empty: its name, its weights and its options"""
    drafter_model: str = ""
    """weights of its own; empty: those of the sweep"""
    tree_policy: Choice = STANDARD["tree_policy"]
    stop_policy: Choice = STANDARD["stop_policy"]


@dataclass(frozen=True, slots=True)
class SweepDefinition:
    """A whole sweep. All products of its axes are measured, beside plain decoding of the same text."""

    title: str = ""
    target: str = _STANDARD.target
    """bundled name, folder or hub id"""
    drafter_model: str = _STANDARD.drafter_model
    """weights of the drafters that need a model"""
    drafters: tuple[DrafterEntry, ...] = ()
    every_drafter: bool = False
    """every registered drafter that is not named among `drafters`, with its default options"""
    gammas: tuple[int, ...] = (1, 2, 4)
    """speculation lengths"""
    trees: tuple[tuple[int, ...], ...] = ()
    """trees as children per level, for drafters with such an option"""
    tree_policies: tuple[str, ...] = ()
    """tree policies, each at every budget, for drafters that grow their drafts"""
    budgets: tuple[int, ...] = (16,)
    """candidates per round of the tree policies"""
    stop_policies: tuple[str, ...] = ()
    """stop policies beside the full length, each with every shape, for drafters that grow their drafts"""
    temperatures: tuple[float, ...] = (0.0,)
    families: tuple[str, ...] = ()
    """prompt families; empty: all of them"""
    prompts_per_family: int = 1
    """the first so many of each family, in the set's order"""
    prompts: tuple[str, ...] = ()
    """prompt ids; where there are any, families do not count"""
    chat: bool = False
    """the prompts are messages to an instruct model, put into its chat template"""
    prompt_file: str = ""
    """a JSONL file of prompts in place of the bundled set, beside the sweep file; read into `own_prompts`"""
    own_prompts: tuple[PromptCard, ...] = ()
    """prompts in place of the bundled set: all of them, where neither `prompts` nor `families` chooses some"""
    repeats: int = 1
    max_new_tokens: int = 64
    verifier: Choice = STANDARD["verifier"]
    seed: int = _STANDARD.seed
    dtype: str = _STANDARD.dtype
    device: str = _STANDARD.device
    threads: int = 0
    """torch threads; 0: as the program was started, which is one for the command"""


def stated(one: SweepDefinition | DrafterEntry) -> dict[str, Any]:
    """What differs from the defaults, as plain data: what a sweep file says."""
    found: dict[str, Any] = {}
    for entry in fields(one):
        value = getattr(one, entry.name)
        standard = entry.default_factory() if callable(entry.default_factory) else entry.default
        if value == standard:
            continue
        if entry.name == "own_prompts":
            found["own_prompts"] = [asdict(card) for card in value]
        elif entry.name == "drafters":
            found["drafters"] = [{"name": drafter.name} | stated(drafter) for drafter in value]
        elif isinstance(value, Choice):
            found[entry.name] = {"name": value.name, "options": dict(value.options)} if value.options else value.name
        else:
            found[entry.name] = json.loads(json.dumps(value))
    return found


def fingerprint(definition: SweepDefinition) -> str:
    """SHA-256 over everything that it states but its title: equal where the same runs are asked for. It goes by the
    names of format 1.0, so that results of earlier releases keep theirs."""
    content = json.dumps(_in_1_0(stated(replace(definition, title=""))), sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _in_1_0(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is stated, as format 1.0 stated it."""
    former = {name: was for was, name in FORMER_NAMES.items()}
    said: dict[str, Any] = {}
    for name, value in settings.items():
        apart = (
            {"": value["name"], "_options": value["options"]}
            if name in STANDARD and isinstance(value, dict)
            else {"": value}
        )
        said |= {former.get(f"{name}{end}", f"{name}{end}"): part for end, part in apart.items()}
    return said | ({"drafters": [_in_1_0(entry) for entry in said["drafters"]]} if "drafters" in said else {})


def expand(definition: SweepDefinition, catalog: Catalog) -> SweepSpec:
    """Every case and prompt. Raises OptionError for names that there are not, with the nearest, and for nothing."""
    if definition.prompt_file and not definition.own_prompts:
        raise OptionError(f"the prompts of '{definition.prompt_file[:40]}' were not read; give them beside the sweep.")
    names = [entry.name for entry in definition.drafters]
    rest = [method.name for method in catalog.drafters if method.name not in (*names, BASELINE)]
    entries = [*definition.drafters, *(DrafterEntry(name) for name in rest if definition.every_drafter)]
    if not entries:
        raise OptionError("no drafter is chosen; name at least one.")
    drafters = tuple(drafter for entry in entries for drafter in _drafters(entry, definition, catalog))
    if (definition.tree_policies or definition.stop_policies) and not any(
        _named(entry.name, catalog.drafters, "drafter").grows for entry in entries
    ):
        raise OptionError(
            f"{' and '.join(entry.name for entry in entries)} can have no tree or stop policy; choose a drafter that "
            "grows its drafts, or leave the policies out."
        )
    spec = SweepSpec(
        drafters=drafters,
        gammas=definition.gammas,
        prompt_ids=tuple(
            _prompts(definition, definition.own_prompts or for_target(catalog, definition.target).prompts)
        ),
        own_prompts=definition.own_prompts,
        temperatures=definition.temperatures,
        repeats=definition.repeats,
        max_new_tokens=definition.max_new_tokens,
        template=_template(definition),
    )
    _check_different(spec)
    return spec


def _template(definition: SweepDefinition) -> RunRequest:
    asked = {
        name: getattr(definition, name) for name in ("target", "drafter_model", "verifier", "seed", "dtype", "chat")
    }
    return RunRequest(prompt="", device=definition.device, record=False, **asked)


def _check_different(spec: SweepSpec) -> None:
    """Raises OptionError where two cases would stand under one name."""
    seen: set[tuple[str, int | None]] = set()
    for case in cases(spec):
        name = (title(case), case.gamma)
        if name in seen:
            raise OptionError(f"two drafters of the sweep are called '{name[0]}'; give one of them another label.")
        seen.add(name)


def _prompts(definition: SweepDefinition, cards: Sequence[PromptCard]) -> Iterator[str]:
    """Prompt ids. Raises OptionError for an unknown id or family."""
    ids = [card.id for card in cards]
    if definition.prompts:
        yield from (nearest(name, ids, "prompt") for name in definition.prompts)
        return
    if definition.own_prompts and not definition.families:
        yield from ids
        return
    kinds = list(dict.fromkeys(card.family for card in cards))
    for family in definition.families or kinds:
        chosen: Sequence[PromptCard] = [
            card for card in cards if card.family == nearest(family, kinds, "prompt family")
        ]
        yield from (card.id for card in chosen[: definition.prompts_per_family])


def _drafters(entry: DrafterEntry, definition: SweepDefinition, catalog: Catalog) -> Iterator[SweepDrafter]:
    """One entry's cases but for its lengths: itself, and where it has nothing of its own, every shape with every stop
    policy."""
    method = _named(entry.name, catalog.drafters, "drafter")
    own = _itself(entry, method, catalog, definition.gammas)
    if entry != DrafterEntry(entry.name):
        yield own
        return
    stops = (
        [_named(name, catalog.stop_policies, "stop policy").name for name in definition.stop_policies]
        if method.grows
        else []
    )
    for shape in (own, *_shapes(method, definition, catalog)):
        yield shape
        for stop in stops:
            if stop != STANDARD["stop_policy"].name:
                yield replace(shape, policies=replace(shape.policies, stop_policy=Choice(stop)))


def _itself(entry: DrafterEntry, method: MethodDescription, catalog: Catalog, gammas: Sequence[int]) -> SweepDrafter:
    _check_options(method, entry.options)
    for kind, known, choice, usual in (
        ("tree policy", catalog.tree_policies, entry.tree_policy, STANDARD["tree_policy"]),
        ("stop policy", catalog.stop_policies, entry.stop_policy, STANDARD["stop_policy"]),
    ):
        if choice.name != usual.name:
            _check_options(_named(choice.name, known, kind), choice.options)
    card = next((card for card in method.options if card.name == entry.length), None)
    if card is None and entry.length != LENGTH:
        _check_options(method, {entry.length: None})
    label = entry.label or words(" with ".join(filter(None, (method.name, entry.drafter_model))), entry.options)
    policies = Policies(entry.tree_policy, entry.stop_policy)
    has_policy = entry.tree_policy.name != STANDARD["tree_policy"].name
    beside = idle_among(method.options, {**entry.options, entry.length: None}, has_policy) if card else {}
    idle = entry.lengths is None and entry.length in beside
    runs_once = card is None or entry.lengths == () or has_policy or idle
    lengths = entry.lengths or (() if card is None or idle else _taken_by(gammas, card))
    return SweepDrafter(
        method.name,
        entry.options,
        None if runs_once else entry.length,
        lengths,
        label,
        policies,
        entry.drafter_model,
    )


def _taken_by(gammas: Sequence[int], card: OptionCard) -> tuple[int, ...]:
    """The sweep's lengths that the option takes, where it takes some and not all of them."""
    taken = tuple(gamma for gamma in gammas if (card.minimum or 0) <= gamma <= (card.maximum or gamma))
    return taken if len(taken) < len(gammas) else ()


def _shapes(method: MethodDescription, definition: SweepDefinition, catalog: Catalog) -> Iterator[SweepDrafter]:
    """The trees, and each tree policy at each budget."""
    shape = next((card.name for card in method.options if card.type == "ints"), None)
    for tree in definition.trees if shape is not None else ():
        children = ",".join(map(str, tree))
        yield SweepDrafter(method.name, {str(shape): list(tree)}, None, (), f"{method.name} tree {children}")
    for name in definition.tree_policies if method.grows else ():
        tree_policy = _named(name, catalog.tree_policies, "tree policy")
        budget = next((card.name for card in tree_policy.options if card.counts == "candidates"), None)
        for given in [{budget: nodes} for nodes in definition.budgets] if budget else [{}]:
            yield SweepDrafter(method.name, {}, None, policies=Policies(Choice(tree_policy.name, dict(given))))


def _named(name: str, known: Sequence[MethodDescription], kind: str) -> MethodDescription:
    chosen = nearest(name, [method.name for method in known if method.name != BASELINE], kind)
    return next(method for method in known if method.name == chosen)


def _check_options(method: MethodDescription, options: Mapping[str, object]) -> None:
    for name in options:
        nearest(name, [card.name for card in method.options], f"option of '{method.name}' called")


def nearest(name: str, known: Sequence[str], kind: str) -> str:
    """`name`, if it is known. Raises OptionError with the nearest known one."""
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known) or 'none'}."
    raise OptionError(f"there is no {kind} {name[:40]!r}; {hint}")
