"""What a visitor can choose from, as plain data: methods from the registries, models and prompts from the assets,
datastores from the user's cache.

`build` asks the registries (and so imports torch); `saved` reads the copy of this package's own methods in
`assets/catalog.json`, so that a page can draw its controls before torch is loaded; `at_once` is the one that has every
plug-in. `make generate` writes the copy anew. Loads no weights.
"""

from __future__ import annotations

import inspect
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import entry_points
from math import prod
from pathlib import Path
from typing import Any, Protocol

from specviz.datastore.store import built
from specviz.lm.fetched import REAL_MODELS, RealModel
from specviz.options import OptionDescription, Options, describe
from specviz.protocol.runs import (
    Catalog,
    FamilyCard,
    FetchableModel,
    MethodDescription,
    ModelDescription,
    ModelPair,
    OptionCard,
    PromptCard,
    RunRequest,
)
from specviz.resources import ROOT, cache_folder, read_json, without

CAPTIONS = {
    "captioner": "captioner",
    **dict.fromkeys(("caption-drafter-text", "caption-drafter-tuned", "caption-drafter-eyes"), "caption drafter"),
}
"""they belong together alone, and have a tab of their own"""
EXPECTED_MODELS = {"target": "target", "drafter": "drafter", "drafter-weak": "drafter"}
"""bundled name → role; listed as not available where the weights are missing"""

PROMPTS = ROOT / "prompts" / "prompts.json"
KNOWS = "Our own small models: they know short English texts of this kind and Python, nothing else"
REAL_KNOWS = "A real language model that everybody can have, and a small one: what it says may be wrong"
REAL_DRAFTER = "eagle"
"""what drafts for such a model until another is chosen"""
UNTRAINED = "none"
"""how a drafter begins that says it needs no training"""
MOST_HEADER = 100_000_000
"""bytes of a safetensors file's header; those who write them keep to it"""
OWN = "specviz"
FOLDERS = {
    "drafters": "drafters",
    "verifiers": "verifiers",
    "tree_policies": "tree_policies",
    "stop_policies": "stop_policies",
}
"""folder of the methods, and so group of plug-ins → what the catalog calls them"""


class Method(Protocol):
    """What the classes in all registries carry."""

    options_type: type[Options]
    lossless: bool


def build() -> Catalog:
    """The catalog of this very installation, plug-ins of other packages included."""
    from specviz.drafters.base import DRAFTERS
    from specviz.stop_policies.base import STOP_POLICIES
    from specviz.tree_policies.base import TREE_POLICIES
    from specviz.verifiers.base import VERIFIERS

    kinds: dict[str, Any] = {
        "drafters": DRAFTERS,
        "verifiers": VERIFIERS,
        "tree_policies": TREE_POLICIES,
        "stop_policies": STOP_POLICIES,
    }
    return _with_assets(
        {role: tuple(describe_method(*item) for item in registry.items()) for role, registry in kinds.items()}
    )


def saved() -> Catalog:
    """The catalog without importing any method: the saved methods, and what lies in the assets now."""
    data = read_json(ROOT / "catalog.json")
    return _with_assets({role: tuple(map(_method_from, data[role])) for role in FOLDERS.values()})


def _with_assets(methods: Mapping[str, Any]) -> Catalog:
    """The methods by role, and what lies in the assets and the user's cache now."""
    return Catalog(
        models=(*bundled_models(), *fetched_models()),
        prompts=bundled_prompts(),
        datastores=built(cache_folder()),
        families=prompt_families(),
        fetchable=fetchable_models(),
        pairs=pairs(methods["drafters"]),
        **methods,
    )


def at_once() -> Catalog:
    """The catalog to draw a page from: the saved one, which needs no torch; where other packages have plug-ins, the
    built one, for their sake."""
    has_plug_ins = any(entry_points(group=f"{OWN}.{folder}") for folder in FOLDERS)
    kept = None if has_plug_ins else without(ROOT / "catalog.json", lambda _: saved(), None)
    return kept or build()


