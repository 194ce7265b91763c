"""Short stories: a person, a thing, a place and an animal that are carried from the first line to the last.

Place in the flow: one family of `generator`. Name, thing and place meet in combinations that are held out; so do
a plot's beginning and its end. A plot is a row of parts, each part a choice of sentences.
"""

from collections.abc import Callable

from specviz.corpus.plain_english import people, words
from specviz.corpus.plain_english.page import Draw, Page

Plot = tuple[tuple[str, ...], ...]

LOST: Plot = (
    (
        "{She} was {unhappy} because {her} {adjective} {thing} was [gone|lost|missing]. ",
        '"Where is my {adjective} {thing}?" [asked|cried] {name}. ',
        "Suddenly {name} [saw|noticed] that {her} {adjective} {thing} was [gone|lost|missing]. ",
    ),
    ("Then {animal:a} came by. ", "There {she} met {animal:a} that looked {look}. ", "{animal:A} heard {him}. "),
    (
        '"Have you seen my {thing}?" asked {name}. ',
        '"Can you help me find my {thing}?" asked {name}. ',
        "{name} told the {animal} about the {thing}. ",
    ),
    (
        '"Yes," said the {animal}, "the {thing} is {hiding}." ',
        '"I saw the {thing} {hiding}," said the {animal}. ',
        '"Look {hiding}," said the {animal}. ',
    ),
    (
        "{name} looked {hiding}, and there was the {adjective} {thing}. ",
        "{name} ran and found the {adjective} {thing} {hiding}. ",
    ),
)
FOUND: Plot = (
    (
        "{She} found {adjective:a} {thing} {hiding}. ",
        "{hiding:c} {she} saw {adjective:a} {thing}. ",
        "There was {adjective:a} {thing} {hiding}. ",
    ),
    (
        '"Whose {thing} is this?" asked {name}. ',
        "{name} asked everyone about the {thing}. ",
        "{name} did not know whose {thing} it was. ",
    ),
    (
        '{animal:A} came and said, "That is my {thing}!" ',
        '"It is mine," said {animal:a}. "I lost my {thing} on {day}." ',
        "Then {she} saw {animal:a} that looked {look}. It was looking for its {thing}. ",
    ),
    ("{name} gave the {thing} to the {animal}. ", '"Here you are," said {name} and gave the {thing} to the {animal}. '),
    (
        '"Thank you, {name}," said the {animal}. ',
        "The {animal} was [glad|happy] and gave {him} some {food}. ",
        '"You are very kind," said the {animal}. ',
    ),
)
BORROWED: Plot = (
    (
        "{She} saw {animal:a} that looked {look}. ",
        "There {she} met {animal:a}. ",
        "{animal:A} with {adjective:a} {thing} sat there. ",
    ),
    (
        '"May I see [your|the] {adjective} {thing}?" asked {name}. ',
        '"May I play with the {thing}?" asked {name}. ',
        '"What a pretty {thing}!" said {name}. ',
    ),
    (
        '"Yes, but bring it back on {day}," said the {animal}. ',
        '"Of course," said the {animal}. "Take the {thing} with you." ',
        '"Only if you give me some {food}," said the {animal}. ',
    ),
    (
        "{name} [played with|looked at|was careful with] the {adjective} {thing}. ",
        "{name} took the {thing} home to {her} {relative}. ",
    ),
    ("Then {she} brought the {thing} back to the {animal}. ", "Later {name} gave the {thing} back. "),
)
BROKEN: Plot = (
    (
        "{Her} {thing} fell down and broke. ",
        "{She} dropped {her} {adjective} {thing}, and it broke. ",
        "The {adjective} {thing} did not work [anymore|any more]. ",
    ),
    ("{name} was {unhappy}. ", '"Oh no, my {thing}!" cried {name}. ', '"What can I do now?" asked {name}. '),
    ("{animal:A} [saw it|heard the noise] and came closer. ", "{other} came by with {animal:a}. "),
    (
        '"I can mend the {thing}," said the {animal}. ',
        '"Give me the {thing}," said the {animal}. "I know what to do." ',
    ),
    (
        "It took [an hour|two hours|all day|a long time], but then the {thing} was as good as new. ",
        "The {animal} worked [hard|for a long time], and at last the {thing} was mended. ",
    ),
)
GIFT: Plot = (
    (
        "It was the birthday of {her} {relative}. ",
        "{She} looked for a gift for {other}. ",
        "The next day was {other}'s birthday. ",
    ),
    (
        "{name} wanted to give {adjective:a} {thing}. ",
        "{name} made {adjective:a} {thing} [with great care|from wood|in one day]. ",
        "{name} bought {adjective:a} {thing} for [two|five|seven|ten] euros. ",
    ),
    ("{animal:A} helped {him} to wrap it up. ", "On the way {she} met {animal:a} that looked {look}. "),
    ('"Is this {thing} for me?" asked the {animal}. ', '"What is in the box?" asked the {animal}. '),
    (
        '"No, it is a gift," said {name}. ',
        '"It is {adjective:a} {thing}," said {name}. ',
        '"A surprise," said {name}. ',
    ),
    ("The {thing} was a [great|big|lovely] surprise. ", "Everyone liked the {adjective} {thing}. "),
)
HUNGRY: Plot = (
    (
        "{She} saw {animal:a} that looked hungry. ",
        "{animal:A} sat there and looked {look}. ",
        "A hungry {animal} came to {him}. ",
    ),
    (
        '"Do you have some {food} for me?" asked the {animal}. ',
        '"I am so hungry," said the {animal}. ',
        '"I have eaten nothing since {day}," said the {animal}. ',
    ),
    (
        "{name} had only {adjective:a} {thing} and some {food}. ",
        "{name} opened {her} {adjective} {thing} and took out some {food}. ",
    ),
    ("{She} gave the {food} to the {animal}. ", '"Take the {food}," said {name}. ', "They shared the {food}. "),
    (
        "The {animal} ate all the {food}. ",
        '"This is the best meal I ever had," said the {animal}. ',
        "Then the {animal} was full and fell asleep. ",
    ),
)
STORM: Plot = (
    (
        "Suddenly it began to [rain|snow|storm]. ",
        "A strong wind came up. ",
        "Dark clouds came over the [hill|houses|trees]. ",
    ),
    (
        "{name} had only {adjective:a} {thing} with {him}. ",
        "{Her} {adjective} {thing} got wet. ",
        "The wind took {her} {adjective} {thing} away. ",
    ),
    ('{animal:A} called from its house: "Come in, {name}!" ', "{name} met {animal:a} that was [wet and cold|afraid]. "),
    (
        "They sat {hiding} and waited. ",
        "They made a fire and ate some {food}. ",
        "The {animal} told {him} a story about {town}. ",
    ),
    ("After [an hour|two hours|a while] the sun came out. ", "At last the [rain|wind|storm] was over. "),
    ("{name} picked up the {thing} and said goodbye. ", '"Do not forget your {thing}," said the {animal}. '),
)
CONTEST: Plot = (
    (
        "There was a contest: who has the most beautiful {thing}? ",
        '{animal:A} said, "I am faster than you, {name}!" ',
        '{other} said, "Let us have a race!" ',
    ),
    ("The prize was {adjective:a} {thing}. ", "The winner would get {adjective:a} {thing}. "),
    ("{name} practised every day with the {animal}. ", "{name} was {unhappy}, but the {animal} helped {him}. "),
    (
        "On {day} {name} won, and {other} was second. ",
        "In the end {other} won, and {name} was second. ",
        "[Nobody|Everyone] won, and they all laughed. ",
    ),
    (
        "They put the {thing} on the table. ",
        "Everyone looked at the {adjective} {thing}. ",
        '"Well done!" said the {animal}. ',
    ),
)
MAP: Plot = (
    ("Inside {adjective:a} {thing} {she} found a map. ", "{She} had a map and {adjective:a} {thing}. "),
    ("The map showed a treasure {hiding}. ", '"Go to {town} and look {hiding}," said the map. '),
    (
        "{name} asked {animal:a} to come along. ",
        "{animal:A} wanted to come along. ",
        "{name} went with {her} {relative} and {animal:a}. ",
    ),
    ("They walked for [two|three|four|five] [hours|days]. ", "First they took the train to {town}. "),
    (
        "{hiding:c} they found {food} and [gold|a letter|a golden medal]. ",
        "There was no treasure, but they were not sad. ",
    ),
    ("{name} still had the {adjective} {thing}. ", 'The {animal} said, "The {thing} is our treasure." '),
)
LETTER: Plot = (
    ("There {she} found a letter. ", "{animal:A} brought {him} a letter. ", "A letter lay {hiding}. "),
    (
        'It said: "Dear {name}, bring {adjective:a} {thing} on {day}. {other}." ',
        'It said: "Dear {name}, I have lost my {thing}. Please help me. {other}." ',
    ),
    ("{name} took {adjective:a} {thing} and went to {other}. ", "{name} looked for the {thing} with {animal:a}. "),
    ('"I am glad you came," said {other}. ', '"Did you bring the {thing}?" asked {other}. "Yes," said {name}. '),
    ("The {animal} was there too, and they drank tea. ", "Then {name}, {other} and the {animal} ate some {food}. "),
)
PLOTS = (LOST, FOUND, BORROWED, BROKEN, GIFT, HUNGRY, STORM, CONTEST, MAP, LETTER)


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
