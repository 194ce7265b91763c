"""What a round's engine seconds are spent on, by a clock that is read aloud."""

import pytest

from specviz.core import clock
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.drafters.base import DraftContext, Drafter, Proposal
from specviz.drafters.capabilities import Observes
from specviz.engine import session as session_module
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.lm.table import TableModel
from specviz.options import Options
from specviz.verifiers.base import VERIFIERS


class Learner(Drafter[Options], Observes):
    """Drafts nothing, and looks at what became of the round."""

    name = "learner"

    def propose(self, context: DraftContext) -> Proposal:
        return Proposal(DraftTree.from_root(context.tokens[-1]))

    def observe(self, outcome):
        return []


def test_learning_is_a_drafters_time_and_every_other_second_that_of_its_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 s drafting, 2 the target's pass, 4 judging, 8 committing, 16 learning from the outcome: 31 in all."""
    readings = iter([0, 0, 100, 101, 103, 107, 115, 131, 200, 202, 206, 214, 230, 262])
    for module in (clock, session_module):
        monkeypatch.setattr(module, "now", lambda device: next(readings))
    method = Method(Learner(Options()), VERIFIERS.get("sequential").of({}), Sampling(1.0), SeededRandom(3))
    session = Session(TableModel(3, seed=1), method, Start([0, 1]), Ending(Limits(2), lambda token: b""))
    session.begin()
    times = session.round().times
    assert (times.draft, times.target, times.judge, times.commit, times.total) == (1 + 16, 2, 4, 8, 31)
    assert session.round().start_s == 31, "what the rounds before it took"
    assert session.decode_s == 31 + 62
