"""An audit finds nothing in sound runs on tiny checkpoints, and what was falsified in the others."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from specviz.errors import ModelError, TraceError
from specviz.live.audit.audit import audit
from specviz.live.audit.laws import Law
from specviz.live.source import LiveSource, collect
from specviz.protocol.audits import DRAFT_HEADS, KINDS, LAST_TOKENS, RESIDUALS, TARGET_HEADS, TRIALS, VERDICTS, Audit
from specviz.protocol.choice import with_choices
from specviz.protocol.runs import RunRequest
from specviz.resources import ROOT
from specviz.trace.check import check, errors
from specviz.trace.codec import read
from specviz.trace.events import Node, Trace
from specviz.trace.header import seal
from tests.lm.tiny_models import random_model, write_tokenizer

PROMPT = "w1 w2 w3 w1 w2"
Run = Callable[..., Trace]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Three checkpoints of one vocabulary, by the names that headers give them."""
    torch.set_num_threads(1)
    found = {}
    for name, layers, width in (("tiny-target", 2, 40), ("tiny-drafter", 1, 40), ("tiny-second", 1, 48)):
        folder = tmp_path_factory.mktemp("checkpoints") / name
        random_model("llama", num_hidden_layers=layers, intermediate_size=width).save_pretrained(folder)
        write_tokenizer(folder)
        found[name] = str(folder)
    return found


@pytest.fixture(scope="module")
def run(folders: dict[str, str]) -> Run:
    source = LiveSource(measure=False)

    def decode(**how: Any) -> Trace:
        target, drafter = folders["tiny-target"], folders["tiny-drafter"]
        request = RunRequest(PROMPT, target=target, drafter_model=drafter, max_new_tokens=12, temperature=1.0, seed=3)
        if how.get("drafter") == "merged":
            how["drafter_options"] = {"others": folders["tiny-second"], **how.get("drafter_options", {})}
        trace = collect(source, replace(request, **with_choices(how)))
        assert errors(check(trace)) == []
        return trace

    return decode


def audited(trace: Trace, folders: dict[str, str]) -> Audit:
    return list(audit(trace, places=folders))[-1]


SOUND: dict[str, dict[str, Any]] = {
    "chain": {},
    "chain, greedy": {"temperature": 0.0},
    "chain, sharpened": {"temperature": 0.6},
    "chain, nucleus": {"top_p": 0.7},
    "chain, top-k": {"temperature": 0.7, "top_k": 5},
    "tree without replacement": {"drafter_options": {"branching": [3, 2], "draw": "without_replacement"}},
    "tree, i.i.d.": {"drafter_options": {"branching": [3, 2], "draw": "iid"}, "verifier": "specinfer"},
    "traversal": {"drafter_options": {"branching": [2, 3, 2]}, "verifier": "traversal"},
    "traversal, hardly anything left": {
        "drafter_options": {"branching": [3, 2, 2]},
        "temperature": 0.3,
        "verifier": "traversal",
    },
    "traversal, drawn from what is not recomputed": {"drafter": "self_speculative", "verifier": "traversal"},
    "block": {"verifier": "block"},
    "kseq": {"drafter_options": {"branching": [3, 2], "draw": "iid"}, "verifier": "kseq"},
    "naive": {"verifier": "naive"},
    "typical": {"verifier": "typical"},
    "lenience, greedy": {"verifier": "lenience", "temperature": 0.0},
    "longest path": {"drafter_options": {"branching": [3, 2]}, "verifier": "longest_path"},
    "ngram": {"drafter": "ngram"},
    "ngram, greedy": {"drafter": "ngram", "temperature": 0.0},
    "beside": {"drafter": "amusd", "drafter_options": {"drafts_per_pass": 3}, "temperature": 0.6},
    "plain": {"drafter": "none"},
    "merged": {"drafter": "merged"},
    "merged, greedy": {"drafter": "merged", "temperature": 0.0},
    "merged, without replacement": {
        "drafter": "merged",
        "drafter_options": {"branching": [3], "draw": "without_replacement"},
    },
}


@pytest.mark.parametrize("how", SOUND.values(), ids=SOUND)
def test_a_sound_run_differs_nowhere(how: dict[str, Any], run: Run, folders: dict[str, str]) -> None:
    found = audited(run(**how), folders)
    assert found.complete
    assert found.differences == ()
    assert found.counts[TARGET_HEADS].compared > 100


def test_everything_that_a_chain_records_is_compared(run: Run, folders: dict[str, str]) -> None:
    trace = run()
    found = audited(trace, folders)
    trials = sum(len(this.judged.trials) for this in trace.rounds)
    assert all(found.counts[kind].compared > 0 for kind in KINDS)
    assert found.counts[VERDICTS].compared == trials
    assert found.counts[TRIALS].compared == 3 * trials  # p, Q and threshold
    assert found.counts[LAST_TOKENS].compared == len(trace.rounds)
    assert found.not_recomputed == ()


