"""The loop on toy models: order of events, endings, cancelling, branching in time, what a trace keeps."""

from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

from specviz.core.tree import DraftTree
from specviz.drafters.base import Drafter, Proposal
from specviz.drafters.model import ModelDrafter
from specviz.drafters.none import NoDrafter
from specviz.engine import decode
from specviz.engine.recorder import Recorder
from specviz.engine.session import Session
from specviz.errors import DraftError, OptionError, PromptError
from specviz.live.source import LiveSource, collect
from specviz.lm.table import TableModel
from specviz.options import Options
from specviz.protocol.choice import Choice
from specviz.protocol.runs import Resume, RunRequest
from specviz.trace.check import check
from specviz.trace.events import Finished, Round
from specviz.trace.header import Exhibit, Started
from tests.engine.sessions import session
from tests.proof.letters import Letters, toy_loader, toy_source

REQUEST = RunRequest("abc", drafter=Choice("model", {"gamma": 3}), temperature=0.9, max_new_tokens=20)


source = pytest.fixture(toy_source)


def ids_of(trace):
    return trace.finished.output_ids


def test_a_run_is_a_header_then_rounds_then_an_end(source):
    events = [step.event for step in source.run(REQUEST)]
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    assert all(isinstance(event, Round) for event in events[1:-1])
    assert [event.index for event in events[1:-1]] == list(range(len(events) - 2))


def test_every_token_is_described_when_it_first_occurs(source):
    known: set[str] = set()
    for step in source.run(REQUEST):
        assert not known & step.vocab.keys()
        known |= step.vocab.keys()
        if isinstance(step.event, Round):
            named = {node.token for node in step.event.nodes} | {
                t for node in step.event.nodes for t in node.target.tokens
            }
            assert {str(token) for token in named} <= known


def test_a_longer_run_begins_as_the_shorter_one(source):
    longer = collect(source, replace(REQUEST, max_new_tokens=40))
    assert ids_of(longer)[:12] == ids_of(collect(source, REQUEST))[:12]


def test_end_of_text_inside_the_draft_cuts_what_was_verified_after_it():
    """The twin drafts what the target says, so the whole draft is verified; the text ends where 4 stands in it."""
    source = toy_source(eos_ids=(4,))
    cut = []
    for seed in range(12):
        request = replace(REQUEST, drafter_model="twin", seed=seed, max_new_tokens=40)
        trace = collect(source, request)
        assert check(trace) == []
        assert ids_of(trace).count(4) <= 1
        if trace.finished.reason == "eos":
            assert ids_of(trace)[-1] == 4
            cut.append(trace.rounds[-1].committed)
    trimmed = [one for one in cut if one.trimmed_tokens]
    assert {one.trimmed for one in trimmed} == {"eos"}
    assert {one.trimmed for one in cut if not one.trimmed_tokens} <= {None}
    assert any(one.trimmed_tokens == 3 for one in trimmed)


def test_a_stop_string_across_tokens_ends_the_text_and_stays_in_it(source):
    whole = collect(source, REQUEST).finished.text
    stop = whole[5:8]
    trace = collect(source, replace(REQUEST, stop=(stop,)))
    assert trace.finished.text == whole[: whole.index(stop) + 3]
    assert trace.finished.reason == "stop"
    assert check(trace) == []


def test_the_length_is_kept_to_the_token(source):
    for n in (1, 2, 7):
        trace = collect(source, replace(REQUEST, max_new_tokens=n))
        assert (len(ids_of(trace)), trace.finished.reason) == (n, "length")


def test_cancelling_ends_at_once_and_keeps_what_there_is(source):
    asked = []

    def after_two_rounds():
        asked.append(True)
        return len(asked) > 3

    trace = collect(source, REQUEST, after_two_rounds)
    assert (trace.finished.reason, len(trace.rounds)) == ("cancelled", 2)
    assert check(trace) == []


def test_cancelled_before_it_began_a_run_computes_nothing(source):
    trace = collect(source, REQUEST, lambda: True)
    assert (trace.finished.reason, trace.rounds, ids_of(trace)) == ("cancelled", [], [])


