"""Questions of the small world asked in five prompt styles, whether an answer is right, and whether it has the form.

    words    What is 61 - 35? Show your work.
    tag      (chain) What is 61 - 35?               as the corpus's styled sums begin
    message  the words and how to end, for a model's chat template

The questions are held-out sums and word problems of the corpus, so their answers are known. The styles are those of
StyleBench (2509.20868), the templates our own.

Place in the flow: `specviz study styles` hands these prompts to an engine. It knows no model and no drafter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from specviz.corpus.plain_english import sums
from specviz.corpus.plain_english.page import Draw

INSTRUCTIONS = {
    "direct": "",
    "chain": "Show your work.",
    "tree": "Name three ways to begin, judge each in a line, go on with the best.",
    "search": "Try an answer, check it, and go back where it is wrong.",
    "sketch": "Use symbols and arrows alone.",
    "draft": "Think in drafts of at most five words a step.",
}
"""style → what is said behind the question; `direct` asks for no style"""
ENDING = "End with a line that says Answer: and the number."
"""of a message: a chat model says where its answer stands"""
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
MOST_WORDS = 5
"""of a step in the style `draft`"""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its answer."""

    text: str
    truth: int


def question(kind: str, seed: int, number: int) -> Question:
    """The numbered question of a kind, `sums` or `problems`: held out from training, a function of its key alone."""
    draw = Draw(f"{seed}/styles/{kind}/{number}", held_out=True)
    if kind == "problems":
        page = sums.problem(draw)
        return Question("".join(page.texts[:2]).strip(), int(str(page.slots["c"])))
    while True:
        a, b, sign = sums.operands(draw)
        if max(a, b) > 9:
            return Question(f"What is {a} {sign} {b}?", a + b if sign == "+" else a - b)


def rendered(asked: Question, style: str, way: str) -> str:
    """The prompt: `way` is `words`, `tag` or `message`."""
    if way == "tag":
        return f"{'' if style == 'direct' else f'({style}) '}{asked.text}\n"
    parts = [asked.text, INSTRUCTIONS[style], ENDING if way == "message" else ""]
    return " ".join(filter(None, parts)) + ("" if way == "message" else "\n")


def is_right(text: str, ended: bool, truth: int) -> bool:
    """Whether the text's answer is the truth: the number behind its last `Answer:`, else its last one.

    A text that did not end has an answer only where it says so: its last number may be in the middle of a step."""
    _, said, behind = text.rpartition("Answer:")
    found = NUMBER.findall(behind)
    if not found or not (said or ended):
        return False
    return float(found[0 if said else -1].replace(",", "")) == truth


def followed(text: str, style: str) -> bool:
    """Whether a text has the form of a style, by marks that its template asks for; always where none is asked for."""
    return FORMS[style](text)


def _steps(text: str) -> Iterator[str]:
    return filter(None, (part.strip() for part in re.split(r"[;\n]|\.(?!\d)", text)))


def _drafts(text: str) -> bool:
    steps = list(_steps(text))
    return len(steps) > 2 and all(len(step.split()) <= MOST_WORDS for step in steps)


FORMS: Mapping[str, Callable[[str], bool]] = {
    "direct": lambda text: True,
    "chain": lambda text: (
        sum(bool(re.search(r"[A-Za-z]{3,}.*(=|\d)", step)) for step in _steps(text)) > 1
        and not any(FORMS[other](text) for other in ("tree", "search", "sketch"))
    ),
    "tree": lambda text: bool(re.search(r"\b(way|option|idea)\W*1\b.*\b2\b.*\b3\b", text, re.IGNORECASE | re.DOTALL)),
    "search": lambda text: bool(
        re.search(r"\b(try|trying)\b.*\b(right|wrong|small|large)\b", text, re.IGNORECASE | re.DOTALL)
    ),
    "sketch": lambda text: bool(re.search(r"->|→|⇒", text)),
    "draft": _drafts,
}
"""style → whether a text has its form: two steps in words; three ways, numbered; an answer tried and judged; an arrow;
three steps or more, each of few words"""