def test_what_a_drafter_beside_the_target_believed_is_compared_at_each_of_its_nodes(
    run: Run, folders: dict[str, str]
) -> None:
    trace = run(
        drafter="pearl", drafter_options={"in_turn": True}, drafter_model=folders["tiny-target"], temperature=0.6
    )
    believed = sum(node.draft_raw is not None for this in trace.rounds for node in this.nodes)
    found = audited(trace, folders)
    assert believed > 0
    assert found.counts[DRAFT_HEADS].compared >= believed
    assert found.differences == ()


def test_point_masses_have_no_q_and_the_audit_says_so(run: Run, folders: dict[str, str]) -> None:
    found = audited(run(drafter="ngram"), folders)
    assert found.counts[DRAFT_HEADS].compared == 0
    assert any(one.startswith("q of point masses") for one in found.not_recomputed)


def test_another_checkpoint_is_refused_by_its_hash(run: Run, folders: dict[str, str]) -> None:
    with pytest.raises(ModelError, match=r"weights of tiny-target whose hash begins .* nothing was recomputed"):
        audited(run(), {**folders, "tiny-target": folders["tiny-drafter"]})


def test_a_checkpoint_that_is_not_at_hand_is_said_with_the_flag(run: Run) -> None:
    with pytest.raises(ModelError, match=r"no model 'tiny-target'.*--model tiny-target=FOLDER"):
        audited(run(), {})


def test_a_header_that_claims_another_checkpoints_weights_is_found(run: Run, folders: dict[str, str]) -> None:
    """Its hash fits, none of its numbers does."""
    trace = run(drafter="ngram")
    weights = run().started.drafter.model.weights_sha256
    started = replace(trace.started, target=replace(trace.started.target, weights_sha256=weights))
    trace = replace(trace, started=replace(started, run_id=seal(started)))
    assert errors(check(trace)) == []
    found = audited(trace, {**folders, "tiny-target": folders["tiny-drafter"]})
    assert found.counts[TARGET_HEADS].wrong > 100
    assert found.counts[LAST_TOKENS].wrong > 0


def with_node(trace: Trace, index: int, node: Node) -> Trace:
    this = trace.rounds[index]
    nodes = [node if one.id == node.id else one for one in this.nodes]
    rounds = [replace(this, nodes=nodes) if one.index == index else one for one in trace.rounds]
    return replace(trace, rounds=rounds)


def test_a_changed_probability_that_the_trace_does_not_contradict_is_found(run: Run, folders: dict[str, str]) -> None:
    """The target's head at a candidate that was unreached: 0.0001 more of it inside."""
    trace = run()
    index, node = next(
        (this.index, node) for this in trace.rounds for node in this.nodes if node.fate == "unreached" and node.id == 4
    )
    head = node.target
    moved = replace(head, probs=[head.probs[0] + 0.0001, *head.probs[1:]], rest=head.rest - 0.0001)
    lie = with_node(trace, index, replace(node, target=moved))
    assert errors(check(lie)) == []
    places = [one.place for one in audited(lie, folders).differences]
    assert places == [f"rounds[{index}].nodes[4].target.probs[0]", f"rounds[{index}].nodes[4].target.rest"]


def test_a_changed_draft_head_that_the_trace_does_not_contradict_is_found(run: Run, folders: dict[str, str]) -> None:
    trace = run(temperature=0.0)
    index, node = next((this.index, this.nodes[3]) for this in trace.rounds if this.nodes[3].fate == "unreached")
    moved = replace(
        node.draft_raw,
        probs=[node.draft_raw.probs[0] + 0.001, *node.draft_raw.probs[1:]],
        rest=node.draft_raw.rest - 0.001,
    )
    lie = with_node(trace, index, replace(node, draft_raw=moved))
    assert errors(check(lie)) == []
    found = audited(lie, folders)
    assert found.counts[DRAFT_HEADS].wrong == found.wrong == 2


@pytest.mark.parametrize("name", ["target_bits", "draft_bits", "kl_bits", "overlap"])
def test_a_changed_number_of_whole_distributions_is_found(run: Run, folders: dict[str, str], name: str) -> None:
    """Heads of ten tokens of sixty leave it open; the checkpoints do not."""
    trace = run()
    node = trace.rounds[1].nodes[0]
    moved = replace(node.agreement, **{name: getattr(node.agreement, name) - 0.001})
    lie = with_node(trace, 1, replace(node, agreement=moved))
    assert errors(check(lie)) == []
    assert [one.place for one in audited(lie, folders).differences] == [f"rounds[1].nodes[0].agreement.{name}"]


