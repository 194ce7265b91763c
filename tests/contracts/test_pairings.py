"""Which methods may run together, written out: a check that refuses everything, or nothing, fails here.

Methods that are named nowhere below (plug-ins) are held to their declarations by the other contracts alone.
"""

from dataclasses import replace

import pytest

from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS, DraftPolicies
from specviz.engine.pairing import check_pairing, follow
from specviz.errors import OptionError, PairingError
from specviz.live.source import collect
from specviz.options import OptionDescription, Options, describe, from_mapping, to_mapping
from specviz.proof.small_models import option_sets, stop_policy_sets, tree_policy_sets
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.stop_policies.base import STOP_POLICIES
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS
from tests.proof.letters import toy_source

EVERY = {
    *("cross_vocabulary", "early_exit", "jacobi", "lookahead", "model", "ngram", "none"),
    *("merged", "rasd", "rest", "self_speculative", "suffix", "token_recycling", "vocabtrim"),
    *("cross_kv", "hydra", "kangaroo", "markov", "masked_block", "medusa"),
    *("amusd", "pearl", "ssd", "dflash", "dspark"),
}
PLANNED = {"hydra", "markov", "masked_block", "medusa"}
TREES = {"lookahead", "merged", "rasd", "rest", "suffix", "token_recycling", *PLANNED}
DRAWN = {
    *("cross_kv", "cross_vocabulary", "dflash", "dspark", "early_exit", "kangaroo", "model", "none"),
    *("self_speculative", "vocabtrim"),
}
"""with the first options of the proof: chains that are drawn i.i.d. above temperature 0"""
JUDGES: dict[str, tuple[set[str], set[str]]] = {
    # verifier: drafters that it judges at temperature 0, above it
    "block": (EVERY - TREES, EVERY - TREES),
    "greedy": (EVERY, set()),
    "kseq": ({"none"}, DRAWN),
    "lenience": (EVERY, EVERY),
    "longest_path": (EVERY, EVERY),
    "naive": (EVERY, EVERY),
    "sequential": (EVERY, EVERY),
    "specinfer": ({"none"}, {*DRAWN, "merged"}),
    "traversal": (EVERY, EVERY),
    "typical": (EVERY, EVERY),
}
ANY_TREE = {"lenience", "longest_path", "naive", "sequential", "traversal", "typical"}
IID = {"kseq", "specinfer"}
GROWN: dict[str, list[set[str]]] = {
    # tree policy: the verifiers of its trees above temperature 0, one set per option set of the proof
    "chain": [ANY_TREE | IID | {"block"}],
    "ddtree": [ANY_TREE] * 2,
    "dyspec": [ANY_TREE] * 2,
    "eagle2": [ANY_TREE],
    "levels": [ANY_TREE, ANY_TREE, ANY_TREE | IID],
    "rsd_c": [ANY_TREE],
    "rsd_s": [ANY_TREE] * 2,
    "sequoia": [ANY_TREE],
    "target_init": [{"longest_path"}],
}
GROWING = {
    *("cross_kv", "cross_vocabulary", "dflash", "dspark", "early_exit", "kangaroo", "merged", "model", "rasd"),
    *("self_speculative", "vocabtrim"),
    *PLANNED,
}
STOPPED: dict[str, tuple[set[str], set[str]]] = {
    # stop policy: drafters that it can stop at temperature 0, above it
    "confidence": (GROWING, GROWING),
    "decision": (GROWING, GROWING),
    "disco": (GROWING, GROWING),
    "draft_verify": (GROWING, GROWING),
    "entropy": (GROWING, GROWING),
    "fixed": (EVERY, EVERY),
    "heuristic": (GROWING, GROWING),
    "oracle": (GROWING, set()),
    "specdecpp": ({"model"}, {"model"}),
    "survival": (GROWING, GROWING),
}
WARMTH = (0.0, 0.9)
MODEL = DRAFTERS.get("model")


def allowed(
    drafter, verifier: str, temperature: float, draft_policies: DraftPolicies | None = None, **options: object
) -> bool:
    made = drafter.of(options)
    try:
        follow(made, draft_policies or DraftPolicies())
        check_pairing(made, VERIFIERS.get(verifier), Sampling(temperature))
    except PairingError:
        return False
    return True


