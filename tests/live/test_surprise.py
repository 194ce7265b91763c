"""What lies outside the small world of the bundled models, by the target's own surprise: measured on both sides.

The line was drawn with the prompts of the set and all the questions below in sight, so their counts are no forecast.
"""

from math import inf

import pytest

from specviz.app.step.questions import MOST, WORKING, is_outside
from specviz.live.catalog import saved
from specviz.live.source import LiveSource
from specviz.protocol.runs import RunRequest, Surprised

QUESTIONS = """Why is the sky blue?
Tell me a joke
Write a haiku about autumn
Who won the world cup in 2018?
Explain quantum entanglement to a child.
What is the meaning of life?
Write a poem about the sea.
How do vaccines work?
What is photosynthesis?
Translate "good morning" into French.
Who wrote Romeo and Juliet?
What is the speed of light?
Give me a summary of the French Revolution.
How does a car engine work?
What are the health benefits of green tea?
Is God real?
What is the best programming language?
How do I lose weight?
Who is the president of the United States?
What happened in 1969?
Summarise Hamlet in two sentences.
How tall is Mount Everest?
Why do cats purr?
What causes earthquakes?
Tell me about the history of Rome.
Compare Python and Rust.
The stock market fell sharply on
What is the difference between a virus and a bacterium?
How do I cook risotto?
Wie ist das Wetter heute?
Why do birds fly south in the winter?
Tell me something interesting.
Write me a limerick.
What is the population of Germany?
How do airplanes fly?
Give me three ideas for a birthday party.
What should I have for dinner?
Explain the theory of evolution.
Who painted the Mona Lisa?
What is an atom?
How far away is the moon?
Why is water wet?
What year did World War II end?
Write an email to my boss asking for a raise.
Is climate change real?
Describe a sunset.
What is love?
How can I learn to play the guitar?
List five animals that live in Africa.
What is the largest ocean on Earth?
Who invented the telephone?
What is the tallest building in the world?
Explain how a transformer works.
What is speculative decoding?
I am feeling sad today.
The quick brown fox jumps over the lazy dog
What is the time?
What is the weather like in London?
Can you speak German?
What is the square root of 144?""".splitlines()
MISSED = {"What is the time?", "What is the population of Germany?"}
"""questions of the wide world that look like ones of the small: capitals and days are asked for in these words"""
TYPED = """Once upon a time
Once upon a time there was a little
One day Anna was in the park.
What is the capital of Italy?
The capital of Spain is
What does a dog eat?
What does a cat say?
What is the opposite of hot?
What is 2 + 2?
12 + 30 =
What is 100 - 58?
How do you clean a cup?
Recipe for soup with carrots
What is your name?
How old are you?
Tell me a story about a dog.
How to bake bread
Repeat: the cat sat on the mat.
Where are you from?""".splitlines()
ALARMED = {
    "How old are you?",
    "Tell me a story about a dog.",
    "How to bake bread",
    "Repeat: the cat sat on the mat.",
    "Where are you from?",
}
"""of what a visitor may type within the small world, what is put in words that its texts do not have"""


@pytest.fixture(scope="module")
def source() -> LiveSource:
    return LiveSource(measure=False)


def outside(source: LiveSource, prompt: str) -> bool:
    """The target is not asked about what is never outside."""
    return is_outside(prompt, inf) and is_outside(prompt, source.surprise(RunRequest(prompt)))


def test_no_prompt_of_the_set_is_called_outside(source: LiveSource) -> None:
    assert [card.id for card in saved().prompts if outside(source, card.text)] == []


def test_questions_of_the_wide_world_are_outside_but_for_two_of_sixty(source: LiveSource) -> None:
    assert len(QUESTIONS) == 60
    assert {prompt for prompt in QUESTIONS if not outside(source, prompt)} == MISSED


def test_of_what_visitors_may_type_in_the_small_world_five_of_nineteen_are_called_outside(source: LiveSource) -> None:
    assert len(TYPED) == 19
    assert {prompt for prompt in TYPED if outside(source, prompt)} == ALARMED


def test_the_prompts_that_are_said_to_work_are_there_and_inside(source: LiveSource) -> None:
    texts = {card.id: card.text for card in saved().prompts}
    found = [source.surprise(RunRequest(texts[name])) for name in WORKING]
    assert all(one is not None and one < MOST - 1 for one in found)


def test_the_surprise_is_the_mean_of_the_targets_own_and_a_short_prompt_has_none(source: LiveSource) -> None:
    assert isinstance(source, Surprised)
    assert source.surprise(RunRequest("Hi")) is None
    assert source.surprise(RunRequest("Why is the sky blue?")) == pytest.approx(6.08, abs=0.01)


def test_code_is_never_called_outside() -> None:
    assert is_outside("Why is the sky blue?", 6.1)
    assert not is_outside("Why is the sky blue?", None)
    assert not is_outside("def fibonacci(n):\n", 6.2)
