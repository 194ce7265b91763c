"""A full context is said: that of the drafter, beyond which it drafts nothing, and that of the target."""

from dataclasses import replace

from specviz.live.source import LiveSource, collect
from specviz.lm.load import LoadedModel
from specviz.lm.table import TableModel
from specviz.lm.text import TextCodec
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.cautions import full_contexts
from tests.lm.test_text import byte_level


def source(drafter_context: int, target_context: int = 40) -> LiveSource:
    codec = TextCodec(byte_level(), "bytes")

    def load(name: str, **_: str) -> LoadedModel:
        room = drafter_context if name == "drafter" else target_context
        model = TableModel(codec.size, seed=1, context_length=room)
        model._info = replace(model.info, name=name)
        return LoadedModel(model, codec, model.info)

    return LiveSource(load=load, measure=False)


def sentences(drafter_context: int, length: int = 6, **contexts: int) -> list[str]:
    request = RunRequest("abcdefgh", drafter=Choice("model", {"gamma": 1}), max_new_tokens=length)
    return full_contexts(collect(source(drafter_context, **contexts), request))


def test_a_prompt_longer_than_the_drafters_context_says_that_nothing_was_drafted():
    assert sentences(5) == [
        "The text is longer than the context of drafter (5 tokens), which therefore drafted nothing at all; shorten "
        "the prompt or choose a drafter with a longer context."
    ]


def test_a_text_that_grows_out_of_the_drafters_context_says_in_how_many_rounds():
    (said,) = sentences(10)
    assert "which therefore drafted nothing in " in said


def test_a_text_that_fits_says_nothing():
    assert sentences(40) == []


def test_a_text_that_fills_the_targets_context_says_why_it_ended():
    assert sentences(40, length=90, target_context=12) == [
        "The text fills the context of target (12 tokens), so it ended before the 90 new tokens that were asked for."
    ]
