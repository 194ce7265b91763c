"""Heads that do not follow from each other at the temperature of the run, and clocks that do not add up."""

from tests.trace.changing import Data, at
from tests.trace.falsifications.falsifying import corrected, falsification, rounds_with, seconds, within

SAMPLING = "started.sampling"
falsification("another temperature", "chain, warm")(at(f"{SAMPLING}.temperature", 0.7))
falsification("a higher temperature", "tree")(at(f"{SAMPLING}.temperature", 1.0))
falsification("another temperature of a typical run", "typical")(at(f"{SAMPLING}.temperature", 0.9))
falsification("a temperature above zero for a greedy run", "chain, greedy")(at(f"{SAMPLING}.temperature", 0.5))
falsification("temperature zero for a sampled run", "tree")(at(f"{SAMPLING}.temperature", 0.0))
falsification("a top-k that cut nothing off", "tree")(at(f"{SAMPLING}.top_k", 2))
falsification("a nucleus that cut nothing off", "tree")(at(f"{SAMPLING}.top_p", 0.5))

falsification("more rest than there is", "tree")(
    within(rounds_with, at("nodes[0].target.rest", lambda rest: rest + 0.00005))
)
falsification("less rest in a residual than there is", "chain")(
    within(corrected, at("judged.residual.rest", lambda rest: rest + 0.001))
)

falsification("a faster run in all that is said at the end", "chain")(at("finished.decode_s", lambda s: s * 0.8))
falsification("a shorter target pass than was scored", "chain, greedy")(
    at("rounds[0].scored.target_pass.seconds", lambda s: s * 0.5)
)
falsification("tokens per second", "ngram")(at("summary.tokens_per_second", lambda speed: speed * 2))
falsification("the acceptance rate", "ngram")(at("summary.draft_acceptance_rate", lambda rate: rate * 1.1))
falsification("a median step time outside its spread", "chain")(at("started.step_times[0].median_s", lambda s: s * 10))


@falsification("the model's own head reordered", "tree", "tree, greedy")
def raw_reordered(data: Data) -> None:
    tokens = rounds_with(data)["nodes"][0]["target_raw"]["tokens"]
    tokens[0], tokens[1] = tokens[1], tokens[0]


@falsification("the model's own heads of two nodes exchanged", "chain, greedy", "tree")
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


@falsification("less rest in a proposal than there is", "chain")
def draft_rest(data: Data) -> None:
    head = next(
        node["draft"]
        for this in data["rounds"]
        for node in this["nodes"]
        if node["draft"] and node["draft"]["rest"] > 0.001
    )
    head["rest"] = 0.0


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


@falsification("faster scoring in all rounds", "chain, greedy")
def faster_scoring(data: Data) -> None:
    for this in data["rounds"]:
        this["scored"]["seconds"] *= 0.5
        this["scored"]["target_pass"]["seconds"] *= 0.5
    data["finished"]["decode_s"] = sum(map(seconds, data["rounds"]))
