"""Probabilities of paths, and heads before and after the temperature."""

from collections.abc import Iterator

from tests.trace.changing import Data, at
from tests.trace.forgeries.forging import Forged, forged, forgeries, kept, shipped

FACTORS = (0.5, 0.95, 1.05, 2.0)


@forgeries(
    "the probability of a path that was handed down", made=40, found=40, named=("what the heads leave to their rests",)
)
def parent_reach() -> Iterator[Forged]:
    for name, data in [*shipped("verifier-traversal"), *kept("verifier-traversal")]:
        for r, this in enumerate(data["rounds"]):
            for t, trial in enumerate(this["judged"]["trials"]):
                for factor in FACTORS:
                    told = min(1.0, trial["terms"]["parent_reach"] * factor)
                    threshold = min(1.0, told * trial["target_prob"] / trial["draft_prob"])
                    kept_verdict = (trial["u"] < threshold) == trial["accepted"]
                    if told != trial["terms"]["parent_reach"] and "left" not in trial["terms"] and kept_verdict:
                        place, what = f"rounds[{r}].judged.trials[{t}]", f"{name} round {r} trial {t}"
                        changes = at(f"{place}.terms.parent_reach", told), at(f"{place}.threshold", threshold)
                        yield forged(f"{what}: parent_reach × {factor}", data, *changes)


@forgeries("one probability of a raw head, 5 or 10 % off", made=60, found=60)
def raw_ratio() -> Iterator[Forged]:
    for name, data in [*shipped("growth-levels", "verifier-block"), *kept("growth-chain", "verifier-typical")]:
        for r, this in enumerate(data["rounds"]):
            for n in range(r % 4, len(this["nodes"]), 7):
                for field in ("target_raw", "draft_raw"):
                    yield from _shifted(name, data, r, n, field)


def _shifted(name: str, data: Data, r: int, n: int, field: str) -> Iterator[Forged]:
    head = data["rounds"][r]["nodes"][n][field]
    drawn = any(one["parent"] == n for one in data["rounds"][r]["nodes"][1:])
    if (n + len(name)) % 3 == 0 or head is None or (field == "draft_raw" and not drawn):
        return
    whole = f"rounds[{r}].nodes[{n}].{field}"
    for place, prob in list(enumerate(head["probs"]))[(r + n) % 3 :: 3]:
        for factor in ((0.9, 1.05), (0.95, 1.1))[(n + place) % 2]:
            moved = prob * (factor - 1)
            probs = [*head["probs"][:place], round(prob + moved, 6), *head["probs"][place + 1 :]]
            rest = round(head["rest"] - moved, 6)
            listed = len(data["rounds"][r]["nodes"][n][field.removesuffix("_raw")]["tokens"]) > place
            if rest < 0 or sorted(probs, reverse=True) != probs or prob < 0.003 or not listed:
                continue
            changes = at(f"{whole}.probs", probs), at(f"{whole}.rest", rest)
            yield forged(f"{name} round {r} node {n}: {field}[{place}] × {factor}", data, *changes)
