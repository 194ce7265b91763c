"""From what is held of rounds that were recorded together to their nodes, when somebody first looks at one of them.

    trees, verdicts, answers of whole distributions ─► columns of all these rounds ─► their nodes, in one go

Columns, for what code and objects cost that are not in the processor's cache is paid once for up to 64 rounds. All that
is held of a round is much smaller than a vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise, starmap

from specviz.engine.measured import UNITS, Ranks
from specviz.engine.session import RoundRecord
from specviz.engine.waiting import Swept
from specviz.frozen import frozen
from specviz.trace.events import CandidateKind, Fate, Node, TopK, Trial
from specviz.trace.tree_shape import tidy_layout

NOTHING = TopK([], [], 1.0)
SHAPES = 1024
"""trees whose layouts are remembered"""


@frozen
class Asked:
    """What a round's record asks of whole distributions: all of it is asked before any of it is waited for."""

    raw: Callable[[], Swept] | None
    """as both models believe themselves, where that is something else than how they were judged"""
    judged: Callable[[], Swept] | None
    """as they were judged; None where those are point masses, at temperature 0"""
    residual: Callable[[], TopK] | None
    """what the verdict left; None where it left nothing"""
    drawn: Mapping[int, Callable[[], TopK]]
    """at temperature 0, per parent the distribution its drawn children came from"""
    ranks: Callable[[], Ranks]
    fresh: Callable[[], Sequence[int]] | None
    """tokens that all these heads name and none before did; None: the nodes are formed at once, and say it"""


def formed_together(records: Sequence[RoundRecord], asked: Sequence[Asked], heads: bool) -> Callable[[int], list[Node]]:
    """Of rounds that follow one another each one's nodes, by its place among them; the first call forms them all.
    `heads`: whether nodes carry heads."""
    forming = _Forming(heads)
    for record, what in zip(records, asked, strict=True):
        forming.add(record, what)
    return forming.nodes


