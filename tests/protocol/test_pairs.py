"""Which pair a target belongs to, and what there is for it."""

from dataclasses import replace

from specviz.protocol.pairs import all_prompts, for_target, is_here, pair_named, pair_of
from specviz.protocol.runs import Catalog, ModelDescription
from tests.app.doubles import catalog, pairs


def both() -> Catalog:
    real = ModelDescription("smollm2", "target", "a real one", 0, available=False)
    return replace(catalog(), models=(*catalog().models, real), pairs=pairs())


def test_a_targets_pair_is_the_one_that_names_it_and_a_folder_has_none() -> None:
    named = {name: pair.name if (pair := pair_of(both(), name)) else None for name in ("target", "smollm2", "./mine")}
    assert named == {"target": "bundled", "smollm2": "smollm2", "./mine": None}
    assert (pair_named(both(), "nobody"), pair_of(catalog(), "target")) == (None, None)


def test_a_target_has_the_prompts_and_drafters_of_its_pair_and_one_of_no_pair_has_all() -> None:
    real, mine = for_target(both(), "smollm2"), for_target(both(), "./mine")
    assert [card.id for card in real.prompts] == ["ask-a"]
    assert [card.name for card in real.families] == ["ask"]
    assert [drafter.name for drafter in real.drafters] == ["none", "ngram"]
    assert [drafter.name for drafter in mine.drafters] == ["none", "model", "ngram"]
    assert mine == both()


def test_all_prompts_are_those_of_every_pair_each_once() -> None:
    assert [card.id for card in all_prompts(both())] == ["code-a", "code-b", "copy-a", "ask-a"]


def test_a_pair_is_here_where_its_target_is() -> None:
    assert [is_here(both(), pair) for pair in both().pairs] == [True, False]
