"""A small part of what `python -m tests.clinic` proves: one case of each kind of fault, and harmless ones."""

import pytest
import torch

from tests.clinic.cases import Clinic
from tests.clinic.faults import FAULTS
from tests.clinic.tiny_pair import write_pair

BY_NAME = {fault.name: fault for fault in FAULTS}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Clinic:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("clinic")
    write_pair(folder)
    return Clinic.on(folder)


@pytest.mark.parametrize(
    "name",
    [
        "mask leaks between branches",
        "cache overwritten",
        "roll-back keeps a rejected row",
        "accepted among the three best",
        "wrong residual",
        "last token handed out twice",
    ],
)
def test_a_planted_fault_is_a_bug_and_its_rule_is_named(clinic: Clinic, name: str) -> None:
    (case,) = clinic.planted(BY_NAME[name], cases=1)
    assert (case.word, case.rule in BY_NAME[name].rules) == ("bug", True)


@pytest.mark.parametrize(("way", "first"), [("bfloat16 against float32", 20047), ("bfloat16 in another engine", 24000)])
def test_rounding_is_no_bug(clinic: Clinic, way: str, first: int) -> None:
    words = {case.word for case in clinic.harmless(way, cases=2, first=first)}
    assert words <= {"near tie", "numerics"}
    assert words


def test_the_table_plants_twenty_faults_that_each_break_a_rule() -> None:
    assert len(FAULTS) == len(BY_NAME) == 20
