"""Lanes of a drafter that works beside the target: two things at once, outside the run's clock, or too late."""

from tests.trace.changing import Data, at
from tests.trace.falsifications.drafts import OPTIONS, nodes
from tests.trace.falsifications.falsifying import falsification

LANES = "rounds[0].drafted.lanes"
falsification("a lane busy with two things at once", "beside")(at(f"{LANES}[1].start_s", lambda start: start - 0.001))
falsification("a span that ends before it begins", "beside")(
    at(f"{LANES}[2]", lambda span: span | {"end_s": span["start_s"] - 0.0005})
)
falsification("a roll back that takes time", "beside")(at(f"{LANES}[6].end_s", 0.0133))
falsification("a span that ends after its round", "beside")(at(f"{LANES}[5].end_s", 0.0137))
falsification("a candidate that no lane drafted", "beside")(at(f"{LANES}[0].tokens", 0))
falsification("a candidate drafted after the pass that read it", "beside")(
    at(f"{LANES}[0]", lambda span: span | {"what": "roll back", "end_s": 0.0})
)
falsification("a candidate of another drafter beside the target", "beside")(nodes({"source": "pearl"}, 1))
falsification("fewer tokens in a pass than were read", "beside")(at(f"{OPTIONS}.widest", 2))


@falsification("a pass in the round of a drafter that makes them beside the target", "beside")
def a_pass_in_the_round(data: Data) -> None:
    this = data["rounds"][0]
    rows = this["base_length"]
    this["drafted"]["passes"] = [{"rows": rows, "cached_rows": 0, "seconds": 0.001, "depth": 1}]


@falsification("a span that is reported a round late", "beside")
def reported_late(data: Data) -> None:
    first, second = (this["drafted"]["lanes"] for this in data["rounds"][:2])
    second.insert(0, first.pop(0))


@falsification("lanes of a drafter that takes turns", "chain")
def lanes_of_a_drafter_that_takes_turns(data: Data) -> None:
    this = data["rounds"][0]
    end = this["start_s"] + this["drafted"]["seconds"]
    this["drafted"]["lanes"] = [{"lane": "drafter", "what": "draft", "start_s": 0.0, "end_s": end, "tokens": 99}]


@falsification("more candidates than the lanes drafted by then", "beside")
def more_candidates(data: Data) -> None:
    for this in data["rounds"]:
        this["drafted"]["lanes"] = this["drafted"]["lanes"][:1]
