"""Chat templates: found in a checkpoint's files, rendered around a message, and said in the trace."""

import json

import pytest

from specviz.errors import PromptError
from specviz.live.audit.audit import text as audit_text
from specviz.live.audit.laws import Tally
from specviz.live.source import LiveSource, collect
from specviz.lm.chat import ChatTemplate
from specviz.lm.load import LoadedModel
from specviz.lm.table import TableModel
from specviz.lm.text import TextCodec
from specviz.protocol.choice import Choice
from specviz.protocol.links import pack_request, read_request
from specviz.protocol.runs import RunRequest, request_of
from specviz.trace.check import check
from tests.lm.test_text import byte_level

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<turn>{{ message.role }}: {{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<turn>model: {% endif %}"
)


def codec(template: str | None = TEMPLATE) -> TextCodec:
    tokenizer = byte_level("ab")
    tokenizer.add_special_tokens(["<turn>"])
    made = TextCodec(tokenizer, "instruct", eos_ids=[0])
    made.chat = None if template is None else ChatTemplate(template, {"bos_token": "<end>"})
    return made


def source(made: TextCodec) -> LiveSource:
    def load(name: str, **_: str) -> LoadedModel:
        model = TableModel(made.size, seed=1, context_length=200, order=2)
        return LoadedModel(model, made, model.info)

    return LiveSource(load=load, measure=False)


def chat(message: str = "ab <b>?", made: TextCodec | None = None):
    made = made or codec()
    return collect(
        source(made), RunRequest(message, chat=True, max_new_tokens=4, drafter=Choice("model", {"gamma": 1}))
    )


def test_the_prompt_is_the_template_around_the_message_and_the_trace_says_both():
    started = chat().started
    assert started.prompt_text == "<end><turn>user: ab <b>?<turn>model: "
    assert started.chat_message == "ab <b>?"


def test_special_tokens_of_the_template_are_tokens_and_none_is_added_before_them():
    made, started = codec(), chat().started
    assert [token for token in started.prompt_ids if token in made.special_ids] == [0, 258, 258]
    assert started.prompt_ids[:2] == [0, 258]


def test_such_a_trace_is_sound_and_its_ids_are_those_of_its_text():
    made, trace = codec(), chat()
    tally = Tally(0, ())
    assert check(trace) == []
    audit_text(trace, made, tally)
    assert tally.so_far(0).differences == ()


def test_the_trace_asks_for_the_same_run_again():
    request = request_of(chat().started)
    assert (request.prompt, request.chat) == ("ab <b>?", True)
    assert read_request(pack_request(request)).chat is True


def test_without_chat_the_prompt_is_read_as_it_stands():
    trace = collect(source(codec()), RunRequest("ab", max_new_tokens=2, drafter=Choice("model", {"gamma": 1})))
    assert (trace.started.prompt_text, trace.started.chat_message) == ("ab", None)


def test_a_target_without_a_template_is_refused_with_the_cure():
    with pytest.raises(PromptError, match="instruct has no chat template: it is no instruct model; leave chat off"):
        chat(made=codec(None))


@pytest.mark.parametrize("template", ["{{ raise_exception('no users') }}", "{% if %}", "{{ messages.append }"])
def test_a_template_that_cannot_be_used_is_one_sentence(template):
    with pytest.raises(PromptError, match=r"the chat template of instruct cannot be used \(.+\); leave chat off"):
        chat(made=codec(template))


def test_a_template_cannot_reach_the_machine():
    with pytest.raises(PromptError, match="cannot be used"):
        chat(made=codec("{{ ''.__class__.__mro__[1].__subclasses__() }}"))


def test_the_file_goes_before_the_settings_and_of_several_templates_the_default_is_taken(tmp_path):
    assert ChatTemplate.from_folder(tmp_path) is None
    several = [{"name": "tools", "template": "T"}, {"name": "default", "template": "D"}]
    settings = {"chat_template": several, "bos_token": {"content": "<s>"}, "eos_token": "</s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert ChatTemplate.from_folder(tmp_path) == ChatTemplate("D", {"bos_token": "<s>", "eos_token": "</s>"})
    (tmp_path / "chat_template.jinja").write_text("F")
    found = ChatTemplate.from_folder(tmp_path)
    assert found is not None
    assert found.source == "F"


def test_damaged_settings_are_no_template(tmp_path):
    (tmp_path / "tokenizer_config.json").write_text("{")
    assert ChatTemplate.from_folder(tmp_path) is None
