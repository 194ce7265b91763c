"""Ways to falsify a good trace: each changes what a run claims, as carefully as a forger would.

A falsification names the trace it starts from and changes its JSON data in place. Summary and seal (the run's id) are
then made to fit again, as far as it does not say otherwise, so that what is found is the false claim itself.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from specviz.trace.codec import loads, read, to_data
from specviz.trace.events import TopK, Trace
from specviz.trace.rules.bounds import Bounds
from specviz.trace.seal import seal
from specviz.trace.summary import summary
from specviz.trace.uniform_draws import uniform

ROOT = Path(__file__).parents[2]
RECORDED, GOLDEN = ROOT / "assets" / "traces", ROOT / "tests" / "golden"

BASES: dict[str, Path] = {
    "chain": RECORDED / "model-chain-prose-context.json.gz",
    "chain, greedy": RECORDED / "model-chain-code-uuid-fields.json.gz",
    "chain, warm": RECORDED / "growth-chain.json.gz",
    "tree": RECORDED / "model-tree-code-uuid-fields.json.gz",
    "tree, greedy": RECORDED / "model-tree-table-http.json.gz",
    "ngram": RECORDED / "ngram-copy-timer.json.gz",
    "lookahead": RECORDED / "drafter-lookahead.json.gz",
    "token recycling": RECORDED / "drafter-token-recycling.json.gz",
    "rasd": RECORDED / "drafter-rasd.json.gz",
    "none": RECORDED / "none-tests-randbytes.json.gz",
    "block": RECORDED / "verifier-block.json.gz",
    "traversal": RECORDED / "verifier-traversal.json.gz",
    "kseq": RECORDED / "verifier-kseq.json.gz",
    "specinfer": RECORDED / "verifier-specinfer.json.gz",
    "naive": RECORDED / "verifier-naive.json.gz",
    "lenience": RECORDED / "verifier-lenience.json.gz",
    "typical": RECORDED / "verifier-typical.json.gz",
    "longest path": RECORDED / "verifier-longest-path.json.gz",
    "target init": RECORDED / "growth-target-init.json.gz",
    "dyspec": RECORDED / "growth-dyspec.json.gz",
    "rsd-s": RECORDED / "growth-rsd-s.json.gz",
    "sequoia": RECORDED / "growth-sequoia.json.gz",
    "oracle": RECORDED / "stop-oracle.json.gz",
    "entropy": RECORDED / "stop-entropy.json.gz",
    "stop string": GOLDEN / "trace-1.0-sample.json",
}

Data = dict[str, Any]
Change = Callable[[Data], None]


@dataclass(frozen=True)
class Falsification:
    name: str
    base: str
    """a key of BASES"""
    change: Change
    sealed: bool = True
    """the header's id is made to fit again; False: the change is to be found by the id that no longer fits"""

    @property
    def is_of_noise(self) -> bool:
        """Whether the false claim is a uniform draw."""
        return self.name.startswith(("u of", "a u ", "another seed"))

    def apply(self) -> Trace:
        """The falsified trace."""
        data = copy.deepcopy(base(self.base))
        self.change(data)
        assert data != base(self.base), "the change changed nothing"
        trace = loads(json.dumps(data))
        if data["summary"] == base(self.base)["summary"]:  # else it is itself the falsification
            trace = replace(trace, summary=summary(trace.started, trace.rounds, trace.finished))
        if self.sealed and not trace.started.producer.startswith("specviz tests"):
            trace = replace(trace, started=replace(trace.started, run_id=seal(trace.started)))
        return trace


FALSIFICATIONS: list[Falsification] = []


def falsification(name: str, base: str, sealed: bool = True) -> Callable[[Change], Change]:
    """Registers the decorated change; several may stand above one."""

    def register(change: Change) -> Change:
        FALSIFICATIONS.append(Falsification(name, base, change, sealed))
        return change

    return register


@cache
def base(name: str) -> Data:
    return json.loads(json.dumps(to_data(read(BASES[name]))))  # type: ignore[no-any-return]


# finding places


