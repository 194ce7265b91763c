"""Prompts, tokens, ends and headers that say something else."""

from __future__ import annotations

import base64
from typing import Any

from tests.trace.falsifications.falsifying import Change, Data, drop_round, falsification, rounds_with


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
