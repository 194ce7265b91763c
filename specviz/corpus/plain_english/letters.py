"""Short letters and messages: thanks, invitations, news, apologies, requests.

Place in the flow: one family of `generator`. Both names, the thing and the day are carried through the letter.
"""

from specviz.corpus.plain_english import people, words
from specviz.corpus.plain_english.page import Draw, Page

GREETINGS = ("Dear {name},\n", "Hello {name},\n", "Hi {name},\n", "My dear {name},\n", "Good morning {name},\n")
CLOSINGS = (
    "Yours,\n{other}",
    "Best wishes,\n{other}",
    "See you soon,\n{other}",
    "Your {relative},\n{other}",
    "Love,\n{other}",
    "Greetings from {town},\n{other}",
    "With many thanks,\n{other}",
)
THANKS = (
    (
        "Thank you [so much|very much] for the {adjective} {thing}. ",
        "The {adjective} {thing} [came|arrived] on {day}. Thank you! ",
        "I [must|want to] thank you for the {thing} you sent me. It is {adjective}. ",
    ),
    ("I use it every day. ", "It stands {place2}. ", "My {relative2} likes it too. ", "I will take it to {town}. "),
    ("Please come and see the {thing} soon. ", "I hope to see you on {day2}. ", "The {thing} makes me very happy. "),
)
INVITATION = (
    (
        "[Please|Will you] come to my party on {day}[.|?] ",
        "I would like to invite you for {day}. ",
        "We have a party on {day}. ",
    ),
    ("It starts at {time} o'clock {place}. ", "We meet {place} at {time}. ", "Come to us at {time} o'clock. "),
    ("Please bring {adjective:a} {thing}. ", "There will be {food} and {food2}. ", "You can bring your {relative2}. "),
    ("Do not forget: {day}, {time} o'clock! ", "Write to me if you can come. ", "I look forward to {day}. "),
)
NEWS = (
    ("I am in {town} now. ", "We are on holiday in {town}. ", "Here in {town} it is {weather}. "),
    (
        "On {day} I saw {animal:a} {place}. ",
        "Yesterday we did some {activity}. ",
        "My {relative2} bought {adjective:a} {thing}. ",
    ),
    ("We eat {food} every day. ", "The people here are {manner}. ", "In the evening I like {activity}. "),
    ("I will be back on {day2}. ", "I miss you. ", "Next week we go to {town2}. "),
)
APOLOGY = (
    (
        "I am [so|very] sorry about your {adjective} {thing}. ",
        "Please forgive me: I lost your {thing}. ",
        "I have bad news. Your {adjective} {thing} is broken. ",
    ),
    ("It happened {place} on {day}. ", "It was my fault. ", "{animal:A} took it. ", "I did not see it. "),
    ("I will buy you a new {thing}. ", "My {relative2} can mend the {thing}. ", "You can have my own {thing}. "),
    ("Are you still my friend? ", "I hope you are not sad. ", "It will not happen again. "),
)
REQUEST = (
    (
        "May I borrow your {adjective} {thing}? ",
        "Could you send me your {thing}? ",
        "I need {adjective:a} {thing}. Do you have one? ",
    ),
    ("I need it for {activity}. ", "My own {thing} is broken. ", "My {relative2} lost our {thing}. "),
    (
        "I will bring the {thing} back on {day}. ",
        "I will give it back next week. ",
        "I can come on {day} at {time} o'clock. ",
    ),
    ("In return you get some {food}. ", "Thank you! ", "Please let me know. "),
)
BODIES = (THANKS, INVITATION, NEWS, APOLOGY, REQUEST)


def document(draw: Draw) -> Page:
    """One letter."""
    name, thing, day = draw.combination("letter", people.NAMES, words.THINGS, words.DAYS)
    (body, closing) = draw.combination("letter body", range(len(BODIES)), CLOSINGS)
    relative, relative2 = draw.several(words.RELATIVES, 2)
    food, food2 = draw.several(words.FOODS, 2)
    town, town2 = draw.several(words.TOWNS, 2)
    place, place2 = draw.several(words.PLACES, 2)
    page = Page(
        draw,
        name=name,
        thing=thing,
        day=day,
        other=draw.one([n for n in people.NAMES if n != name]),
        relative=relative,
        relative2=relative2,
        food=food,
        food2=food2,
        town=town,
        town2=town2,
        place=place,
        place2=place2,
        day2=draw.one(words.DAYS),
        time=draw.one(words.TIMES),
        adjective=draw.one(words.ADJECTIVES),
        animal=draw.one(words.ANIMALS),
        activity=draw.one(words.ACTIVITIES),
        weather=draw.one(words.WEATHER),
        manner=draw.one(words.MANNERS),
    )
    page.maybe(0.2, "Write a letter from {other} to {name}.\n\n", "A letter to {name}\n\n", "{town}, {day2}\n\n")
    page.say(*GREETINGS)
    for part in BODIES[body]:
        page.say(*part)
    page.texts[-1] = page.texts[-1].rstrip()
    page.say("\n")
    page.say(closing)
    return page
