"""The run that opens the page: what counts as a story, which one is taken, and where it is written."""

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specviz.cli.commands import record as opening
from specviz.cli.commands.record import OPENING, find_opening, is_prose, tells, write_opening
from specviz.errors import OptionError
from specviz.protocol.runs import PromptCard, RunRequest
from specviz.trace.events import Step, Trace
from tests.app.doubles import ReplaySource, catalog, sample

TEXTS = {"a": "A cat", "b": "A dog", "c": "def f(x):"}


def story(**finished: Any) -> Trace:
    """Two rounds of the golden run, one with a rejection and one with a bonus, in plain words."""
    trace = sample()
    rounds = [replace(trace.rounds[at], index=index) for index, at in enumerate((0, 1))]
    told = {"text": "The cat sat on the mat.", "output_ids": list(range(14)), "reason": "eos"} | finished
    return replace(trace, rounds=rounds, finished=replace(trace.finished, **told))


class Storyteller(ReplaySource):
    """Tells a story of a length of its own for each prompt and temperature; `faster` than plain decoding or not."""

    def __init__(self, lengths: dict[tuple[str, float], int], faster: bool = True) -> None:
        super().__init__(sample())
        self._lengths, self._faster = lengths, faster

    def catalog(self) -> Any:
        return replace(catalog(), prompts=tuple(PromptCard(one, "story", one, "", text) for one, text in TEXTS.items()))

    def run(self, request: RunRequest, *_: Any, **__: Any) -> Iterator[Step]:
        self.requests.append((request, None))
        length = self._lengths.get((request.prompt, request.temperature), 0)
        told = story(output_ids=list(range(length)), reason="eos" if length else "length")
        slow = request.drafter.name == "none" and self._faster
        yield Step(replace(told.finished, decode_s=told.finished.decode_s * (2 if slow else 1)), {})


@pytest.fixture(autouse=True)
def put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stories are no runs that add up: only their end is new."""

    def assembled(steps: Iterator[Step]) -> Trace:
        return replace(story(), started=replace(story().started, source="live"), finished=list(steps)[-1].event)

    monkeypatch.setattr(opening, "assemble", assembled)
    monkeypatch.setattr("specviz.bench.plain.assemble", assembled)


def test_a_story_is_short_plain_and_shows_the_three_ends_early() -> None:
    assert tells(story())
    assert not tells(story(text="x = [1, 2]"))
    assert not tells(story(reason="length"))
    assert not tells(story(text="It is true that 3 + 4 = 8."))
    assert tells(story(text="It is true that 3 + 4 = 7."))
    assert not tells(story(output_ids=list(range(80))))
    assert not tells(replace(story(), rounds=story().rounds[:1]))
    assert not tells(replace(story(), rounds=story().rounds[1:]))
    assert is_prose("Once upon a time, Anna said:\n")
    assert not is_prose("def add(a, b):")


def test_the_shortest_story_that_is_twice_as_fast_is_taken_greedy_before_sampled() -> None:
    source = Storyteller({("A cat", 0.0): 20, ("A dog", 0.0): 15, ("A cat", 0.6): 12, ("def f(x):", 0.0): 12})
    found = find_opening(source)
    assert (found.card.id, found.request.temperature, len(found.trace.finished.output_ids)) == ("b", 0.0, 15)
    assert "2.00× plain decoding" in found.sentence
    assert all(request.prompt != "def f(x):" for request, _ in source.requests)


def test_a_story_that_is_not_twice_as_fast_opens_nothing() -> None:
    with pytest.raises(OptionError, match="none of the 2 prompts in plain English"):
        find_opening(Storyteller({("A cat", 0.0): 20}, faster=False))


def test_the_list_gets_the_opening_once_and_keeps_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "recordings.toml"
    path.write_text('# list\nopenings = ["other"]\n\n[[recording]]\nname = "other"\nprompt = "a"\ndrafter = "model"\n')
    found = find_opening(Storyteller({("A dog", 0.6): 15}))
    write_opening(path, found)
    once = path.read_text()
    write_opening(path, found)
    assert path.read_text() == once
    content = tomllib.loads(once)
    seen = (content["openings"], [one["name"] for one in content["recording"]])
    assert seen == (["other", OPENING], [OPENING, "other"])
    entry = content["recording"][0]
    assert (entry["prompt"], entry["temperature"], entry["seed"], entry["options"]) == ("b", 0.6, 1, {"gamma": 4})
    assert entry["dtype"] == "bfloat16"
    assert once.startswith("# list\n")


def test_recordings_of_our_own_models_are_in_float32_and_a_chats_as_it_is_run(tmp_path: Path) -> None:
    entries = (
        'name = "own"\nprompt = "a"',
        'name = "half"\nprompt = "a"\ndtype = "bfloat16"',
        'name = "c"\nprompt = "a"\nchat = true',
    )
    path = tmp_path / "recordings.toml"
    path.write_text("".join(f"[[recording]]\n{entry}\n" for entry in entries), encoding="utf-8")
    prompts = replace(catalog(), prompts=(PromptCard("a", "story", "a", "", "A cat"),))
    _, recordings = opening.read_list(path, prompts, {})
    assert [recording.request.dtype for recording in recordings] == ["float32", "bfloat16", "auto"]
