"""How the page is served: what a machine lets one visitor ask for, address, looks. One place for the command line and
the tests.

One YAML file holds the card in README.md, which `make generate` writes, and the limits of each machine. Local by
default and quiet: no telemetry, no run history, nothing fetched from outside.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import yaml
from starlette.middleware import Middleware

from specviz.app.components import engine_files
from specviz.app.components.standalone import head
from specviz.app.endpoints import mcp_installed
from specviz.app.form.request import Limits
from specviz.app.look.style import page_theme
from specviz.app.page.document import Document
from specviz.app.page.door import HUB, Door, Policy
from specviz.app.page.sessions import Uploads
from specviz.errors import SpecVizError
from specviz.protocol.runs import ModelDescription
from specviz.resources import SPACE_SETTINGS, asset_path, read_text

FENCE = "---\n"


@dataclass(frozen=True, slots=True)
class Tier:
    """What one visitor may ask of one kind of machine."""

    torch_threads: int
    max_new_tokens: int
    max_tree_nodes: int
    prompt_chars: int
    import_bytes: int
    queue: int
    engine_seconds: int
    training_seconds: int
    reading_seconds: int


def settings(path: Path = SPACE_SETTINGS) -> dict[str, Any]:
    """The whole file. Raises SpecVizError where it is missing or no mapping."""
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise SpecVizError(f"{path.name} cannot be read ({why}); restore it from the repository.") from error
    if not isinstance(loaded, dict):
        raise SpecVizError(f"{path.name} holds no settings; restore it from the repository.")
    return loaded


def tier(environment: Mapping[str, str]) -> Tier:
    """The limits for this machine: SPECVIZ_TIER if set; on a Space by its hardware; `local` elsewhere."""
    tiers, name = settings()["tiers"], _tier_name(environment)
    if set(tiers[name]) != set(Tier.__dataclass_fields__):
        raise SpecVizError(
            f"tier {name} in spaces_config.yaml must set {', '.join(Tier.__dataclass_fields__)} and no more."
        )
    return Tier(**tiers[name])


def hub_models(environment: Mapping[str, str]) -> tuple[ModelDescription, ...]:
    """The models from the hub that this machine's tier offers beside the bundled ones, each once. Raises SpecVizError
    for an entry that lacks something."""
    when = "loaded" if on_zero_gpu(environment) else "downloaded on first use"
    return tuple(model for model in _models_of(_tier_name(environment), when) if model.role != HEAD)


HEAD = "head"
"""of a target: published weights of a drafter, which nobody chooses as a model"""


def _models_of(tier_name: str, when: str) -> tuple[ModelDescription, ...]:
    """Those of a tier, heads among them; `when` says when a model is there."""
    models: dict[str, ModelDescription] = {}
    for pair in _pairs(tier_name):
        for role in ("target", *(role for role in ("drafter", HEAD) if role in pair)):
            try:
                name, parameters = pair[role]["name"], int(pair[role]["parameters"])
                licence = pair[role].get("licence") or pair["licence"]
            except (KeyError, TypeError, ValueError) as error:
                raise SpecVizError(
                    f"a pair of hub_pairs in spaces_config.yaml lacks {error}; each has a target with name and "
                    "parameters, mostly a drafter or a head with the same, and a licence."
                ) from error
            described = ModelDescription(name, role, f"{licence}, {when}", parameters, available=True, licence=licence)
            models.setdefault(name, described)
    return tuple(models.values())


def _pairs(tier_name: str) -> Sequence[Mapping[str, Any]]:
    pairs: Sequence[Mapping[str, Any]] = (settings().get("hub_pairs") or {}).get(tier_name, ())
    return pairs


def _tier_name(environment: Mapping[str, str]) -> str:
    tiers = settings()["tiers"]
    name = environment.get("SPECVIZ_TIER") or _tier_of_hardware(environment)
    if name not in tiers:
        raise SpecVizError(f"SPECVIZ_TIER is '{name}', but must be one of {', '.join(tiers)}.")
    return name


def on_zero_gpu(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this machine has a GPU only for as long as it is lent one: Hugging Face's ZeroGPU. Said as `spaces` reads
    it."""
    return environment.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


def _tier_of_hardware(environment: Mapping[str, str]) -> str:
    if on_zero_gpu(environment):
        return "zero-gpu"
    if not environment.get("SPACE_ID"):
        return "local"
    if environment.get("ACCELERATOR", "none") not in ("", "none"):
        return "gpu"
    cores = environment.get("CPU_CORES", "")
    return "cpu-upgrade" if cores.isdecimal() and int(cores) > 2 else "cpu-basic"


