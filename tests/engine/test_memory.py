"""Drafters that learn: what they are shown, what outlasts a run, and how a header says so."""

import json
from dataclasses import dataclass, replace

import pytest

from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DRAFTERS, Drafter, Proposal
from specviz.drafters.capabilities import Observes, ReadsPrompt, Remembers
from specviz.errors import MemoryFileError, OptionError
from specviz.live.source import collect
from specviz.options import Options, option, to_mapping
from specviz.protocol.choice import Choice, with_choices
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check
from specviz.trace.header import Exhibit, ExhibitRow
from tests.proof.letters import toy_source

REQUEST = RunRequest("abc", drafter=Choice("pupil"), max_new_tokens=4, memory="warm")


@dataclass(frozen=True)
class PupilOptions(Options):
    gamma: int = option(1, help="tokens drafted", minimum=1, maximum=2)


class Pupil(Drafter[PupilOptions], Remembers, ReadsPrompt, Observes):
    """Remembers what the target said after each token, and drafts that."""

    def __init__(self, options):
        super().__init__(options)
        self.after = {}

    def remembered_for(self):
        return to_mapping(self.options)

    def recall(self, memory):
        self.after = {int(token): following for token, following in json.loads(memory).items()}

    def memory(self):
        return json.dumps(self.after, sort_keys=True).encode()

    def read_prompt(self, tokens, logits):
        self.after |= zip(tokens, logits.argmax(-1).tolist(), strict=True)

    def propose(self, context):
        tree = DraftTree.from_root(context.tokens[-1])
        known = self.after.get(context.tokens[-1])
        if known is None or context.max_depth < 1:
            return Proposal(tree)
        node = tree.add(ROOT, known, "point_mass", None, self.name)
        row = ExhibitRow("after the root", [known], marks=[0], nodes=[node])
        return Proposal(tree, exhibits=[Exhibit("said before", [row], marked="drafted")])

    def observe(self, outcome):
        self.after |= zip(outcome.tree.tokens, outcome.logits.argmax(-1).tolist(), strict=True)
        return [Exhibit("learnt", [ExhibitRow("root", [self.after[outcome.tree.tokens[ROOT]]])])]


@pytest.fixture(autouse=True)
def registered():
    DRAFTERS.names()  # the package's own first
    DRAFTERS.register("pupil")(Pupil)
    yield
    del DRAFTERS._entries["pupil"]


def test_a_drafter_sees_the_targets_answer_at_every_node_and_its_exhibits_reach_the_trace():
    trace = collect(toy_source(), replace(REQUEST, memory="cold"))
    assert check(trace) == []
    first = trace.rounds[0]
    assert first.drafted.learned == [Exhibit("learnt", [ExhibitRow("root", [first.nodes[0].target.tokens[0]])])]
    drafted = [this for this in trace.rounds if len(this.nodes) > 1]
    assert all(this.drafted.knew[0].rows[0].tokens == [this.nodes[1].token] for this in drafted)


def test_a_cold_run_neither_takes_nor_leaves_anything():
    here = toy_source()
    assert collect(here, replace(REQUEST, memory="cold")).started.memory is None
    assert collect(here, REQUEST).started.memory is None


def test_a_warm_run_begins_with_what_the_one_before_learnt_and_the_header_says_so():
    here = toy_source()
    cold = collect(here, REQUEST)
    warm = collect(here, REQUEST)
    assert warm.started.memory is not None
    assert (warm.started.memory.runs, warm.started.memory.origin) == (1, "earlier runs")
    assert warm.finished.output_ids == cold.finished.output_ids
    assert len(warm.rounds[0].nodes) == 2, "the first root was seen before"
    assert collect(here, REQUEST).started.memory.runs == 2


def test_a_reset_run_begins_with_nothing_and_starts_the_count_anew():
    here = toy_source()
    collect(here, REQUEST)
    assert collect(here, replace(REQUEST, memory="reset")).started.memory is None
    assert collect(here, REQUEST).started.memory.runs == 1


def test_other_options_have_a_memory_of_their_own():
    here = toy_source()
    collect(here, REQUEST)
    assert collect(here, replace(REQUEST, drafter=Choice("pupil", {"gamma": 2}))).started.memory is None


def test_a_file_carries_the_memory_from_one_process_to_the_next(tmp_path):
    file = tmp_path / "pupil.memory"
    request = replace(REQUEST, memory_file=str(file))
    first = collect(toy_source(), request)
    second = collect(toy_source(), request)
    assert first.started.memory is None
    assert second.started.memory is not None
    assert (second.started.memory.origin, second.started.memory.runs) == ("pupil.memory", 1)
    assert check(second) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello", "is not what a drafter remembers; let `specviz run --memory warm` write a new file"),
        (b"\xff\n", "is not what a drafter remembers"),
        (b"{}\n{}", "is not what a drafter remembers"),
    ],
)
def test_a_file_that_holds_no_memory_is_refused(tmp_path, content, message):
    file = tmp_path / "wrong"
    file.write_bytes(content)
    with pytest.raises(MemoryFileError, match=message):
        collect(toy_source(), replace(REQUEST, memory_file=str(file)))


def test_a_damaged_file_and_one_of_other_options_are_refused(tmp_path):
    file = tmp_path / "pupil.memory"
    request = replace(REQUEST, memory_file=str(file))
    collect(toy_source(), request)
    with pytest.raises(MemoryFileError, match=r"memory of the drafter 'pupil' with the options .*give it a file of"):
        collect(toy_source(), replace(request, drafter=Choice("pupil", {"gamma": 2})))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(MemoryFileError, match="is damaged or was written by another release"):
        collect(toy_source(), request)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"memory": "hot"}, "memory is 'hot', but must be one of cold, warm, reset"),
        ({"drafter": "ngram"}, "the drafter 'ngram' learns nothing that would outlast a run"),
        ({"memory": "cold", "memory_file": "x"}, "memory_file needs memory 'warm' or 'reset'"),
    ],
)
def test_a_memory_that_cannot_be_is_refused_before_anything_is_loaded(changes, message):
    with pytest.raises(OptionError, match=message):
        collect(toy_source(), replace(REQUEST, **with_choices(changes)))