def trials(data: Data, wanted: Callable[[Data, Data], bool] = lambda this, trial: True) -> Iterator[tuple[Data, Data]]:
    """(round, trial) of all trials that are wanted."""
    for this in data["rounds"]:
        for trial in this["judged"]["trials"]:
            if wanted(this, trial):
                yield this, trial


def node_of(this: Data, trial: Data) -> Data:
    return this["nodes"][trial["node"]]


def later(this: Data, trial: Data) -> bool:
    """Whether it was tried after a sibling that was rejected."""
    parent = node_of(this, trial)["parent"]
    first = next(one for one in this["judged"]["trials"] if node_of(this, one)["parent"] == parent)
    return first is not trial


def undecided(this: Data, trial: Data) -> bool:
    """Whether its p can be changed a little without changing the verdict."""
    return 0.05 < trial["threshold"] < 0.95


def corrected(data: Data) -> Data:
    """The first round with a correction from a residual of several tokens."""
    return next(
        this
        for this in data["rounds"]
        if (residual := this["judged"]["residual"]) is not None and len(residual["tokens"]) > 2
    )


def rounds_with(data: Data, count: int = 1) -> Data:
    """The first round in which so many candidates were drafted."""
    return next(this for this in data["rounds"] if len(this["nodes"]) > count)


def keep_verdict(trial: Data) -> None:
    """Move u to the side of the threshold where the verdict says it was."""
    if trial["u"] is not None and (trial["u"] < trial["threshold"]) != trial["accepted"]:
        trial["u"] = trial["threshold"] * 0.5 if trial["accepted"] else (1 + trial["threshold"]) / 2


def retell(trial: Data, p: float = 1.0, q: float = 1.0) -> None:
    """Scale p and Q of a trial of the sequential rule, and its threshold with them."""
    trial["target_prob"] *= p
    trial["draft_prob"] = min(1.0, trial["draft_prob"] * q)
    trial["threshold"] = min(1.0, trial["target_prob"] / trial["draft_prob"])
    keep_verdict(trial)


def head_prob(head: Data, token: int, prob: float) -> None:
    """Give a token of a head another probability; the rest makes up for it, the order is kept."""
    index = head["tokens"].index(token)
    head["rest"] = round(head["rest"] + head["probs"][index] - prob, 6)
    head["probs"][index] = prob
    order = sorted(range(len(head["probs"])), key=lambda i: -head["probs"][i])
    head["tokens"] = [head["tokens"][i] for i in order]
    head["probs"] = [head["probs"][i] for i in order]


def drop_round(data: Data) -> None:
    """Take the last round away, with its output."""
    gone = data["rounds"].pop()
    kept = len(data["finished"]["output_ids"]) - len(gone["committed"]["tokens"])
    data["finished"]["output_ids"] = data["finished"]["output_ids"][:kept]
    respell(data)
    data["finished"]["decode_s"] = sum(map(seconds, data["rounds"]))


def seconds(this: Data) -> float:
    return sum(this[phase]["seconds"] for phase in ("drafted", "scored", "judged", "committed"))


def respell(data: Data) -> None:
    """The text as the output ids now spell it."""
    special = data["started"]["tokenizer"]["special_ids"]
    parts = [
        base64.b64decode(data["vocab"][str(id_)]["bytes"])
        for id_ in data["finished"]["output_ids"]
        if id_ not in special
    ]
    data["finished"]["text"] = b"".join(parts).decode(errors="replace")


def last_token(this: Data, token: int) -> None:
    this["judged"]["token"] = this["committed"]["tokens"][-1]["token"] = token


# the noise


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
def u_invented(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: one["accepted"]))
    trial["u"] = trial["threshold"] / 2


@falsification("a u for the most probable token", "chain, greedy")
@falsification("a u for a typical run's last token", "typical")
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


# p, Q and what is left of the target


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


# the trials


