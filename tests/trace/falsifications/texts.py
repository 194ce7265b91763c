"""Prompts, tokens, ends and headers that say something else."""

import base64

from tests.trace.changing import Data, at
from tests.trace.falsifications.falsifying import drop_round, falsification, rounds_with

falsification("another prompt text", "chain")(at("started.prompt_text", lambda text: text + " and more"))
falsification("another prompt id", "ngram")(at("started.prompt_ids", lambda ids: [ids[0], ids[2], ids[1], *ids[3:]]))
falsification("another text", "tree")(at("finished.text", lambda text: text[:-1] + "~"))
falsification("a stop string across tokens in the middle", "stop string")(at("started.stop", ["return", "END"]))
falsification("a run that ended by itself claims length", "chain")(at("finished.reason", "length"))
falsification("a run that ended by itself claims to be cancelled", "chain")(at("finished.reason", "cancelled"))
falsification("more tokens asked for than the run gave", "tree, greedy")(
    at("started.max_new_tokens", lambda count: count + 10)
)
falsification("a message of a run that did not fail", "chain")(at("finished.message", "out of memory"))
falsification("a hash of the tokenizer that is none", "none")(at("started.tokenizer.sha256", "not a hash"))
falsification("a hash that is none", "chain")(at("started.target.weights_sha256", "xyz"))
falsification("a computed run called simulated", "chain")(at("started.source", "simulated"))

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
    falsification(f"{place} of the header", "chain", sealed=False)(at(f"started.{place}", value))


@falsification("a token that stands for other bytes", "chain", "tree, greedy")
def other_bytes(data: Data) -> None:
    token = data["finished"]["output_ids"][2]
    data["vocab"][str(token)] = {"bytes": base64.b64encode(b"falsified").decode(), "text": "falsified"}


@falsification("a candidate shown as another", "tree")
def shown_as_another(data: Data) -> None:
    token = rounds_with(data)["nodes"][-1]["token"]
    data["vocab"][str(token)]["text"] = "something else"


@falsification("an end-of-text id in the middle", "chain, greedy")
def eos_in_the_middle(data: Data) -> None:
    data["started"]["eos_ids"].append(data["finished"]["output_ids"][5])


@falsification("a stop string in the middle", "chain, greedy")
def stop_in_the_middle(data: Data) -> None:
    data["started"]["stop"] = [data["finished"]["text"][10:16]]


@falsification("a stopped run claims length", "stop string")
def stopped_claims_length(data: Data) -> None:
    data["finished"]["reason"] = "length"
    data["rounds"][-1]["committed"]["trimmed"] = "length"


@falsification("a full run claims to be cancelled", "ngram")
def full_claims_cancelled(data: Data) -> None:
    data["finished"]["reason"] = "cancelled"
    data["rounds"][-1]["committed"]["trimmed"] = data["rounds"][-1]["committed"]["trimmed"] and "length"


@falsification("a cut run claims length", "ngram", "chain, greedy")
def cut_claims_length(data: Data) -> None:
    drop_round(data)
    data["finished"]["reason"] = "length"


@falsification("a context shorter than the text", "chain")
def short_context(data: Data) -> None:
    data["started"]["target"]["context_length"] = len(data["started"]["prompt_ids"]) + 5


@falsification("a context shorter than the prompt", "chain")
def tiny_context(data: Data) -> None:
    data["started"]["target"]["context_length"] = len(data["started"]["prompt_ids"]) - 1


@falsification("the target's weights in a smaller drafter", "chain")
def same_weights(data: Data) -> None:
    data["started"]["drafter"]["model"]["weights_sha256"] = data["started"]["target"]["weights_sha256"]
