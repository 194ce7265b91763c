"""Every recorded run of SmolLM2 contradicts neither itself nor the model: `check`, and `audit` over its checkpoint."""

from itertools import islice
from pathlib import Path

import pytest

from specviz.app.runs.gallery import gallery
from specviz.live.audit.audit import audit
from specviz.live.catalog import build
from specviz.lm.load import load
from specviz.resources import ROOT
from specviz.trace import codec
from specviz.trace.check import check, errors

pytestmark = [pytest.mark.real, pytest.mark.slow]

FOLDER = ROOT / "traces"
REAL = build().pairs[1]
FILES = [card.file for card in gallery(FOLDER).of(REAL.targets).cards]
AUDITED = 2
"""rounds of each run, from the first on: every node of one takes a pass over all the text before it"""


@pytest.fixture(scope="module")
def weights(folder: Path) -> str:
    """The hash of those that this machine has."""
    return load("smollm2").info.weights_sha256


@pytest.mark.parametrize("file", FILES)
def test_a_recorded_run_is_what_the_model_does(file: str, folder: Path, weights: str) -> None:
    trace = codec.read(FOLDER / file)
    assert errors(check(trace)) == []
    if weights != trace.started.target.weights_sha256:
        pytest.skip("recorded with the weights of the Python package, and this machine has those of the hub")
    *_, last = islice(audit(trace, places={"smollm2": str(folder)}), 1 + AUDITED)
    assert last.wrong == 0, last.differences
    assert last.compared > 100, "an audit that compares nothing finds nothing"


def test_every_drafter_that_can_draft_for_it_is_recorded() -> None:
    assert {codec.read(FOLDER / file).started.drafter.name for file in FILES} == set(REAL.drafters)
