"""Counting tokens of raw, drafter and target text."""

import pytest

from specviz.core.sampling import Sampling
from specviz.corpus.standard_library import Document
from specviz.errors import TrainingError
from specviz.studies.heads.measure import CountPlan, beginnings, continuations, count_all
from specviz.theory.token_frequencies import table_of, to_json
from tests.proof.letters import toy_loader

LOAD = toy_loader()
TARGET, DRAFTER = (LOAD(name, "cpu", "float64") for name in ("target", "drafter"))
PLAN = CountPlan(texts=2, tokens=5, raw_bytes=10)
FILES = [
    Document("one.py", "code", "aab" * 2),
    Document("two.py", "code", "ccd" * 2),
    Document("six.py", "code", "eee" * 2),
]


def table(**changes):
    return count_all(TARGET, DRAFTER, FILES, ["ab", "cd", "de"], PLAN, **changes)


def test_every_text_is_counted_by_token_and_says_what_it_is():
    heard = []
    found = table(done=heard.append)
    assert heard == ["raw", "drafter", "target", "held_out"]
    seen = {name: text.total for name, text in found.texts.items()}
    assert seen == {"raw": 12, "drafter": 10, "target": 10, "held_out": 15}
    assert found.texts["target"].what == (
        "text of table-6-1 at temperature 1, 5 tokens after each of 2 beginnings cut from training text"
    )
    assert found.texts["held_out"].what.endswith("of 3 prompts of the set")
    assert found.texts["drafter"].weights_sha256 == DRAFTER.info.weights_sha256
    assert found.texts["raw"].counts[0] == 0


def test_the_same_plan_counts_the_same_and_can_be_kept(tmp_path):
    assert to_json(table()) == to_json(table())
    (tmp_path / "toy.json").write_text(to_json(table()), encoding="utf-8")
    assert table_of(TARGET.tokenizer.sha256, tmp_path) == table()


def test_a_model_goes_on_by_its_own_law_and_its_beginning_is_not_counted():
    found = list(continuations(TARGET, ["abc"] * 40, PLAN))
    assert {tuple(beginning) for beginning, _ in found} == {(1, 2, 3)}
    texts = [text for _, text in found]
    assert [len(text) for text in texts] == [5] * 40
    assert len({text[0] for text in texts}) > 1, f"sampled at {Sampling(1.0)}, with a seed per text"


def test_beginnings_are_cut_inside_files():
    long = [Document(f"{n}.py", "code", f"{n}" * 5000) for n in range(4)]
    cuts = beginnings(long, PLAN)
    assert [len(cut) for cut in cuts] == [400, 400]
    assert cuts == beginnings(list(reversed(long)), PLAN)


def test_without_text_there_is_nothing_to_count():
    with pytest.raises(TrainingError, match="there is no text to count"):
        count_all(TARGET, DRAFTER, [], ["a"], PLAN)
