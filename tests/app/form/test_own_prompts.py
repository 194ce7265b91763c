"""A visitor's own prompts: the first stands in the prompt, a broken file changes nothing, hostile text stays text."""

from __future__ import annotations

from specviz.app.form.fields import chosen, offer_prompts, open_prompts
from specviz.app.form.request import Limits


def opened(tmp_path, text: str, limits: Limits | None = None):
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    return open_prompts(str(path), limits or Limits())


def test_the_prompts_are_offered_and_the_first_is_taken(tmp_path):
    offered, line, texts, prompt = opened(tmp_path, '{"id": "a", "text": "<b>x"}\n{"id": "b", "text": "y"}')
    assert [value for _, value in offered.choices] == ["a", "b"]
    assert "2 prompts of your own" in line
    assert (texts, prompt) == ({"a": "<b>x", "b": "y"}, "<b>x")
    assert chosen("b", texts) == "y"


def test_a_file_that_cannot_be_read_says_so_and_changes_nothing_else(tmp_path):
    offered, line, texts, prompt = opened(tmp_path, '{"text": "<b>"')
    assert "mine.jsonl: line 1 is not valid JSON" in line
    assert all(not isinstance(one, str | dict) or "__type__" in one for one in (offered, texts, prompt))


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    assert "The file is larger than the" in str(opened(tmp_path, "x" * 9, Limits(import_bytes=5))[1])


def test_in_a_list_of_prompts_the_visitors_own_stand_before_the_bundled_ones(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id": "a", "text": "x"}\n{"id": "b", "text": "y"}')
    offered, line = offer_prompts(str(path), Limits(), [("code: First", "z")])
    assert [value for _, value in offered.choices] == ["x", "y", "z"]
    assert (offered.value, "2 prompts of your own are listed first" in line) == ("x", True)
    path.write_text("{")
    offered, line = offer_prompts(str(path), Limits(), [("code: First", "z")])
    assert ("__type__" in offered, "line 1 is not valid JSON" in line) == (True, True)
