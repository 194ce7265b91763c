"""Questions and answers over the fact base: a kind of fact, a wording and a frame around them.

Place in the flow: one family of `generator`. A frame and a wording together are a phrasing; some are held out, so that
a fact can be asked in a phrasing that never occurred in training while frame, wording and fact each did.
"""

from specviz.corpus.plain_english import facts
from specviz.corpus.plain_english.page import Draw, Page, is_held_out
from specviz.corpus.plain_english.people import NAMES

# {q}, {Q}: the question; {i}: indirect; {s}, {S}: the answering sentence; {y}, {Y}: the bare answer.
DIRECT = (
    "{Q}? {S}.",
    "{Q}?\n{S}.",
    "Question: {Q}?\nAnswer: {S}.",
    "Q: {Q}?\nA: {Y}.",
    '"{Q}?" asked {name}.\n"{S}," said {other}.',
    '{name} asked: "{Q}?" {other} said: "{S}."',
    "Quick question: {q}? {S}.",
    "Excuse me, {q}? {S}.",
    "Hello! {Q}? {S}.",
    "{name}: {Q}?\n{other}: {S}.",
    "Please answer: {q}? {S}.",
    "Here is a question for you. {Q}? {S}.",
    "One more question: {q}? {S}.",
    "{Q}? Easy! {S}.",
    "Quiz. {Q}? {Y}.",
    "I have a question. {Q}? {S}.",
)
INDIRECT = (
    "Can you tell me {i}? {S}.",
    "Do you know {i}? Yes. {S}.",
    "Tell me {i}. {S}.",
    "Please tell me {i}.\n{S}.",
    "I want to know {i}. {S}.",
    '{name} wanted to know {i}. "{S}," said {other}.',
    '"Do you know {i}?" asked {name}. "Yes," said {other}. "{S}."',
    "Could you tell me {i}, please? Of course. {S}.",
    "{name} asks {other} to name {i}. {other} says: {S}.",
    "I forgot {i}. No problem: {s}.",
)
PLAIN = (
    "{S}.",
    "Did you know? {S}.",
    "Remember: {s}.",
    "{name} knows that {s}.",
    "Today {name} learned that {s}.",
    "The teacher said that {s}.",
    "In the book it says that {s}.",
    "It is well known that {s}.",
    "{name} wrote in a letter that {s}.",
)
SHAPES = {"direct": DIRECT, "indirect": INDIRECT, "plain": PLAIN}
PLAINLY = "{Q}? {S}."
BEGUN_OTHERWISE = ("{Q}?\n{S}.", "{Q}? Easy! {S}.")
"""The same question with another beginning of its answer: whoever held back only the plain phrasing of a question
would teach that its answer never begins plainly."""
PLAIN_ANSWERS = 4
"""how much oftener than each other phrasing a question is answered plainly, so that this is the likeliest answer"""
NAMING = " to name "  # only "the capital of France" can be named, not "where France is"
WEIGHTED_KINDS = tuple(kind for kind in facts.KINDS for _ in range(kind.weight))
SUBJECTS = tuple((kind, subject) for kind in facts.KINDS for subject in kind.pairs)


def phrasings(kind: facts.Kind) -> list[tuple[str, str]]:
    """Every (frame, wording) that fits a kind."""
    plain = (kind.statement, *kind.others)
    found = [(frame, words) for frame in DIRECT for words in kind.questions]
    found += [
        (frame, words)
        for frame in INDIRECT
        for words in kind.indirect
        if NAMING not in frame or words.startswith("the ")
    ]
    return found + [(frame, words) for frame in PLAIN for words in plain]


def taught(kind: facts.Kind) -> list[tuple[str, str]]:
    """The phrasings that training may draw from, the plain answer several times; what is held out in it is refused by
    the draw. A question whose plain phrasing is held out occurs under no other beginning of the answer either."""
    found = []
    for frame, words in phrasings(kind):
        if frame in BEGUN_OTHERWISE and is_held_out("phrasing", (PLAINLY, words), kind.name):
            continue
        found += [(frame, words)] * (PLAIN_ANSWERS if frame == PLAINLY else 1)
    return found


def is_question(phrasing: tuple[str, str]) -> bool:
    """Whether a phrasing asks and answers, rather than states."""
    return phrasing[0] not in PLAIN


def prompt_and_answer(kind: facts.Kind, phrasing: tuple[str, str], subject: str) -> tuple[str, str]:
    """A question as a prompt, up to where the answer begins, and the sentence or word that answers it.

    For measuring: names are fixed, so that the phrasing alone differs.
    """
    page = Page(Draw("", False), **slots_of(kind, phrasing, subject), name="Mia", other="Leo")
    page.say(phrasing[0])
    marks = [mark for mark in ("{S}", "{s}", "{Y}") if mark in phrasing[0]]
    answer = str(page.slots[marks[0][1]])
    return page.text[: page.text.rindex(answer)].rstrip(" "), answer


def slots_of(kind: facts.Kind, phrasing: tuple[str, str], subject: str) -> dict[str, str]:
    """The filled wordings of one fact, under the names that frames use."""
    page = Page(Draw("", False), x=subject, y=kind.pairs[subject])
    words = {name: text.format(**page.slots) for name, text in (("q", phrasing[1]), ("s", kind.statement))}
    words |= {"i": words["q"], "y": kind.pairs[subject]}
    if phrasing[0] in PLAIN:
        words["s"] = words["q"]
    return words | {name.upper(): words[name][:1].upper() + words[name][1:] for name in "qsy"}


def document(draw: Draw) -> Page:
    """One question with its answer, or one statement; sometimes a claim that is judged."""
    if draw.chance(0.06):
        return judged(draw)
    kind = draw.one(WEIGHTED_KINDS)
    (phrasing, _) = draw.combination("phrasing", phrasings(kind) if draw.held_out else taught(kind), (kind.name,))
    page = Page(draw, **slots_of(kind, phrasing, draw.one(list(kind.pairs))))
    name, other = draw.several(NAMES, 2)
    page.know(name=name, other=other)
    page.frames.append(f"{kind.name}: {phrasing[1]} ")
    page.say(phrasing[0])
    page.texts[-1] = page.texts[-1].replace("..", ".")
    return page


def judged(draw: Draw) -> Page:
    """A true or false claim, judged, with the right answer after it."""
    ((kind, subject), is_true) = draw.combination("claim", SUBJECTS, (True, False))
    right = kind.pairs[subject]
    claimed = right if is_true else draw.one([answer for answer in kind.pairs.values() if answer != right])
    page = Page(draw, x=subject, y=claimed, right=right)
    claim = kind.statement.format(**page.slots)
    page.know(y=right)
    page.know(claim=claim, truth=kind.statement.format(**page.slots))
    verdict = "True. {truth:c}." if is_true else "False. {truth:c}."
    page.frames.append(kind.name)
    page.say("True or false: {claim}? " + verdict, "True or false?\n{claim:c}.\n" + verdict)
    return page