@falsification("the last trial dropped", "tree")
@falsification("the last trial of a greedy tree dropped", "tree, greedy")
@falsification("the last trial of a naive tree dropped", "naive")
def last_trial_dropped(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        return trial is this["judged"]["trials"][-1] and not trial["accepted"] and later(this, trial)

    this, trial = next(trials(data, wanted))
    this["judged"]["trials"].remove(trial)
    node_of(this, trial)["fate"] = "unreached"


@falsification("all trials dropped", "chain")
@falsification("all trials of a greedy round dropped", "chain, greedy")
def all_trials_dropped(data: Data) -> None:
    this = next(this for this in data["rounds"] if this["judged"]["trials"] and not this["judged"]["path"])
    this["judged"]["trials"] = []
    for node in this["nodes"][1:]:
        node["fate"] = "unreached"


@falsification("a rejected first sibling dropped", "tree")
def first_trial_dropped(data: Data) -> None:
    this, trial = next(trials(data, lambda this, one: not one["accepted"] and not later(this, one)))
    this["judged"]["trials"].remove(trial)
    node_of(this, trial)["fate"] = "unreached"


@falsification("a trial of an unreached candidate", "chain")
def trial_invented(data: Data) -> None:
    this = next(this for this in data["rounds"] if any(node["fate"] == "unreached" for node in this["nodes"]))
    node = next(node for node in this["nodes"] if node["fate"] == "unreached")
    node["fate"] = "rejected"
    p, q = node["target_prob"], node["draft_prob"]
    trial = {"node": node["id"], "target_prob": p, "draft_prob": q, "threshold": min(1.0, p / q), "terms": {}}
    this["judged"]["trials"].append(trial | {"u": (1 + min(1.0, p / q)) / 2, "accepted": False})


@falsification("two siblings tried in another order", "tree")
def trials_exchanged(data: Data) -> None:
    this, trial = next(trials(data, later))
    index = this["judged"]["trials"].index(trial)
    order = this["judged"]["trials"]
    order[index - 1], order[index] = order[index], order[index - 1]


@falsification("a threshold", "lenience")
@falsification("a threshold bottom-up", "traversal")
@falsification("a threshold of a relaxed rule", "longest path")
def threshold_alone(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: undecided(this, one) and not one["accepted"]))
    trial["threshold"] *= 0.9


# rules and marks


@falsification("one round under another rule", "chain")
@falsification("one greedy round under another rule", "tree, greedy")
def rule_of_a_round(data: Data) -> None:
    rounds_with(data)["judged"]["rule"] = "naive"


@falsification("one round under a rule that nobody knows", "chain")
def unknown_rule_of_a_round(data: Data) -> None:
    rounds_with(data)["judged"]["rule"] = "mystery"


@falsification("another verifier in the header", "chain")
@falsification("a lossless verifier in a lenient run's header", "lenience")
def verifier_in_header(data: Data) -> None:
    data["started"]["verifier"] = {"name": "specinfer", "options": {}, "lossless": True, "model": None}


def all_under(rule: str) -> Change:
    def change(data: Data) -> None:
        data["started"]["verifier"] |= {"name": rule, "lossless": True, "options": {}}
        for this in data["rounds"]:
            this["judged"]["rule"] = rule

    return change


falsification("a lenient run as sequential", "lenience")(all_under("sequential"))
falsification("a naive run as sequential", "naive")(all_under("sequential"))
falsification("a sequential tree as naive", "tree")(all_under("naive"))
falsification("a sequential tree as specinfer", "tree")(all_under("specinfer"))
falsification("a K-SEQ run as specinfer", "kseq")(all_under("specinfer"))
falsification("a relaxed run as sequential", "longest path")(all_under("sequential"))
falsification("a block run as traversal", "block")(all_under("sequential"))
falsification("a sampled run as greedy", "naive")(all_under("greedy"))
falsification("a greedy run as sequential", "chain, greedy")(all_under("sequential"))
falsification("a bottom-up tree as block", "traversal")(all_under("block"))
falsification("a typical run as greedy", "typical")(all_under("greedy"))


def marked(part: str, **marks: bool) -> Change:
    def change(data: Data) -> None:
        data["started"][part] |= marks

    return change


