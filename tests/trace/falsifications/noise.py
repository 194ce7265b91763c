"""Uniform draws that are not those of the seed, and tokens that they do not point to."""

from tests.trace.changing import Data, at
from tests.trace.falsifications.falsifying import (
    accepted,
    anything,
    falsification,
    first_trial,
    last_token,
    rejected,
    respell,
    trials,
)

falsification("u of an accepted trial", "tree", "block", "kseq", "traversal")(
    first_trial(accepted, at("u", lambda u: u / 2))
)
falsification("u of a rejected trial", "chain", "lenience", "longest path")(
    first_trial(rejected, at("u", lambda u: (1 + u) / 2))
)
falsification("u of a trial removed", "chain")(first_trial(anything, at("u", None)))

LAST_U = "rounds[0].judged.u"
falsification("u of the last token", "tree", "traversal", "naive")(at(LAST_U, lambda u: u * 0.999 + 0.0005))
falsification("u of the last token removed", "chain")(at(LAST_U, None))
falsification("a u for a last token that no u decides", "chain, greedy", "typical", "coupled")(at(LAST_U, 0.25))

falsification("another seed", "chain", "naive", "coupled", "gls")(at("started.seed", lambda seed: seed + 1))
falsification("another number of lanes", "gls")(at("started.verifier.options.lists", lambda count: count - 1))


@falsification("a u where nothing is compared with one", "chain, greedy", "naive", "coupled")
def u_invented(data: Data) -> None:
    _, trial = next(trials(data, accepted))
    trial["u"] = trial["threshold"] / 2


@falsification("the last token replaced by another likely one", "chain, warm", "sequoia", "block")
def last_replaced(data: Data) -> None:
    this = data["rounds"][-1]
    assert len(this["judged"]["path"]) + 1 == len(this["committed"]["tokens"])
    head = this["nodes"][this["judged"]["final_node"]]["target"]
    token = next(token for token in head["tokens"] if token != this["judged"]["token"])
    last_token(this, token)
    data["finished"]["output_ids"][-1] = token
    respell(data)


@falsification("an unreached candidate's token replaced by another likely one", "chain", "tree")
def candidate_replaced(data: Data) -> None:
    for this in data["rounds"]:
        parents = {node["parent"] for node in this["nodes"]}
        for node in this["nodes"][1:]:
            parent = this["nodes"][node["parent"]]
            siblings = {one["token"] for one in this["nodes"] if one["parent"] == node["parent"]}
            if node["fate"] != "unreached" or node["id"] in parents or parent["draft"]["rest"] > 0.2:
                continue
            shown = [token for token in parent["draft"]["tokens"] if token in parent["target"]["tokens"]]
            other = next((token for token in shown if token not in siblings), None)
            if other is not None:
                node["token"] = other
                for name, head in (("draft_prob", "draft"), ("target_prob", "target")):
                    node[name] = parent[head]["probs"][parent[head]["tokens"].index(other)]
                return
    raise AssertionError("no such candidate")


@falsification("a last token that lost its race", "coupled", "gls")
def lost_the_race(data: Data) -> None:
    this = data["rounds"][-1]
    end = this["nodes"][this["judged"]["final_node"]]
    taken = {this["judged"]["token"], *(one["token"] for one in this["nodes"])}
    last_token(this, next(token for token in end["target"]["tokens"] if token not in taken))
