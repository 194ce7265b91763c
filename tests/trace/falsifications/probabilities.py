"""p, Q, and what is left of the target after rejected candidates."""

from __future__ import annotations

import copy

from tests.trace.falsifications.falsifying import (
    Data,
    corrected,
    falsification,
    head_prob,
    keep_verdict,
    later,
    node_of,
    retell,
    trials,
    undecided,
)


@falsification("p of a first sibling", "chain")
@falsification("p of a first sibling of a tree", "tree")
@falsification("p of an i.i.d. first sibling", "specinfer")
def first_p(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: undecided(this, one) and not later(this, one)))
    retell(trial, p=0.95)


@falsification("Q of a first sibling", "chain")
@falsification("Q of a first sibling of a tree", "tree")
def first_q(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: undecided(this, one) and not later(this, one)))
    retell(trial, q=0.95)


@falsification("p and threshold of a later sibling", "tree")
@falsification("p and threshold of a later i.i.d. sibling", "specinfer")
@falsification("p and threshold of a later retrieved sibling", "rasd")
def later_p(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: later(this, one) and one["target_prob"] > 0.02))
    retell(trial, p=0.5)


@falsification("Q and threshold of a later sibling", "tree")
@falsification("Q and threshold of a later i.i.d. sibling", "specinfer")
def later_q(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: later(this, one) and one["draft_prob"] > 0.02))
    retell(trial, q=0.8)


@falsification("p of a later sibling as if nothing had been subtracted", "tree")
@falsification("p of a later i.i.d. sibling as if nothing had been subtracted", "specinfer")
def later_p_not_subtracted(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        return later(this, trial) and abs(trial["target_prob"] - node_of(this, trial)["target_prob"]) > 0.02

    this, trial = next(trials(data, wanted))
    retell(trial, p=node_of(this, trial)["target_prob"] / trial["target_prob"] if trial["target_prob"] else 1.0)
    trial["target_prob"] = node_of(this, trial)["target_prob"]
    trial["threshold"] = min(1.0, trial["target_prob"] / trial["draft_prob"])
    keep_verdict(trial)


@falsification("Q of a later sibling as if nothing had been removed", "tree")
def later_q_not_removed(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        return later(this, trial) and trial["draft_prob"] - node_of(this, trial)["draft_prob"] > 0.01

    this, trial = next(trials(data, wanted))
    trial["draft_prob"] = node_of(this, trial)["draft_prob"]
    trial["threshold"] = min(1.0, trial["target_prob"] / trial["draft_prob"])
    keep_verdict(trial)


@falsification("p in trial and node", "chain")
def p_in_node(data: Data) -> None:
    this, trial = next(trials(data, undecided))
    retell(trial, p=0.9)
    node_of(this, trial)["target_prob"] = round(trial["target_prob"], 6)


@falsification("p in trial, node and head", "chain, warm")
def p_everywhere(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        node = node_of(this, trial)
        return undecided(this, trial) and node["token"] in this["nodes"][node["parent"]]["target"]["tokens"]

    this, trial = next(trials(data, wanted))
    retell(trial, p=0.9)
    node = node_of(this, trial)
    node["target_prob"] = round(trial["target_prob"], 6)
    head_prob(this["nodes"][node["parent"]]["target"], node["token"], node["target_prob"])


@falsification("Q in trial, node and head", "chain, warm")
def q_everywhere(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        node = node_of(this, trial)
        return undecided(this, trial) and node["token"] in this["nodes"][node["parent"]]["draft"]["tokens"]

    this, trial = next(trials(data, wanted))
    retell(trial, q=0.9)
    node = node_of(this, trial)
    node["draft_prob"] = round(trial["draft_prob"], 6)
    head_prob(this["nodes"][node["parent"]]["draft"], node["token"], node["draft_prob"])


@falsification("the residual's mass", "chain")
@falsification("the residual's mass after several siblings", "tree")
@falsification("the residual's mass after i.i.d. siblings", "specinfer")
@falsification("the residual's mass of the block rule", "block")
@falsification("the residual's mass bottom-up", "traversal")
@falsification("the residual's mass of K-SEQ", "kseq")
@falsification("the residual's mass of a lenient rule", "lenience")
def residual_mass(data: Data) -> None:
    corrected(data)["judged"]["residual_mass"] *= 0.5


@falsification("the residual replaced by the target's own head", "chain")
@falsification("a tree's residual replaced by the target's own head", "tree")
@falsification("the block rule's residual replaced by the target's own head", "block")
@falsification("K-SEQ's residual replaced by the target's own head", "kseq")
@falsification("a bottom-up residual replaced by the target's own head", "traversal")
def residual_is_the_target(data: Data) -> None:
    this = corrected(data)
    this["judged"]["residual"] = copy.deepcopy(this["nodes"][this["judged"]["final_node"]]["target"])


@falsification("two tokens of the residual exchanged", "chain")
@falsification("two tokens of a tree's residual exchanged", "tree")
def residual_reordered(data: Data) -> None:
    tokens = corrected(data)["judged"]["residual"]["tokens"]
    tokens[0], tokens[1] = tokens[1], tokens[0]


@falsification("the residuals of two rounds exchanged", "specinfer")
def residuals_exchanged(data: Data) -> None:
    first, second = [this["judged"] for this in data["rounds"] if this["judged"]["residual"] is not None][:2]
    first["residual"], second["residual"] = second["residual"], first["residual"]


@falsification("a flatter residual", "chain")
def residual_flatter(data: Data) -> None:
    residual = corrected(data)["judged"]["residual"]
    residual["probs"] = [round(prob * 0.9, 6) for prob in residual["probs"]]
    residual["rest"] = round(1 - sum(residual["probs"]), 6)


@falsification("a correction without its residual", "chain")
@falsification("a block correction without its residual", "block")
def residual_removed(data: Data) -> None:
    corrected(data)["judged"]["residual"] = None


@falsification("a correction without residual and mass", "tree")
@falsification("a K-SEQ correction without residual and mass", "kseq")
def residual_and_mass_removed(data: Data) -> None:
    corrected(data)["judged"] |= {"residual": None, "residual_mass": None}


@falsification("a residual without its mass", "chain")
def mass_removed(data: Data) -> None:
    corrected(data)["judged"]["residual_mass"] = None


@falsification("a residual of a greedy correction", "chain, greedy")
@falsification("a residual of a naive correction", "naive")
@falsification("a residual of a typical correction", "typical")
def residual_invented(data: Data) -> None:
    this = next(this for this in data["rounds"] if this["judged"]["origin"] == "correction")
    head = this["nodes"][this["judged"]["final_node"]]["target"]
    this["judged"] |= {"residual": copy.deepcopy(head), "residual_mass": 1.0}
