"""Short stories: a person, a thing, a place and an animal that are carried from the first line to the last.

Place in the flow: one family of `generator`. Name, thing and place meet in combinations that are held out; so do
a plot's beginning and its end.
"""

from collections.abc import Callable

from specviz.corpus.plain_english import people, words
from specviz.corpus.plain_english.page import Draw, Page
from specviz.corpus.plain_english.plots import PLOTS, Plot

OPENINGS = (
    "One {weather} [day|morning|afternoon|evening], {name} was {place}. ",
    "Once upon a time there was a {manner} [child|girl or boy] named {name}. One day {name} was {place}. ",
    "{name} was a {manner} {job}. On {day}, {she} was {place}. ",
    "It was a {weather} {day}. {name} [walked|went for a walk] {place}. ",
    "On a {weather} [day|morning] in {month}, {name} sat {place}. ",
    "{name} and {her} {relative} lived in {town}. One {day} {name} was {place}. ",
    "Last {day} {name} spent [the day|an hour|the afternoon] {place}. ",
    "There once was a {job} called {name}. [Every|One] {day} {name} was {place}. ",
    '"What a {weather} day!" said {name}. {She} was {place}. ',
    "{name} liked {activity}. On {day} {she} was {place} [again|as always|with nothing to do]. ",
)
ENDINGS = (
    "{name} was {feeling} and [thanked the {animal}|went home]. The end.",
    "After that, {name} and the {animal} were [good|best] friends. The end.",
    "In the evening {name} told {her} {relative} [about the {adjective} {thing}|about the {animal}|everything]. "
    "The end.",
    "From that day on, {name} [often|always] [visited|thought of] the {animal}. The end.",
    '"What a {weather} day," said {name}, and {she} [smiled|went home|laughed]. The end.',
    "{name} never forgot the {animal} and the {adjective} {thing}. The end.",
    "They [ate|shared] some {food} together and were {feeling}. The end.",
    "And {name} kept the {adjective} {thing} [for a long time|for many years|next to {her} bed]. The end.",
)
TITLES = ("The {adjective} {thing}\n\n", "{name} and the {animal}\n\n", "A story about {name}\n\n", "Story: ")


def slots(draw: Draw) -> dict[str, str]:
    """One cast: everything a plot may mention."""
    name, thing, place = draw.combination("cast", people.NAMES, words.THINGS, words.PLACES)
    she, her_object, her = people.pronouns(name)
    other = draw.one([n for n in people.NAMES if n != name])
    drawn: dict[str, Callable[[], str]] = {
        "animal": lambda: draw.one(words.ANIMALS),
        "adjective": lambda: draw.one(words.ADJECTIVES),
        "weather": lambda: draw.one(words.WEATHER),
        "manner": lambda: draw.one(words.MANNERS),
        "job": lambda: draw.one(words.JOBS),
        "relative": lambda: draw.one(words.RELATIVES),
        "feeling": lambda: draw.one(("happy", "proud", "glad", "very happy", "calm", "content")),
        "unhappy": lambda: draw.one(("sad", "worried", "tired", "lonely", "unhappy", "afraid")),
        "food": lambda: draw.one(words.FOODS),
        "day": lambda: draw.one(words.DAYS),
        "month": lambda: draw.one(words.MONTHS),
        "town": lambda: draw.one(words.TOWNS),
        "activity": lambda: draw.one(words.ACTIVITIES),
        "hiding": lambda: draw.one(HIDING),
        "look": lambda: draw.one(("curious", "friendly", "hungry", "sad", "sleepy", "very old", "kind", "clever")),
    }
    return {
        "name": name,
        "thing": thing,
        "place": place,
        "she": she,
        "She": she.title(),
        "her": her,
        "Her": her.title(),
        "him": her_object,
        "other": other,
    } | {key: value() for key, value in drawn.items()}


HIDING = (
    "under a bench",
    "behind a tree",
    "in a hole",
    "on the roof",
    "under a stone",
    "in the grass",
    "behind a door",
    "in a basket",
    "under the stairs",
    "behind a wall",
)


def document(draw: Draw) -> Page:
    """One story."""
    page = Page(draw, **slots(draw))
    page.maybe(0.25, *TITLES)
    (opening, plot, ending) = draw.combination("plot", OPENINGS, range(len(PLOTS)), ENDINGS)
    page.say(opening)
    write_plot(page, PLOTS[plot])
    page.say(ending)
    return page


def write_plot(page: Page, plot: Plot) -> None:
    """Writes every part of a plot, one of its sentences each; a part that begins with an empty one may be left out."""
    for part in plot:
        page.say(*part)