falsification("lenience called lossless", "lenience")(marked("verifier", lossless=True))
falsification("typical acceptance called lossless", "typical")(marked("verifier", lossless=True))
falsification("longest path called lossless", "longest path")(marked("verifier", lossless=True))
falsification("the sequential rule called lossy", "chain")(marked("verifier", lossless=False))
falsification("target initialisation called lossless", "target init")(marked("growth", lossless=True))
falsification("a drafter called lossy", "ngram")(marked("drafter", lossless=False))
falsification("a stop policy called lossy", "entropy")(marked("stopping", lossless=False))
falsification("an oracle called deployable", "oracle")(marked("stopping", deployable=True))


# terms


def option(part: str, **options: Any) -> Change:
    def change(data: Data) -> None:
        data["started"][part]["options"] |= options

    return change


falsification("another lenience", "lenience")(option("verifier", lenience=0.9))
falsification("another epsilon", "typical")(option("verifier", epsilon=0.2))


@falsification("another entropy and bar", "typical")
def entropy(data: Data) -> None:
    options = data["started"]["verifier"]["options"]
    _, trial = next(trials(data))
    trial["terms"]["entropy"] += 0.5
    trial["terms"]["bar"] = min(options["epsilon"], options["delta"] * 2.718281828459045 ** -trial["terms"]["entropy"])


@falsification("another bar", "typical")
def bar(data: Data) -> None:
    next(trials(data))[1]["terms"]["bar"] *= 0.5


@falsification("another rho, and the threshold with it", "kseq")
def rho(data: Data) -> None:
    _, trial = next(trials(data, undecided))
    trial["terms"]["rho"] *= 1.1
    trial["threshold"] = min(1.0, trial["target_prob"] / (trial["terms"]["rho"] * trial["draft_prob"]))
    keep_verdict(trial)


@falsification("another beta", "kseq")
def beta(data: Data) -> None:
    _, trial = next(trials(data, undecided))
    trial["terms"]["beta"] *= 0.9


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


@falsification("another s, and the threshold with it", "block")
@falsification("another s bottom-up, and the threshold with it", "traversal")
def left(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        return "left" in trial["terms"] and trial["terms"]["left"] > 0.02

    _, trial = next(trials(data, wanted))
    terms = trial["terms"]
    terms["left"] *= 0.5
    trial["threshold"] = terms["left"] / (terms["left"] + 1 - terms["reach"])
    keep_verdict(trial)


@falsification("another chance of a path", "block")
def reach(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: one["terms"]["reach"] < 0.95 and "left" in one["terms"]))
    terms = trial["terms"]
    terms["reach"] *= 0.9
    trial["threshold"] = terms["left"] / (terms["left"] + 1 - terms["reach"])
    keep_verdict(trial)


@falsification("another chance of the parent's path", "traversal")
@falsification("another chance of the parent's path in a chain", "block")
def parent_reach(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: node_of(this, one)["parent"] > 0))
    trial["terms"]["parent_reach"] *= 0.9


@falsification("the drafter's own candidate called given", "target init")
def given(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: node_of(this, one)["source"] == "model" and undecided(this, one)))
    trial |= {"terms": {"given": 1.0}, "threshold": 1.0}
    keep_verdict(trial)


@falsification("a given candidate called the drafter's", "target init")
def given_removed(data: Data) -> None:
    _, trial = next(trials(data, lambda this, one: "given" in one["terms"]))
    trial["terms"] = {}


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


@falsification("another chance of the root's path, and all that follows in the trial", "block")
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


# the draft


falsification("a shorter speculation length than was drafted", "chain")(option("drafter", gamma=2))
falsification("a longer speculation length than was drafted", "chain")(option("drafter", gamma=6))
falsification("a longer speculation length of a greedy run", "chain, greedy")(option("drafter", gamma=9))
falsification("a narrower branching", "tree")(option("drafter", branching=[2, 2, 1]))
falsification("a wider branching", "tree")(option("drafter", branching=[4, 2, 1]))
falsification("a deeper branching", "tree, greedy")(option("drafter", branching=[3, 2, 1, 1]))
falsification("another way of drawing", "tree")(option("drafter", draw="iid"))
falsification("another way of drawing in a chain", "chain")(option("drafter", draw="top_k"))
falsification("a shorter n-gram draft", "ngram")(option("drafter", gamma=3))
falsification("a smaller recycled tree", "token recycling")(option("drafter", nodes=3))
falsification("a smaller budget", "dyspec")(option("growth", budget=5))
falsification("a narrower beam", "rsd-s")(option("growth", width=2))
falsification("a shallower shape", "sequoia")(option("growth", depth=2))


