"""What a drafter knew when it drafted, in a form that every reader can show without knowing the drafter.

Part of the waist (`events.py`): rows of tokens under a title. A matched span, the matrix rows behind a tree, retrieved
snippets, the iterations of a parallel decoding: all are exhibits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

ITERATIONS = "guesses by iteration"
"""title of what a parallel decoding shows; a page draws such a run as a whole"""
LOOKED_UP = "looked up in the datastore"
SEEN_BEFORE = "the end of the text, seen before"
"""titles of the end of the text that was looked for"""
HOLDS_PROBABLE = "holds probable"
"""in the title of what a model holds probable after one node: its rows have that distribution's probabilities as
scores"""
MATRIX_AT_START = "the matrix before the first round"
MATRIX_BEHIND = "matrix rows behind the tree"
MATRIX_REWRITTEN = "matrix rows rewritten by this round"
"""titles of what is kept of a matrix of followers: the first has a row's own token in front of its followers, the
others name nodes; together they give the matrix as it stands after any round"""


@dataclass(frozen=True, slots=True)
class ExhibitRow:
    """One line of an exhibit: some tokens, and where they come from."""

    label: str
    """what the line is, in a few plain words: `matched`, `iteration 3`, `after “the”`"""
    tokens: list[int]
    marks: list[int] = field(default_factory=list)
    """indices into `tokens` that stand out; the exhibit's `marked` says why"""
    nodes: list[int] = field(default_factory=list)
    """nodes of this round's tree that were made from this line"""
    position: int | None = None
    """where `tokens` begin in the text (prompt and output together), if they were taken from there"""
    scores: list[float] = field(default_factory=list)
    """one number per token where there is one (a frequency, a probability); empty: none"""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One thing that the drafter knew or learnt in a round."""

    title: str
    rows: list[ExhibitRow]
    marked: str = ""
    """what a mark means, such as `drafted` or `frozen`; empty where nothing is marked"""


@dataclass(frozen=True, slots=True)
class MemoryCard:
    """What the drafter remembered from before this run; the run can be repeated with the same memory alone."""

    origin: str
    """`earlier runs` of the same process, or the name of a file without its folder"""
    runs: int
    """how many runs it was learnt from"""
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class DatastoreCard:
    """The text that a drafter retrieved from; the run can be repeated with the same one alone."""

    name: str
    tokens: int
    """ids, one end per document included"""
    documents: int
    size_bytes: int
    sha256: str
    """of the ids"""
