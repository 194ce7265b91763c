"""Every invariant, broken once: the check names the place and says what is wrong."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.errors import TraceError
from specviz.trace.check import Problem, check, errors, read_checked
from specviz.trace.codec import loads
from tests.trace.changing import SAMPLE, Data, as_text, changed, get, put, sample, sample_data

CHAIN, TREE, NGRAM, EMPTY, FULL = "rounds[0]", "rounds[1]", "rounds[2]", "rounds[4]", "rounds[5]"
LAST = "rounds[7]"
"""rounds: a chain, a tree without replacement, point masses, nothing drafted, all accepted, cut short"""
TOP = "rounds[0].nodes[{}].target.tokens"
SPAN = {"lane": "drafter", "what": "draft", "start_s": 0.001, "end_s": 0.002, "tokens": 3}


def said(problems: list[Problem]) -> str:
    return "\n".join(map(str, problems))


def test_the_sample_shows_every_case() -> None:
    """What the other tests break must be there: this list is why the sample looks as it does."""
    rounds = sample().rounds
    assert {one.judged.origin for one in rounds} == {"correction", "bonus", "target"}
    assert {node.fate for one in rounds for node in one.nodes} == {"root", "accepted", "rejected", "unreached"}
    kinds = {node.kind for one in rounds for node in one.nodes}
    assert kinds == {"root", "iid", "without_replacement", "point_mass"}
    assert rounds[7].committed.trimmed == "stop"
    assert rounds[3].judged.path == []
    assert [trial.accepted for trial in rounds[1].judged.trials] == [False, False, True, True, True]


BROKEN: list[tuple[str, Data, str]] = [
    # the tree
    ("a sibling repeats a token", {f"{TREE}.nodes[2].token": 28}, "nodes[2].token is 28, the same as its sibling 1"),
    ("a head grows", {f"{TREE}.nodes[0].target.probs[1]": 0.9}, "nodes[0].target.probs is not in decreasing order"),
    ("mass is missing", {f"{TREE}.nodes[0].target.rest": 0.3}, "nodes[0].target sums to"),
    ("draft mass is missing", {f"{TREE}.nodes[0].draft.rest": 0.9}, "nodes[0].draft sums to"),
    ("a negative probability", {f"{TREE}.nodes[0].target.rest": -0.1}, "target holds a value outside 0 to 1"),
    ("a token twice in a head", {f"{TREE}.nodes[0].target.tokens[1]": 12}, "target.tokens names a token twice"),
    ("p is not the parent's", {f"{CHAIN}.nodes[3].target_prob": 0.4}, "nodes[3].target_prob is 0.4, but its parent"),
    ("q is not the parent's", {f"{CHAIN}.nodes[3].draft_prob": 0.9}, "nodes[3].draft_prob is 0.9, but its parent"),
    ("p above 1", {f"{CHAIN}.nodes[3].target_prob": 1.5}, "nodes[3].target_prob is 1.5, but a probability lies"),
    ("p above the rest", {f"{NGRAM}.nodes[3].target_prob": 0.5, f"{NGRAM}.nodes[3].token": 21}, "leaves at most"),
    ("a soft point mass", {f"{NGRAM}.nodes[1].draft_prob": 0.5}, "draft_prob is 0.5, but a point mass has proposal"),
    ("a spread target at zero", {"started.sampling.temperature": 0}, "spread out, but at temperature 0 it is a point"),
    # the verdicts
    (
        "u above the threshold",
        {f"{CHAIN}.judged.trials[0].u": 0.999999, f"{CHAIN}.judged.trials[0].threshold": 0.5},
        "trials[0] is accepted with u 0.999999 and threshold 0.5",
    ),
    ("u below the threshold", {f"{CHAIN}.judged.trials[2].u": 0.1}, "trials[2] is rejected with u 0.1"),
    ("u outside [0, 1)", {f"{CHAIN}.judged.trials[2].u": 1.0}, "u is 1.0, but a uniform draw lies in [0, 1)"),
    ("another threshold", {f"{CHAIN}.judged.trials[2].threshold": 0.21}, "threshold is 0.21, but min(1, p/q) is"),
    ("a threshold above 1", {f"{CHAIN}.judged.trials[2].threshold": 1.2}, "trials[2].threshold is 1.2, but must lie"),
    ("a trial off the path", {f"{TREE}.judged.trials[3].node": 4}, "walk stands at node 3, which is not its parent"),
    ("a trial twice", {f"{TREE}.judged.trials[1].node": 1}, "trials[1].node is 1, which was tried before"),
    (
        "siblings out of order",
        {f"{TREE}.judged.trials[0].node": 2, f"{TREE}.judged.trials[1].node": 1},
        "tries the children of node 0 as [2, 1, 3], but they were drawn as [1, 2, 3]",
    ),
    (
        "a path that jumps",
        {f"{TREE}.judged.path": [3, 14], f"{TREE}.judged.final_node": 14},
        "which is no child of node 3",
    ),
    ("a path too short", {f"{TREE}.judged.path": [3, 8]}, "path is [3, 8], but the accepted trials are [3, 8, 14]"),
    ("a wrong final node", {f"{TREE}.judged.final_node": 8}, "judged.final_node is 8, but the path ends at 14"),
    ("unreached, though tried", {f"{CHAIN}.nodes[3].fate": "unreached"}, "'unreached', but the trials say 'rejected'"),
    ("rejected, though never tried", {f"{CHAIN}.nodes[4].fate": "rejected"}, "but the trials say 'unreached'"),
    ("accepted, though off the path", {f"{TREE}.nodes[1].fate": "accepted"}, "but the trials say 'rejected'"),
    # the last token
    ("a bonus after a rejection", {f"{CHAIN}.judged.origin": "bonus"}, "is 'bonus', but the final node has children"),
    ("a correction at a leaf", {f"{FULL}.judged.origin": "correction"}, "is 'correction', but a whole path"),
    ("a bonus out of nothing", {f"{EMPTY}.judged.origin": "bonus"}, "is 'bonus', but nothing was drafted"),
    (
        "a residual at a leaf",
        {f"{FULL}.judged.residual": {"tokens": [21], "probs": [1], "rest": 0}},
        "is given for a bonus",
    ),
    ("a residual that is none", {f"{CHAIN}.judged.residual.rest": 0.9}, "judged.residual sums to"),
    ("a residual mass above 1", {f"{CHAIN}.judged.residual_mass": 1.5}, "residual_mass is 1.5"),
    ("u of the last token", {f"{CHAIN}.judged.u": 1.0}, "judged.u is 1.0, but a uniform draw"),
    ("the rejected token again", {f"{CHAIN}.judged.token": 25}, "is 25, but node 3 with this token was rejected"),
    (
        "a token without mass",
        {f"{FULL}.judged.token": 3, f"{FULL}.nodes[4].target": {"tokens": [21, 3], "probs": [1, 0], "rest": 0}},
        "judged.token is 3, but has no mass",
    ),
    ("forced out of nowhere", {f"{EMPTY}.judged.origin": "forced"}, "is 'forced', but only a branch's first round"),
    # what was committed
    ("another token committed", {f"{CHAIN}.committed.tokens[0].token": 10}, "is [10, 10, 11], but path and last"),
    ("another origin committed", {f"{CHAIN}.committed.tokens[2].origin": "bonus"}, "names other nodes or origins"),
    ("another node committed", {f"{CHAIN}.committed.tokens[1].node": 1}, "names other nodes or origins"),
    ("cut without a reason", {f"{LAST}.committed.trimmed": None}, "trimmed is None with 2 tokens cut off"),
    ("a reason without a cut", {f"{CHAIN}.committed.trimmed": "eos"}, "trimmed is eos with 0 tokens cut off"),
    ("everything cut", {f"{LAST}.committed.trimmed_tokens": 4}, "is 4, but of 4 tokens at least one stays"),
    ("cut in the middle of a run", {f"{CHAIN}.committed.trimmed": "eos"}, "is set, but only the last round can be cut"),
    # the cache
    ("rows before", {f"{TREE}.committed.cache_before": 9}, "is 9, but all committed tokens but the root are 10"),
    ("rows of the pass", {f"{TREE}.scored.target_pass.rows": 15}, "is 15, but the target scores all 16 nodes"),
    ("cached rows of the pass", {f"{TREE}.scored.target_pass.cached_rows": 9}, "is 9, but cache_before is 10"),
    ("rows kept", {f"{TREE}.committed.cache_kept": 15}, "cache_kept is 15, but prefix and accepted path are 14"),
    ("rows dropped", {f"{TREE}.committed.cache_dropped": 3}, "is 3, but of 16 new rows this does not add up"),
    # the run
    ("a base length", {f"{TREE}.base_length": 12}, "base_length is 12, but 11 tokens were committed before it"),
    ("a first base length", {f"{CHAIN}.base_length": 9}, "rounds[0].base_length is 9, but 8 tokens were committed"),
    ("a root", {f"{TREE}.nodes[0].token": 10}, "nodes[0].token is 10, but the last committed token is 11"),
    ("cache rows between rounds", {f"{CHAIN}.committed.cache_kept": 11}, "is 10, but the round before kept 11"),
    ("a round before its predecessor", {f"{TREE}.start_s": 99.0}, "rounds[2].start_s is"),
    ("the decode time", {"finished.decode_s": 1.0}, "decode_s is 1, but the rounds add up to"),
    ("the output", {"finished.output_ids[0]": 10}, "output_ids is not what the rounds committed"),
    ("too much output", {"started.max_new_tokens": 19}, "has 20 ids, but at most 19 were asked for"),
    ("the text", {"finished.text": "def"}, "text is not what the bytes of the output ids decode to"),
    ("an end that is none", {"finished.reason": "eos"}, "is 'eos', but the output ends with what makes it 'stop'"),
    ("a stop that is none", {"started.stop": ["FIN"]}, "is 'stop', but no stop string occurs in the text"),
    ("another reason than the cut", {"finished.reason": "length"}, "is 'length', but the last round was cut for"),
    ("display text that lies", {"vocab.13.text": "<i>"}, "vocab[13].text is not what its bytes decode to"),
    # the clock
    ("a round inside its predecessor", {f"{TREE}.start_s": 0.001}, "rounds[1].start_s is 0.001, which lies inside the"),
    ("a pass longer than its phase", {f"{CHAIN}.drafted.passes[0].seconds": 9.0}, "drafted.seconds is less than its"),
    (
        "a pass longer than scoring",
        {f"{CHAIN}.scored.target_pass.seconds": 9.0},
        "scored.seconds is less than its pass",
    ),
    ("a gap that nothing explains", {"finished.record_s": 0.001}, "record_s is 0.001, but 0.0035 seconds lie between"),
    (
        "lanes of which nothing was drafted in time",
        {f"{CHAIN}.drafted.lanes": [SPAN]},
        "rounds[0].drafted.lanes hold 3 tokens drafted before the target's pass, but 4 candidates were proposed",
    ),
    (
        "two things at once",
        {f"{CHAIN}.drafted.lanes": [SPAN, SPAN | {"start_s": 0.001998, "end_s": 0.003}]},
        "lanes[1].start_s is 0.001998, but this lane was busy until 0.002",
    ),
    (
        "a span after its round",
        {f"{CHAIN}.drafted.lanes": [SPAN | {"end_s": 0.5}]},
        "lanes[0].end_s is 0.5, but the round",
    ),
    (
        "an end before a beginning",
        {f"{CHAIN}.drafted.lanes": [SPAN | {"end_s": 0.0005}]},
        "0.0005, but it began at 0.001",
    ),
    (
        "a roll back that takes time",
        {f"{CHAIN}.drafted.lanes": [SPAN | {"what": "roll back"}]},
        "rounds[0].drafted.lanes[0].end_s is 0.002, but a roll back at 0.001 takes no time",
    ),
    # p and Q of the trials
    (
        "another p of a trial",
        {f"{NGRAM}.judged.trials[0].target_prob": 0.6, f"{NGRAM}.judged.trials[0].threshold": 0.6},
        "rounds[2].judged.trials[0].target_prob is 0.6, but the nodes give 0.62",
    ),
    (
        "another Q of a later sibling",
        {f"{TREE}.judged.trials[1].draft_prob": 0.29, f"{TREE}.judged.trials[1].threshold": 0.25 / 0.29},
        "rounds[1].judged.trials[1].draft_prob is 0.29, but the nodes give 0.3",
    ),
    # the summary
    ("spec steps", {"summary.num_spec_steps": 8}, "sums to 7, but there are 8 spec steps"),
    ("the histogram", {"summary.acceptance_histogram": [0, 3, 1, 2, 1]}, "holds 15 accepted tokens, but 14 are"),
    ("more accepted than drafted", {"summary.num_draft_tokens": 13}, "is larger than the number of drafted tokens"),
    ("the rate", {"summary.draft_acceptance_rate": 0.38}, "draft_acceptance_rate is 0.38, but the rounds give 0.388"),
    ("the length", {"summary.mean_acceptance_length": 2.0}, "mean_acceptance_length is 2.0, but the rounds give 3.0"),
    ("by depth", {"summary.acceptance_by_depth[0]": [7, 7]}, "acceptance_by_depth is [[7, 7],"),
    ("passes", {"summary.num_target_passes": 7}, "num_target_passes is 7, but the rounds give 8"),
    ("output tokens", {"summary.num_output_tokens": 22}, "num_output_tokens is 22, but the rounds give 20"),
    ("a speed of a simulation", {"summary.tokens_per_second": 100.0}, "is 100.0, but the rounds give None"),
]


@pytest.mark.parametrize(("edits", "sentence"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_broken_rule_is_named(edits: Data, sentence: str) -> None:
    assert sentence in said(errors(check(changed(edits))))


def test_p_after_rejected_point_masses_loses_their_mass() -> None:
    """Two retrieved siblings, p = 0.5 and 0.25: the second is tried against 0.25 / (1 - 0.5) = 0.5."""
    data = json.loads(as_text({}))
    twin = data["rounds"][2]
    for id_, p in ((1, 0.5), (2, 0.25)):
        twin["nodes"][id_] |= {"parent": 0, "depth": 1, "target_prob": p}
    twin["nodes"][0]["target"] = {"tokens": [14, 25], "probs": [0.5, 0.25], "rest": 0.25}
    trial = {"target_prob": 0.5, "draft_prob": 1.0, "threshold": 0.5, "u": 0.9, "accepted": False}
    twin["judged"] |= {"trials": [trial | {"node": 1}, trial | {"node": 2}], "path": [], "final_node": 0}
    twin["nodes"][3] |= {"parent": 1, "depth": 2}
    sentences = said(check(loads(json.dumps(data))))
    assert "trials[1].target_prob" not in sentences
    twin["judged"]["trials"][1] |= {"target_prob": 0.25, "threshold": 0.25}
    assert "trials[1].target_prob is 0.25, but the nodes give 0.5" in said(check(loads(json.dumps(data))))
    twin["nodes"][2] |= {"token": 14, "source": "other", "target_prob": 0.5}
    assert "trials[1].target_prob is 0.25, but the nodes give 0" in said(check(loads(json.dumps(data))))


def greedy() -> Data:
    """The sample's first round, alone and at temperature 0: every target a point mass, trials without u."""
    data = sample_data()
    data["started"]["sampling"]["temperature"] = 0.0
    data["started"]["verifier"]["name"] = "greedy"
    data["rounds"] = data["rounds"][:1]
    first = data["rounds"][0]
    for node, token in zip(first["nodes"], [9, 10, 11, 12, 6], strict=True):
        node |= {"target": {"tokens": [token], "probs": [1.0], "rest": 0.0}, "agreement": None}
    for node, p in zip(first["nodes"][1:], [1.0, 1.0, 0.0, 1.0], strict=True):
        node["target_prob"] = p
    for trial in first["judged"]["trials"]:
        trial |= {"u": None, "threshold": float(trial["accepted"]), "target_prob": float(trial["accepted"])}
    first["judged"] |= {"rule": "greedy", "residual": None, "residual_mass": None, "u": None}
    data["finished"] |= {"reason": "cancelled", "output_ids": [9, 10, 11], "text": "    return a", "decode_s": 0.0195}
    data["summary"] |= {
        "num_spec_steps": 1, "num_draft_tokens": 4, "num_accepted_draft_tokens": 2, "draft_acceptance_rate": 0.5,
        "mean_acceptance_length": 3.0, "acceptance_histogram": [0, 0, 1, 0, 0], "num_target_passes": 1,
        "acceptance_by_depth": [[1, 1], [1, 1], [1, 0], [1, 0]], "num_output_tokens": 3,
    }  # fmt: skip
    return data