def nodes(fields: Data, count: int | None = None) -> Change:
    """Change fields of the first candidates (None: of all, in all rounds)."""

    def change(data: Data) -> None:
        rounds = data["rounds"] if count is None else [rounds_with(data)]
        for this in rounds:
            for node in this["nodes"][1 : None if count is None else count + 1]:
                node |= fields

    return change


falsification("i.i.d. candidates said to be drawn without replacement", "chain")(nodes({"kind": "without_replacement"}))
falsification("one candidate of a tree said to be i.i.d.", "tree")(nodes({"kind": "iid"}, 1))
falsification("candidates of K-SEQ drawn without replacement", "kseq")(nodes({"kind": "without_replacement"}))
falsification("copied tokens said to be drawn", "ngram")(nodes({"kind": "iid", "draft_prob": 0.9}, 1))
falsification("guessed tokens said to be drawn", "lookahead")(nodes({"kind": "without_replacement", "draft_prob": 0.9}))
falsification("a candidate from another source", "chain")(nodes({"source": "datastore"}, 1))
falsification("copied tokens said to be a model's", "ngram")(nodes({"source": "model"}, 1))
falsification("the drafter's own candidates said to be the target's", "tree")(nodes({"source": "target"}, 2))
falsification("a candidate without p", "chain")(nodes({"target_prob": None}, 1))


@falsification("drawn candidates said to be point masses", "chain")
def point_masses(data: Data) -> None:
    for this in data["rounds"]:
        for node in this["nodes"][1:]:
            node |= {"kind": "point_mass", "draft_prob": 1.0}
        for trial in this["judged"]["trials"]:
            retell(trial, q=1 / trial["draft_prob"])


@falsification("another drafter in the header", "chain, greedy")
def another_drafter(data: Data) -> None:
    data["started"]["drafter"] = {"name": "ngram", "options": {"gamma": 4}, "lossless": True, "model": None}


@falsification("a drafter without its model", "chain")
def no_model(data: Data) -> None:
    data["started"]["drafter"]["model"] = None


@falsification("a model for a drafter that has none", "ngram")
def a_model(data: Data) -> None:
    data["started"]["drafter"]["model"] = copy.deepcopy(data["started"]["target"])


@falsification("a run without its tree policy", "dyspec")
def no_policy(data: Data) -> None:
    data["started"]["growth"] = None


@falsification("a candidate that was drawn and never submitted", "chain")
@falsification("a greedy candidate left out", "chain, greedy")
def never_submitted(data: Data) -> None:
    this = next(this for this in data["rounds"] if this["nodes"][-1]["fate"] == "unreached")
    this["nodes"].pop()
    this["scored"]["target_pass"]["rows"] -= 1
    this["committed"]["cache_dropped"] -= 1


@falsification("a draft where the drafter drafts nothing", "none")
def drafted_nothing(data: Data) -> None:
    data["started"]["drafter"]["name"] = "ngram"
    this = data["rounds"][0]
    node = copy.deepcopy(this["nodes"][0])
    token = this["judged"]["token"]
    node |= {"id": 1, "parent": 0, "depth": 1, "token": token, "kind": "point_mass", "fate": "accepted"}
    this["nodes"].append(node | {"source": "ngram", "draft_prob": 1.0, "target_prob": 1.0})
    this["scored"]["target_pass"]["rows"] += 1
    this["committed"]["cache_dropped"] += 1


@falsification("a span copied from elsewhere", "ngram")
def copied_from_elsewhere(data: Data) -> None:
    row = next(
        row
        for this in data["rounds"]
        for exhibit in this["drafted"]["knew"]
        for row in exhibit["rows"]
        if row["position"] is not None and row["position"] > 0
    )
    row["position"] -= 1


