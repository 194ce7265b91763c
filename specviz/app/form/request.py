"""From what stands in the controls to a `RunRequest`, with this machine's limits applied.

The page shows only the options of the chosen methods, but the server trusts none of it: every value is read again here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul
from pathlib import Path
from typing import Any

from specviz.app.form.methods import AUTO, kinds
from specviz.errors import OptionError
from specviz.options import is_off
from specviz.protocol.choice import Choice
from specviz.protocol.pairs import for_target
from specviz.protocol.runs import MEMORY_WAYS, Catalog, MethodDescription, OptionCard, RunRequest
from specviz.protocol.trainings import SHIPPED, TRAINED, UNTRAINED, WEIGHTS
from specviz.scenes.scene import Scene
from specviz.scratch import scratch
from specviz.trace.events import Option
from specviz.trace.files import MAX_INTEGER
from specviz.trace.header import Started
from specviz.trace.tree_shape import read_paths

FURTHER_MODELS = "others"
"""the option of a drafter that names models beside the run's own"""
ZIP_TIMES = 8
"""so many times as large as one trace may a zip of them be"""
WORDS = {"tree_policy": "tree policy", "stop_policy": "stop policy"}
"""what kinds of method are called in a sentence"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one visitor may ask of this machine."""

    max_new_tokens: int = 256
    prompt_chars: int = 2000
    import_bytes: int = 5_000_000
    max_tree_nodes: int = 256
    waiting: int = 16
    """runs that may wait for the engine; more are turned away"""
    engine_seconds: float = 4 * 3600.0
    """that one job of the engine may take: a run, a race, a sweep, an audit"""
    training_seconds: float = 1800.0
    reading_seconds: float = 600.0
    """that one answer may take which counts or reads: traces of an analysis, a file that is handed in"""
    any_model: bool = True
    """models by folder or hub id, datastores by file; False: only those in the catalog"""
    shared_memory: bool = True
    """a drafter may begin with what earlier runs of this server taught it, whoever's they were; False where strangers
    meet: every run begins cold and leaves nothing behind"""

    @property
    def zip_bytes(self) -> int:
        """Bytes of a zip of traces, and characters of all of them unpacked; nothing larger is taken from a visitor."""
        return ZIP_TIMES * self.import_bytes

    @property
    def memory_ways(self) -> tuple[str, ...]:
        """What may be asked for as `RunRequest.memory`."""
        return MEMORY_WAYS if self.shared_memory else MEMORY_WAYS[:1]


def option_key(group: str, method: str, option: str) -> str:
    """Name of one method option among the form's values, e.g. `drafter.model.gamma`."""
    return f"{group}.{method}.{option}"


def options_name(group: str) -> str:
    """Name of the control that holds the options of all methods of a kind, e.g. `drafter.options`."""
    return f"{group}.options"


def request_from(values: Mapping[str, object], catalog: Catalog, limits: Limits) -> RunRequest:
    """Read the form. Raises OptionError, naming the control, the value and the cure."""
    drafter = _method("drafter", values, catalog.drafters)
    methods = _methods(values, catalog, limits, drafter.grows)
    return RunRequest(
        prompt=_prompt(values, limits),
        chat=bool(values.get("chat")),
        scene=_scene(values),
        target=model_of("target", values, catalog, limits),
        drafter_model=model_of("drafter_model", values, catalog, limits),
        temperature=_number("temperature", values, (0.0, 10.0)),
        top_k=int(_number("top_k", values, (0, 1_000_000))),
        top_p=_number("top_p", values, (0.0, 1.0)),
        seed=int(_number("seed", values, (0, MAX_INTEGER))),
        max_new_tokens=int(_number("max_new_tokens", values, (1, limits.max_new_tokens))),
        stop=_stops(str(values.get("stop") or "")),
        prompt_name=_prompt_name(values, catalog),
        memory=_memory(values, limits) if drafter.remembers else MEMORY_WAYS[0],
        datastore=_datastore(values, catalog, limits) if drafter.retrieves else "",
        **methods,
    )


def _methods(values: Mapping[str, object], catalog: Catalog, limits: Limits, growing: bool) -> dict[str, Any]:
    """`RunRequest`'s choices of every kind of method that belongs to the drafter."""
    choices: dict[str, Any] = {}
    for kind in kinds(catalog):
        if kind.for_growing and not growing:
            continue
        name = str(values.get(kind.group) or kind.default)
        choices[kind.group] = Choice(name)
        if kind.auto and name == AUTO:
            continue
        method = _method(kind.group, {kind.group: name}, kind.methods)
        read = in_effect(method, read_options(kind.group, method, values), growing and _has_policy(values, catalog))
        choices[kind.group] = Choice(name, _offered(within(limits, method, read), catalog, limits))
    return choices


