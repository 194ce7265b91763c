"""Word problems: small stories with two or three numbers, a question, the sum and the answer.

Place in the flow: one family of `generator`. The numbers and the things are carried from the story to the answer.
"""

from specviz.corpus.plain_english.page import Draw, Page, is_held_out
from specviz.corpus.plain_english.people import NAMES, pronouns
from specviz.corpus.plain_english.words import COUNTED, PLACES

MORE = (
    "{name} has {a} {things}. {other} gives {her} {b} more. ",
    "{name} finds {a} {things} {place} and {b} {things} at home. ",
    "{name} buys {a} {things} on {day1} and {b} more on {day2}. ",
    "There are {a} {things} in the cupboard. {name} puts {b} more into it. ",
    "In the morning {name} counts {a} {things}. In the evening {she} counts {b} more. ",
    "{name} has {a} {things} and {other} has {b} {things}. They put them together. ",
)
LESS = (
    "{name} has {a} {things}. {She} gives {b} of them to {other}. ",
    "{name} had {a} {things}, but {she} lost {b} of them {place}. ",
    "There are {a} {things} on the table. {name} takes {b} of them away. ",
    "{name} picked {a} {things}. {other} took {b} of them. ",
    "{name} carries {a} {things}. On the way {b} of them fall down. ",
    "A shop has {a} {things}. On {day1} it sells {b} of them. ",
)
QUESTIONS = (
    "How many {things} are there now? ",
    "How many {things} are there in the end? ",
    "What is the number of {things} now? ",
)
ANSWERS = ("Now there are {c} {things}.", "There are {c} {things}.", "So there are {c} {things} now.")


def numbers(draw: Draw, sign: str) -> tuple[int, int, int]:
    """Operands of this document's side and their result."""
    while True:
        a, b = draw.integer(2, 60), draw.integer(1, 39)
        if (sign == "+" or a > b) and is_held_out("problem", a, b, sign) == draw.held_out:
            return a, b, a + b if sign == "+" else a - b


def document(draw: Draw) -> Page:
    """One word problem with its answer."""
    sign = draw.one("+-")
    a, b, result = numbers(draw, sign)
    name, other = draw.several(NAMES, 2)
    she, her, _ = pronouns(name)
    page = Page(
        draw,
        a=a,
        b=b,
        c=result,
        sign=sign,
        name=name,
        other=other,
        she=she,
        She=she.title(),
        her=her,
        things=draw.one(COUNTED),
        place=draw.one(PLACES),
        day1=draw.one(("Monday", "Tuesday")),
        day2=draw.one(("Friday", "Saturday")),
    )
    page.say(*(MORE if sign == "+" else LESS))
    page.say(*QUESTIONS)
    page.say("{a} {sign} {b} = {c}. ", "\n{a} {sign} {b} = {c}.\n")
    page.say(*ANSWERS)
    return page
