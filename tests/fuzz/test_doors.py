"""Two hundred of the damaged files, forms and options of `python -m tests.fuzz`, and that a fault would be seen."""

from pathlib import Path

import pytest

from tests.fuzz.__main__ import mutation, outcomes
from tests.fuzz.doors import FaultError, Kind, World, kinds, sentence, through


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("doors"))


@pytest.mark.parametrize("block", range(2))
def test_whatever_is_handed_in_is_taken_or_refused_in_a_sentence(world: World, block: int) -> None:
    found = list(outcomes(range(100 * block, 100 * block + 100), 7, world))
    assert [
        f"{number}: {kind}, {door}: {one}" for number, kind, door, one in found if isinstance(one, FaultError)
    ] == []
    assert {one for _, _, _, one in found} == {"taken", "refused"}, "all end alike: they test nothing"


def test_a_number_decides_its_mutation(world: World) -> None:
    made = kinds(world)
    assert [mutation(5, 7, made)[2], mutation(5, 7, made)[2]] == [mutation(5, 7, made)[2]] * 2
    assert len({mutation(number, 7, made)[2] for number in range(20)}) == 20


def test_what_is_no_sentence_is_a_fault(world: World) -> None:
    """A door that lets another error out, one that says too little, and one whose line shows the program's insides."""

    def broken(world: World, file: Path) -> str:
        raise KeyError("gamma")

    kind = Kind(".json", [], {}, 1)
    with pytest.raises(FaultError, match="KeyError"):
        through(world, kind, broken, b"{}")
    for text in (
        "no.",
        "two\nlines of a message",
        "<Trace object at 0x7f>, which is none",
        "it failed; the log says more",
    ):
        with pytest.raises(FaultError):
            sentence(text)
    assert sentence("gamma is 0, but must be at least 1.") == "refused"
