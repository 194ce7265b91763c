"""The guides tell the truth: the example drafter works as printed, and every part of SpecViz has its line."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from specviz.core.randomness import SeededDice
from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS, DraftContext
from specviz.proof.exhaustive import Case, error

ROOT = Path(__file__).resolve().parents[2]


def guide(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.fixture
def echo(tmp_path, monkeypatch):
    """The drafter of docs/adding_a_drafter.md, registered for one test."""
    names = DRAFTERS.names()
    monkeypatch.setattr(DRAFTERS, "_entries", dict(DRAFTERS.items()))
    code = re.search(r"```python\n(.*?)```", guide("adding_a_drafter.md"), re.DOTALL).group(1)
    (tmp_path / "echo_of_the_guide.py").write_text(code, encoding="utf-8")
    spec = spec_from_file_location("echo_of_the_guide", tmp_path / "echo_of_the_guide.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert DRAFTERS.names() == sorted([*names, "echo"])
    return module.EchoDrafter


@pytest.mark.parametrize(("gamma", "max_depth", "drafted"), [(3, 9, [7, 7, 7]), (3, 2, [7, 7]), (3, 0, [])])
def test_the_example_repeats_the_last_token(echo, gamma, max_depth, drafted):
    drafter = echo.of({"gamma": gamma})
    tree = drafter.propose(DraftContext([5, 7], 0, max_depth, Sampling(1.0), SeededDice(0))).tree
    assert tree.tokens == [7, *drafted]


def test_the_example_is_lossless(echo):
    assert error(Case("echo", "sequential", (("gamma", 2),))) < 1e-12


def test_every_part_has_its_line_in_the_architecture():
    """If this fails: add a row to the table in docs/architecture.md."""
    parts = [path.name for path in (ROOT / "specviz").iterdir() if path.suffix in ("", ".py") and path.name[0] != "_"]
    rows = [line for line in guide("architecture.md").splitlines() if line.startswith("| `")]
    places = " ".join(row.split("|")[1] for row in rows)
    assert len(parts) > 20
    assert [part for part in sorted(parts) if not re.search(rf"[`/]{re.escape(part)}[`/]", places)] == []


@pytest.mark.parametrize("fate", ["root", "accepted", "rejected", "unreached", "correction", "bonus"])
def test_every_fate_and_origin_is_in_the_glossary(fate):
    assert f"| **{fate}" in guide("glossary.md")
