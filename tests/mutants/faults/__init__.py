"""The planted faults: small edits that read well and are wrong, each with the tests that must see it.

A new fault is one entry in the file of its area. `find` stands exactly once in the file; `tests/mutants/test_faults.py`
holds that.
"""

from __future__ import annotations

from tests.mutants.faults import (
    analysing,
    batching,
    benching,
    browsing,
    captioning,
    checking,
    classroom,
    diagnosing,
    drafting,
    drawing,
    guarding,
    judging,
    measuring,
    on_a_device,
    passes,
    player,
    sampling,
    serving,
    spreading,
    teaching,
    writing,
)
from tests.mutants.faults.fault import Fault

AREAS = (
    sampling,
    judging,
    passes,
    drafting,
    checking,
    diagnosing,
    classroom,
    player,
    spreading,
    analysing,
    benching,
    measuring,
    on_a_device,
    drawing,
    batching,
    browsing,
    captioning,
    teaching,
    serving,
    guarding,
    writing,
)
FAULTS = tuple(
    Fault(name, file, find, replace, tuple(tests))
    for area in AREAS
    for (file, *tests), edits in area.FAULTS.items()
    for name, (find, replace) in edits.items()
)
