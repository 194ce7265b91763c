"""Polite small talk and short dialogues: greetings, introductions, the weather, a shop, the way, a telephone call.

Place in the flow: one family of `generator`. What one speaker says (a name, a thing, a time) the other one takes up.
"""

from specviz.corpus.plain_english import people, words
from specviz.corpus.plain_english.page import Draw, Page

HELLO = (
    "Hello, how are you?",
    "Hello! How are you?",
    "Hi, how are you?",
    "Hi {second}, how are you?",
    "Hello {second}, how are you today?",
    "Good morning! How are you?",
    "Good evening, how are you?",
    "How are you?",
)
GREETING = ("Hello", "Hello!", "Hi!", "Good morning!", "Hi there!", "Good evening!", "Hello, {second}!")
GREETED = (
    "Hello! How are you?",
    "Hi! How are you [today|doing]?",
    "Hello! Nice to see you. How are you?",
    "Good day! How are you?",
    "Hello, {first}! How are you?",
)
FINE = (
    "I am fine, thank you. And you?",
    "I am [very|quite] well, thank you. How are you?",
    "Fine, thanks. And how are you?",
    "I am a little {unhappy} today, but thank you for asking.",
    "Hello! I am well, thank you.",
    "Very well, thank you!",
)
TOO = (
    "I am fine too, thank you.",
    "I am well too. It is a {weather} day.",
    "Very well. I was {place} today.",
    "I am {feeling}.",
    "Good, thank you. I had {food} for breakfast.",
)
CHAT = (
    (
        "What did you do on {day}?",
        "I was {place} with my {relative}.",
        "That sounds nice. What did you do there?",
        "We looked for [a new|an old] {thing}.",
    ),
    ("What do you like to do?", "I like {activity}. And you?", "I like {activity2}.", "Then let us try both on {day}."),
    (
        "What is your name?",
        "My name is {name}. And yours?",
        "I am {other}. Nice to meet you, {name}.",
        "Nice to meet you too, {other}.",
    ),
    ("How is the weather?", "It is {weather} today.", "Then I will take my {thing} with me.", "That is a good idea."),
    (
        "What would you like to eat?",
        "I would like some {food}, please.",
        "Here you are. Some {food} for you.",
        "Thank you very much.",
    ),
    ("What time is it?", "It is {time} o'clock.", "Oh, {time} already! I must go.", "Goodbye, see you on {day}."),
    ("Where do you live?", "I live in {town}. And you?", "I live in {town2}. It is far from {town}.", "Yes, it is."),
    ("What is your job?", "I am {job:a}. I work {place}.", "Do you like to be {job:a}?", "Yes, I like it very much."),
    (
        "Do you have a pet?",
        "Yes, I have {animal:a}. Its name is {pet}.",
        "How old is {pet}?",
        "{pet} is {age} years old.",
    ),
    (
        "Can you help me?",
        "Of course. What do you need?",
        "I need {adjective:a} {thing}.",
        "I have {adjective:a} {thing} at home. You can have it.",
    ),
    (
        "Excuse me, where is the {building}?",
        "Go [left|right] and then straight on. The {building} is next to the {building2}.",
        "Next to the {building2}. Thank you!",
        "You are welcome.",
    ),
    (
        "How much is the {thing}?",
        "The {adjective} {thing} is {age} euros.",
        "Here are {age} euros.",
        "Thank you. Enjoy your {thing}!",
    ),
    (
        "May I borrow your {thing}?",
        "Yes, but I need it back on {day}.",
        "I will bring it back on {day}.",
        "Good. Take care of the {thing}.",
    ),
    (
        "Are you {unhappy}?",
        "Yes, I lost my {adjective} {thing}.",
        "I am sorry. Where did you lose the {thing}?",
        "{place:c}, I think.",
    ),
    (
        "When do we meet?",
        "On {day} at {time} o'clock.",
        "And where?",
        "{place:c}, as always.",
    ),
    (
        "Who are you?",
        "I am a small model. I know short texts.",
        "What can you do?",
        "I can tell a story, do sums and answer easy questions.",
    ),
    (
        "Can I speak to {pet}, please?",
        "{pet} is not here. Who is speaking?",
        "This is {other}.",
        "I will tell {pet} that {other} called.",
    ),
    (
        "Do you want to come {place}?",
        "Yes, when do we go?",
        "On {day}, with my {relative}.",
        "I will bring some {food}.",
    ),
)
THANKS = ("Thank you!", "Thank you very much.", "Thanks a lot!", "Thank you for your help.", "Thanks for the {thing}!")
WELCOME = ("You are welcome.", "You are welcome!", "No problem.", "Not at all.", "My pleasure.")
BYES = ("Goodbye!", "Bye!", "See you on {day}!", "Good night!", "See you soon!", "Goodbye, and thank you!")
BYE_ANSWERS = ("Goodbye!", "See you!", "Goodbye, and have a nice day!", "Bye, see you soon!")
SORRY = ("I am sorry.", "I am sorry about the {thing}.", "Sorry, I am late.")
FORGIVEN = ("That is all right.", "No problem at all.", "It does not matter.", "Do not worry.")
BUILDINGS = (
    "library",
    "station",
    "bakery",
    "school",
    "museum",
    "market",
    "church",
    "post office",
    "hotel",
    "town hall",
)