def test_a_refusal_on_the_way_ends_the_run_with_its_sentence(source, monkeypatch):
    def refuse(self, context):
        raise DraftError("the drafter cannot go on.")

    monkeypatch.setattr(ModelDrafter, "propose", refuse)
    trace = collect(source, REQUEST)
    assert (trace.finished.reason, trace.finished.message) == ("failed", "the drafter cannot go on.")


def test_a_fault_of_the_engine_is_raised(source, monkeypatch):
    monkeypatch.setattr(Session, "round", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        collect(source, REQUEST)


def test_a_drafter_that_drafts_deeper_than_asked_is_named(source, monkeypatch):
    propose = ModelDrafter.propose
    monkeypatch.setattr(ModelDrafter, "propose", lambda self, context: propose(self, replace(context, max_depth=9)))
    trace = collect(source, replace(REQUEST, max_new_tokens=2))
    assert trace.finished.reason == "failed"
    assert "the drafter 'model' drafted 3 levels" in trace.finished.message


@pytest.mark.parametrize("drafter", ["model", "ngram", "none"])
@pytest.mark.parametrize("verifier", ["sequential", "naive"])
def test_a_branch_without_a_change_goes_on_as_the_run_did(source, drafter, verifier):
    request = replace(REQUEST, drafter=Choice(drafter, {}), verifier=Choice(verifier))
    trace = collect(source, request)
    at = len(trace.rounds) // 2
    done = sum(len(one.committed.tokens) for one in trace.rounds[:at])
    branch = collect(source, replace(request, max_new_tokens=20 - done), resume=Resume(trace, at))
    assert ids_of(branch) == ids_of(trace)[done:]
    assert branch.started.prompt_ids == trace.started.prompt_ids + ids_of(trace)[:done]
    assert [asdict(one.judged)["trials"] for one in branch.rounds] == [
        asdict(one.judged)["trials"] for one in trace.rounds[at:]
    ]
    assert (branch.started.branch.run_id, branch.started.branch.round) == (trace.started.run_id, at)
    assert check(branch) == []


class Begun(Letters):
    """Begins every text with a special token, as the bundled tokenizer does."""

    def encode(self, text):
        return [0, *super().encode(text)]

    def without_added(self, ids):
        return ids[1:] if ids[:1] == [0] else ids


def test_the_prompt_of_a_branch_is_the_text_so_far_without_what_the_tokenizer_puts_before_it():
    def load(name, device, dtype):
        return replace(toy_loader()(name, device, dtype), tokenizer=Begun(6))

    source = LiveSource(load=load, measure=False)
    trace = collect(source, REQUEST)
    branch = collect(source, REQUEST, resume=Resume(trace, 1))
    added = "".join("?abcde"[token.token] for token in trace.rounds[0].committed.tokens)
    assert branch.started.prompt_ids[:4] == [0, 1, 2, 3]
    assert (trace.started.prompt_text, branch.started.prompt_text) == ("abc", f"abc{added}")
    assert check(branch) == []


def test_a_forced_token_is_a_round_of_its_own_with_nothing_drafted(source):
    trace = collect(source, REQUEST)
    forced = (ids_of(trace)[0] + 1) % 6
    branch = collect(source, REQUEST, resume=Resume(trace, 0, forced))
    first = branch.rounds[0]
    assert [(token.token, token.origin) for token in first.committed.tokens] == [(forced, "forced")]
    assert (len(first.nodes), first.judged.trials) == (1, [])
    assert len(branch.rounds[1].nodes) > 1
    assert branch.started.branch.forced_token == forced
    assert check(branch) == []


def test_a_branch_may_change_drafter_and_setting(source):
    trace = collect(source, REQUEST)
    branch = collect(source, RunRequest("", drafter=Choice("ngram"), temperature=0.0), resume=Resume(trace, 2))
    assert (branch.started.drafter.name, branch.started.verifier.name) == ("ngram", "greedy")
    assert check(branch) == []


def test_a_branch_from_the_very_end_goes_on_behind_the_last_token(source):
    trace = collect(source, REQUEST)
    branch = collect(source, REQUEST, resume=Resume(trace, len(trace.rounds)))
    assert branch.started.prompt_ids == trace.started.prompt_ids + ids_of(trace)


@pytest.mark.parametrize(
    ("round", "forced", "message"), [(99, None, "there is no round 99"), (0, 6, "forced token 6 is outside")]
)
def test_a_branch_that_cannot_be_is_refused(source, round, forced, message):
    trace = collect(source, REQUEST)
    with pytest.raises(OptionError, match=message):
        collect(source, REQUEST, resume=Resume(trace, round, forced))


def test_a_trace_of_another_tokenizer_cannot_be_continued(source):
    trace = collect(source, REQUEST)
    foreign = replace(trace, started=replace(trace.started, tokenizer=replace(trace.started.tokenizer, sha256="00")))
    with pytest.raises(OptionError, match="continue it with its own target"):
        collect(source, REQUEST, resume=Resume(foreign, 0))


def test_an_empty_prompt_starts_from_end_of_text_where_there_is_one(source):
    trace = collect(toy_source(eos_ids=(0,)), replace(REQUEST, prompt=""))
    assert trace.started.prompt_ids == [0]
    with pytest.raises(PromptError, match="the prompt is empty"):
        collect(source, replace(REQUEST, prompt=""))


def test_a_prompt_that_fills_the_context_is_refused_before_anything_runs():
    with pytest.raises(PromptError, match="the prompt has 3 tokens, but the context of table-6-1 holds 3"):
        collect(toy_source(context=3), REQUEST)


def test_without_recording_all_but_the_distributions_is_the_same(source):
    whole, bare = collect(source, REQUEST), collect(source, replace(REQUEST, record=False))
    assert check(bare) == []
    assert ids_of(bare) == ids_of(whole)
    for one, other in zip(bare.rounds, whole.rounds, strict=True):
        assert {(node.draft, tuple(node.target.tokens), node.target.rest) for node in one.nodes} == {(None, (), 1.0)}
        assert (one.judged.residual, one.judged.trials) == (None, other.judged.trials)
        assert [node.draft_prob for node in one.nodes] == [node.draft_prob for node in other.nodes]


def test_recorded_distributions_have_heads_and_the_mass_outside(source):
    trace = collect(source, replace(REQUEST, top=2))
    for one in trace.rounds:
        for node in one.nodes:
            assert len(node.target.tokens) == 2
            assert sum(node.target.probs) + node.target.rest == pytest.approx(1.0, abs=1e-6)
            assert (node.draft is not None) == any(child.parent == node.id for child in one.nodes)


def test_at_temperature_zero_every_distribution_is_a_point(source):
    trace = collect(source, replace(REQUEST, temperature=0.0))
    for node in (node for one in trace.rounds for node in one.nodes):
        assert (node.target.probs, node.target.rest) == ([1.0], 0.0)
        assert node.target_prob in (None, 0.0, 1.0)


def test_rows_are_computed_once_whatever_the_length_of_the_text(source):
    """Target: the prompt, then one row per node. Drafter: each token of text once, and the nodes that have children."""
    trace = collect(source, replace(REQUEST, drafter_model="twin", temperature=0.0, max_new_tokens=40))
    assert [one.scored.target_pass.rows for one in trace.rounds] == [4] * 10
    assert [one.scored.target_pass.cached_rows for one in trace.rounds] == [2 + 4 * i for i in range(10)]
    assert [[one.rows for one in each.drafted.passes] for each in trace.rounds] == [[1, 1, 1], *[[2, 1, 1]] * 9]


def test_runs_take_turns_and_do_not_disturb_each_other(source):
    alone = collect(source, REQUEST)
    first, second = source.run(REQUEST), source.run(replace(REQUEST, drafter=Choice("ngram", {})))
    events = []
    for one, _ in zip(first, second, strict=False):
        events.append(one.event)
    events += [step.event for step in first]
    assert events[-1].output_ids == ids_of(alone)


def test_a_run_left_half_way_does_not_block_the_next(source):
    half = source.run(REQUEST)
    next(half)
    next(half)
    assert len(ids_of(collect(source, REQUEST))) == 20
    half.close()


def untimed(events):
    """Without seconds, which no two runs share; the header and the end by their tokens."""
    clocks = ("seconds", "start_s")

    def plain(value):
        if isinstance(value, dict):
            return {name: plain(inner) for name, inner in value.items() if name not in clocks}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    return [plain(asdict(event)) if isinstance(event, Round) else type(event) for event in events]


def arrivals(source, request, stop_after=None):
    """The steps of a run, and how many rounds had been begun when each round arrived."""
    asked, steps, begun = [], [], []

    def cancelled():
        asked.append(None)
        return stop_after is not None and len(asked) > stop_after + 1  # it is asked once before the prompt is read

    for step in source.run(request, cancelled):
        steps.append(step)
        begun += [len(asked) - 1] if isinstance(step.event, Round) else []
    return steps, begun


PLAIN = replace(REQUEST, drafter=Choice("none"), max_new_tokens=36)


def test_rounds_that_nobody_watches_come_many_at_a_time(source, monkeypatch):
    assert arrivals(source, PLAIN)[1] == list(range(1, 37))
    monkeypatch.setattr(decode, "TOGETHER", 16)
    assert arrivals(source, replace(PLAIN, stepwise=False))[1] == [*[16] * 16, *[32] * 16, *[36] * 4]


@pytest.mark.parametrize("stepwise", [True, False])
def test_the_header_comes_before_the_prompt_is_read_where_somebody_watches_and_else_after_it(stepwise, monkeypatch):
    run, read = session(TableModel(5, seed=1), NoDrafter(Options()), [1, 2], new_tokens=4), []
    monkeypatch.setattr(Session, "begin", lambda self: read.append(self) or 0.5)
    header = SimpleNamespace(prompt_ids=[1, 2])
    steps = decode.decode(header, run, Recorder(Letters(5)), stepwise=stepwise)
    assert next(steps).event is header
    assert read == ([] if stepwise else [run])
    *_, last = steps
    assert last.event.prefill_s == 0.5


@pytest.mark.parametrize("stepwise", [True, False])
def test_what_is_refused_while_the_prompt_is_read_ends_the_run_behind_its_header(stepwise, monkeypatch):
    def refuse(self):
        raise PromptError("too long.")

    run = session(TableModel(5, seed=1), NoDrafter(Options()), [1, 2], new_tokens=4)
    monkeypatch.setattr(Session, "begin", refuse)
    header = SimpleNamespace(prompt_ids=[1, 2])
    begun, ended = decode.decode(header, run, Recorder(Letters(5)), stepwise=stepwise)
    assert begun.event is header
    assert (ended.event.reason, ended.event.message) == ("failed", "too long.")


def test_they_are_the_rounds_that_come_one_by_one(source):
    for request in (REQUEST, replace(REQUEST, temperature=0.0), replace(PLAIN, record=False)):
        watched, together = (arrivals(source, replace(request, stepwise=way))[0] for way in (True, False))
        assert untimed([step.event for step in together]) == untimed([step.event for step in watched])
        assert [step.vocab for step in together] == [step.vocab for step in watched]


def test_rounds_that_wait_when_a_run_is_stopped_are_in_its_trace(source):
    steps, begun = arrivals(source, replace(PLAIN, stepwise=False), stop_after=5)
    assert begun == [6] * 5
    assert steps[-1].event.reason == "cancelled"
    assert len(steps[-1].event.output_ids) == 5


def test_rounds_over_a_large_vocabulary_wait_for_as_many_numbers_as_memory_is_meant_for(source, monkeypatch):
    vocab = next(source.run(PLAIN)).event.target.vocab_size
    monkeypatch.setattr(decode, "WAITING_LOGITS", 2 * vocab)
    assert arrivals(source, replace(PLAIN, max_new_tokens=6, stepwise=False))[1] == [2, 2, 4, 4, 6, 6]


def test_what_a_drafter_shows_late_is_drawn_up_before_its_next_draft():
    """The exhibit is of a number that the next draft counts up."""

    class Counts(Drafter[Options]):
        name = "counts"
        drafts = 0

        def propose(self, context):
            self.drafts += 1
            late = [lambda: Exhibit(f"draft {self.drafts}", [])]
            return Proposal(DraftTree.from_root(context.tokens[-1]), late_exhibits=late)

    run = session(TableModel(5, seed=1), Counts(Options()), [1, 2], new_tokens=4)
    header = SimpleNamespace(prompt_ids=[1, 2])
    steps = list(decode.decode(header, run, Recorder(Letters(5)), stepwise=False))
    assert [step.event.drafted.knew[0].title for step in steps[1:-1]] == [f"draft {n}" for n in (1, 2, 3, 4)]
