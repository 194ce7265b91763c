"""What stands beside the numbers of a run: bytes read, exhibits, lanes, the picture."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.trace.changing import Data, at
from tests.trace.forgeries.forging import Forged, forged, forgeries, shipped

READS = ("model-tree-story", "eagle-story", "medusa-story", "drafter-early-exit", "drafter-merged", "drafter-vocabtrim")
OWN = ("how many bytes of weights",)


def _all_reads(data: Data, worked: Callable[[int], int | None]) -> None:
    for this in data["rounds"]:
        for one in this["drafted"]["passes"]:
            one["read"] = None if one["read"] is None else worked(one["read"])


@forgeries("fewer bytes of weights than the passes read", made=12, found=9, named=OWN)
def fewer_bytes() -> Iterator[Forged]:
    for name, data in shipped(*READS):
        for what, worked in (("half", lambda read: read // 2), ("untold", lambda read: None)):
            yield forged(f"{name}: {what}", data, lambda data, worked=worked: _all_reads(data, worked))


@forgeries("fewer bytes of weights in one round alone", made=6, found=6)
def fewer_in_one_round() -> Iterator[Forged]:
    for name, data in shipped(*READS):
        r = [r for r, this in enumerate(data["rounds"]) if this["drafted"]["passes"]][1]
        yield forged(name, data, at(f"rounds[{r}].drafted.passes[0].read", lambda read: read // 2))


@forgeries("other words for what passes read", made=6, found=6)
def other_words() -> Iterator[Forged]:
    for name, data in shipped(*READS):
        yield forged(name, data, at("started.drafter.pass_reads", "next to nothing"))


@forgeries("a target of which a pass reads more, or less", made=4, found=4)
def target_reads() -> Iterator[Forged]:
    for name, data in shipped("model-tree-story", "medusa-story"):
        read = data["started"]["target"]["read_per_pass"]
        for factor in (0.5, 2):
            yield forged(f"{name}: × {factor}", data, at("started.target.read_per_pass", int(read * factor)))


SHOWN = (
    "ngram-copy-timer", "drafter-rest", "drafter-suffix", "drafter-rasd", "drafter-lookahead", "kangaroo-story",
    "drafter-token-recycling", "medusa-story", "hydra-story", "markov-story", "masked-block-story", "drafter-jacobi",
)  # fmt: skip
BEYOND = ("what exhibits show beyond",)


def _exhibits(data: Data) -> list[tuple[int, str, int]]:
    """(round, part, number) of two exhibits."""
    found = [
        (r, part, number)
        for r, this in enumerate(data["rounds"])
        for part in ("knew", "learned")
        for number in range(len(this["drafted"][part]))
    ]
    return found[:: max(1, len(found) // 2)][:2]


def _each(name: str, data: Data, what: str, change: Callable[[Data, Any], None]) -> Iterator[Forged]:
    for r, part, number in _exhibits(data):
        tried = copy.deepcopy(data["rounds"][r])
        change(tried, tried["drafted"][part][number])
        if tried != data["rounds"][r]:
            yield forged(f"{name} round {r} {part}[{number}]: {what}", data, at(f"rounds[{r}]", tried))


@forgeries("all scores of an exhibit 0.5", made=11, found=6, named=BEYOND)
def scores() -> Iterator[Forged]:
    def change(this: Data, exhibit: Data) -> None:
        for row in exhibit["rows"]:
            row["scores"] = [0.5 for _ in row["scores"]]

    for name, data in shipped(*SHOWN):
        if any(row["scores"] for this in data["rounds"] for one in this["drafted"]["knew"] for row in one["rows"]):
            yield from _each(name, data, "scores", change)


@forgeries("tokens of an exhibit replaced", made=24, found=20, named=BEYOND)
def tokens() -> Iterator[Forged]:
    def change(this: Data, exhibit: Data) -> None:
        for row in exhibit["rows"]:
            new = next(
                one for one in (this["nodes"][0]["token"], this["judged"]["token"], 0) if one != row["tokens"][0]
            )
            row["tokens"] = [new for _ in row["tokens"]]

    for name, data in shipped(*SHOWN):
        yield from _each(name, data, "tokens", change)


@forgeries("rows of an exhibit removed", made=24, found=10, named=BEYOND)
def rows() -> Iterator[Forged]:
    def change(this: Data, exhibit: Data) -> None:
        exhibit["rows"] = []

    for name, data in shipped(*SHOWN):
        yield from _each(name, data, "rows", change)


@forgeries("the name of a lane", made=2, found=2)
def lane_names() -> Iterator[Forged]:
    for name, data in shipped("amusd-story", "pearl-story"):

        def change(data: Data) -> None:
            for this in data["rounds"]:
                for one in this["drafted"]["lanes"]:
                    one["lane"] = "drafter, in turn" if one["lane"] == "drafter" else "drafter"

        yield forged(name, data, change)


@forgeries("a lane emptied for one round", made=9, found=2, named=("how many tokens were drafted beside the passes",))
def lane_emptied() -> Iterator[Forged]:
    for name, data in shipped("amusd-story", "pearl-story"):
        for r, this in list(enumerate(data["rounds"]))[::3]:
            if this["drafted"]["lanes"]:
                yield forged(f"{name} round {r}", data, at(f"rounds[{r}].drafted.lanes", []))


@forgeries("words that the picture decides", made=8, found=8)
def grounded() -> Iterator[Forged]:
    for name, data in shipped("scene-eyes", "scene-text"):
        told = data["started"]["scene"]["grounded"]
        for ids in ([], told[1:], told[:-1], sorted({*told, 18})):
            yield forged(f"{name}: {len(ids)} of {len(told)}", data, at("started.scene.grounded", ids))


@forgeries("what the picture shows, and where", made=8, found=2, named=("that the picture is the one",))
def picture() -> Iterator[Forged]:
    for name, data in shipped("scene-eyes", "scene-text"):
        for field, value in (("colour", "green"), ("shape", "cross"), ("size", "huge"), ("x", 14)):
            yield forged(f"{name}: {field} {value}", data, at(f"started.scene.shapes[0].{field}", value))