def slots(draw: Draw) -> dict[str, object]:
    """Everything that may be mentioned."""
    name, thing, day = draw.combination("talk", people.NAMES, words.THINGS, words.DAYS)
    activity, activity2 = draw.several(words.ACTIVITIES, 2)
    town, town2 = draw.several(words.TOWNS, 2)
    building, building2 = draw.several(BUILDINGS, 2)
    other, pet = draw.several([n for n in people.NAMES if n != name], 2)
    return {
        "name": name,
        "thing": thing,
        "day": day,
        "other": other,
        "pet": pet,
        "activity": activity,
        "activity2": activity2,
        "town": town,
        "town2": town2,
        "building": building,
        "building2": building2,
        "age": draw.integer(2, 15),
        "place": draw.one(words.PLACES),
        "food": draw.one(words.FOODS),
        "relative": draw.one(words.RELATIVES),
        "weather": draw.one(words.WEATHER),
        "time": draw.one(words.TIMES),
        "job": draw.one(words.JOBS),
        "animal": draw.one(words.ANIMALS),
        "adjective": draw.one(words.ADJECTIVES),
        "feeling": draw.one(("happy", "fine", "very well", "hungry", "proud")),
        "unhappy": draw.one(("tired", "sad", "cold", "worried")),
    }


def document(draw: Draw) -> Page:
    """One dialogue: perhaps a greeting, one or two exchanges, perhaps a farewell."""
    page = Page(draw, **slots(draw))
    (first, last) = draw.combination("chat", CHAT, BYES)
    lines: list[tuple[str, ...]] = []
    if draw.chance(0.5):
        is_asking = draw.chance(0.6)
        greeting = draw.combination("greeting", *((HELLO, FINE) if is_asking else (GREETING, GREETED)))
        lines += [(line,) for line in greeting] + ([] if is_asking else [FINE])
        if is_asking and draw.chance(0.6):
            lines.append(TOO)
    speakers = (page.slots["other"], page.slots["name"])
    if len(lines) % 2:  # the chat begins with the speaker whose turn it is
        page.know(name=speakers[0], other=speakers[1])
    if not lines or draw.chance(0.5):
        lines += [(line,) for line in (first if draw.chance(0.7) else first[:2])]
    if draw.chance(0.2):
        lines += [THANKS, WELCOME] if draw.chance(0.7) else [SORRY, FORGIVEN]
    if draw.chance(0.3):
        lines += [(last,), BYE_ANSWERS]
    page.know(first=speakers[0], second=speakers[1])
    write_lines(page, lines, draw.one(("plain", "plain", "named", "quoted")))
    return page


def write_lines(page: Page, lines: list[tuple[str, ...]], style: str) -> None:
    """Writes turns one per line: bare, after the speaker's name, or in quotes."""
    for index, line in enumerate(lines):
        if index:
            page.say("\n")
        speaker = "{first}" if index % 2 == 0 else "{second}"
        if style == "named":
            page.say(speaker + ": ")
        if style == "quoted":
            page.say('"')
        page.say(*line)
        if style == "quoted":
            page.texts[-1] = page.texts[-1].removesuffix(".") + "," * page.texts[-1].endswith(".")
            page.say('" said ' + speaker + ".")
