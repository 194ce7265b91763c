"""A model's cache under the names of old and of new transformers."""

from types import SimpleNamespace

import pytest

from specviz.lm.hub.model import cache_argument, given_cache, returned_cache


class Newer:
    def forward(self, input_ids, cache=None, **rest): ...


class Older:
    def forward(self, input_ids, past_key_values=None, **rest): ...


@pytest.mark.parametrize(("kind", "name"), [(Newer, "cache"), (Older, "past_key_values")])
def test_the_argument_has_the_name_that_the_forward_gives_it(kind, name):
    model = kind()
    assert cache_argument(model) == name
    model.forward = lambda *given, **named: None  # wrapped by a hook, say
    assert cache_argument(model) == name


@pytest.mark.parametrize("name", ["cache", "past_key_values"])
def test_the_cache_of_a_call_and_of_its_result_is_found_under_either_name(name):
    assert given_cache({"input_ids": 1, name: 7}) == 7
    assert returned_cache(SimpleNamespace(logits=1, **{name: 7})) == 7


def test_a_call_without_a_cache_has_none():
    assert given_cache({"input_ids": 1}) is None
    assert returned_cache(SimpleNamespace(logits=1)) is None
