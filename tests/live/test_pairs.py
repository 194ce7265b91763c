"""Models that do not go together are named when they are chosen, before any weights are read."""

import json
from pathlib import Path

import pytest

from specviz.errors import ModelError, PromptError
from specviz.live import models
from specviz.live.source import LiveSource
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from tests.lm.test_text import byte_level


@pytest.fixture
def folder(tmp_path):
    """folder("name", "ab") → a checkpoint without weights, whose tokenizer has this merge."""

    def make(name: str, *merges: str, special: tuple[str, ...] = ()):
        made = tmp_path / name
        made.mkdir()
        (made / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"]}))
        tokenizer = byte_level(*merges)
        tokenizer.add_special_tokens(list(special))
        tokenizer.save(str(made / "tokenizer.json"))
        return str(made)

    return make


def reason(target: str, drafter: str, method: str = "model") -> str | None:
    request = RunRequest("a", target=target, drafter=Choice(method), drafter_model=drafter, device="cpu")
    return LiveSource(measure=False).explain(request)


def test_a_drafter_of_other_tokens_is_named_with_the_first_of_them(folder):
    said = reason(folder("left", "ab"), folder("right", "ba"))
    assert "left and" in said
    assert "id 257 is 'ab' in one and 'ba' in the other; choose a drafter" in said


def test_the_same_tokens_and_extra_special_ones_pass(folder):
    left = folder("left", "ab")
    assert reason(left, folder("same", "ab")) is None
    assert reason(left, folder("chat", "ab", special=("<user>",))) is None


def test_a_drafter_without_a_model_asks_for_none(folder):
    assert reason(folder("left", "ab"), "there-is-none", method="ngram") is None


def test_what_the_target_will_read_is_known_without_weights(folder):
    instruct = folder("instruct", "ab")
    template = "{% for one in messages %}<{{ one.role }}>{{ one.content }}{% endfor %}<answer>"
    (Path(instruct) / "chat_template.jinja").write_text(template, encoding="utf-8")
    source = LiveSource(measure=False)
    assert source.rendered(RunRequest("<b>?", target=instruct, chat=True)) == "<user><b>?<answer>"
    assert source.rendered(RunRequest("<b>?", target=instruct)) == "<b>?"
    with pytest.raises(PromptError, match="has no chat template"):
        source.rendered(RunRequest("a", target=folder("plain", "ab"), chat=True))


def test_a_folder_that_is_no_checkpoint_is_said(tmp_path, folder):
    assert "has no config.json" in (reason(str(tmp_path), str(tmp_path)) or "")


def test_a_hub_model_is_asked_for_once_and_its_trouble_every_time(monkeypatch, folder):
    models._on_the_hub.cache_clear()
    good, asked = folder("good", "ab"), []

    def locate(name: str):
        asked.append(name)
        if name == "some/gone":
            raise ModelError("there is no some/gone on the hub.")
        return models.Path(good)

    monkeypatch.setattr(models, "locate", locate)
    assert reason("some/model", "some/model@v2") is None
    assert reason("some/model", "some/model@v2") is None
    assert asked == ["some/model", "some/model@v2"]
    for _ in range(2):
        assert reason("some/model", "some/gone") == "there is no some/gone on the hub."
    assert asked[2:] == ["some/gone", "some/gone"]
    models._on_the_hub.cache_clear()