def check_models(names: Iterable[str], catalog: Catalog, limits: Limits) -> None:
    """Raises OptionError where a visitor names a model that is not on offer, in whatever form or file it stands."""
    listed = [model.name for model in catalog.models]
    for name in names:
        if name not in listed and not limits.any_model:
            choice = ", ".join(listed) or "none is installed"
            raise OptionError(f"the model '{name[:60]}' is not offered here; choose one of: {choice}.")


def models_of_run(started: Started) -> list[str]:
    """Names of all models that a trace says took part."""
    own = started.drafter.model
    return [
        further_model.name
        for further_model in (started.target, *([] if own is None else [own]), *started.drafter.further_models)
    ]


def check_named(options: Mapping[str, Option], catalog: Catalog, limits: Limits) -> None:
    """Raises OptionError where a method's options name a model that is not on offer, or a folder of the server that no
    training of a page has made: those have names that nobody guesses."""
    check_models(
        (name.strip() for name in str(options.get(FURTHER_MODELS, "")).split(",") if name.strip()), catalog, limits
    )
    weights = options.get(WEIGHTS)
    if isinstance(weights, str) and weights not in (SHIPPED, UNTRAINED) and not limits.any_model:
        folder = Path(weights)
        if folder.parent != scratch() or not folder.name.startswith(TRAINED):
            raise OptionError(
                f"the weights '{weights[:60]}' are not offered here; choose {SHIPPED} or {UNTRAINED}, or train "
                "some in the Train tab."
            )


def _offered(options: dict[str, Option], catalog: Catalog, limits: Limits) -> dict[str, Option]:
    check_named(options, catalog, limits)
    return options


def _has_policy(values: Mapping[str, object], catalog: Catalog) -> bool:
    """Whether a tree policy decides the shape of drafts, and not the drafter's own options."""
    return any(kind.instead and (values.get(kind.group) or kind.default) != AUTO for kind in kinds(catalog))


def in_effect(method: MethodDescription, options: Mapping[str, Option], has_policy: bool) -> dict[str, Option]:
    """The options without those that do nothing beside the others: the form always holds a value of each."""
    return {
        card.name: options[card.name]
        for card in method.options
        if not (card.unless and options[card.unless])
        and not (card.needs and is_off(options[card.needs]))
        and not (card.shape and has_policy)
    }


def acts(values: Mapping[str, object], catalog: Catalog, option: str) -> bool:
    """Whether an option of the chosen drafter has any effect beside what else stands in the form; False where that
    cannot be read."""
    method = next((drafter for drafter in catalog.drafters if drafter.name == values.get("drafter")), None)
    if method is None:
        return False
    try:
        read = read_options("drafter", method, values)
    except OptionError:
        return False
    return option in in_effect(method, read, method.grows and _has_policy(values, catalog))


def read_options(group: str, method: MethodDescription, values: Mapping[str, object]) -> dict[str, Option]:
    """The options of one method, parsed by their cards' types; an empty control means the default."""
    read: dict[str, Option] = {}
    for card in method.options:
        value = values.get(option_key(group, method.name, card.name), card.default)
        read[card.name] = card.default if value is None or value == "" else parse_option(card, value)
    return read


def within(limits: Limits, method: MethodDescription, options: dict[str, Option]) -> dict[str, Option]:
    """The options again, if the trees they describe fit this machine. Raises OptionError."""
    nodes, cause, cure = _candidates(method, options)
    if nodes > limits.max_tree_nodes:
        raise OptionError(
            f"{cause} makes {nodes} candidates per round, but this machine takes {limits.max_tree_nodes}; {cure}."
        )
    return options


def _candidates(method: MethodDescription, options: Mapping[str, Option]) -> tuple[int, str, str]:
    """The most candidates that a draft can have, the options that say so, and what to do about it.

    A number of candidates that is given stands for itself; else the shape decides. An option of type `ints` is children
    per node, level by level: the sizes of the levels added up. `levels` and `per_level` are multiplied. A
    list of paths counts what it lists. Raises OptionError where it cannot be read.
    """
    counted = {card.counts: card.name for card in method.options if card.counts and _number_of(options, card.name)}
    if "candidates" in counted:
        name = counted["candidates"]
        return _number_of(options, name), f"{name} {options[name]}", "ask for fewer"
    found = [(0, "", "")]
    for card in method.options:
        shape = options.get(card.name)
        if card.type == "ints" and isinstance(shape, list):
            widths = accumulate((max(children, 1) for children in shape), mul)
            found.append((sum(widths), f"{card.name} {','.join(map(str, shape))}", "use fewer children or levels"))
        if card.counts == "listed" and isinstance(shape, str):
            found.append((len(read_paths(shape)), f"the list of {card.name}", "list fewer"))
    if "levels" in counted:
        sizes = [name for role, name in counted.items() if role in ("levels", "per_level")]
        cause = " with ".join(f"{name} {options[name]}" for name in sizes)
        found.append(
            (prod(_number_of(options, name) for name in sizes), cause, "use fewer levels or candidates in each")
        )
    return max(found)