def forced(token: int) -> Data:
    """The sample's round without a draft, alone, as a branch that forces `token` where the target drew 8."""
    data = sample_data()
    data["started"] |= {
        "branch": {"run_id": "parent", "round": 3, "forced_token": token},
        "prompt_ids": [1, 16],
        "prompt_text": "def{{x}}",
    }
    only = data["rounds"][4]
    data["rounds"] = [only | {"index": 0, "base_length": 2, "start_s": 0.0}]
    only = data["rounds"][0]
    only["judged"] |= {"token": token, "origin": "forced", "rule": "forced", "u": None}
    only["committed"] |= {"tokens": [{"token": token, "origin": "forced", "node": None}], "cache_before": 1}
    only["committed"]["cache_kept"] = 2
    only["scored"]["target_pass"]["cached_rows"] = 1
    data["finished"] |= {"reason": "cancelled", "output_ids": [token], "text": "def", "decode_s": 0.0115}
    data["summary"] |= {
        "num_spec_steps": 0, "num_draft_tokens": 0, "num_accepted_draft_tokens": 0, "draft_acceptance_rate": None,
        "mean_acceptance_length": None, "acceptance_histogram": [], "num_target_passes": 1,
        "acceptance_by_depth": [], "num_output_tokens": 1,
    }  # fmt: skip
    return data


