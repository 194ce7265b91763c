"""A uniform draw equal to the threshold rejects: u < threshold accepts, and 0 is a possible draw."""

from __future__ import annotations

from specviz.trace.check import check, errors
from tests.trace.changing import changed, get, sample_data

PLACE = "rounds[0].judged.trials[1]"


def test_accepted_at_equality_is_named():
    trial = get(sample_data(), PLACE)
    assert (trial["accepted"], trial["threshold"] < 1) == (True, True)
    said = [str(one) for one in errors(check(changed({f"{PLACE}.u": trial["threshold"]})))]
    assert [one for one in said if one.startswith(PLACE) and "accepted means u < threshold" in one] != []
