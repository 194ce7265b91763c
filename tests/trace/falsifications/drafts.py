"""Drafts that the named methods and options do not make, and passes that lead elsewhere."""

import copy

from tests.trace.changing import Change, Data, at
from tests.trace.falsifications.falsifying import falsification, retell, rounds_with

OPTIONS, POLICY = "started.drafter.options", "started.tree_policy.options"

falsification("a shorter speculation length than was drafted", "chain")(at(f"{OPTIONS}.gamma", 2))
falsification("a longer speculation length than was drafted", "chain")(at(f"{OPTIONS}.gamma", 6))
falsification("a longer speculation length of a greedy run", "chain, greedy")(at(f"{OPTIONS}.gamma", 9))
falsification("a narrower branching", "tree")(at(f"{OPTIONS}.branching", [2, 2, 1]))
falsification("a wider branching", "tree")(at(f"{OPTIONS}.branching", [4, 2, 1]))
falsification("a deeper branching", "tree, greedy")(at(f"{OPTIONS}.branching", [3, 2, 1, 1]))
falsification("another way of drawing", "tree")(at(f"{OPTIONS}.draw", "iid"))
falsification("another way of drawing in a chain", "chain")(at(f"{OPTIONS}.draw", "top_k"))
falsification("a shorter n-gram draft", "ngram")(at(f"{OPTIONS}.gamma", 3))
falsification("a smaller recycled tree", "token recycling")(at(f"{OPTIONS}.nodes", 3))
falsification("a smaller budget", "dyspec")(at(f"{POLICY}.budget", 5))
falsification("a narrower beam", "rsd-s")(at(f"{POLICY}.width", 2))
falsification("a shallower shape", "sequoia")(at(f"{POLICY}.depth", 2))
falsification("a list of paths without one of the candidates", "paths")(
    at(f"{POLICY}.paths", "0; 1; 2; 0,0; 0,1; 0,0,0")
)
falsification("a list of paths whose candidates are drawn in another way", "paths")(at(f"{POLICY}.draw", "top_k"))


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


falsification("another drafter in the header", "chain, greedy")(
    at("started.drafter", {"name": "ngram", "options": {"gamma": 4}, "lossless": True, "model": None})
)
falsification("a drafter without its model", "chain")(at("started.drafter.model", None))
falsification("a run without its tree policy", "dyspec")(at("started.tree_policy", None))


@falsification("a model for a drafter that has none", "ngram")
def a_model(data: Data) -> None:
    data["started"]["drafter"]["model"] = copy.deepcopy(data["started"]["target"])


@falsification("a candidate that was drawn and never submitted", "chain", "chain, greedy")
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


@falsification("all passes of the drafter dropped", "chain", "tree")
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