def branch_cancelled_at_once() -> Data:
    """Its forced token was never committed, so the vocabulary need not know it."""
    data = forced(1)
    del data["vocab"]["2"]
    data["started"]["branch"]["forced_token"] = 2
    data["rounds"] = []
    data["finished"] |= {"output_ids": [], "text": "", "decode_s": 0.0}
    data["summary"] |= {"num_target_passes": 0, "num_output_tokens": 0}
    return data


def without_distributions() -> Data:
    """What a benchmark keeps: empty heads with all mass in the rest."""
    data = sample_data()
    for node in (node for this in data["rounds"] for node in this["nodes"]):
        node |= {"target": {"tokens": [], "probs": [], "rest": 1.0}, "draft": None}
    return data


@pytest.mark.parametrize(
    "data",
    [sample_data(), greedy(), forced(1), branch_cancelled_at_once(), without_distributions()],
    ids=["the sample", "greedy", "a forced token of little mass", "a branch cancelled at once", "no distributions"],
)
def test_a_sound_trace_keeps_every_rule(data: Data) -> None:
    assert check(loads(json.dumps(data))) == []


OTHERWISE: list[tuple[str, Data, Data, str]] = [
    (
        "a branch that forgets its forced token",
        forced(1),
        {"rounds[0].judged.origin": "target", "rounds[0].committed.tokens[0].origin": "target"},
        "is 'target', but this branch begins with the forced token 1",
    ),
    ("another forced token", forced(1), {"started.branch.forced_token": 2}, "is 'forced', but only a branch's first"),
    ("a failure without words", greedy(), {"finished.reason": "failed"}, "message is empty, but a failed run says"),
    ("accepted, not largest", greedy(), {TOP.format(0): [3]}, "[0] is accepted, but the largest logit is token 3"),
    ("last, not largest", greedy(), {TOP.format(2): [3]}, "judged.token is 11, but the largest logit is token 3"),
    ("rejected, largest", greedy(), {TOP.format(2): [25]}, "[2] is rejected, but the largest logit is token 25"),
]


