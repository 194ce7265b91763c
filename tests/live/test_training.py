"""A drafter module trained for a target of one's own, on a checkpoint of a few thousand weights: the module is of that
target's shape, steps on its prompt, and is taken by nobody else."""

from pathlib import Path

import pytest

from specviz.drafters.learned.weights import read_card
from specviz.errors import ModelError
from specviz.live.source import LiveSource
from specviz.live.training import shape
from specviz.protocol.trainings import Training, TrainingQuestion
from specviz.training.modules import train
from specviz.training.modules.texts import Amount, packed_here
from tests.training.conftest import module_target, module_work

__all__ = ["module_target", "module_work"]


def test_another_targets_module_has_eagle_3s_wiring_and_in_a_large_vocabulary_a_trimmed_head():
    real = TrainingQuestion("eagle", target="smollm2")
    assert shape(TrainingQuestion("eagle"), 49_152) == {}, "the bundled target's stays as it is"
    assert shape(real, 49_152) == {"wiring": "eagle3", "draft_tokens": 8192, "own_head": False}
    assert shape(real, 4096) == {"wiring": "eagle3"}
    assert shape(TrainingQuestion("small_model", target="smollm2"), 49_152) == {"draft_tokens": 8192}
    assert shape(TrainingQuestion("medusa", target="smollm2"), 49_152) == {"draft_tokens": 8192, "own_head": False}
    assert shape(TrainingQuestion("markov", target="smollm2"), 49_152) == {"own_head": False}


def test_a_module_is_trained_for_a_folder_and_fits_that_target_alone(module_target, monkeypatch):
    few = Amount(20_000, seed=0)
    monkeypatch.setattr(train, "packed_here", lambda tokenizer, amount: packed_here(tokenizer, few))
    source, seen = LiveSource(measure=False), list[Training]()
    folder = str(module_target)
    question = TrainingQuestion("eagle", "python", minutes=1.0, prompt="def f", max_new_tokens=4, target=folder)
    for state in source.train(question, lambda: len(seen) > 1):
        seen.append(state)
    last = seen[-1]
    assert last.target_name == module_target.name
    assert {stage.trace.started.target.name for stage in last.stages} == {module_target.name}
    assert last.shipped is None, "what is shipped is of other targets"
    assert read_card(Path(last.folder)).options["wiring"] == "eagle3"
    packed = source.packed(last.folder)
    module, loaded = source.unpacked(packed, folder)
    assert module == "eagle"
    with pytest.raises(ModelError, match="were trained on the states of the target"):
        source.unpacked(packed, "target")
    for made in (last.folder, loaded):
        source.forget(made)
