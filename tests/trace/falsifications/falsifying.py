"""Ways to falsify a good trace: each changes what a run claims, in the JSON data of the trace it names.

Summary and seal are made to fit again (`refitted`), so that what is found is the false claim itself.
"""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from specviz.trace.events import Trace
from tests.trace.changing import Change, Data, recording, refitted

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


@dataclass(frozen=True)
class Falsification:
    name: str
    base: str
    """a key of BASES"""
    change: Change
    sealed: bool
    """the header's id is made to fit again; False: the change is to be found by the id that no longer fits"""

    def __str__(self) -> str:
        return f"{self.base}: {self.name}"

    @property
    def is_of_noise(self) -> bool:
        """Whether the false claim is a uniform draw."""
        return self.name.startswith(("u of", "a u ", "another seed"))

    def apply(self) -> Trace:
        """The falsified trace."""
        return refitted(self.name, recording(BASES[self.base]), self.change, self.sealed)


FALSIFICATIONS: list[Falsification] = []


def falsification(name: str, *bases: str, sealed: bool = True) -> Callable[[Change], Change]:
    """Registers the decorated change, of a run of each base; several may stand above one."""

    def register(change: Change) -> Change:
        FALSIFICATIONS.extend(Falsification(name, base, change, sealed) for base in bases)
        return change

    return register


Wanted = Callable[[Data, Data], bool]
"""of a round and one of its trials"""


def anything(this: Data, trial: Data) -> bool:
    return True


def trials(data: Data, wanted: Wanted = anything) -> Iterator[tuple[Data, Data]]:
    """(round, trial) of all trials that are wanted."""
    for this in data["rounds"]:
        for trial in this["judged"]["trials"]:
            if wanted(this, trial):
                yield this, trial


def within(part: Callable[[Data], Data], *changes: Change) -> Change:
    """Changes a part of the trace as if it were the whole."""

    def change(data: Data) -> None:
        here = part(data)
        for alter in changes:
            alter(here)

    return change


def first_trial(wanted: Wanted, *changes: Change) -> Change:
    """Changes the first trial that is wanted."""
    return within(lambda data: next(trials(data, wanted))[1], *changes)


def accepted(this: Data, trial: Data) -> bool:
    return bool(trial["accepted"])


def rejected(this: Data, trial: Data) -> bool:
    return not trial["accepted"]


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
