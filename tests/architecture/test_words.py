"""The words of the glossary: what a thing is called is decided once, and no other word for it comes back."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"

FORBIDDEN = {
    r"(?i)\bcoins?\b": "uniform draw u",
    r"\b[Dd]ice\b|\w+Dice\b": "random source",
    r"(?i)\btoss(es|ed)?\b": "trial, or uniform draw u",
    r"(?i)\bchance to stay\b|\bchance numbers?\b": "acceptance probability, uniform draw u",
    r"(?i)\b(acceptance|accepted) chances?\b|\bchance of acceptance\b": "acceptance probability",
    r"(?i)\belders?\b": "earlier siblings",
    r"(?i)\bdied\b|\bdies\b": "rejected, of tokens",
    r"(?i)\brefused (tokens?|siblings?|candidates?|leaf|leaves|nodes?|guess|drafts?)\b": "rejected, of tokens",
    r"(?i)\b(after|before|earlier) (a |the )?refusals?\b": "rejection, of tokens",
    r"\b(was|is|were|are) refused with u\b": "rejected, of tokens",
    r"(?i)\bnever reached\b": "unreached",
    r"\b[Gg]rowth polic(y|ies)\b|\bGROWTHS\b|\w+Growth\b": "tree policy",
    r"(?i)\bdraft length\b": "speculation length",
    r"\bSTOPS\b": "STOP_POLICIES",
    r"\b[Hh]abits?\b": "policies",
    r"\bforesee\b": "peek",
    r"(?i)\bcrooked\b|\bladder\b|\bshelf\b|\bours\b|\bhanded_in\b": "a plain word",
    r"(?i)\bgreedy or honest\b|\bhonest\b": "a plain word",
    r"\bSTRETCH\b": "PREFILL_CHUNK, or what it counts",
}
"""pattern → what is said instead"""
ALLOWED = {"CHANGELOG.md": r".*", "test_words.py": r".*", "glossary.md": r"\| growth, expansion \|"}
"""base name → lines that may hold a forbidden word: the history, this list, and the glossary's column of other names"""
TERMS = (
    "target", "drafter", "verifier", "tree policy", "stop policy", "termination", "stop string", "cancellation",
    "draft tree, node", "speculation length γ", "trial", "acceptance probability", "uniform draw u", "random source",
    "accepted", "rejected", "refused",
    "unreached", "residual", "correction", "bonus", "round", "target pass", "top-k row",
)  # fmt: skip
BORDERS = re.compile(r"(__init__|base|codec|session|decode|recorder|live|build|source)\.py$|/(live|session|decode)/")
"""modules at a border, which may say in their docstring what lies beyond it"""


@cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def texts() -> list[Path]:
    """Code, page and docs as far as people write them: not recordings, weights and generated data, and not the
    small world of the training text, in which there are coins and ladders."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.py", "*.js", "*.css", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [
        path for name in listed if (path := ROOT / name).is_file() and not {"models", "plain_english"} & set(path.parts)
    ]


def found(text: str, name: str, pattern: str) -> list[str]:
    """Lines of a text that hold a forbidden word, without those that may."""
    if not re.search(pattern, text):
        return []
    allowed = ALLOWED.get(name)
    lines = [line.strip() for line in text.splitlines() if re.search(pattern, line)]
    return [line for line in lines if allowed is None or not re.search(allowed, line)]


@pytest.mark.parametrize("pattern", FORBIDDEN, ids=FORBIDDEN.values())
def test_no_other_word_is_used(pattern: str) -> None:
    wrong = {str(path.relative_to(ROOT)): lines for path in texts() if (lines := found(read(path), path.name, pattern))}
    assert not wrong, f"say {FORBIDDEN[pattern]!r} instead"


@pytest.mark.parametrize("term", TERMS)
def test_every_term_has_one_row_of_the_glossary(term: str) -> None:
    rows = [line for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line.startswith(f"| **{term}** |")]
    assert len(rows) == 1
    assert rows[0].split("|")[2].strip(), "a term without a meaning"


def test_only_borders_say_what_they_know_nothing_about() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for path in texts()
        if path.suffix == ".py"
        and "specviz" in path.relative_to(ROOT).parts[:1]
        and not BORDERS.search(str(path))
        and re.match(r'r?"""[^"]*?\bknows\s+nothing\b', path.read_text(encoding="utf-8"), re.I)
    ]
    assert not wrong


@pytest.mark.parametrize(
    "line",
    [
        "the coin says 0.3",
        "SeededDice(3)",
        "a refused token",
        "what its elders leave",
        "Its chance to stay is 0.2",
        "GROWTHS",
    ],
)
def test_a_forbidden_word_is_found(line: str) -> None:
    assert any(found(line, "some.py", pattern) for pattern in FORBIDDEN)


def test_input_may_be_refused() -> None:
    assert not any(found("a file that is refused with the reason", "some.py", pattern) for pattern in FORBIDDEN)
