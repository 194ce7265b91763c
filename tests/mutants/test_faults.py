"""The list of planted faults is whole: each has its place, and tests that exist. `python -m tests.mutants` runs it."""

from collections import Counter

from tests.mutants.faults import FAULTS
from tests.mutants.run import ROOT

FOLDER = ROOT / "tests" / "mutants" / "faults"
AREAS = {
    "sampling": "specviz/core/",
    "verifiers": "specviz/verifiers/",
    "cache": "specviz/lm/",
    "tree policies": "specviz/tree_policies/",
    "drafters": "specviz/drafters/",
    "recorder": "specviz/engine/recorder",
    "checker": "specviz/trace/rules/",
    "player": "assets/js/",
}


def test_every_fault_has_exactly_one_place_and_changes_something():
    """If this fails, the code has moved on: find the fault's new place."""
    texts = {fault.file: (ROOT / fault.file).read_text(encoding="utf-8") for fault in FAULTS}
    assert [fault.name for fault in FAULTS if texts[fault.file].count(fault.find) != 1] == []
    assert [fault.name for fault in FAULTS if fault.find == fault.replace] == []


def test_every_fault_names_tests_that_exist():
    for fault in FAULTS:
        assert fault.tests, fault.name
        for test in fault.tests:
            assert (ROOT / test.partition("::")[0]).exists(), test


def test_there_are_faults_in_every_area_and_no_two_of_one_name():
    assert len(FAULTS) >= 30
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    written = sum(path.read_text(encoding="utf-8").count(": edit(") for path in FOLDER.glob("*.py"))
    assert len(FAULTS) == written, "two groups of one key: Python keeps the later alone"
    counts = Counter(area for area, start in AREAS.items() for fault in FAULTS if fault.file.startswith(start))
    assert min(counts[area] for area in AREAS) >= 3, counts
