"""Sweep files, sweep results, races and links of earlier releases, written once and never again: every later release
opens them."""

from pathlib import Path

from specviz.protocol import races
from specviz.protocol.links import read_request
from specviz.protocol.sweeps import store
from specviz.protocol.sweeps.definition import fingerprint
from specviz.protocol.sweeps.result import points_of
from specviz.protocol.sweeps.store import definition_of, read_definition, to_toml
from specviz.theory.rows import summarise

GOLDEN = Path(__file__).parents[1] / "golden"
LINK = (
    "TZDRboMwDEV_ZfJzVG1r1U35jr1tFQrBEASJo8SsRVX_fQ5sg7frY98r23eIiXxk0PDh8MkaBgVsUocF_QoFTTItYxLkqcFxI9Va6_-JrUORewoZ9B06470BfV"
    "RQJxOs60MH-vOoXi8PBV2iK7sSMeeIFv7IPqCemmWjd5nPTDEuCYCBE8UZNrg3sUuYHY0N6OfDSZzfmPq2X86oR7IDbGjnk0FGHzEZnhIW75sQitUgelUR9Mt"
    "BdEaUcGl7c6sCXiumAUvI-bSuJFfCV4CLAuvktbo1Y0ZpWQySDOVbPMcizcQEjx8"
)
"""`ask` of a request whose policies were called `growth` and `stopping`"""
PRESET = (
    "Tc3NCgIxDATgd8l5EY9LX0aqTWtg28Q09Yel727wsHgbvhmYHUS5ikEAWKAov-zuOX264M2lG4tQK26Z3picnqiUCdWp42NgM4qbu2EV1GhDEcL5tC6QNGb7DS"
    "sn3I6DC4sRtw5hh-tIBf1-ncf-r57zCw"
)
"""`choose` of the same release"""


def test_a_sweep_file_of_1_0_says_what_it_said() -> None:
    definition = read_definition(GOLDEN / "sweep-1.0.toml")
    assert (definition.gammas, definition.trees, definition.temperatures) == ((1, 3), ((3, 2),), (0.0, 0.7))
    assert [entry.label or entry.name for entry in definition.drafters] == ["model", "jacobi", "own"]
    assert definition.drafters[1].lengths == (4,)
    assert (definition.tree_policies, definition.stop_policies) == (("dyspec",), ("confidence",))
    assert (definition.drafters[2].tree_policy.name, definition.drafters[2].tree_policy.options) == (
        "dyspec",
        {"budget": 32},
    )
    assert definition.drafters[2].stop_policy.name == "entropy"
    assert definition_of(to_toml(definition)) == definition


def test_a_sweep_result_of_1_0_opens_with_every_run() -> None:
    result = store.read(GOLDEN / "sweep-1.0.json")
    assert (len(result.points), result.complete) == (8, True)
    assert result.definition_sha256 == fingerprint(result.definition), "under another name it is the same sweep"
    assert store.loads(store.dumps(result).encode()) == result
    rows = summarise(points_of(result))
    assert [(row.drafter, row.gamma, row.ratio.value) for row in rows] == [
        ("none", None, 1.0),
        ("model", 1, 2.0),
        ("model", 3, 2.0),
        ("model", None, 1.0),
    ]
    assert str(rows[3].policies) == "dyspec budget 8 · confidence"


def test_a_race_of_1_0_opens_with_its_traces_and_ratios() -> None:
    race = races.read(GOLDEN / "race-1.0.json")
    assert [(one.label, one.ratios) for one in race.runners] == [("plain decoding", (1.0,)), ("model γ 1", (2.0, 1.9))]
    assert [len(one.trace.rounds) for one in race.runners] == [8, 4]


def test_a_link_of_an_earlier_release_asks_for_the_same_run() -> None:
    request = read_request(LINK)
    assert (request.prompt, request.temperature, request.stop) == ("The cat", 0.7, ("\n",))
    assert (request.drafter.name, request.drafter.options) == ("model", {"gamma": 3, "branching": [3, 2]})
    assert (request.tree_policy.name, request.tree_policy.options) == ("dyspec", {"budget": 8})
    assert (request.stop_policy.name, request.stop_policy.options) == ("entropy", {"threshold": 0.4})
    assert (request.verifier.name, request.verifier.options) == ("block", {})


def test_a_preset_link_of_an_earlier_release_chooses_the_same_methods() -> None:
    request = read_request(PRESET)
    assert (request.drafter.name, request.tree_policy.name, request.tree_policy.options) == (
        "model",
        "dyspec",
        {"budget": 8},
    )
    assert (request.stop_policy.name, request.verifier.name, request.temperature) == ("fixed", "sequential", 0.8)