THUMBNAIL = "docs/img/player.png"
"""the picture that stands beside a link to the Space"""
WHOLE = "whole"
"""key of a model of which all files are downloaded"""
STATIC_KEYS = {"title", "emoji", "colorFrom", "colorTo", "sdk", "app_file", "short_description", "license", "tags"}


def kind_of_space(kind: str) -> dict[str, Any]:
    """What `spaces` holds of a kind. Raises SpecVizError where it holds none."""
    kinds = settings()["spaces"]
    if kind not in kinds:
        raise SpecVizError(f"there is no kind of Space {kind!r}; choose {', '.join(kinds)}.")
    chosen: dict[str, Any] = kinds[kind]
    return chosen


def card_of(kind: str, space: str = "") -> dict[str, Any]:
    """The card of a kind of Space: models of its machine's tier, and those that the kind names, are downloaded when it
    is built. `space`: owner/name, where it is known, for the picture beside a link."""
    loaded, chosen = settings(), kind_of_space(kind)
    card: dict[str, Any] = {**loaded["card"], **chosen["card"]}
    if card["sdk"] == "static":
        card = {key: value for key, value in card.items() if key in STATIC_KEYS}
    names = [*(model.name for model in _models_of(chosen["tier"], "")), *chosen.get("preload", ())]
    named = [model for pair in _pairs(chosen["tier"]) for role, model in pair.items() if role != "licence"]
    whole = {model["name"] for model in named if model.get(WHOLE)}
    if names:
        files = ",".join(loaded["hub_files"])
        card |= {"models": names, "preload_from_hub": [name if name in whole else f"{name} {files}" for name in names]}
    return {**card, "thumbnail": f"{HUB}/spaces/{space}/resolve/main/{THUMBNAIL}"} if space else card


def front_matter(kind: str = "zero", space: str = "") -> str:
    """The card as YAML between its fences, keys in the order of the file."""
    card: str = yaml.safe_dump(card_of(kind, space), sort_keys=False, allow_unicode=True, width=1000)
    return FENCE + card + FENCE


def body(readme: str) -> str:
    """README.md without its front matter. Raises SpecVizError where that has no end."""
    if not readme.startswith(FENCE):
        return readme
    _, end, rest = readme.partition("\n" + FENCE)
    if not end:
        raise SpecVizError("README.md opens its front matter with --- but never closes it; add the second ---.")
    return rest


# --- serving ---------------------------------------------------------------------------------------------------------


def on_a_space(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process runs as a Hugging Face Space."""
    return bool(environment.get("SPACE_ID"))


def address(environment: Mapping[str, str] = os.environ) -> str:
    """Where the page listens unless it is told otherwise. On a Space the server must listen on every address."""
    return "0.0.0.0" if on_a_space(environment) else "127.0.0.1"


def is_public(host: str | None = None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether strangers may come: the page listens on more than this machine alone, or a tier is set for it, as it is
    for one that stands behind a proxy."""
    return bool(environment.get("SPECVIZ_TIER")) or not _is_loopback(host or address(environment))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name: what it stands for is the resolver's to say, but for this one
        return host == "localhost"


def launch_settings(limits: Limits, environment: Mapping[str, str] = os.environ, first: str = "") -> dict[str, Any]:
    """Keyword arguments for `Blocks.launch`; `first`: what is seen until the page is there (`document.opening`)."""
    return {
        "server_name": address(environment),
        "share": False,  # else a variable of Gradio's opens a tunnel
        "_frontend": False,  # else it asks for its own page at once, and ends where that takes three seconds
        "theme": page_theme(),
        "head": head() + page_style(),
        "max_file_size": limits.zip_bytes,
        "footer_links": [],
        "run_history": False,
        "ssr_mode": False,
        "show_error": True,
        "state_session_capacity": 200,
        "mcp_server": mcp_installed(),
        "app_kwargs": {
            "routes": engine_files.routes(),
            "middleware": [
                Middleware(Uploads, largest=limits.import_bytes, behind_proxy=on_a_space(environment)),
                Middleware(Policy, on_a_space=on_a_space(environment)),
                Middleware(Door),
                Middleware(Document, first=first),
            ],
        },
    }


def page_style() -> str:
    """The page's own style sheet; in the head, because Gradio loses the media rules of what it is given as CSS."""
    return f"<style>\n{read_text(asset_path('css', 'page.css'))}</style>\n"