@pytest.mark.parametrize(("data", "edits", "sentence"), [case[1:] for case in OTHERWISE], ids=[c[0] for c in OTHERWISE])
def test_a_broken_rule_of_a_branch_or_of_temperature_zero_is_named(data: Data, edits: Data, sentence: str) -> None:
    for place, value in edits.items():
        put(data, place, value)
    assert sentence in said(check(loads(json.dumps(data))))


def test_a_uniform_draw_equal_to_the_threshold_rejects() -> None:
    """u < threshold accepts, and 0 is a possible draw."""
    trial = get(sample_data(), f"{CHAIN}.judged.trials[1]")
    assert (trial["accepted"], trial["threshold"] < 1) == (True, True)
    sentences = said(errors(check(changed({f"{CHAIN}.judged.trials[1].u": trial["threshold"]})))).splitlines()
    assert [one for one in sentences if one.startswith(f"{CHAIN}.judged.trials[1]") and "accepted means u <" in one]


def test_another_engine_may_draw_its_last_token_without_a_uniform_number() -> None:
    """`torch.multinomial` is one that does; a trial's u is compared with its threshold and stays needed."""
    other, last, trial = (
        {"started.producer": "another engine 1.0"},
        f"{CHAIN}.judged.u",
        f"{CHAIN}.judged.trials[0].u",
    )
    assert check(changed({last: None, **other})) == []
    assert "trials[0].u is missing, but 'sequential' compares one" in said(check(changed({trial: None, **other})))
    assert "judged.u is missing, but 'sequential' draws the last token" in said(
        check(changed({last: None, "started.producer": "specviz 0.1.0"}))
    )


