"""Trials dropped and exchanged, rounds under other rules, marks that are not so."""

from tests.trace.changing import Change, Data, at
from tests.trace.falsifications.falsifying import (
    anything,
    falsification,
    first_trial,
    later,
    node_of,
    rounds_with,
    trials,
    undecided,
    within,
)

falsification("a threshold of a typical run", "typical")(first_trial(anything, at("threshold", 0.5)))
falsification("a threshold", "lenience", "traversal", "longest path")(
    first_trial(
        lambda this, trial: undecided(this, trial) and not trial["accepted"], at("threshold", lambda bar: bar * 0.9)
    )
)
falsification("one round under another rule", "chain", "tree, greedy")(within(rounds_with, at("judged.rule", "naive")))
falsification("one round under a rule that nobody knows", "chain")(within(rounds_with, at("judged.rule", "mystery")))
falsification("another verifier in the header", "chain", "lenience")(
    at("started.verifier", {"name": "specinfer", "options": {}, "lossless": True, "model": None})
)


@falsification("the last trial dropped", "tree", "tree, greedy", "naive")
def last_trial_dropped(data: Data) -> None:
    def wanted(this: Data, trial: Data) -> bool:
        return trial is this["judged"]["trials"][-1] and not trial["accepted"] and later(this, trial)

    this, trial = next(trials(data, wanted))
    this["judged"]["trials"].remove(trial)
    node_of(this, trial)["fate"] = "unreached"


@falsification("all trials dropped", "chain", "chain, greedy")
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


@falsification("two trials exchanged bottom-up", "traversal")
def bottom_up_exchanged(data: Data) -> None:
    order = next(this["judged"]["trials"] for this in data["rounds"] if len(this["judged"]["trials"]) > 1)
    order.reverse()


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

falsification("lenience called lossless", "lenience")(at("started.verifier.lossless", True))
falsification("typical acceptance called lossless", "typical")(at("started.verifier.lossless", True))
falsification("longest path called lossless", "longest path")(at("started.verifier.lossless", True))
falsification("the sequential rule called lossy", "chain")(at("started.verifier.lossless", False))
falsification("target initialisation called lossless", "target init")(at("started.tree_policy.lossless", True))
falsification("a drafter called lossy", "ngram")(at("started.drafter.lossless", False))
falsification("a stop policy called lossy", "entropy")(at("started.stop_policy.lossless", False))
falsification("an oracle called deployable", "oracle")(at("started.stop_policy.deployable", True))
