"""Drafts that end elsewhere, have other shapes or fewer candidates than the header's methods make, and fewer passes."""

from collections.abc import Iterator

from tests.trace.changing import Data, at
from tests.trace.forgeries.forging import Forged, forged, forgeries, kept, options, shipped

STOPPED = ("stop-confidence", "stop-draft-verify", "stop-entropy", "kangaroo-story")


@forgeries(
    "the threshold of a stop policy",
    made=20,
    found=19,
    named=("the threshold of", "the floor of", "the first_threshold of"),
)
def thresholds() -> Iterator[Forged]:
    for name, data in [*shipped(*STOPPED), *kept("stop-entropy")]:
        said = data["started"]["stop_policy"]["options"]
        option = next(one for one in ("threshold", "first_threshold", "floor") if one in said)
        for value in (0.0, 0.1, 0.95, 1.0):
            yield options(name, data, "stop_policy", **{option: value})


@forgeries("the threshold that a round notes", made=8, found=8)
def noted_thresholds() -> Iterator[Forged]:
    for name, data in shipped("stop-draft-verify", "stop-heuristic"):
        for r, this in enumerate(data["rounds"]):
            for key, more in (("stop_threshold", -0.05), ("stop_levels", 1)):
                if key in (note := this["drafted"]["note"]):
                    change = at(f"rounds[{r}].drafted.note.{key}", note[key] + more)
                    yield forged(f"{name} round {r}: {key}", data, change)


@forgeries(
    "another stop policy, as it would be by default",
    made=15,
    found=12,
    named=("whether the stop policy", "the threshold of", "the floor of"),
)
def another_stop() -> Iterator[Forged]:
    policies = {
        "confidence": {"threshold": 0.9, "longest": 0},
        "oracle": {"longest": 0},
        "entropy": {"longest": 0, "scale": 0.15, "floor": 0.6, "keep": False, "moves": False},
        "heuristic": {"longest": 0, "start_levels": 5, "longer": 2, "shorter": 1},
    }
    for name, data in shipped("stop-confidence", "stop-disco", "stop-specdecpp", "model-chain-capital"):
        was = data["started"]["stop_policy"]
        for policy, said in policies.items():
            if was is None or was["name"] != policy:
                card = {"name": policy, "options": said, "lossless": True, "model": None}
                change = at("started.stop_policy", card | {"deployable": policy != "oracle"})
                yield forged(f"{name}: stopped by {policy}", data, change)


SIZES: dict[str, tuple[str, str, tuple[object, ...]]] = {
    "ngram-copy-timer": ("drafter", "gamma", (3, 5, 7, 12)),
    "growth-eagle2": ("tree_policy", "width", (2, 3, 5, 8)),
    "growth-rsd-s": ("tree_policy", "width", (2, 4, 6)),
    "growth-dyspec": ("tree_policy", "budget", (6, 9, 16)),
    "growth-target-init": ("tree_policy", "width", (4, 5, 7)),
    "growth-levels": ("tree_policy", "branching", ([2, 2, 1], [3, 1, 1], [4, 2, 1], [3, 3])),
    "growth-rsd-c": ("tree_policy", "branching", ([2, 2, 1], [2, 1, 2], [3, 2, 2])),
    "growth-chain": ("tree_policy", "budget", (4, 6, 7, 9)),
    "growth-paths": ("tree_policy", "paths", ("0; 1; 2; 0,0; 0,1; 1,0", "0; 1; 2; 3; 0,0; 0,1; 1,0; 0,0,0")),
    "growth-sequoia": ("tree_policy", "budget", (4, 6, 7)),
    "model-tree-story": ("drafter", "branching", ([3, 2], [3, 2, 2], [2, 2, 1], [3, 2, 1, 1])),
    "verifier-block": ("drafter", "gamma", (4, 6)),
}
"""recording → (method, option, other values)"""


