"""Rules inside one round: what a drafter shows of what it knew and learnt.

Called by `check` on a structurally sound round.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.problems import Problem
from specviz.trace.rules.scene import Scene


def exhibits(scene: Scene) -> Iterator[Problem]:
    """What the drafter shows: nodes made from a row have its tokens, and a row taken from the text stands there."""
    for number, exhibit in enumerate(scene.round.drafted.knew):
        for index, row in enumerate(exhibit.rows):
            place = f"{scene.place}.drafted.knew[{number}].rows[{index}]"
            for node in row.nodes:
                if scene.round.nodes[node].token not in row.tokens:
                    yield Problem(f"{place}.nodes", f"name node {node}, whose token is not in the row")
            if row.position is not None and scene.text:
                there = list(scene.text[row.position : row.position + len(row.tokens)])
                if there != row.tokens[: len(there)]:
                    yield Problem(f"{place}.position", f"is {row.position}, but the text has other tokens there")