def _number_of(options: Mapping[str, Option], name: str) -> int:
    value = options.get(name)
    return value if isinstance(value, int) else 0


def parse_option(card: OptionCard, value: object) -> Option:
    """One control's value in the option's own type. Raises OptionError."""
    try:
        return _PARSERS[card.type](value)
    except (TypeError, ValueError, OverflowError) as error:
        raise OptionError(
            f"option '{card.name}' is {str(value)[:40]!r}, but must be {_EXPECTED[card.type]}; "
            f"its default is {card.default!r}."
        ) from error


def _whole(value: object) -> int:
    number = float(str(value))
    if number != int(number):
        raise ValueError(value)
    return int(number)


def _ints(value: object) -> list[int]:
    parts = (
        [str(part) for part in value]
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value).split(",")
    )
    return [_whole(part.strip()) for part in parts]


_PARSERS: dict[str, Callable[[object], Option]] = {
    "int": _whole,
    "float": lambda value: float(str(value)),
    "bool": bool,
    "str": str,
    "ints": _ints,
}
_EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "on or off",
    "str": "text",
    "ints": "whole numbers with commas between, such as 3,2,1",
}


def _method(group: str, values: Mapping[str, object], known: Sequence[MethodDescription]) -> MethodDescription:
    name = str(values.get(group) or "")
    for method in known:
        if method.name == name:
            return method
    kind = WORDS.get(group, group)
    raise OptionError(f"there is no {kind} {name[:40]!r}; choose one of {', '.join(method.name for method in known)}.")


def model_of(control: str, values: Mapping[str, object], catalog: Catalog, limits: Limits) -> str:
    """The model that a control names. Raises OptionError where it is not on offer here."""
    name = str(values.get(control) or "").strip()
    listed = [model.name for model in catalog.models]
    if name in listed or (name and limits.any_model):
        return name
    choice = ", ".join(listed) or "none is installed"
    raise OptionError(f"the {control.replace('_', ' ')} '{name[:60]}' is not offered here; choose one of: {choice}.")


def _memory(values: Mapping[str, object], limits: Limits) -> str:
    way = str(values.get("memory") or MEMORY_WAYS[0])
    if way not in limits.memory_ways:
        raise OptionError(f"memory is {way[:40]!r}, but must be one of {', '.join(limits.memory_ways)} here.")
    return way


def _datastore(values: Mapping[str, object], catalog: Catalog, limits: Limits) -> str:
    """The file of a listed datastore, which the form calls by its name alone; empty: the target's own."""
    name = str(values.get("datastore") or "").strip()
    listed = {Path(description.file).name: description.file for description in catalog.datastores}
    if not name or name in listed:
        return listed.get(name, "")
    if limits.any_model:
        return name
    raise OptionError(
        f"the datastore '{name[:60]}' is not offered here; choose one of those listed, or the target's own."
    )


def _prompt(values: Mapping[str, object], limits: Limits) -> str:
    prompt = str(values.get("prompt") or "")
    if not prompt and not _scene(values):
        raise OptionError("the prompt is empty; type one or click an example below it.")
    if len(prompt) > limits.prompt_chars:
        raise OptionError(
            f"the prompt has {len(prompt)} characters, but this machine takes {limits.prompt_chars}; shorten it."
        )
    return prompt


def _scene(values: Mapping[str, object]) -> str:
    """The picture in words. Raises PromptError where it cannot be drawn."""
    text = str(values.get("scene") or "").strip()
    return str(Scene.parse(text)) if text else ""


def _prompt_name(values: Mapping[str, object], catalog: Catalog) -> str | None:
    """The prompt's id while its text is untouched: an edited prompt no longer is that prompt."""
    prompt, prompts = values.get("prompt"), for_target(catalog, str(values.get("target") or "")).prompts
    return next((card.id for card in prompts if card.text == prompt), None)


def _number(control: str, values: Mapping[str, object], bounds: tuple[float, float]) -> float:
    label = control.replace("_", " ")
    value = values.get(control)
    try:
        number = float(str(value))
    except ValueError as error:
        told = "empty" if value in (None, "") else repr(str(value)[:40])
        raise OptionError(f"{label} is {told}, but must be a number.") from error
    if not bounds[0] <= number <= bounds[1]:
        raise OptionError(f"{label} is {number:g}, but must lie between {bounds[0]:g} and {bounds[1]:g} here.")
    return number


def _stops(text: str) -> tuple[str, ...]:
    """One stop string per line; `\\n` stands for a line break."""
    return tuple(line.replace("\\n", "\n") for line in text.splitlines() if line)
