"""Rules about what a drafter shows of what it knew and learnt: rows agree with the tree, the text and the heads.

Called by `check` on a structurally sound round, and on all rounds for a matrix that is rewritten from round to round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from specviz.trace.declared_method import known_drafter
from specviz.trace.exhibits import (
    HOLDS_PROBABLE,
    LOOKED_UP,
    MATRIX_AT_START,
    MATRIX_BEHIND,
    MATRIX_REWRITTEN,
    SEEN_BEFORE,
    Exhibit,
    ExhibitRow,
)
from specviz.trace.rules.scene import EXACT, HALF_DIGIT, Bounds, Range, Scene, recorded
from specviz.trace.structure import Problem

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