@pytest.mark.parametrize("verifier", JUDGES)
def test_each_verifier_judges_these_drafters_and_no_others(verifier):
    for temperature, expected in zip(WARMTH, JUDGES[verifier], strict=True):
        found = {
            name for name in EVERY if allowed(DRAFTERS.get(name), verifier, temperature, None, **option_sets(name)[0])
        }
        assert found == expected, temperature


@pytest.mark.parametrize("tree_policy", GROWN)
def test_the_trees_of_each_policy_are_judged_by_these_verifiers_and_no_others(tree_policy):
    kind = TREE_POLICIES.get(tree_policy)
    for options, expected in zip(tree_policy_sets(tree_policy), GROWN[tree_policy], strict=True):
        draft_policies = DraftPolicies(kind.of(options))
        assert {name for name in JUDGES if allowed(MODEL, name, 0.9, draft_policies)} == expected, options


@pytest.mark.parametrize("stop", STOPPED)
def test_each_stop_policy_stops_these_drafters_and_no_others(stop):
    kind = STOP_POLICIES.get(stop)
    for temperature, expected in zip(WARMTH, STOPPED[stop], strict=True):
        draft_policies = DraftPolicies(stop_policy=kind.of(stop_policy_sets(stop)[0]))
        found = {
            name
            for name in EVERY
            if allowed(DRAFTERS.get(name), "sequential", temperature, draft_policies, **option_sets(name)[0])
        }
        assert found == expected, temperature


@pytest.mark.parametrize(("turn", "verifier"), list(enumerate(JUDGES)))
def test_what_is_allowed_runs_to_its_end_and_what_is_refused_says_beforehand_why(turn, verifier):
    """Every third drafter runs, from verifier to verifier another third; tests/proof/test_lossless.py walks all."""
    source = toy_source()
    request = RunRequest("abcab", verifier=Choice(verifier), max_new_tokens=4)
    for temperature, judged in zip(WARMTH, JUDGES[verifier], strict=True):
        for place, name in enumerate(sorted(EVERY)):
            asked = replace(request, drafter=Choice(name, option_sets(name)[0]), temperature=temperature)
            reason = source.explain(asked)
            assert (reason is None) == (name in judged)
            if reason is not None:
                with pytest.raises(PairingError) as refused:
                    collect(source, asked)
                assert str(refused.value) == reason
            elif place % 3 == turn % 3:
                assert collect(source, asked).finished.reason == "length"


def other_values(kind: type[Options], described: OptionDescription) -> dict[str, object]:
    """A legal value of an option that is not its default, and what else must be set for it."""
    bounds = [bound for bound in (described.minimum, described.maximum) if bound is not None]
    default = described.default
    if isinstance(default, bool):
        tries: list[object] = [not default]
    elif isinstance(default, str):
        tries = [*described.choices, "0.4,0.3", "0; 0,0"]
    elif isinstance(default, tuple):
        tries = [(2, 1), (1,)]
    else:
        tries = [*bounds, default + 1, default - 1]
    needed = next((one for one in describe(kind) if one.name == described.needs), None)
    beside: dict[str, object] = {}
    if needed is not None:
        beside[needed.name] = needed.choices[-1] if needed.choices else needed.default or True
    if described.unless:
        other = next(one for one in describe(kind) if one.name == described.unless)
        beside[other.name] = () if other.type == "ints" else 0
    for value in tries:
        values = {described.name: type(default)(value), **beside}
        try:
            kind(**values)
        except OptionError:
            continue
        if value != default:
            return values
    raise AssertionError(f"no other value of {kind.__name__}.{described.name} is legal")


METHODS = [*DRAFTERS.items(), *VERIFIERS.items(), *TREE_POLICIES.items(), *STOP_POLICIES.items()]


@pytest.mark.parametrize(("name", "method"), METHODS, ids=[name for name, _ in METHODS])
def test_every_option_survives_the_way_through_text(name, method):
    """As a flag, a link or a form gives it: a value that is not the default, written down and read again."""
    kind = method.options_type
    for described in describe(kind):
        values = other_values(kind, described)
        texts = {
            one: ",".join(map(str, value)) if isinstance(value, tuple) else str(value) for one, value in values.items()
        }
        read = from_mapping(kind, texts)
        assert {one: getattr(read, one) for one in values} == values
        assert read != kind()
        assert from_mapping(kind, to_mapping(read)) == read
