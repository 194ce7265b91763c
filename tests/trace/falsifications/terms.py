"""The numbers behind thresholds, rule by rule."""

from specviz.trace.events import TopK
from specviz.trace.rules.scene import Bounds
from specviz.trace.uniform_draws import uniform
from tests.trace.changing import Data, at
from tests.trace.falsifications.falsifying import (
    anything,
    drop_round,
    falsification,
    first_trial,
    keep_verdict,
    node_of,
    respell,
    seconds,
    trials,
    undecided,
)

falsification("another lenience", "lenience")(at("started.verifier.options.lenience", 0.9))
falsification("another epsilon", "typical")(at("started.verifier.options.epsilon", 0.2))
falsification("another bar", "typical")(first_trial(anything, at("terms.bar", lambda bar: bar * 0.5)))
falsification("another beta", "kseq")(first_trial(undecided, at("terms.beta", lambda beta: beta * 0.9)))
falsification("another probability of the parent's path", "traversal", "block")(
    first_trial(
        lambda this, trial: node_of(this, trial)["parent"] > 0, at("terms.parent_reach", lambda reach: reach * 0.9)
    )
)
falsification("a given candidate called the drafter's", "target init")(
    first_trial(lambda this, trial: "given" in trial["terms"], at("terms", {}))
)
falsification("the drafter's own candidate called given", "target init")(
    first_trial(
        lambda this, trial: node_of(this, trial)["source"] == "model" and undecided(this, trial),
        at("terms", {"given": 1.0}),
        at("threshold", 1.0),
        keep_verdict,
    )
)


@falsification("another entropy and bar", "typical")
def entropy(data: Data) -> None:
    options = data["started"]["verifier"]["options"]
    _, trial = next(trials(data))
    trial["terms"]["entropy"] += 0.5
    trial["terms"]["bar"] = min(options["epsilon"], options["delta"] * 2.718281828459045 ** -trial["terms"]["entropy"])


@falsification("another rho, and the threshold with it", "kseq")
def rho(data: Data) -> None:
    _, trial = next(trials(data, undecided))
    trial["terms"]["rho"] *= 1.1
    trial["threshold"] = min(1.0, trial["target_prob"] / (trial["terms"]["rho"] * trial["draft_prob"]))
    keep_verdict(trial)


@falsification("another beta, and the rho that fits it", "kseq")
def beta_and_rho(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        siblings = [node for node in this["nodes"] if node["parent"] == node_of(this, trial)["parent"]]
        return len(siblings) == 3 and trial["terms"]["rho"] > 1.2

    this, first = next(trials(data, wanted))
    parent = node_of(this, first)["parent"]
    for trial in this["judged"]["trials"]:
        if node_of(this, trial)["parent"] == parent:
            held = trial["terms"]["beta"] * 0.9
            trial["terms"] = {"rho": (1 - (1 - held) ** 3) / held, "beta": held}
            trial["threshold"] = min(1.0, trial["target_prob"] / (trial["terms"]["rho"] * trial["draft_prob"]))
            keep_verdict(trial)


@falsification("another s, and the threshold with it", "block", "traversal")
def left(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        return "left" in trial["terms"] and trial["terms"]["left"] > 0.02

    _, trial = next(trials(data, wanted))
    terms = trial["terms"]
    terms["left"] *= 0.5
    trial["threshold"] = terms["left"] / (terms["left"] + 1 - terms["reach"])
    keep_verdict(trial)


@falsification("another probability of a path", "block")
def reach(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: one["terms"]["reach"] < 0.95 and "left" in one["terms"]))
    terms = trial["terms"]
    terms["reach"] *= 0.9
    trial["threshold"] = terms["left"] / (terms["left"] + 1 - terms["reach"])
    keep_verdict(trial)


@falsification("p of a naive trial", "naive")
def naive_p(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: one["target_prob"] > 0.1))
    trial["target_prob"] = trial["threshold"] = trial["target_prob"] * 0.9


@falsification("p of a greedy trial", "chain, greedy")
def greedy_p(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: not one["accepted"]))
    trial["target_prob"] = trial["threshold"] = 0.4


@falsification("a shorter path than the longest that passed", "longest path")
def shorter(data: Data) -> None:
    this = next(this for this in data["rounds"][-1:] if len(this["judged"]["path"]) > 1)
    gone = this["judged"]["path"].pop()
    this["nodes"][gone]["fate"] = "rejected"
    this["judged"]["final_node"] = this["judged"]["path"][-1]


@falsification("another probability of the root's path, and all that follows in the trial", "block")
def root_reach(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        return node_of(this, trial)["parent"] == 0 and trial["accepted"] and trial["terms"]["reach"] == 1.0

    _, trial = next(trials(data, wanted))
    trial["terms"]["parent_reach"] = 1.5


def drawn_after(data: Data, this: Data, node: Data) -> tuple[float, int | None]:
    """u of the next position, and a token after a candidate that it may point to and that no child of it has."""
    u = uniform(data["started"]["seed"], ("target", this["base_length"] + 1, 0))
    bounds = Bounds.of_head(TopK(**node["target"]))
    taken = {one["token"] for one in this["nodes"] if one["parent"] == node["id"]}
    for token in sorted(set(node["target"]["tokens"]) - taken):
        below = bounds.total_below(token)
        if below.low <= u < below.high + bounds[token].high:
            return u, token
    return u, None


@falsification("an accepted candidate that the target never drew", "naive")
def never_drawn(data: Data) -> None:
    """The whole rest of a round is made to fit: path, fates, commit, the next draw and its u."""

    def wanted(this: Data, trial: Data) -> bool:
        unlikely = not this["judged"]["path"] and trial["target_prob"] < 0.05
        return unlikely and drawn_after(data, this, node_of(this, trial))[1] is not None

    this, trial = next(trials(data, wanted))
    while data["rounds"][-1] is not this:
        drop_round(data)
    drop_round(data)
    data["rounds"].append(this)
    judged, node = this["judged"], node_of(this, trial)
    judged["trials"] = judged["trials"][: judged["trials"].index(trial) + 1]
    trial["accepted"] = True
    below = [one for one in this["nodes"] if one["parent"] == node["id"]]
    for one in below:
        told = {"node": one["id"], "draft_prob": one["draft_prob"], "u": None, "accepted": False, "terms": {}}
        judged["trials"].append(told | {"target_prob": one["target_prob"], "threshold": one["target_prob"]})
    tried = {one["node"] for one in judged["trials"]}
    for one in this["nodes"][1:]:
        one["fate"] = "accepted" if one is node else "rejected" if one["id"] in tried else "unreached"
    u, token = drawn_after(data, this, node)
    origin = "correction" if below else "bonus"
    judged |= {"path": [node["id"]], "final_node": node["id"], "u": u, "token": token, "origin": origin}
    made = {"token": node["token"], "origin": "draft", "node": node["id"]}
    committed = this["committed"]
    committed["tokens"] = [made, {"token": token, "origin": origin, "node": None}]
    committed |= {"trimmed": None, "trimmed_tokens": 0, "cache_kept": committed["cache_before"] + 2}
    committed["cache_dropped"] = this["scored"]["target_pass"]["rows"] - 2
    data["finished"]["output_ids"] += [node["token"], token]
    data["finished"] |= {"reason": "cancelled", "decode_s": sum(map(seconds, data["rounds"]))}
    respell(data)