@falsification("a row that is said to have made another node", "lookahead")
def made_another(data: Data) -> None:
    for this in data["rounds"]:
        for exhibit in this["drafted"]["knew"]:
            for row in exhibit["rows"]:
                others = [node["id"] for node in this["nodes"][1:] if node["token"] not in row["tokens"]]
                if row["nodes"] and others:
                    row["nodes"][-1] = others[0]
                    return
    raise AssertionError("no such row")


# the sampling transform


def sampled_at(**card: float) -> Change:
    def change(data: Data) -> None:
        data["started"]["sampling"] |= card

    return change


falsification("another temperature", "chain, warm")(sampled_at(temperature=0.7))
falsification("a higher temperature", "tree")(sampled_at(temperature=1.0))
falsification("another temperature of a typical run", "typical")(sampled_at(temperature=0.9))
falsification("a temperature above zero for a greedy run", "chain, greedy")(sampled_at(temperature=0.5))
falsification("temperature zero for a sampled run", "tree")(sampled_at(temperature=0.0))
falsification("a top-k that cut nothing off", "tree")(sampled_at(top_k=2))
falsification("a nucleus that cut nothing off", "tree")(sampled_at(top_p=0.5))


@falsification("the model's own head reordered", "tree")
@falsification("a greedy model's own head reordered", "tree, greedy")
def raw_reordered(data: Data) -> None:
    tokens = rounds_with(data)["nodes"][0]["target_raw"]["tokens"]
    tokens[0], tokens[1] = tokens[1], tokens[0]


@falsification("the model's own heads of two nodes exchanged", "chain, greedy")
@falsification("the model's own heads of two nodes of a tree exchanged", "tree")
def raw_exchanged(data: Data) -> None:
    for this in data["rounds"]:
        first, *others = this["nodes"]
        for other in others:
            if other["target_raw"]["tokens"][0] != first["target_raw"]["tokens"][0]:
                first["target_raw"], other["target_raw"] = other["target_raw"], first["target_raw"]
                return


@falsification("a flatter head of the model's own", "chain, warm")
def raw_flatter(data: Data) -> None:
    raw = rounds_with(data)["nodes"][0]["target_raw"]
    raw["probs"] = [round(prob * 0.8, 6) for prob in raw["probs"]]
    raw["rest"] = round(1 - sum(raw["probs"]), 6)


@falsification("a flatter head of the drafter's own", "chain, warm")
def draft_raw_flatter(data: Data) -> None:
    raw = rounds_with(data)["nodes"][0]["draft_raw"]
    index = max(range(len(raw["probs"])), key=lambda i: raw["probs"][i] if raw["probs"][i] < 0.9 else 0.0)
    raw["probs"][index] = 0.0
    raw["probs"] = sorted(raw["probs"], reverse=True)
    raw["rest"] = round(max(0.0, 1 - sum(raw["probs"])), 6)


@falsification("another most probable token after an unreached leaf", "chain, greedy")
def another_argmax(data: Data) -> None:
    this = next(this for this in data["rounds"] if this["nodes"][-1]["fate"] == "unreached")
    leaf = this["nodes"][-1]
    leaf["target"]["tokens"] = [leaf["target_raw"]["tokens"][1]]


@falsification("more rest than there is", "tree")
def rest(data: Data) -> None:
    rounds_with(data)["nodes"][0]["target"]["rest"] += 0.00005


@falsification("less rest in a proposal than there is", "chain")
def draft_rest(data: Data) -> None:
    head = next(
        node["draft"]
        for this in data["rounds"]
        for node in this["nodes"]
        if node["draft"] and node["draft"]["rest"] > 0.001
    )
    head["rest"] = 0.0


@falsification("less rest in a residual than there is", "chain")
def residual_rest(data: Data) -> None:
    corrected(data)["judged"]["residual"]["rest"] += 0.001


# the drafter's passes


def drafted_pass(index: int, **fields: int) -> Change:
    def change(data: Data) -> None:
        this = next(this for this in data["rounds"] if len(this["drafted"]["passes"]) > 2)
        for name, more in fields.items():
            this["drafted"]["passes"][index][name] += more

    return change