def test_a_changed_rank_is_found(run: Run, folders: dict[str, str]) -> None:
    trace = run()
    index, node = next(
        (this.index, node) for this in trace.rounds for node in this.nodes if node.rank is not None and node.rank > 20
    )
    lie = with_node(trace, index, replace(node, rank=node.rank + 1))
    assert errors(check(lie)) == []
    assert [one.place for one in audited(lie, folders).differences] == [f"rounds[{index}].nodes[{node.id}].rank"]


def test_a_divergence_is_infinite_where_the_draft_leaves_out_what_the_target_can_say(
    run: Run, folders: dict[str, str]
) -> None:
    trace = run(temperature=0.7, top_k=5)
    index, node = next(
        (this.index, node)
        for this in trace.rounds
        for node in this.nodes
        if node.agreement is not None and node.agreement.overlap is not None and node.agreement.kl_bits is None
    )
    lie = with_node(trace, index, replace(node, agreement=replace(node.agreement, kl_bits=9.0)))
    assert errors(check(lie)) == []
    assert [one.place for one in audited(lie, folders).differences] == [
        f"rounds[{index}].nodes[{node.id}].agreement.kl_bits"
    ]


def test_every_model_of_merged_drafts_is_recomputed(run: Run, folders: dict[str, str]) -> None:
    """A candidate of the second model that a falsified q would have let pass, or not."""
    trace = run(drafter="merged", seed=5)
    found = audited(trace, folders)
    assert found.not_recomputed == ()
    assert found.counts[TRIALS].compared == 3 * sum(len(this.judged.trials) for this in trace.rounds)
    index, node = next(
        (this.index, node)
        for this in trace.rounds
        for node in this.nodes
        if node.source == "model_2" and node.fate == "unreached"
    )
    lie = with_node(trace, index, replace(node, draft_prob=node.draft_prob + 0.01))
    assert errors(check(lie)) == []
    assert [one.place for one in audited(lie, folders).differences] == [f"rounds[{index}].nodes[{node.id}].draft_prob"]


def test_each_model_of_merged_drafts_is_held_against_its_own_hash(run: Run, folders: dict[str, str]) -> None:
    with pytest.raises(ModelError, match="weights of tiny-second whose hash begins"):
        audited(run(drafter="merged"), {**folders, "tiny-second": folders["tiny-drafter"]})


