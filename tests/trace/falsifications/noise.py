"""Uniform draws that are not those of the seed, and tokens that they do not point to."""

from __future__ import annotations

from tests.trace.falsifications.falsifying import Data, falsification, last_token, respell, trials


@falsification("u of an accepted trial", "tree")
@falsification("u of an accepted trial of the block rule", "block")
@falsification("u of an accepted trial of K-SEQ", "kseq")
@falsification("u of an accepted trial bottom-up", "traversal")
def u_of_an_accepted(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: one["accepted"]))
    trial["u"] /= 2


@falsification("u of a rejected trial", "chain")
@falsification("u of a rejected trial of a lenient rule", "lenience")
@falsification("u of a rejected trial of a relaxed rule", "longest path")
def u_of_a_rejected(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: not one["accepted"]))
    trial["u"] = (1 + trial["u"]) / 2


@falsification("another seed", "chain")
@falsification("another seed of a naive run", "naive")
@falsification("another seed of a coupled run", "coupled")
@falsification("another seed of a run in three lanes", "gls")
def another_seed(data: Data) -> None:
    data["started"]["seed"] += 1


@falsification("u of the last token", "tree")
@falsification("u of a bottom-up run's last token", "traversal")
@falsification("u of a naive run's last token", "naive")
def u_of_the_last(data: Data) -> None:
    this = data["rounds"][0]
    this["judged"]["u"] = this["judged"]["u"] * 0.999 + 0.0005


@falsification("u of a trial removed", "chain")
def u_removed(data: Data) -> None:
    next(trials(data))[1]["u"] = None


@falsification("u of the last token removed", "chain")
def last_u_removed(data: Data) -> None:
    data["rounds"][0]["judged"]["u"] = None


@falsification("a u where nothing is compared", "chain, greedy")
@falsification("a u where a token is matched", "naive")
@falsification("a u where two races are compared", "coupled")
def u_invented(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: one["accepted"]))
    trial["u"] = trial["threshold"] / 2


@falsification("a u for the most probable token", "chain, greedy")
@falsification("a u for a typical run's last token", "typical")
@falsification("a u for the winner of a race", "coupled")
def last_u_invented(data: Data) -> None:
    data["rounds"][0]["judged"]["u"] = 0.25


@falsification("the last token replaced by another likely one", "chain, warm")
@falsification("the last token of a tree replaced by another likely one", "sequoia")
@falsification("the last token of a block replaced by another likely one", "block")
def last_replaced(data: Data) -> None:
    this = data["rounds"][-1]
    assert len(this["judged"]["path"]) + 1 == len(this["committed"]["tokens"])
    head = this["nodes"][this["judged"]["final_node"]]["target"]
    token = next(token for token in head["tokens"] if token != this["judged"]["token"])
    last_token(this, token)
    data["finished"]["output_ids"][-1] = token
    respell(data)


@falsification("an unreached candidate's token replaced by another likely one", "chain")
@falsification("an unreached candidate of a tree replaced", "tree")
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


@falsification("another number of lanes", "gls")
def another_number_of_lanes(data: Data) -> None:
    data["started"]["verifier"]["options"]["lists"] -= 1


@falsification("a last token that lost its race", "coupled")
@falsification("a last token that lost its race in all lanes", "gls")
def lost_the_race(data: Data) -> None:
    this = data["rounds"][-1]
    end = this["nodes"][this["judged"]["final_node"]]
    taken = {this["judged"]["token"], *(one["token"] for one in this["nodes"])}
    last_token(this, next(token for token in end["target"]["tokens"] if token not in taken))