falsification("a wider first pass of the drafter", "chain")(drafted_pass(0, rows=1))
falsification("a wider last pass of the drafter", "chain")(drafted_pass(-1, rows=1))
falsification("cached rows beyond the text", "chain, greedy")(drafted_pass(0, cached_rows=5))
falsification("cached rows that the pass before did not leave", "tree")(drafted_pass(1, cached_rows=-1))
falsification("a first pass for a deeper level", "tree")(drafted_pass(0, depth=1))
falsification("a pass for a level that is not there", "chain")(drafted_pass(-1, depth=3))


@falsification("a pass of the drafter dropped", "chain")
def pass_dropped(data: Data) -> None:
    del next(this for this in data["rounds"] if len(this["drafted"]["passes"]) > 2)["drafted"]["passes"][1]


@falsification("all passes of the drafter dropped", "chain")
@falsification("all passes of a tree's drafter dropped", "tree")
def passes_dropped(data: Data) -> None:
    rounds_with(data)["drafted"]["passes"] = []


@falsification("a pass of a drafter without a model", "ngram")
def pass_invented(data: Data) -> None:
    this = rounds_with(data)
    row = {"rows": 1, "cached_rows": this["base_length"] - 1, "seconds": 0.0, "depth": 1}
    this["drafted"]["passes"] = [row]


@falsification("fewer rows in the target's pass", "tree")
def target_rows(data: Data) -> None:
    this = rounds_with(data)
    this["scored"]["target_pass"]["rows"] -= 1
    this["committed"]["cache_dropped"] -= 1


# the clock


@falsification("a gap between two rounds", "chain")
def gap(data: Data) -> None:
    for this in data["rounds"][2:]:
        this["start_s"] += 0.001


@falsification("time stamps scaled", "tree")
def stamps_scaled(data: Data) -> None:
    for this in data["rounds"]:
        this["start_s"] *= 1.5


@falsification("a start before the run", "ngram")
def late_start(data: Data) -> None:
    for this in data["rounds"]:
        this["start_s"] += 0.5


@falsification("a faster run in all that is said at the end", "chain")
def faster(data: Data) -> None:
    data["finished"]["decode_s"] *= 0.8


@falsification("a shorter target pass than was scored", "chain, greedy")
def faster_pass(data: Data) -> None:
    data["rounds"][0]["scored"]["target_pass"]["seconds"] *= 0.5


@falsification("faster scoring in all rounds", "chain, greedy")
def faster_scoring(data: Data) -> None:
    for this in data["rounds"]:
        this["scored"]["seconds"] *= 0.5
        this["scored"]["target_pass"]["seconds"] *= 0.5
    data["finished"]["decode_s"] = sum(map(seconds, data["rounds"]))


@falsification("tokens per second", "ngram")
def speed(data: Data) -> None:
    data["summary"]["tokens_per_second"] *= 2


@falsification("the acceptance rate", "ngram")
def rate(data: Data) -> None:
    data["summary"]["draft_acceptance_rate"] *= 1.1


@falsification("a median step time outside its spread", "chain")
def step_time(data: Data) -> None:
    data["started"]["step_times"][0]["median_s"] *= 10


# text, ids and the end


@falsification("another prompt text", "chain")
def prompt_text(data: Data) -> None:
    data["started"]["prompt_text"] += " and more"


@falsification("another prompt id", "ngram")
def prompt_id(data: Data) -> None:
    ids = data["started"]["prompt_ids"]
    ids[1], ids[2] = ids[2], ids[1]


@falsification("a token that stands for other bytes", "chain")
@falsification("a token of a greedy run that stands for other bytes", "tree, greedy")
def other_bytes(data: Data) -> None:
    token = data["finished"]["output_ids"][2]
    data["vocab"][str(token)] = {"bytes": base64.b64encode(b"falsified").decode(), "text": "falsified"}


