"""Passages to be repeated, summarised by a rule, sorted, reversed or counted.

Place in the flow: one family of `generator`. The words that meet in a passage are what is held out.
"""

from specviz.corpus.plain_english import people, words
from specviz.corpus.plain_english.page import Draw, Page

SENTENCES = (
    "The {adjective} {thing} is {place}.",
    "{name} has {adjective:a} {thing}.",
    "On {day}, {name} met {animal:a} {place}.",
    "{name} likes {activity} and {food}.",
    "The {animal} ate the {food} of {name}.",
    "It was {weather}, and {name} went {place}.",
    "The {job} from {town} sold {adjective:a} {thing}.",
    "In {month}, {name} and {other} went to {town}.",
)
REPEAT = (
    ("Repeat: {passage}\n", "{passage}"),
    ("Repeat this sentence: {passage}\nHere it is: ", "{passage}"),
    ("Say it twice: {passage}\n", "{passage} {passage}"),
    ("Copy the text.\nText: {passage}\nCopy: ", "{passage}"),
    ('Please write "{passage}" again.\n', '"{passage}"'),
    ("{passage}\nCan you repeat that? Yes: ", "{passage}"),
)
ORDERED = {
    "sort": ("Sort these words: {list}.\nSorted: ", "Put in order of the alphabet: {list}.\n", "Sort: {list} ->"),
    "reverse": ("Reverse this list: {list}.\nReversed: ", "Write the list backwards: {list}.\n", "Reverse: {list} ->"),
    "first": ("What is the first word of this list? {list}. ", "First of {list}: "),
    "last": ("What is the last word of this list? {list}. ", "Last of {list}: "),
    "count": ("How many words are there? {list}. ", "Count the words: {list}. "),
}
POOLS = (words.THINGS, words.ANIMALS, words.FOODS, people.NAMES, words.JOBS, words.MONTHS)


def slots(draw: Draw) -> dict[str, str]:
    """The words of the sentences."""
    name, thing, place = draw.combination("passage", people.NAMES, words.THINGS, words.PLACES)
    return {
        "name": name,
        "thing": thing,
        "place": place,
        "other": draw.one([n for n in people.NAMES if n != name]),
        "adjective": draw.one(words.ADJECTIVES),
        "day": draw.one(words.DAYS),
        "animal": draw.one(words.ANIMALS),
        "activity": draw.one(words.ACTIVITIES),
        "food": draw.one(words.FOODS),
        "weather": draw.one(words.WEATHER),
        "job": draw.one(words.JOBS),
        "town": draw.one(words.TOWNS),
        "month": draw.one(words.MONTHS),
    }


def repeated(draw: Draw) -> Page:
    """One or two sentences, to be written again."""
    page = Page(draw, **slots(draw))
    frames = draw.several(SENTENCES, draw.integer(1, 2))
    page.know(passage=" ".join(frames).format(**page.slots))
    page.frames += frames
    before, after = draw.one(REPEAT)
    page.say(before)
    page.say(after)
    return page


def ordered(draw: Draw) -> Page:
    """A list and what a rule makes of it."""
    (pool, task, size) = draw.combination("order", POOLS, list(ORDERED), (3, 4, 5, 6))
    items = draw.several(pool, size)
    results = {
        "sort": sorted(items),
        "reverse": items[::-1],
        "first": items[:1],
        "last": items[-1:],
        "count": [str(size)],
    }
    page = Page(draw, list=", ".join(items), result=", ".join(results[task]))
    page.say(*ORDERED[task])
    page.say(("" if page.text.endswith((" ", "\n")) else " ") + "{result}.")
    return page


def summary(draw: Draw) -> Page:
    """Three sentences about a person, then who, what and where in one line."""
    page = Page(draw, **slots(draw))
    page.maybe(0.5, "Text: ", "Read this.\n", "Summarise. ")
    page.say("On {day}, {name} went out. ", "It was {weather}. ", "{name} got up early on {day}. ")
    page.say(
        "{place:c}, {name} found {adjective:a} {thing}. ",
        "{name} was {place} and saw {adjective:a} {thing}. ",
        "{name} had {adjective:a} {thing} and took it along. {place:c} {name} sat down. ",
    )
    page.say("Then {other} came with some {food}.", "{animal:A} was there, too.", "Later {name} told {other} about it.")
    page.say("\nIn short: ", "\nSummary: ")
    page.say("{name}, {thing}, {place}.")
    page.maybe(0.4, "\nWho? {name}. What? {adjective:A} {thing}.", "\nWho was it? It was {name}.")
    return page


def document(draw: Draw) -> Page:
    """One passage with what is made of it."""
    return draw.one((repeated, repeated, ordered, ordered, summary))(draw)
