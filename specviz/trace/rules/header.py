"""Rules about the header and the exhibits: who took part, what is claimed of them, and the seal over all of it; and
what a drafter shows of what it knew and learnt, whose rows agree with the tree, the text and the heads.

Called by `check` on a structurally sound trace; for a matrix that is rewritten from round to round on all rounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from specviz.errors import shown
from specviz.trace.declared_method import DRAFTERS, STOP_POLICIES, TREE_POLICIES, known_drafter
from specviz.trace.declared_rule import KNOWN
from specviz.trace.events import Trace
from specviz.trace.header import (
    COLOURS,
    GROUNDED,
    HOLDS_PROBABLE,
    LOOKED_UP,
    MATRIX_AT_START,
    MATRIX_BEHIND,
    MATRIX_REWRITTEN,
    MOST_SHAPES,
    RADII,
    SEEN_BEFORE,
    SHAPES,
    SIDE,
    Exhibit,
    ExhibitRow,
    ModelCard,
    Started,
    seal,
)
from specviz.trace.rules.scene import EXACT, HALF_DIGIT, Bounds, Range, Scene, producer_of, recorded
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


PARTS = ("drafted", "in this pass")
"""what a mark means where nodes were made of the marked tokens"""
ROUNDED = {"bfloat16": 2**-8, "float16": 2**-11}
"""by what share a score may differ that was worked out in these, from the head, which was worked out in float32"""
_OF = re.compile(r"(\d+) of (\d+)")
"""how often, in a label"""


def exhibits(scene: Scene) -> Iterator[Problem]:
    """Nodes made from a row have its tokens, a row taken from the text stands there, scores are those of the heads or
    of the counts told, and of a drafter that shows all it drafts no candidate is without a row."""
    shown = set[int]()
    for number, exhibit in enumerate(scene.round.drafted.knew):
        for index, row in enumerate(exhibit.rows):
            where = f"{scene.place}.drafted.knew[{number}].rows[{index}]"
            shown.update(row.nodes)
            yield from _row(scene, where, exhibit, row)
    drafter = known_drafter(scene.started.drafter)
    missing = [node.id for node in scene.round.nodes[1:] if node.id not in shown and node.source != "model"]
    if drafter is not None and drafter.shows and missing and scene.round.judged.origin != "forced":
        stated = f"show nothing of node {missing[0]}, but '{scene.started.drafter.name}' shows what each comes from"
        yield Problem(f"{scene.place}.drafted.knew", stated)


def _row(scene: Scene, where: str, exhibit: Exhibit, row: ExhibitRow) -> Iterator[Problem]:
    nodes = scene.round.nodes
    tokens = {nodes[node].token for node in row.nodes}
    if strange := next((node for node in row.nodes if nodes[node].token not in row.tokens), None):
        yield Problem(f"{where}.nodes", f"name node {strange}, whose token is not in the row")
    elif exhibit.marked in PARTS and (lost := {row.tokens[mark] for mark in row.marks} - tokens) and row.nodes:
        yield Problem(f"{where}.marks", f"mark token {min(lost)}, but no node of the row has it")
    if exhibit.title in (LOOKED_UP, SEEN_BEFORE) and scene.text and list(scene.text[-len(row.tokens) :]) != row.tokens:
        yield Problem(f"{where}.tokens", "are not the end of the text, which was looked for")
    if row.position is not None and scene.text:
        there = list(scene.text[row.position : row.position + len(row.tokens)])
        if there != row.tokens[: len(there)]:
            yield Problem(f"{where}.position", f"is {row.position}, but the text has other tokens there")
    if row.scores:
        yield from _scores(scene, where, exhibit, row)


def _scores(scene: Scene, where: str, exhibit: Exhibit, row: ExhibitRow) -> Iterator[Problem]:
    """Of what a model holds probable: that head's; of a continuation: falling, and in the end the share told."""
    parents = {scene.round.nodes[node].parent for node in row.nodes}
    head = scene.round.nodes[min(parents)].draft_raw if len(parents) == 1 else None
    if HOLDS_PROBABLE in exhibit.title:
        bounds, rounded = Bounds.of_head(head), ROUNDED.get(scene.started.target.dtype, 0.0)
        for token, score in zip(row.tokens, row.scores, strict=True):
            there = bounds[token]
            as_worked_out = Range(there.low * (1 - rounded), there.high * (1 + rounded))
            if head is not None and head.tokens and not as_worked_out.holds(score):
                yield Problem(f"{where}.scores", f"give token {token} {score}, but the head there {there}")
                return
            if not 0 <= score <= 1 + EXACT or sum(row.scores) > 1 + rounded + len(row.scores) * HALF_DIGIT:
                yield Problem(f"{where}.scores", "are no probabilities of one distribution")
                return
    elif (stated := _OF.match(row.label)) and int(stated[2]):
        share = int(stated[1]) / int(stated[2])
        drafter = known_drafter(scene.started.drafter)
        pruned = drafter is None or bool(drafter.found)  # then shares are of what was left
        wrong = row.scores[-1] < share - HALF_DIGIT if pruned else not recorded(share).holds(row.scores[-1])
        if wrong or row.scores != sorted(row.scores, reverse=True):
            yield Problem(f"{where}.scores", f"end with {row.scores[-1]}, but the label tells a share of {share:.6g}")


def matrices(rounds: Sequence[Scene]) -> Iterator[Problem]:
    """The matrix of followers as rows are rewritten: those behind a tree are those it had, and a row is rewritten to
    what the target holds most probable after its node."""
    matrix: dict[int, list[int]] = {}
    for scene in rounds:
        nodes = scene.round.nodes
        for number, exhibit in enumerate(scene.round.drafted.knew):
            for index, row in enumerate(exhibit.rows):
                where = f"{scene.place}.drafted.knew[{number}].rows[{index}]"
                if exhibit.title == MATRIX_AT_START:
                    matrix[row.tokens[0]] = row.tokens[1:]
                elif exhibit.title == MATRIX_BEHIND and row.nodes:
                    own = nodes[nodes[row.nodes[0]].parent].token
                    if matrix.setdefault(own, row.tokens) != row.tokens:
                        yield Problem(f"{where}.tokens", f"are not the row that token {own} had before this round")
        for number, exhibit in enumerate(scene.round.drafted.learned):
            for index, row in enumerate(exhibit.rows):
                if exhibit.title == MATRIX_REWRITTEN and row.nodes:
                    where = f"{scene.place}.drafted.learned[{number}].rows[{index}]"
                    matrix[nodes[row.nodes[0]].token] = row.tokens
                    yield from _rewritten(scene, where, row)


def _rewritten(scene: Scene, where: str, row: ExhibitRow) -> Iterator[Problem]:
    node = scene.round.nodes[row.nodes[0]]
    head = node.target_raw or node.target
    for token, there, prob in zip(row.tokens, head.tokens, head.probs, strict=False):
        if token != there and Bounds.of_head(head)[token].high < recorded(prob).low:
            yield Problem(f"{where}.tokens", f"have token {token}, where the target's head has {there}")
            return