def test_trials_and_last_tokens_are_judged_from_the_checkpoints_and_not_from_the_record(
    run: Run, folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record of lies that agree with each other, which no check can find."""
    monkeypatch.setattr("specviz.live.audit.audit.check", lambda trace: [])
    trace = run()
    index = next(this.index for this in trace.rounds if this.judged.residual is not None)
    this = trace.rounds[index]
    first = this.judged.trials[0]
    lied = replace(
        first, accepted=not first.accepted, threshold=1.0 - first.threshold, target_prob=first.target_prob + 0.01
    )
    judged = replace(
        this.judged, trials=[lied, *this.judged.trials[1:]], residual_mass=(this.judged.residual_mass or 0) + 0.01
    )
    judged = replace(judged, token=(judged.token + 7) % 60)
    rounds = [replace(this, judged=judged) if one.index == index else one for one in trace.rounds]
    found = audited(replace(trace, rounds=rounds), folders)
    wrong = {kind: count.wrong for kind, count in found.counts.items()}
    assert wrong[TRIALS] >= 2
    assert wrong[VERDICTS] >= 1
    assert wrong[RESIDUALS] >= 1
    assert wrong[LAST_TOKENS] == 1


@pytest.mark.parametrize("name", ["traversal, hardly anything left", "traversal, drawn from what is not recomputed"])
def test_a_changed_reach_is_found_where_what_rejected_leaves_left_is_not_recomputed(
    name: str, run: Run, folders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By how much a path was reached before its last leaf was rejected is known all the same."""
    monkeypatch.setattr("specviz.live.audit.audit.check", lambda trace: [])
    trace = run(**SOUND[name])
    this, place = next(
        (this, place)
        for this in trace.rounds
        for place, trial in enumerate(this.judged.trials)
        if "left" in trial.terms and trial.terms["reach"] < 0.9
    )
    trials = list(this.judged.trials)
    terms = trials[place].terms
    trials[place] = replace(trials[place], terms={**terms, "reach": terms["reach"] + 0.1})
    lied = replace(this, judged=replace(this.judged, trials=trials))
    rounds = [lied if one.index == this.index else one for one in trace.rounds]
    found = audited(replace(trace, rounds=rounds), folders)
    assert [one.place for one in found.differences] == [f"rounds[{this.index}].judged.trials[{place}].terms.reach"]


def test_a_changed_text_is_found(run: Run, folders: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specviz.live.audit.audit.check", lambda trace: [])
    trace = run()
    lie = replace(trace, finished=replace(trace.finished, text=trace.finished.text + "!"))
    assert [one.place for one in audited(lie, folders).differences] == ["finished.text"]


def test_a_trace_that_contradicts_itself_is_refused(run: Run, folders: dict[str, str]) -> None:
    trace = run()
    with pytest.raises(TraceError, match="contradicts itself"):
        audited(replace(trace, finished=replace(trace.finished, text="other")), folders)


def test_a_simulated_run_is_refused(run: Run, folders: dict[str, str]) -> None:
    trace = run()
    with pytest.raises(TraceError, match="no checkpoint stands behind"):
        audited(replace(trace, started=replace(trace.started, source="simulated")), folders)


def test_a_cancelled_audit_ends_with_what_it_has(run: Run, folders: dict[str, str]) -> None:
    steps = list(LiveSource(measure=False).audit(run(), lambda: True, folders))
    assert [(one.done, one.complete) for one in steps] == [(0, False)]


def shipped(name: str) -> Trace:
    return read(Path(__file__).parents[2] / "assets" / "traces" / f"{name}.json.gz")


def with_header(trace: Trace, **fields: Any) -> Trace:
    """The same run under another header, sealed anew."""
    started = replace(trace.started, **fields)
    return replace(trace, started=replace(started, run_id=seal(started)))


def drafter_options(trace: Trace, **options: Any) -> Trace:
    card = trace.started.drafter
    return with_header(trace, drafter=replace(card, options={**card.options, **options}))


@pytest.mark.parametrize("name", ["drafter-early-exit", "drafter-vocabtrim"])
def test_what_a_drafter_makes_of_a_checkpoint_by_its_options_is_recomputed(name: str) -> None:
    found = audited(shipped(name), {})
    assert (found.wrong, found.counts[DRAFT_HEADS].compared > 100) == (0, True)


@pytest.mark.parametrize(
    ("name", "option"), [("drafter-early-exit", {"exit_layer": 3}), ("drafter-vocabtrim", {"head_size": 64})]
)
def test_another_exit_layer_or_head_size_is_found(name: str, option: dict[str, int]) -> None:
    assert audited(drafter_options(shipped(name), **option), {}).counts[DRAFT_HEADS].wrong > 10


def test_other_end_ids_are_found() -> None:
    trace = shipped("growth-eagle2")
    assert trace.started.eos_ids == [0]
    found = audited(with_header(trace, eos_ids=[0, 3000]), {})
    assert [one.place for one in found.differences] == ["started.eos_ids"]


def test_a_drafter_that_is_said_to_weigh_less_is_found() -> None:
    trace = shipped("growth-eagle2")
    model = trace.started.drafter.model
    lighter = replace(trace.started.drafter, model=replace(model, read_per_pass=model.read_per_pass // 2))
    rounds = [
        replace(this, drafted=replace(this.drafted, passes=[replace(one, read=(one.read or 0) // 2) for one in passes]))
        for this in trace.rounds
        for passes in [this.drafted.passes]
    ]
    found = audited(with_header(replace(trace, rounds=rounds), drafter=lighter), {})
    assert [one.place for one in found.differences] == ["started.drafter.model.read_per_pass"]


def test_lanes_and_exhibits_are_named_as_held_against_the_trace_alone() -> None:
    found = audited(shipped("pearl-story"), {})
    assert any("lanes are held against the trace alone" in gap for gap in found.not_recomputed)
    assert found.wrong == 0


def test_a_race_is_won_by_the_token_that_is_soonest_and_by_another_within_rounding_alone() -> None:
    times = np.array([1.0, 0.3, 0.1])
    known = Law(np.array([0.5, 0.25, 0.25]), np.zeros(3))  # at 2, 1.2 and 0.4
    assert [known.wins(token, times.copy()) for token in range(3)] == [False, False, True]
    unsure = Law(known.probs, np.array([0.0, 0.15, 0.15]))  # the second from 0.75 on, the third from 0.25 to 1
    assert [unsure.wins(token, times.copy()) for token in range(3)] == [False, True, True]


@pytest.mark.slow
def test_a_recorded_run_that_goes_by_races_is_what_the_checkpoints_give() -> None:
    *_, last = audit(read(ROOT / "traces" / "verifier-coupled.json.gz"))
    assert (last.wrong, last.counts[LAST_TOKENS].compared) == (0, 5)
