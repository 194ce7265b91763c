"""How every kind of fact is asked and answered.

Place in the flow: data for `questions`. `{x}` is the subject, `{y}` the answer. Questions stand without their
question mark, statements without their full stop; `indirect` follows "Can you tell me".
"""

from collections.abc import Mapping
from dataclasses import dataclass

from specviz.corpus.plain_english import facts


@dataclass(frozen=True)
class Kind:
    """One kind of fact with all its wordings; `statement` is the sentence that answers every question."""

    name: str
    pairs: Mapping[str, str]
    questions: tuple[str, ...]
    indirect: tuple[str, ...]
    statement: str
    others: tuple[str, ...] = ()
    weight: int = 1

    def __str__(self) -> str:
        """Its name; combinations are told apart by it."""
        return self.name


KINDS = (
    Kind(
        "capital",
        facts.CAPITALS,
        (
            "what is the capital of {x}",
            "which city is the capital of {x}",
            "what is the name of the capital of {x}",
            "what is {x}'s capital",
            "what is the capital city of {x}",
            "which capital does {x} have",
        ),
        ("what the capital of {x} is", "the capital of {x}", "which city is the capital of {x}"),
        "the capital of {x} is {y}",
        ("{y} is the capital of {x}", "the capital city of {x} is {y}", "{x} has the capital {y}"),
        weight=7,
    ),
    Kind(
        "country",
        facts.COUNTRIES,
        (
            "{x} is the capital of which country",
            "which country has the capital {x}",
            "of which country is {x} the capital",
            "in which country is {x}",
        ),
        ("which country has the capital {x}", "in which country {x} is"),
        "{x} is the capital of {y}",
        ("the country with the capital {x} is {y}",),
        weight=4,
    ),
    Kind(
        "continent",
        facts.CONTINENT_OF,
        ("where is {x}", "on which continent is {x}", "in which part of the world is {x}"),
        ("where {x} is", "on which continent {x} is"),
        "{x} is in {y}",
        weight=3,
    ),
    Kind(
        "language",
        facts.LANGUAGES,
        ("which language is spoken in {x}", "what language do people speak in {x}", "what do people speak in {x}"),
        ("which language is spoken in {x}", "what people speak in {x}"),
        "people in {x} speak {y}",
        ("the language of {x} is {y}",),
    ),
    Kind(
        "eats",
        facts.EATS,
        ("what does {x:a} eat", "what does {x:a} like to eat", "what is the food of {x:a}", "what do you feed {x:a}"),
        ("what {x:a} eats", "what {x:a} likes to eat"),
        "{x:a} eats {y}",
        ("{x:a} likes to eat {y}", "the food of {x:a} is {y}"),
        weight=2,
    ),
    Kind(
        "young",
        facts.YOUNG,
        ("what is a young {x} called", "what do you call a baby {x}", "what is the name for a young {x}"),
        ("what a young {x} is called", "the name for a baby {x}"),
        "a young {x} is called {y:a}",
        ("a baby {x} is called {y:a}",),
    ),
    Kind(
        "home",
        facts.HOMES,
        ("where does {x:a} live", "where is the home of {x:a}", "what is the home of {x:a}"),
        ("where {x:a} lives", "what the home of {x:a} is"),
        "the home of {x:a} is the {y}",
    ),
    Kind(
        "sound",
        facts.SOUNDS,
        ("what does {x:a} say", "what sound does {x:a} make", "which sound does {x:a} make"),
        ("what {x:a} says", "what sound {x:a} makes"),
        "{x:a} says {y}",
        ("the sound of {x:a} is {y}",),
    ),
    Kind(
        "opposite",
        facts.OPPOSITES,
        ("what is the opposite of {x}", "which word is the opposite of {x}", "which word means the opposite of {x}"),
        ("what the opposite of {x} is", "the opposite of {x}"),
        "the opposite of {x} is {y}",
        weight=2,
    ),
    Kind(
        "colour",
        facts.COLOURS,
        ("what colour is {x}", "which colour is {x}", "what is the colour of {x}"),
        ("what colour {x} is", "the colour of {x}"),
        "the colour of {x} is {y}",
        ("{x} is {y}",),
    ),
    Kind(
        "plural",
        facts.PLURALS,
        ("what is the plural of {x}", "what do you call more than one {x}", "how do you write the plural of {x}"),
        ("what the plural of {x} is", "the plural of {x}"),
        "the plural of {x} is {y}",
        ("one {x}, two {y}",),
    ),
    Kind(
        "past",
        facts.PAST,
        ("what is the past of {x}", "what is the past tense of {x}", "what is the past form of {x}"),
        ("what the past of {x} is", "the past tense of {x}"),
        "the past of {x} is {y}",
        ("today I {x}, yesterday I {y}",),
    ),
    Kind(
        "worker",
        facts.WORKERS,
        ("who {x}", "what do you call someone who {x}", "what is the job of someone who {x}"),
        ("who {x}", "what you call someone who {x}"),
        "someone who {x} is {y}",
        ("{y} is someone who {x}",),
    ),
    Kind(
        "tool",
        facts.TOOLS,
        ("what do you need to {x}", "what do you use to {x}", "which thing do you need to {x}"),
        ("what you need to {x}", "what you use to {x}"),
        "to {x} you need {y}",
        ("you need {y} to {x}",),
    ),
    Kind(
        "amount",
        facts.AMOUNTS,
        ("how many {x} are there", "how many {x}", "what is the number of {x}"),
        ("how many {x} there are", "the number of {x}"),
        "the number of {x} is {y}",
        ("there are {y} {x}",),
    ),
    Kind(
        "month_after",
        facts.NEXT_MONTH,
        ("which month comes after {x}", "what month follows {x}", "what is the month after {x}"),
        ("which month comes after {x}", "the month after {x}"),
        "the month after {x} is {y}",
        ("after {x} comes {y}",),
    ),
    Kind(
        "month_before",
        facts.MONTH_BEFORE,
        ("which month comes before {x}", "what is the month before {x}"),
        ("which month comes before {x}", "the month before {x}"),
        "the month before {x} is {y}",
        ("before {x} comes {y}",),
    ),
    Kind(
        "month_days",
        facts.DAYS_IN,
        ("how many days does {x} have", "how many days are there in {x}", "how long is {x}"),
        ("how many days {x} has", "the number of days in {x}"),
        "{x} has {y} days",
    ),
    Kind(
        "day_after",
        facts.NEXT_DAY,
        ("which day comes after {x}", "what day follows {x}", "what is the day after {x}"),
        ("which day comes after {x}", "the day after {x}"),
        "the day after {x} is {y}",
        ("after {x} comes {y}",),
    ),
    Kind(
        "day_before",
        facts.DAY_BEFORE,
        ("which day comes before {x}", "what is the day before {x}"),
        ("which day comes before {x}", "the day before {x}"),
        "the day before {x} is {y}",
        ("before {x} comes {y}",),
    ),
)
