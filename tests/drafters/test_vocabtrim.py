"""A smaller draft head: what can be drafted, and that everything else is as with the whole head."""

from dataclasses import replace

import pytest
import torch

from specviz.drafters import vocabtrim
from specviz.drafters.base import DRAFTERS
from specviz.drafters.capabilities import with_model
from specviz.drafters.vocabtrim import VocabTrimDrafter, VocabTrimOptions, kept_tokens
from specviz.errors import OptionError
from specviz.live.source import LiveSource
from specviz.lm.table import TableModel
from specviz.proof.exhaustive import ProofCase
from specviz.theory import token_frequencies as frequencies
from specviz.theory.token_frequencies import FrequencyTable, TokenCounts
from tests.drafters.asking import proposed
from tests.proof.letters import toy_loader, toy_run
from tests.proof.walked import error

BY_ID = {"calibration": "ids"}
TEXTS = {"raw": (0, 9, 8, 0, 0, 0), "drafter": (0, 0, 9, 8, 0, 0), "target": (0, 0, 0, 9, 8, 0)}


@pytest.fixture
def table(monkeypatch):
    """A table for the toy models' vocabulary of six."""
    texts = {name: TokenCounts("toy", counts) for name, counts in TEXTS.items()}
    known = FrequencyTable("toy", "letters", (5,), texts)
    monkeypatch.setattr(vocabtrim, "table_of", lambda tokenizer: known if tokenizer == "toy" else None)


def info(**changes):
    return replace(TableModel(6, 1, eos_ids=(0,)).info, **{"tokenizer_sha256": "toy", **changes})


def propose(drafter):
    return proposed(drafter, [1, 2], temperature=0.9, seed=3)


@pytest.mark.parametrize(
    ("calibration", "kept"),
    [("raw", [0, 1, 2, 5]), ("drafter", [0, 2, 3, 5]), ("target", [0, 3, 4, 5]), ("ids", [0, 1, 2, 3])],
)
def test_the_most_frequent_tokens_of_the_calibration_text_are_kept_with_the_special_ones(table, calibration, kept):
    assert kept_tokens(info(), 4, calibration) == kept


def test_a_tokenizer_without_a_table_is_refused_with_the_cure(table):
    with pytest.raises(
        OptionError, match=r"no frequency table for the tokenizer of table-6-1; .* calibration to 'ids'"
    ):
        kept_tokens(info(tokenizer_sha256="other"), 4, "target")
    with pytest.raises(OptionError, match="no frequency table"):
        kept_tokens(info(vocab_size=4), 4, "target")


@pytest.mark.parametrize("options", [{"gamma": 3}, {"branching": (2, 2)}, {"branching": (3, 1), "draw": "iid"}])
def test_only_kept_tokens_are_drafted_and_all_others_have_probability_zero(options):
    proposal = propose(
        with_model(VocabTrimDrafter(VocabTrimOptions(head_size=3, **BY_ID, **options)), TableModel(6, 2))
    )
    assert set(proposal.tree.tokens[1:]) <= {0, 1, 2}
    assert all(row[3:].count_nonzero() == 0 for row in proposal.tree.proposals[1:])
    assert proposal.note["head_size"] == 3


def test_with_the_whole_vocabulary_it_is_the_drafter_model():
    model = TableModel(6, 2)
    inner = DRAFTERS.get("model")
    trimmed = propose(with_model(VocabTrimDrafter(VocabTrimOptions(head_size=6, **BY_ID)), model)).tree
    theirs = propose(with_model(inner.of({}), model)).tree
    assert trimmed.tokens == theirs.tokens
    assert all(map(torch.equal, trimmed.proposals[1:], theirs.proposals[1:]))


@pytest.mark.parametrize("tree_policy", ["dyspec", "eagle2", "rsd_s", "sequoia"])
def test_every_tree_policy_stays_lossless_with_tokens_that_cannot_be_drafted(tree_policy):
    options = (("head_size", 2), *BY_ID.items())
    case = ProofCase(
        "vocabtrim", "sequential", options, length=2, tree_policy=tree_policy, tree_policy_options=(("budget", 3),)
    )
    assert error(case) < 1e-12


def test_a_run_is_sound_and_its_header_times_the_smaller_head(monkeypatch):
    timed = []
    monkeypatch.setattr("specviz.engine.header.step_times", lambda model: [])
    monkeypatch.setattr(
        "specviz.engine.header.draft_pass_s", lambda model, target: timed.append(model.info.adapter) or 0.001
    )
    settings = {"drafter_options": {"head_size": 3, **BY_ID}, "temperature": 0.9, "max_new_tokens": 9}
    trace = toy_run(LiveSource(load=toy_loader()), "abc", drafter="vocabtrim", **settings)
    assert timed == ["table, 3 head rows"]
    assert trace.started.draft_step_s == 0.001


def test_the_shipped_table_serves_the_bundled_drafter():
    """With no weights: the tokenizer's name is enough."""
    table = next(frequencies.read(path) for path in sorted(frequencies.FOLDER.glob("*.json")))
    bundled = info(vocab_size=table.vocab_size, tokenizer_sha256=table.tokenizer)
    kept = kept_tokens(bundled, 1024, "target")
    assert len(kept) == 1024
    assert set(table.special_ids) <= set(kept)
