"""The guide's command catches a bug in a new drafter: the example itself, in a package of its own, wrongly declared."""

import importlib
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.drafters.base import DRAFTERS
from specviz.proof import planted
from specviz.proof.table import prove
from tests.cli.conftest import specviz
from tests.proof.test_lossless import cases

__all__ = ["specviz"]
ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "adding_a_drafter.md").read_text(encoding="utf-8")
COMMAND = re.search(r"`(pytest [^`]*-k echo)`", GUIDE)
EXAMPLE = re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)
POINTS = "[specviz.drafters]\necho = echo_drafter\n"

SAYS_DRAWN = {
    '"point_mass", None, self.name': '"iid", torch.full((3,), 1 / 3, dtype=torch.float64), self.name',
    "    def propose(": '    def kinds(self, sampling):\n        return frozenset(["iid"])\n\n    def propose(',
    "from dataclasses import dataclass": "import torch\nfrom dataclasses import dataclass",
}
"""the repeated token, said to be drawn evenly from three"""
SILENT = {"min(self.options.gamma, context.max_depth)": "0"}
"""never drafts what it declares"""


def installed(folder: Path, changes: dict[str, str]) -> None:
    """The guide's drafter with these changes, as another package would bring it along."""
    code = EXAMPLE.group(1)
    for find, other in changes.items():
        assert find in code, f"the guide's example no longer holds {find}"
        code = code.replace(find, other)
    (folder / "echo_drafter.py").write_text(code, encoding="utf-8")
    about = folder / "echo_drafter-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-drafter\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(POINTS, encoding="utf-8")


@pytest.fixture
def learnt(tmp_path, monkeypatch):
    """Registers the guide's drafter with changes, in this process and for one test."""
    DRAFTERS.names()  # those that ship are found before the copy is made
    monkeypatch.setattr(DRAFTERS, "_entries", dict(DRAFTERS._entries))
    monkeypatch.syspath_prepend(tmp_path)

    def register(changes):
        installed(tmp_path, changes)
        importlib.invalidate_caches()
        importlib.import_module("echo_drafter")

    yield register
    sys.modules.pop("echo_drafter", None)


def test_the_guides_command_fails_on_a_candidate_of_a_wrongly_declared_kind(learnt):
    """It selects by name; in tests/proof/test_lossless.py these are the cases of the new drafter."""
    assert COMMAND.group(1) == "pytest tests/proof tests/contracts -k echo"
    learnt(SAYS_DRAWN)
    wanted = {f"echo()-{judged}" for judged in ("sequential-T=0.8", "sequential-T=1,top_k=2", "traversal-T=0.8")}
    wrong = {str(case): prove(replace(case, vocab_size=3)).error for case in cases() if str(case) in wanted}
    assert wrong.keys() == wanted
    assert min(wrong.values()) > 1e-12


@pytest.mark.parametrize(
    ("changes", "said"),
    [(SAYS_DRAWN, "**BROKEN**"), (SILENT, "**NOT PROVED**: point_mass never drafted")],
    ids=["says drawn", "silent"],
)
def test_the_table_of_the_proof_says_what_is_wrong_with_a_new_drafter(specviz, learnt, monkeypatch, changes, said):
    """Of the example as it is printed, `tests/architecture/test_guides.py` sees that it is proved."""
    learnt(changes)
    monkeypatch.setattr(planted, "findings", lambda: iter(()))  # they are those of the shipped methods
    done = specviz("prove", "--only", "echo")
    assert (done.code, said in done.out) == (1, True), done
