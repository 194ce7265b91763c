"""The same sums worked out in five prompt styles, each named by a tag before the question.

    chain   every column in words, then the answer                          (CoT)
    tree    three first steps, judged; the best is followed                 (ToT)
    search  answers tried and given up until one is right                   (AoT)
    sketch  symbols alone                                                   (SoT)
    draft   at most five words a step                                       (CoD)

Place in the flow: one family of `generator`. The styles are those of StyleBench (2509.20868), the texts our own; how
many tokens a style takes, how predictable they are and how often its answer is right is what is compared.
"""

from specviz.corpus.plain_english.page import Draw, Page, is_held_out
from specviz.corpus.plain_english.people import NAMES
from specviz.corpus.plain_english.sums import digits, operands, sum_page

QUESTIONS = (
    "What is {a} {sign} {b}?",
    "{a} {sign} {b}?",
    "How much is {a} {sign} {b}?",
    "Work out {a} {sign} {b}.",
    "{name} asks: what is {a} {sign} {b}?",
)
END = "{a} {sign} {b} = {c}."


def question(draw: Draw, style: str, a: int, b: int, sign: str) -> Page:
    """A page that knows the sum and holds tag and question."""
    page = sum_page(draw, a, b, sign)
    page.know(name=draw.one(NAMES), style=style)
    page.say("({style}) ")
    page.say(*QUESTIONS)
    page.say("\n")
    return page


def chain(page: Page, a: int, b: int, sign: str) -> None:
    """Every column in words."""
    page.say("{steps}")


def tree(page: Page, a: int, b: int, sign: str) -> None:
    """Three ways to begin, one line of judgement each; the first that is good is followed."""
    ways = ["Ones first: safe.", "Largest digits first: a carry may come back.", "Guess: too risky."]
    page.draw.random.shuffle(ways)
    page.know(first=ways[0], second=ways[1], third=ways[2])
    page.say("Way 1. {first} Way 2. {second} Way 3. {third}\nTake ones first. ")
    page.say("{steps}")


def search(page: Page, a: int, b: int, sign: str) -> None:
    """Up to two wrong answers tried by the opposite sum, then the right one."""
    right = a + b if sign == "+" else a - b
    back = "-" if sign == "+" else "+"
    wrong = [right + off for off in (10, -10, 1, -1, 20) if _tried(page.draw, right + off, b, back)]
    tried = page.draw.several(wrong, min(len(wrong), page.draw.one((1, 1, 2))))
    for guess in (*tried, right):
        found = guess - b if sign == "+" else guess + b
        verdict = "right" if guess == right else "too small" if guess < right else "too large"
        page.know(guess=guess, back=back, found=found, verdict=verdict)
        page.say("Try {guess}: {guess} {back} {b} = {found}, {verdict}. ")


def _tried(draw: Draw, guess: int, b: int, back: str) -> bool:
    """Whether this opposite sum may stand in a document: it is one, and of the document's side of the split."""
    return guess >= (b if back == "-" else 0) and is_held_out("sum", guess, b, back) == draw.held_out


def sketch(page: Page, a: int, b: int, sign: str) -> None:
    """Tens and ones in symbols."""
    count = len(str(max(a, b)))
    parts = [
        (x * 10**place, y * 10**place)
        for place, (x, y) in reversed(list(enumerate(zip(digits(a, count), digits(b, count), strict=True))))
    ]
    found = [x + y if sign == "+" else x - y for x, y in parts]
    steps = "; ".join(f"{x}{sign}{y}={part}" for (x, y), part in zip(parts, found, strict=True))
    page.know(parts=steps, added=" ".join(f"{part:+d}" for part in found).removeprefix("+"))
    page.say("{parts} -> {added} -> ")


def draft(page: Page, a: int, b: int, sign: str) -> None:
    """Column by column, a few words each."""
    count, moved = len(str(max(a, b))), ""
    said: list[str] = []
    for x, y in zip(digits(a, count), digits(b, count), strict=True):
        carried = int(bool(moved))
        total = x + y + carried if sign == "+" else x - y - carried
        goes_on = len(said) < count - 1 and not 0 <= total <= 9
        said.append(f"{x}{sign}{y}{moved}: {total % 10 if goes_on else total}{', carry' if goes_on else ''}")
        moved = f"{sign}1" if goes_on else ""
    page.know(said="; ".join(said))
    page.say("{said}. ")


STYLES = {"chain": chain, "tree": tree, "search": search, "sketch": sketch, "draft": draft}


def document(draw: Draw) -> Page:
    """One sum of two or three digits in one of the styles."""
    style = draw.one(tuple(STYLES))
    while True:
        a, b, sign = operands(draw)
        result, back = (a + b, "-") if sign == "+" else (a - b, "+")
        if max(a, b) > 9 and (style != "search" or _tried(draw, result, b, back)):
            break
    page = question(draw, style, a, b, sign)
    STYLES[style](page, a, b, sign)
    page.say(END)
    return page