@pytest.mark.parametrize(
    ("rows", "cached", "told"),
    [
        ((1, 1), (7, 8), ""),  # the text of 8 tokens, then a candidate
        ((1, 1), (6, 7), ""),  # the first token has no row, for each stands with the state before it
        ((1, 1), (0, 0), ""),  # over the target's states, without rows of its own
        ((2, 1), (7, 9), "make 9 cached rows, but the text has 8 tokens"),
        ((1, 1), (7, 9), "is 9, but the pass before left 8"),
        ((1, 1), (0, 1), "make 1 cached rows, but the text has 8 tokens"),
    ],
)
def test_another_engines_drafter_reads_the_text_the_pairs_in_it_or_the_targets_states(
    rows: tuple[int, int], cached: tuple[int, int], told: str
) -> None:
    passes = [
        {"rows": new, "cached_rows": held, "seconds": 0.0, "depth": depth}
        for depth, (new, held) in enumerate(zip(rows, cached, strict=True), start=1)
    ]
    problems = errors(check(changed({f"{CHAIN}.drafted.passes": passes})))
    assert (told in said(problems)) if told else problems == []


def test_broken_indices_are_reported_alone() -> None:
    trace = sample()
    judged = replace(trace.rounds[0].judged, path=[7])
    broken = replace(trace, rounds=[replace(trace.rounds[0], judged=judged), *trace.rounds[1:]])
    assert said(check(broken)) == "rounds[0].judged.path[0] is 7, but this round has nodes 1 to 4."


def test_another_format_is_reported() -> None:
    assert "format is 'x'" in said(check(replace(sample(), format="x")))


def test_reading_checked_refuses_contradictions_but_no_warnings(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_bytes(SAMPLE.read_bytes())
    assert read_checked(tmp_path / "good.json") == sample()
    failed = greedy()
    failed["finished"] |= {"reason": "failed", "message": None}
    (tmp_path / "warning.json").write_text(json.dumps(failed))
    assert read_checked(tmp_path / "warning.json").finished.reason == "failed"
    (tmp_path / "false.json").write_text(as_text({"finished.text": "no"}))
    with pytest.raises(TraceError, match=r"^false\.json: finished\.text is not what the bytes"):
        read_checked(tmp_path / "false.json")


def test_every_edit_above_hits_a_place_that_exists() -> None:
    """A mistyped place would add an unknown field, which readers ignore, and test nothing."""
    data = sample_data()
    for _, edits, _ in BROKEN:
        for place in edits:
            get(data, place)
