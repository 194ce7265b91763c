"""A drafter that reads the target's states gets them all, in text order, without a pass of its own."""

import pytest
import torch

from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, Drafter, Proposal
from specviz.drafters.capabilities import Observes, ReadsFeatures
from specviz.drafters.learned.heads import FeatureText
from specviz.engine import session as session_module
from specviz.engine.session import Session
from specviz.errors import ModelError
from specviz.lm.table import TableModel
from specviz.options import Options
from tests.engine.sessions import decoded


class Reader(Drafter[Options], ReadsFeatures, Observes):
    """Drafts every token twice deep, so that some branch is accepted in every round, and collects the states."""

    name = "reader"

    def attach(self, target, cache):
        self.text = FeatureText()
        self.outcomes = []

    def depths(self):
        return (2, 0)

    def read_features(self, tokens, features):
        self.text.read(features)

    def propose(self, context: DraftContext) -> Proposal:
        tree = DraftTree.from_root(context.tokens[-1])
        if context.max_depth >= 1:
            for token in (2, 0, 1):
                child = tree.add(ROOT, token, "point_mass", None, self.name)
                if context.max_depth >= 2:
                    tree.add(child, token, "point_mass", None, self.name)
        return Proposal(tree)

    def observe(self, outcome):
        self.text.extend(outcome)
        self.outcomes.append(outcome)
        return []


def run(target: TableModel, prompt: list[int], new_tokens: int) -> tuple[Reader, Session]:
    reader = Reader(Options())
    session, _ = decoded(target, reader, prompt, new_tokens, 1.0)
    return reader, session


@pytest.mark.parametrize("stretch", [256, 2])
def test_the_states_of_the_whole_text_but_its_last_token_are_collected(monkeypatch, stretch):
    """Prompt read in one stretch or in several, then rounds of up to three tokens."""
    monkeypatch.setattr(session_module, "PREFILL_CHUNK", stretch)
    target = TableModel(3, seed=1)
    reader, session = run(target, [0, 2, 1, 1, 0], new_tokens=12)
    tokens = session.tokens
    assert reader.text.length == len(tokens) - 1 == 16
    assert max(len(outcome.path) for outcome in reader.outcomes) == 2, "a draft was accepted to its end"
    for position in range(16):
        state = reader.text.rows()[position]
        assert torch.equal(state[0], target.exact_logits(tokens[: position + 1])), f"depth 2 of token {position}"
        assert state[1].tolist() == [float(token == tokens[position]) for token in range(3)]


def test_rejected_nodes_have_their_states_too():
    """Node 3 is token 0 below the root, node 4 the same again below it."""
    target = TableModel(3, seed=1)
    reader, _ = run(target, [0, 2], new_tokens=3)
    outcome = reader.outcomes[0]
    assert outcome.features.shape == (7, 2, 3)
    assert torch.equal(outcome.features[3, 0], target.exact_logits([0, 2, 0]))
    assert torch.equal(outcome.features[4, 0], target.exact_logits([0, 2, 0, 0]))


def test_a_target_without_states_is_refused_by_name():
    class Mute:
        """A table that only answers."""

        def __init__(self):
            table = TableModel(3, 1)
            self.info, self.device, self.new_cache, self.forward = (
                table.info,
                table.device,
                table.new_cache,
                table.forward,
            )

    with pytest.raises(ModelError, match=r"'reader' drafts from the target's states, but the adapter 'table'"):
        run(Mute(), [0], 2)