def beside(catalog: Catalog, models: Sequence[ModelDescription]) -> Catalog:
    """The catalog with further models that may be chosen."""
    return replace(catalog, models=(*catalog.models, *models))


def own(catalog: Catalog) -> Catalog:
    """The catalog without plug-ins of other packages."""
    kept: dict[str, Any] = {
        name: tuple(method for method in getattr(catalog, name) if method.package == OWN) for name in FOLDERS.values()
    }
    return replace(catalog, **kept)


def catalog_to_json(catalog: Catalog) -> str:
    """This package's own methods as the text of `assets/catalog.json`."""
    methods = {name: getattr(own(catalog), name) for name in FOLDERS.values()}
    return json.dumps({kind: [asdict(one) for one in method] for kind, method in methods.items()}, indent=1) + "\n"


def _method_from(data: Mapping[str, Any]) -> MethodDescription:
    options = tuple(OptionCard(**{**one, "choices": tuple(one["choices"])}) for one in data["options"])
    return MethodDescription(**{**data, "options": options})


def describe_method(name: str, method: type[Any]) -> MethodDescription:
    """A registered class as data: its docstring is its text."""
    from specviz.drafters.base import Drafter
    from specviz.drafters.capabilities import Grows, Remembers, UsesModel, retrieves

    text = inspect.cleandoc(method.__doc__ or "")
    needs = getattr(method, "needs", None)
    return MethodDescription(
        name=name,
        summary=text.partition("\n")[0],
        description=text,
        lossless=method.lossless,
        options=tuple(_card(option_description) for option_description in describe(method.options_type)),
        needs_model=issubclass(method, UsesModel),
        temperatures=getattr(method, "temperatures", "any"),
        grows=issubclass(method, Grows),
        remembers=issubclass(method, Remembers),
        retrieves=retrieves(method.of({})) if issubclass(method, Drafter) else False,
        standing=getattr(method, "standing", lambda: "")(),
        learns=getattr(method, "recipe", None) is not None,
        deployable=getattr(method, "deployable", True),
        guesses_from=needs.guesses_from if needs else "",
        training=needs.training if needs else "",
        memory=needs.memory if needs else "",
        package=method.__module__.partition(".")[0],
    )


def _card(option_description: OptionDescription) -> OptionCard:
    default = (
        list(option_description.default)
        if isinstance(option_description.default, tuple)
        else option_description.default
    )
    return OptionCard(
        **{**{name: getattr(option_description, name) for name in OptionCard.__dataclass_fields__}, "default": default}
    )


def bundled_models() -> tuple[ModelDescription, ...]:
    """Models in `assets/models`, and the expected ones that are missing."""
    folders = {path.parent.name: path.parent for path in sorted((ROOT / "models").glob("*/config.json"))}
    names = [*EXPECTED_MODELS, *(name for name in folders if name not in EXPECTED_MODELS)]
    return tuple(_describe_model(name, folders.get(name)) for name in names)


def fetched_models() -> tuple[ModelDescription, ...]:
    """Real models that `specviz get` brings to this machine, those that it has not brought yet among them."""
    return tuple(map(_real_model, REAL_MODELS.values()))


def _real_model(model: RealModel) -> ModelDescription:
    folder = model.here
    if folder is None:
        summary = f"{model.title}, {model.licence}: `specviz get {model.name}` brings it"
        return ModelDescription(model.name, "target", summary, 0, available=False)
    described = _describe_model(model.name, folder)
    return replace(described, summary=f"{model.title}, {model.licence}: {described.summary}")


def fetchable_models() -> tuple[FetchableModel, ...]:
    """Real models that this machine lacks."""
    return tuple(
        FetchableModel(model.name, model.title, model.licence, model.size, f"the Python package {model.package}")
        for model in REAL_MODELS.values()
        if model.here is None
    )