@forgeries("the size of a shape", made=24, found=24)
def sizes() -> Iterator[Forged]:
    for name, (part, option, values) in SIZES.items():
        ((_, data),) = shipped(name)
        for value in values[len(values) // 2 - 1 :][:2]:
            yield options(name, data, part, **{option: value})


@forgeries("more than the text or the plan offered", made=8, found=0, named=("whether ",))
def offered() -> Iterator[Forged]:
    for name, option, values in (
        ("ngram-copy-timer", "continuations", (2, 4)),
        ("drafter-suffix", "max_nodes", (17, 64)),
        ("drafter-token-recycling", "nodes", (17, 40)),
        ("drafter-rest", "max_nodes", (17, 64)),
    ):
        ((_, data),) = shipped(name)
        for value in values:
            yield options(name, data, "drafter", **{option: value})
    for name, data in shipped("growth-sequoia"):
        yield options(name, data, "tree_policy", budget=20)


@forgeries("fewer continuations than an n-gram draft has", made=1, found=1)
def continuations() -> Iterator[Forged]:
    """Two different continuations, made of a chain by hanging its end below the root."""
    for name, data in shipped("ngram-copy-timer"):

        def change(data: Data) -> None:
            this = next(this for this in data["rounds"] if len(this["nodes"]) == 7 and len(this["judged"]["path"]) < 2)
            last = this["nodes"][-1]
            last |= {"parent": 0, "depth": 1, "target_prob": 0.0, "rank": 40}

        yield forged(f"{name}: a second path", data, change)


@forgeries("a tree policy that makes other trees", made=13, found=12, named=("whether the shape",))
def claimed() -> Iterator[Forged]:
    cards: dict[str, Data] = {}
    names = ("growth-dyspec", "growth-eagle2", "growth-rsd-s", "growth-rsd-c", "growth-sequoia", "growth-levels")
    for name, data in shipped(*names):
        cards[name] = data["started"]["tree_policy"]
    for name, data in shipped(*names, "model-tree-story"):
        for other, card in list(cards.items())[len(name) % 2 :: 2]:
            if other == name or (name == "growth-eagle2") != (other == "growth-eagle2"):
                continue
            changes = at("started.tree_policy", card), at("started.drafter.options", {})
            yield forged(f"{name} said to be by {card['name']}", data, *changes)


def _without_leaf(data: Data, r: int, leaf: int) -> None:
    """Take an unreached leaf away, with its row, and number what comes after it anew."""
    this = data["rounds"][r]
    del this["nodes"][leaf]

    def moved(node: int) -> int:
        return node - (node > leaf)

    for node in this["nodes"]:
        node["id"], node["parent"] = moved(node["id"]), moved(node["parent"])
    judged = this["judged"]
    judged["path"], judged["final_node"] = [moved(node) for node in judged["path"]], moved(judged["final_node"])
    for trial in judged["trials"]:
        trial["node"] = moved(trial["node"])
    for token in this["committed"]["tokens"]:
        token["node"] = None if token["node"] is None else moved(token["node"])
    for exhibit in [*this["drafted"]["knew"], *this["drafted"]["learned"]]:
        for row in exhibit["rows"]:
            row["nodes"] = [moved(node) for node in row["nodes"] if node != leaf]
    this["scored"]["target_pass"]["rows"] -= 1
    this["committed"]["cache_dropped"] -= 1


@forgeries(
    "an unreached leaf dropped, and all counts with it", made=20, found=16, named=("whether ", "where drafts end")
)
def dropped_leaf() -> Iterator[Forged]:
    for name, data in shipped():
        made = 1 * bool(data["rounds"][0]["drafted"]["riding"])  # another leaf may be what makes a node a guess
        for r, this in enumerate(data["rounds"]):
            parents = {node["parent"] for node in this["nodes"]}
            texts = [(node["parent"], node["token"]) for node in this["nodes"]]
            leaves = [
                node["id"]
                for node in this["nodes"]
                if node["fate"] == "unreached"
                and node["id"] not in parents
                and texts.count((node["parent"], node["token"])) == 1
                and node["id"] not in this["drafted"]["riding"]
            ]
            if leaves and made < 1:
                made += 1
                leaf = leaves[-1]
                yield forged(
                    f"{name} round {r} leaf {leaf}", data, lambda data, r=r, leaf=leaf: _without_leaf(data, r, leaf)
                )


@forgeries("a pass of the drafter removed", made=20, found=20)
def removed_pass() -> Iterator[Forged]:
    """Of each recording one: the first, one in the middle and the last in turn."""
    for turn, (name, data) in enumerate(shipped()):
        r = next((r for r, this in enumerate(data["rounds"]) if len(this["drafted"]["passes"]) > 1), None)
        if r is None:
            continue
        count = len(data["rounds"][r]["drafted"]["passes"])
        gone = (0, count // 2, count - 1)[turn % 3]

        def change(data: Data, r: int = r, gone: int = gone) -> None:
            passes = data["rounds"][r]["drafted"]["passes"]
            rows = passes.pop(gone)["rows"]
            for later in passes[gone:]:  # so that the cache still fits
                later["cached_rows"] = max(0, later["cached_rows"] - rows)

        yield forged(f"{name} round {r} pass {gone}", data, change)
