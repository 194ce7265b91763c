"""What a planted fault is, and the tests that several name."""

from dataclasses import dataclass
from typing import NamedTuple

SAMPLING = "tests/core/test_randomness_and_sampling.py"
RULES = "tests/verifiers"
ROWS = "tests/lm/test_rows.py"
ADAPTERS = "tests/lm/test_adapters.py"
POLICIES = "tests/tree_policies/test_tree_policies.py"
RECORDER = "tests/engine/test_recorder.py"
MEASURED = "tests/engine/test_measured.py"
CHECK = "tests/trace/test_check.py"
AUDIT = "tests/live/test_audit.py"
PAIRINGS = "tests/contracts/test_pairings.py"
SCRIPTS = "tests/js/test_js.py::test_the_pure_functions"


class Edit(NamedTuple):
    """What to find in a file, and what to put there."""

    find: str
    replace: str
    hangs: bool = False
    """with it something waits or loops for ever, and no test that sees it gives an answer"""


Edits = dict[tuple[str, ...], dict[str, Edit]]
"""(file, tests that must see its faults …) → a fault's name → its edit"""


def edit(find: str, replace: str, hangs: bool = False) -> Edit:
    """`find` stands exactly once in the file."""
    return Edit(find, replace, hangs)


@dataclass(frozen=True, slots=True)
class Fault:
    """One edit of one file."""

    name: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]
    hangs: bool = False

    def planted(self, text: str) -> str:
        """The file's text with the fault in it. Raises ValueError where its place is not found exactly once."""
        if text.count(self.find) != 1:
            raise ValueError(f"{self.find!r} stands {text.count(self.find)} times in {self.file}, not once.")
        return text.replace(self.find, self.replace)


def proved(*cases: str) -> tuple[str, ...]:
    """Exact walks of these cases of the proof."""
    return tuple(f"tests/proof/test_lossless.py::test_the_committed_text_has_the_targets_law[{case}]" for case in cases)


CHAIN = "model(gamma=2)-{}-T=0.8"
PAIR = "model(branching=(2, 1))-{}-T=0.8"
