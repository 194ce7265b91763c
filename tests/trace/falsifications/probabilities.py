"""p, Q, and what is left of the target after rejected candidates."""

import copy
from functools import partial

from tests.trace.changing import Data, at
from tests.trace.falsifications.falsifying import (
    Wanted,
    corrected,
    falsification,
    first_trial,
    head_prob,
    keep_verdict,
    later,
    node_of,
    retell,
    trials,
    undecided,
    within,
)


def first_sibling(this: Data, trial: Data) -> bool:
    return undecided(this, trial) and not later(this, trial)


falsification("p of a first sibling", "chain", "tree", "specinfer")(first_trial(first_sibling, partial(retell, p=0.95)))
falsification("Q of a first sibling", "chain", "tree")(first_trial(first_sibling, partial(retell, q=0.95)))
falsification("p and threshold of a later sibling", "tree", "specinfer", "rasd")(
    first_trial(lambda this, trial: later(this, trial) and trial["target_prob"] > 0.02, partial(retell, p=0.5))
)
falsification("Q and threshold of a later sibling", "tree", "specinfer")(
    first_trial(lambda this, trial: later(this, trial) and trial["draft_prob"] > 0.02, partial(retell, q=0.8))
)


def _as_drawn_alone(data: Data, wanted: Wanted, field: str) -> None:
    """p or Q of the first trial that is wanted is its node's own, and the threshold fits."""
    this, trial = next(trials(data, wanted))
    trial[field] = node_of(this, trial)[field]
    trial["threshold"] = min(1.0, trial["target_prob"] / trial["draft_prob"])
    keep_verdict(trial)


@falsification("p of a later sibling as if nothing had been subtracted", "tree", "specinfer")
def later_p_not_subtracted(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        return later(this, trial) and abs(trial["target_prob"] - node_of(this, trial)["target_prob"]) > 0.02

    _as_drawn_alone(data, wanted, "target_prob")


@falsification("Q of a later sibling as if nothing had been removed", "tree")
def later_q_not_removed(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        return later(this, trial) and trial["draft_prob"] - node_of(this, trial)["draft_prob"] > 0.01

    _as_drawn_alone(data, wanted, "draft_prob")


@falsification("p in trial and node", "chain")
def p_in_node(data: Data) -> None:
    this, trial = next(trials(data, undecided))
    retell(trial, p=0.9)
    node_of(this, trial)["target_prob"] = round(trial["target_prob"], 6)


def _everywhere(data: Data, head: str, field: str, **scale: float) -> None:
    """p or Q of the first trial whose token the head shows, in the trial, in its node and in the head."""

    def wanted(this: Data, trial: Data) -> bool:
        node = node_of(this, trial)
        return undecided(this, trial) and node["token"] in this["nodes"][node["parent"]][head]["tokens"]

    this, trial = next(trials(data, wanted))
    retell(trial, **scale)
    node = node_of(this, trial)
    node[field] = round(trial[field], 6)
    head_prob(this["nodes"][node["parent"]][head], node["token"], node[field])


falsification("p in trial, node and head", "chain, warm")(
    lambda data: _everywhere(data, "target", "target_prob", p=0.9)
)
falsification("Q in trial, node and head", "chain, warm")(lambda data: _everywhere(data, "draft", "draft_prob", q=0.9))


falsification("the residual's mass", "chain", "tree", "specinfer", "block", "traversal", "kseq", "lenience")(
    within(corrected, at("judged.residual_mass", lambda mass: mass * 0.5))
)
falsification("a correction without its residual", "chain", "block")(within(corrected, at("judged.residual", None)))
falsification("a residual without its mass", "chain")(within(corrected, at("judged.residual_mass", None)))
falsification("a correction without residual and mass", "tree", "kseq")(
    within(corrected, at("judged.residual", None), at("judged.residual_mass", None))
)


@falsification("the residual replaced by the target's own head", "chain", "tree", "block", "kseq", "traversal")
def residual_is_the_target(data: Data) -> None:
    this = corrected(data)
    this["judged"]["residual"] = copy.deepcopy(this["nodes"][this["judged"]["final_node"]]["target"])


@falsification("two tokens of the residual exchanged", "chain", "tree")
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


@falsification("a residual of a correction that is drawn from none", "chain, greedy", "naive", "typical")
def residual_invented(data: Data) -> None:
    this = next(this for this in data["rounds"] if this["judged"]["origin"] == "correction")
    head = this["nodes"][this["judged"]["final_node"]]["target"]
    this["judged"] |= {"residual": copy.deepcopy(head), "residual_mass": 1.0}
