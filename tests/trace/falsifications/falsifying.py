"""Ways to falsify a good trace: each changes what a run claims, as carefully as a forger would.

A falsification names the trace it starts from and changes its JSON data in place. Summary and seal (the run's id) are
then made to fit again, as far as it does not say otherwise, so that what is found is the false claim itself.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from specviz.trace.codec import loads, read, to_data
from specviz.trace.events import Trace
from specviz.trace.header import seal
from specviz.trace.summary import summary

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
RECORDED = GOLDEN / "recorded"
"""runs of the first bundled pair, kept because every falsification needs a run that has what it falsifies"""

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
    "coupled": RECORDED / "verifier-coupled.json.gz",
    "gls": RECORDED / "verifier-gls.json.gz",
    "lenience": RECORDED / "verifier-lenience.json.gz",
    "typical": RECORDED / "verifier-typical.json.gz",
    "longest path": RECORDED / "verifier-longest-path.json.gz",
    "target init": RECORDED / "growth-target-init.json.gz",
    "dyspec": RECORDED / "growth-dyspec.json.gz",
    "rsd-s": RECORDED / "growth-rsd-s.json.gz",
    "sequoia": RECORDED / "growth-sequoia.json.gz",
    "paths": RECORDED / "growth-paths.json.gz",
    "oracle": RECORDED / "stop-oracle.json.gz",
    "entropy": RECORDED / "stop-entropy.json.gz",
    "stop string": GOLDEN / "trace-1.0-sample.json",
    "beside": GOLDEN / "trace-1.3-beside.json",
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
        data = pickle.loads(pickle.dumps(base(self.base)))  # a copy, in a tenth of the time of deepcopy
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
