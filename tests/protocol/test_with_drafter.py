"""Another drafter on the same request: nothing of the one before is left behind."""

from dataclasses import fields

from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest

FULL = RunRequest(
    "x",
    drafter=Choice("model", {"gamma": 9}),
    tree_policy=Choice("levels", {"branching": [2, 1]}),
    stop_policy=Choice("confidence", {"threshold": 0.3}),
    stop_policy_weights={"bias": 1},
    memory="warm",
    memory_file="m",
    temperature=0.7,
    seed=3,
)


def changed(request):
    names = [one.name for one in fields(request)]
    return {name: getattr(request, name) for name in names if getattr(request, name) != getattr(FULL, name)}


def test_all_that_belonged_to_the_old_drafter_is_as_if_it_had_never_been_chosen():
    assert changed(FULL.with_drafter("ngram", {"gamma": 2})) == {
        "drafter": Choice("ngram", {"gamma": 2}),
        "tree_policy": Choice("auto"),
        "stop_policy": Choice("fixed"),
        "stop_policy_weights": None,
        "memory": "cold",
        "memory_file": "",
    }


def test_a_drafter_that_grows_its_drafts_too_may_keep_the_policies():
    assert changed(FULL.with_drafter("early_exit", keeps_policies=True)) == {
        "drafter": Choice("early_exit"),
        "memory": "cold",
        "memory_file": "",
    }
