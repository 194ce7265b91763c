"""Files and forms that somebody might hand in: good ones, damaged at random places. Everything follows from a seed."""

import copy
import gzip
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from specviz.protocol.choice import Choice
from specviz.protocol.links import pack_request
from specviz.protocol.runs import Catalog, OptionCard, RunRequest
from tests.trace.test_fuzz import ODD_VALUES, damage_bytes, damage_data

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "assets"
GOLDEN = ROOT / "tests" / "golden"
Mutator = Callable[[random.Random], bytes]
PLAUSIBLE = [
    "model", "ngram", "none", "eagle", "greedy", "sequential", "naive", "chain", "dyspec", "heuristic", "target",
    "drafter", "", " ", "1,2,4", "3,2,1", "0", "-1", "1e9", "nan", "../x", "cuda:9", "float16", "x" * 500, "\x1b[2J",
    "é", 0, 1, -1, 2**40, 0.8, float("nan"), float("inf"), None, True, [], [1, 2], {"a": 1},
]  # fmt: skip
"""what stands in forms, sweep files and requests, and what might"""


def damaged_json(base: Path) -> Mutator:
    """Its data or its bytes; sometimes gzipped, sometimes damaged after that."""
    raw = base.read_bytes()
    text = gzip.decompress(raw) if base.suffix == ".gz" else raw

    def mutate(rng: random.Random) -> bytes:
        if rng.random() < 0.3:
            found = damage_bytes(rng, text)
        else:
            data = json.loads(text)
            for _ in range(rng.choice([1, 1, 1, 2, 4])):
                if data:  # a container that has lost everything can lose no more
                    damage_data(rng, data)
            found = json.dumps(data).encode()
        if rng.random() < 0.1:
            found = gzip.compress(found, mtime=0)
            if rng.random() < 0.5:
                found = damage_bytes(rng, found)
        return found

    return mutate


def damaged_toml(base: Path) -> Mutator:
    """The text, or keys and values of its data."""
    import tomllib

    text = base.read_text(encoding="utf-8")

    def mutate(rng: random.Random) -> bytes:
        if rng.random() < 0.3:
            return damage_bytes(rng, text.encode())
        data = tomllib.loads(text)
        for _ in range(rng.choice([1, 1, 2, 4])):
            _damage_setting(rng, data)
        try:
            return tomli_w.dumps(data).encode("utf-8", "surrogatepass")
        except (TypeError, ValueError, AttributeError):  # a value that TOML cannot say
            return damage_bytes(rng, text.encode())

    return mutate


def _damage_setting(rng: random.Random, data: dict[str, Any]) -> None:
    key = rng.choice([*data, "gammas", "trees", "prompts", "families", "drafters", "seed", "threads", "repeats", "odd"])
    value: Any = copy.deepcopy(rng.choice([*PLAUSIBLE, *ODD_VALUES]))
    if key == "drafters" and rng.random() < 0.7:
        entry = {
            "name": rng.choice(PLAUSIBLE),
            rng.choice(["options", "lengths", "tree_policy", "label", "odd"]): value,
        }
        value = [rng.choice([entry, value])]
    elif rng.random() < 0.4:
        value = [value, copy.deepcopy(value)]
    data[key] = value


def damaged_link(rng: random.Random) -> bytes:
    """A packed request, or text that is none."""
    request = RunRequest("def f():", drafter=Choice("model", {"gamma": 3}), temperature=0.5)
    packed = pack_request(request).encode()
    return damage_bytes(rng, packed) if rng.random() < 0.8 else json.dumps(rng.choice(PLAUSIBLE)).encode()


def request_of(rng: random.Random, catalog: Catalog) -> dict[str, Any]:
    """Settings of a run as a notebook would give them: mostly some that go together, with a few that cannot."""
    found: dict[str, Any] = {"prompt": rng.choice(["abc", "abc", "ab" * 9, "", "x" * 5000, "\x1b[2J"])}
    for kind, methods, likely in (
        ("drafter", catalog.drafters, 1.0),
        ("verifier", catalog.verifiers, 0.3),
        ("tree_policy", catalog.tree_policies, 0.3),
        ("stop_policy", catalog.stop_policies, 0.3),
    ):
        if rng.random() < likely:
            method = rng.choice(methods)
            found[kind] = method.name
            cards = rng.sample(method.options, min(len(method.options), rng.randint(0, 3)))
            found[f"{kind}_options"] = {card.name: _value(rng, card) for card in cards}
    if rng.random() < 0.5:
        found |= {"temperature": rng.choice([0.0, 0.7, 1]), "seed": rng.randrange(100), "top": rng.choice([1, 5])}
    for _ in range(rng.choice([0, 0, 1, 2])):
        name = rng.choice([*found, "top_k", "top_p", "max_new_tokens", "memory", "dtype", "device", "target",
                           "drafter_model", "stop", "datastore", "memory_file", "prompt_name", "record"])  # fmt: skip
        found[name] = rng.choice([*PLAUSIBLE, *ODD_VALUES])
    return found


def _value(rng: random.Random, card: OptionCard) -> Any:
    """Mostly one that the option could have."""
    if rng.random() < 0.15:
        return rng.choice(PLAUSIBLE)
    if card.choices:
        return rng.choice(card.choices)
    if card.type in ("int", "float") and card.minimum is not None and card.maximum is not None:
        at = card.minimum + rng.random() * min(card.maximum - card.minimum, 8)
        return int(at) if card.type == "int" else at
    return card.default


def form_of(rng: random.Random, form: Mapping[str, Any]) -> dict[str, Any]:
    """The page's form as it stands, with some values that its controls could not have."""
    found = dict(form)
    for name in rng.sample(sorted(found), min(len(found), rng.randint(1, 5))):
        found[name] = rng.choice([*PLAUSIBLE, *ODD_VALUES])
    return found


def typed(rng: random.Random, form: Mapping[str, Any]) -> dict[str, Any]:
    """A form of which each control gives what its kind gives: any text, any of the listed names and others, a number
    in its range."""
    found = dict(form)
    for name in rng.sample(sorted(found), rng.randint(1, 4)):
        others = [str(one) for one in rng.choices(PLAUSIBLE, k=rng.randint(0, 3))]
        if isinstance(found[name], str):
            found[name] = rng.choice([",", ";", ""]).join(others)
        elif isinstance(found[name], list):
            found[name] = [*rng.sample(found[name], rng.randint(0, len(found[name]))), *others]
        else:
            found[name] = rng.choice([1, 2, 5, 64, 256, 1.5])
    return found
