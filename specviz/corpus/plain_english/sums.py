"""Additions and subtractions up to 999, bare, as questions, with worked steps, and as word problems.

Place in the flow: three families of `generator`. Which operands meet is what is held out: a pair belongs to one side.
Numbers of two and three digits are answered with their steps, however they are asked, smaller ones at once. `practice`
is a family of its own: the prompt set rests on the documents of the other one. A word problem is a small story with two
or three numbers, a question, the sum and the answer; its numbers and things are carried from the story to the answer.
"""

from specviz.corpus.plain_english.page import Draw, Page, is_held_out
from specviz.corpus.plain_english.people import NAMES, pronouns
from specviz.corpus.plain_english.words import COUNTED, PLACES

BARE_PRACTICE = 0.6
"""how much of `practice` is bare sums: with no word before them, their digits stand at places that vary most"""
COLUMNS = ("Ones", "Tens", "Hundreds", "Thousands")
BARE = (
    "{a} {sign} {b} = {c}",
    "{a} {sign} {b} = {c}.",
    "Sum: {a} {sign} {b} = {c}",
    "{name} writes: {a} {sign} {b} = {c}",
)
BARE_WITH_STEPS = tuple(f"{frame.partition('=')[0]}= ? {{steps}}{{a}} {{sign}} {{b}} = {{c}}." for frame in BARE)
"""by the first of them `{a} {sign} {b} =` is answered; people leave spaces out, too"""
TYPED = ("{a}{sign}{b}= ? {steps}{a} {sign} {b} = {c}.", "{a}{sign}{b} = ? {steps}{a} {sign} {b} = {c}.")
ASKED = (
    "What is {a} {sign} {b}? ",
    "What is {a} {word} {b}? ",
    "How much is {a} {sign} {b}? ",
    "Question: What is {a} {sign} {b}?\nAnswer: ",
    "Can you tell me what {a} {word} {b} is? ",
    '{name} asks: "What is {a} {word} {b}?"\n',
    "Calculate {a} {sign} {b}. ",
    "{task}. ",
    "Please work out {a} {sign} {b}.\n",
    "Hello, what is {a} {word} {b}? ",
)
STEPWISE = (
    "Work out {a} {sign} {b} step by step.\n",
    "Show the steps of {a} {sign} {b}.\n",
    "What is {a} {sign} {b}? Show your work.\n",
    "Calculate {a} {word} {b}, digit by digit.\n",
    "{name} works out {a} {sign} {b} step by step.\n",
    "Step by step: {a} {sign} {b}.\n",
)


def digits(value: int, count: int) -> list[int]:
    """The last `count` digits, ones first."""
    return [value // 10**index % 10 for index in range(count)]


def steps(a: int, b: int, sign: str) -> str:
    """Column by column, ones first; every carry and borrow is written out."""
    count, carry, lines = len(str(max(a, b))), 0, []
    for index, (x, y) in enumerate(zip(digits(a, count), digits(b, count), strict=True)):
        moved = f" {sign} {carry}" if carry else ""
        if sign == "+":
            total = x + y + carry
            line = f"{COLUMNS[index]}: {x} + {y}{moved} = {total}"
            line += f", write {total % 10}, carry 1." if total > 9 and index < count - 1 else "."
            carry = total // 10
        else:
            borrowed = x - y - carry < 0
            top = x + 10 if borrowed else x
            line = f"{COLUMNS[index]}: {f'borrow, {top}' if borrowed else x} - {y}{moved} = {top - y - carry}."
            carry = int(borrowed)
        lines.append(line)
    return " ".join(lines) + " "


def operands(draw: Draw) -> tuple[int, int, str]:
    """Two numbers and a sign, of this document's side; half have two digits, a third three."""
    size = draw.one((9, 99, 99, 99, 999, 999))
    smallest = {9: 0, 99: 10, 999: 100}[size]
    first = range(smallest, size + 1)
    second = range(0 if draw.chance(0.3) else smallest, size + 1)
    while True:
        a, b, sign = draw.combination("sum", first, second, "+-")
        if sign == "-" and a < b:
            continue
        if sign == "+" and a + b > 999:
            continue
        return a, b, sign


def sum_page(draw: Draw, a: int, b: int, sign: str) -> Page:
    """A page that knows the slots of one sum."""
    result = a + b if sign == "+" else a - b
    word, task = ("plus", f"Add {a} and {b}") if sign == "+" else ("minus", f"Subtract {b} from {a}")
    if sign == "+" and draw.chance(0.3):
        word = "and"
    return Page(
        draw, a=a, b=b, c=result, sign=sign, word=word, task=task, name=draw.one(NAMES), steps=steps(a, b, sign)
    )


def document(draw: Draw) -> Page:
    """One sum."""
    a, b, sign = operands(draw)
    page = sum_page(draw, a, b, sign)
    style = draw.random.random()
    is_long = max(a, b) > 99
    if style < 0.3:
        page.say(*(BARE_WITH_STEPS if max(a, b) > 9 else BARE))
    elif style < 0.65 and not is_long:
        page.say(*ASKED)
        page.say("{steps}{a} {sign} {b} = {c}." if max(a, b) > 9 else "{a} {sign} {b} = {c}.")
    else:
        page.say(*(ASKED if is_long and draw.chance(0.5) else STEPWISE))
        page.say("{steps}")
        page.say("{a} {sign} {b} = {c}.")
    return page


def practice(draw: Draw) -> Page:
    """What the family above has little of: bare sums of two and three digits, and questions, answered in steps."""
    a, b, sign = operands(draw)
    while max(a, b) < 10:
        a, b, sign = operands(draw)
    page = sum_page(draw, a, b, sign)
    if draw.chance(BARE_PRACTICE):
        page.say(*BARE_WITH_STEPS, *TYPED)
    else:
        page.say(*ASKED, *STEPWISE)
        page.say("{steps}")
        page.say("{a} {sign} {b} = {c}.")
    return page


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


def problem(draw: Draw) -> Page:
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