class _Forming:
    """Such rounds."""

    def __init__(self, heads: bool) -> None:
        self._heads, self._plain = heads, False
        self._starts = [0]
        """of each round its first node, and how many there are"""
        self._parents: list[int] = []
        self._depths: list[int] = []
        self._tokens: list[int] = []
        self._kinds: list[CandidateKind] = []
        self._sources: list[str] = []
        self._of_draft: list[float] = []
        self._of_target: list[float] = []
        """what both gave a candidate's token, the target where that is no point mass; a root's are meaningless"""
        self._best: list[int] = []
        """the target's tokens, where it is"""
        self._trials: list[list[Trial]] = []
        self._paths: list[list[int]] = []
        self._judged: list[Callable[[], Swept] | None] = []
        self._raw: list[Callable[[], Swept] | None] = []
        self._drawn: list[Mapping[int, Callable[[], TopK]]] = []
        self._ranks: list[Callable[[], Ranks]] = []
        """as in `Asked`, of each round"""
        self._nodes: list[Node] = []

    def add(self, record: RoundRecord, asked: Asked) -> None:
        """One more round."""
        tree, scored, verdict, sampling = record.proposal.tree, record.scored, record.verdict, record.sampling
        self._parents += tree.parents
        self._depths += tree.depths
        self._tokens += tree.tokens
        self._kinds += tree.kinds
        self._sources += tree.sources
        if sampling.greedy:
            self._best += scored.all_argmax()  # brings what the draft gave along
        else:
            self._of_target += scored.candidate_probs()  # so does this
        self._of_draft += tree.proposal_probs()
        self._plain = sampling.plain
        self._trials.append(verdict.trials)
        self._paths.append(verdict.path)
        self._judged.append(asked.judged)
        self._raw.append(asked.raw)
        self._drawn.append(asked.drawn)
        self._ranks.append(asked.ranks)
        self._starts.append(len(self._parents))

    def nodes(self, number: int) -> list[Node]:
        """Of this round."""
        if not self._nodes:
            self._nodes = list(map(Node, *self._columns()))
        return self._nodes[self._starts[number] : self._starts[number + 1]]

    def _columns(self) -> tuple[Iterable[object], ...]:
        """In the order of the fields of `Node`."""
        nothing = [None] * len(self._parents)
        ranges = list(starmap(slice, pairwise(self._starts)))
        judged = _joined(self._judged, ranges)
        raw = _joined(self._raw, ranges)
        shown = self._heads and not self._plain
        places = [_places(tuple(self._parents[nodes]), tuple(self._depths[nodes])) for nodes in ranges]
        return (
            chain.from_iterable(range(nodes.stop - nodes.start) for nodes in ranges),
            self._parents,
            self._depths,
            self._tokens,
            self._kinds,
            self._fates(),
            self._sources,
            _rounded(self._of_draft, self._parents),
            _rounded(self._of_target or self._of_best(), self._parents),
            self._drafts(judged.drafts) if self._heads else nothing,
            map(point, self._best) if self._best and self._heads else judged.targets,
            chain.from_iterable(x for x, _ in places),
            chain.from_iterable(y for _, y in places),
            raw.drafts if shown else nothing,
            raw.targets if shown else nothing,
            chain.from_iterable(ranks() for ranks in self._ranks),
            judged.agreements,
            raw.agreements,
        )

    def _of_best(self) -> list[float]:
        """What a target that is a point mass gave each candidate's token."""
        roots = chain.from_iterable([start] * (end - start) for start, end in pairwise(self._starts))
        at_parents = (self._best[root + max(parent, 0)] for root, parent in zip(roots, self._parents, strict=True))
        return [float(best == token) for best, token in zip(at_parents, self._tokens, strict=True)]

    def _fates(self) -> list[Fate]:
        fates: list[Fate] = ["unreached"] * len(self._parents)
        for root, trials, path in zip(self._starts, self._trials, self._paths, strict=False):
            fates[root] = "root"
            for trial in trials:
                fates[root + trial.node] = "rejected"
            for node in path:
                fates[root + node] = "accepted"
        return fates

    def _drafts(self, judged: list[TopK | None]) -> list[TopK | None]:
        """The distributions that children came from: as they were judged, or a lone point mass."""
        drafts = list(judged)
        for root, drawn in zip(self._starts, self._drawn, strict=False):
            for parent, head in drawn.items():
                drafts[root + parent] = head()
        if "point_mass" in self._kinds:
            for parent, token in self._lone_points():
                drafts[parent] = drafts[parent] or point(token)
        return drafts

    def _lone_points(self) -> list[tuple[int, int]]:
        """The parent, counted through all rounds, of each point mass without a second one beside it, and its token."""
        points: dict[int, list[int]] = {}
        root = 0
        for node, (parent, token, kind) in enumerate(zip(self._parents, self._tokens, self._kinds, strict=True)):
            if kind == "point_mass":
                points.setdefault(root + parent, []).append(token)
            elif kind == "root":
                root = node
        return [(parent, tokens[0]) for parent, tokens in points.items() if len(tokens) == 1]


def _joined(asked: Sequence[Callable[[], Swept] | None], ranges: Sequence[slice]) -> Swept:
    """The answers of all rounds as those of one, with nothing where nothing was asked."""
    answers = [
        answer() if answer else _nothing(nodes.stop - nodes.start) for answer, nodes in zip(asked, ranges, strict=True)
    ]
    return Swept(
        list(chain.from_iterable(swept.targets for swept in answers)),
        list(chain.from_iterable(swept.drafts for swept in answers)),
        list(chain.from_iterable(swept.agreements for swept in answers)),
    )


@lru_cache(maxsize=SHAPES)
def _nothing(nodes: int) -> Swept:
    return Swept([NOTHING] * nodes, [None] * nodes, [None] * nodes)


def _rounded(probs: Iterable[float], parents: Sequence[int]) -> list[float | None]:
    """None for roots. A float32 times the units is exact in double precision: `round(prob, DIGITS)` says the same of it
    and takes three times as long."""
    return [None if parent < 0 else round(prob * UNITS) / UNITS for prob, parent in zip(probs, parents, strict=True)]


@lru_cache(maxsize=SHAPES)
def _places(parents: tuple[int, ...], depths: tuple[int, ...]) -> tuple[Sequence[float], Sequence[float]]:
    """x of all nodes, y of all nodes."""
    x, y = zip(*tidy_layout(parents, depths), strict=True)
    return x, y


@lru_cache(maxsize=65_536)
def point(token: int) -> TopK:
    """A point mass."""
    return TopK([token], [1.0], 0.0)