def pairs(drafters: Sequence[MethodDescription]) -> tuple[ModelPair, ...]:
    """The bundled pair, and every real model with the drafters that can draft for it: those that need no training, and
    those of which weights for it are shipped."""
    bundled = ModelPair(
        name="bundled",
        title="bundled (small world)",
        targets=("target", "captioner"),
        knows=KNOWS,
        chat=False,
        drafters=tuple(drafter.name for drafter in drafters),
        drafter=RunRequest("").drafter.name,
        prompts=bundled_prompts(),
        families=prompt_families(),
    )
    return bundled, *(_real_pair(model, drafters) for model in REAL_MODELS.values())


def _real_pair(model: RealModel, drafters: Sequence[MethodDescription]) -> ModelPair:
    path = PROMPTS.with_name(f"{model.name}.json")
    trained = _trained_for(model.name)
    return ModelPair(
        name=model.name,
        title=f"{model.title} (real)",
        targets=(model.name, model.hub),
        knows=REAL_KNOWS,
        chat=True,
        drafters=tuple(drafter.name for drafter in drafters if _is_untrained(drafter) or drafter.name in trained),
        drafter=REAL_DRAFTER,
        prompts=without(path, _real_prompts, ()),
        families=without(path, _families, ()),
    )


def _is_untrained(drafter: MethodDescription) -> bool:
    return drafter.training.startswith(UNTRAINED) and not drafter.needs_model


def _trained_for(target: str) -> set[str]:
    """The drafters of which modules for this target are shipped, as their cards say."""
    cards: Iterator[dict[str, Any]] = (
        without(path, read_json, {}) for path in sorted((ROOT / "modules").glob("**/module.json"))
    )
    return {card["module"] for card in cards if card.get("target_name") == target}


def _real_prompts(path: Path) -> tuple[PromptCard, ...]:
    entries = json.loads(path.read_text(encoding="utf-8"))["prompts"]
    said = {True: "Held out from training.", False: "Drafters may have been trained on it."}
    return tuple(
        PromptCard(entry["id"], entry["family"], entry["title"], said[entry["held_out"]], entry["text"])
        for entry in entries
    )


def _describe_model(name: str, folder: Path | None) -> ModelDescription:
    role = (EXPECTED_MODELS | CAPTIONS).get(name, "target")
    weights = sorted(folder.glob("*.safetensors")) if folder is not None else []
    if folder is None or not weights:
        return ModelDescription(name, role, "not trained yet", 0, available=False)
    return without(
        folder / "config.json",
        lambda path: _described(name, role, path, weights),
        ModelDescription(name, role, "damaged, and left out", 0, available=False),
    )


def _described(name: str, role: str, path: Path, weights: Sequence[Path]) -> ModelDescription:
    config = json.loads(path.read_text(encoding="utf-8"))
    summary = (
        f"{config.get('model_type', 'model')}, {config.get('num_hidden_layers', '?')} layers of width "
        f"{config.get('hidden_size', '?')}, vocabulary {config.get('vocab_size', '?')}"
    )
    return ModelDescription(name, role, summary, sum(map(count_parameters, weights)), available=True)


def count_parameters(path: Path) -> int:
    """Numbers in a safetensors file, from its header alone (8 bytes of length, then JSON)."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > MOST_HEADER:
            raise ValueError(f"{path.name} is damaged")
        header = json.loads(file.read(length))
    return sum(prod(entry["shape"]) for key, entry in header.items() if key != "__metadata__")


def bundled_prompts() -> tuple[PromptCard, ...]:
    """The prompt set; empty where it is not there."""
    return without(PROMPTS, _prompts, ())


def _prompts(path: Path) -> tuple[PromptCard, ...]:
    entries = json.loads(path.read_text(encoding="utf-8"))["prompts"]
    return tuple(PromptCard(**{name: entry[name] for name in PromptCard.__dataclass_fields__}) for entry in entries)


def prompt_families() -> tuple[FamilyCard, ...]:
    """Its families; empty where it is not there."""
    return without(PROMPTS, _families, ())


def _families(path: Path) -> tuple[FamilyCard, ...]:
    return tuple(FamilyCard(**family) for family in json.loads(path.read_text(encoding="utf-8"))["families"])