@falsification("a candidate shown as another", "tree")
def shown_as_another(data: Data) -> None:
    token = rounds_with(data)["nodes"][-1]["token"]
    data["vocab"][str(token)]["text"] = "something else"


@falsification("another text", "tree")
def text(data: Data) -> None:
    data["finished"]["text"] = data["finished"]["text"][:-1] + "~"


@falsification("an end-of-text id in the middle", "chain, greedy")
def eos_in_the_middle(data: Data) -> None:
    data["started"]["eos_ids"].append(data["finished"]["output_ids"][5])


@falsification("a stop string in the middle", "chain, greedy")
def stop_in_the_middle(data: Data) -> None:
    data["started"]["stop"] = [data["finished"]["text"][10:16]]


@falsification("a stop string across tokens in the middle", "stop string")
def another_stop(data: Data) -> None:
    data["started"]["stop"] = ["return", "END"]


@falsification("a run that ended by itself claims length", "chain")
def claims_length(data: Data) -> None:
    data["finished"]["reason"] = "length"


@falsification("a stopped run claims length", "stop string")
def stopped_claims_length(data: Data) -> None:
    data["finished"]["reason"] = "length"
    data["rounds"][-1]["committed"]["trimmed"] = "length"


@falsification("a run that ended by itself claims to be cancelled", "chain")
def claims_cancelled(data: Data) -> None:
    data["finished"]["reason"] = "cancelled"


@falsification("a full run claims to be cancelled", "ngram")
def full_claims_cancelled(data: Data) -> None:
    data["finished"]["reason"] = "cancelled"
    data["rounds"][-1]["committed"]["trimmed"] = data["rounds"][-1]["committed"]["trimmed"] and "length"


@falsification("a cut run claims length", "ngram")
@falsification("a cut greedy chain claims length", "chain, greedy")
def cut_claims_length(data: Data) -> None:
    drop_round(data)
    data["finished"]["reason"] = "length"


@falsification("more tokens asked for than the run gave", "tree, greedy")
def asked_for_more(data: Data) -> None:
    data["started"]["max_new_tokens"] += 10


@falsification("a message of a run that did not fail", "chain")
def message(data: Data) -> None:
    data["finished"]["message"] = "out of memory"


@falsification("a context shorter than the text", "chain")
def short_context(data: Data) -> None:
    data["started"]["target"]["context_length"] = len(data["started"]["prompt_ids"]) + 5


@falsification("a context shorter than the prompt", "chain")
def tiny_context(data: Data) -> None:
    data["started"]["target"]["context_length"] = len(data["started"]["prompt_ids"]) - 1


@falsification("a vocabulary shorter than the ids in use", "none")
def no_digits(data: Data) -> None:
    data["started"]["tokenizer"]["sha256"] = "not a hash"


@falsification("a hash that is none", "chain")
def no_hash(data: Data) -> None:
    data["started"]["target"]["weights_sha256"] = "xyz"


@falsification("the target's weights in a smaller drafter", "chain")
def same_weights(data: Data) -> None:
    data["started"]["drafter"]["model"]["weights_sha256"] = data["started"]["target"]["weights_sha256"]


@falsification("a computed run called simulated", "chain")
def called_simulated(data: Data) -> None:
    data["started"]["source"] = "simulated"


# what the seal alone can show


def header(place: str, value: Any) -> Change:
    def change(data: Data) -> None:
        here = data["started"]
        *path, last = place.split(".")
        for step in path:
            here = here[step]
        assert last in here
        here[last] = value

    return change


for place, value in (
    ("target.weights_sha256", "0" * 64),
    ("target.parameters", 70_000_000_000),
    ("target.name", "a larger model"),
    ("target.context_length", 8192),
    ("drafter.model.weights_sha256", "1" * 64),
    ("tokenizer.sha256", "2" * 64),
    ("machine.processor", "a faster machine"),
    ("machine.torch", "9.9"),
    ("created", "2020-01-01T00:00:00Z"),
    ("draft_step_s", 0.5),
    ("prompt_name", "another prompt"),
    ("run_id", "0123456789abcdef"),
):
    falsification(f"{place} of the header", "chain", sealed=False)(header(place, value))
