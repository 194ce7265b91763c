"""Rules about the header: who took part, what is claimed of them, and the seal over all of it.

Called by `check` on a structurally sound trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from specviz.errors import shown
from specviz.trace.declared_method import DRAFTERS, STOP_POLICIES, TREE_POLICIES, known_drafter
from specviz.trace.declared_rule import KNOWN
from specviz.trace.events import Trace
from specviz.trace.header import COLOURS, GROUNDED, MOST_SHAPES, RADII, SHAPES, SIDE, ModelCard, Started, seal
from specviz.trace.rules.scene import producer_of
from specviz.trace.structure import Problem

_HEX = re.compile(r"[0-9a-f]*")


def header(trace: Trace) -> Iterator[Problem]:
    """Marks, hashes and models agree with the methods named, and the run's id seals the whole header."""
    started = trace.started
    yield from _marks(started)
    yield from _models(started)
    yield from _scene(trace)
    if started.source == "simulated" and producer_of(started) == "engine":
        yield Problem("started.source", "is 'simulated', but the header was written by the engine, which computes")
    if started.source != "simulated" and producer_of(started) == "simulation":
        yield Problem("started.source", f"is '{started.source}', but the header was written by a simulation")
    if producer_of(started) == "engine" and started.run_id != (due := seal(started)):
        yield Problem("started.run_id", f"is {started.run_id!a}, but this header's is '{due}': the header was changed")


def _marks(started: Started) -> Iterator[Problem]:
    """A method's `lossless` and `deployable` are what is known of it."""
    claims: list[tuple[str, bool, bool | None]] = [
        ("verifier.lossless", started.verifier.lossless, _lossless_rule(started)),
    ]
    methods = (
        ("drafter", started.drafter, DRAFTERS),
        ("tree_policy", started.tree_policy, TREE_POLICIES),
        ("stop_policy", started.stop_policy, STOP_POLICIES),
    )
    for where, card, table in methods:
        if card is not None and card.name in table:
            claims.append((f"{where}.lossless", card.lossless, table[card.name].lossless))
    if (stop_policy := started.stop_policy) is not None and stop_policy.name in STOP_POLICIES:
        claims.append(("stop_policy.deployable", stop_policy.deployable, STOP_POLICIES[stop_policy.name].deployable))
    for where, stated, known in claims:
        if known is not None and stated != known:
            method = getattr(started, where.split(".")[0]).name
            yield Problem(f"started.{where}", f"is {stated}, but '{method}' is known to be otherwise")


def _lossless_rule(started: Started) -> bool | None:
    rule = KNOWN.get(started.verifier.name)
    return None if rule is None else rule.lossless


def _models(started: Started) -> Iterator[Problem]:
    cards: list[tuple[str, ModelCard]] = [("started.target", started.target)]
    if started.drafter.model is not None:
        cards.append(("started.drafter.model", started.drafter.model))
    for where, card in cards:
        yield from _hash(f"{where}.weights_sha256", card.weights_sha256)
        for name in ("parameters", "layers", "hidden_size", "vocab_size", "context_length"):
            if getattr(card, name) < 0:
                yield Problem(f"{where}.{name}", f"is {getattr(card, name)}, but counts start at 0")
        if card.read_per_pass > card.parameters:
            stated = f"is {card.read_per_pass:,}, but the model has {card.parameters:,} parameters"
            yield Problem(f"{where}.read_per_pass", stated)
        whole = (card.parameters, card.parameters - card.vocab_size * card.hidden_size)
        lean = card.adapter == "lean-llama" and started.scene is None and where == "started.target"
        if lean and card.read_per_pass and card.read_per_pass not in whole:
            stated = (
                f"is {card.read_per_pass:,}, but {card.parameters:,} parameters, with or without an embedding, are read"
            )
            yield Problem(f"{where}.read_per_pass", stated)
    if len(cards) == 2 and cards[0][1].weights_sha256 == cards[1][1].weights_sha256 != "":
        same = ("parameters", "layers", "hidden_size", "vocab_size")
        if any(getattr(cards[0][1], name) != getattr(cards[1][1], name) for name in same):
            yield Problem("started.drafter.model", "has the target's weights, but another size")
    yield from _hash("started.tokenizer.sha256", started.tokenizer.sha256)
    known = known_drafter(started.drafter)
    if known is not None and known.model != (started.drafter.model is not None):
        has = "names no model" if known.model else "names a model"
        does = "has one of its own" if known.model else "has none of its own"
        yield Problem("started.drafter.model", f"{has}, but '{started.drafter.name}' {does}")
    for what, card_with_hash in (("memory", started.memory), ("datastore", started.datastore)):
        if card_with_hash is not None:
            yield from _hash(f"started.{what}.sha256", card_with_hash.sha256)


def _scene(trace: Trace) -> Iterator[Problem]:
    """A picture can be drawn, the prompt begins with it, and the words it decides are tokens of the target."""
    started, scene = trace.started, trace.started.scene
    if scene is None:
        return
    if not 1 <= len(scene.shapes) <= MOST_SHAPES:
        yield Problem("started.scene.shapes", f"has {len(scene.shapes)} shapes, but a picture has 1 to {MOST_SHAPES}")
    for index, shape in enumerate(scene.shapes):
        where = f"started.scene.shapes[{index}]"
        if shape.size not in RADII or shape.colour not in COLOURS or shape.shape not in SHAPES:
            yield Problem(where, f"is {shown(f'{shape.size} {shape.colour} {shape.shape}')}, which no picture shows")
        elif not all(RADII[shape.size] <= at < SIDE - RADII[shape.size] for at in (shape.x, shape.y)):
            yield Problem(where, f"stands at {shape.x},{shape.y}, where it does not fit into {SIDE} × {SIDE} pixels")
    if started.prompt_ids[: len(scene.places)] != scene.places:
        yield Problem("started.scene.places", "is not what the prompt begins with")
    ids, size = scene.grounded, started.target.vocab_size
    if ids != sorted(set(ids)) or (ids and not 0 <= ids[0] <= ids[-1] < size):
        yield Problem("started.scene.grounded", f"is not an ascending list of ids below {size}")
    decided = set(ids)
    for key, entry in trace.vocab.items():
        if (int(key) in decided) != (entry.text.strip() in GROUNDED):
            stated = "is in it" if int(key) in decided else "is missing"
            yield Problem("started.scene.grounded", f"says otherwise of token {key} ({shown(entry.text)}): it {stated}")
            return


def _hash(where: str, stated: str) -> Iterator[Problem]:
    if not _HEX.fullmatch(stated) or len(stated) > 64:
        yield Problem(where, f"is {shown(stated)}, but a SHA-256 is 64 hexadecimal digits")
