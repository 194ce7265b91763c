"""What sort of text a token is, from its characters alone; every token is of exactly one class.

Place in the flow: the facts of a trace name the class of what was drafted and of what was wanted.
"""

from __future__ import annotations

import re

WHITESPACE = "whitespace"
DIGIT = "digit"
PUNCTUATION = "punctuation"
IDENTIFIER = "identifier"
WORD_START = "word start"
WORD_PART = "word part"
OTHER = "other"

CLASSES = (WORD_START, WORD_PART, IDENTIFIER, DIGIT, PUNCTUATION, WHITESPACE, OTHER)
"""in the order in which tables show them"""

_NAME = re.compile(r"[^\W\d]\w*")
_INNER_CAPITAL = re.compile(r"[a-z][A-Z]")


def token_class(text: str) -> str:
    """The class of a token that shows as `text`.

    `whitespace`: nothing else in it. `digit`: a number, signs and points inside allowed. `identifier`: a name that no
    word of a language is, with an underscore, a digit or a capital inside. `word start`: letters after a space, or
    beginning with a capital. `word part`: other letters. `punctuation`: neither letters nor digits. `other`: the rest,
    such as pieces of a character.
    """
    bare = text.strip()
    if not bare:
        return WHITESPACE if text else OTHER
    if "\ufffd" in bare:
        return OTHER
    if bare[0].isdigit():
        return DIGIT if all(one.isdigit() or one in ".,:-/" for one in bare) else OTHER
    if not any(one.isalnum() for one in bare):
        return PUNCTUATION
    if not _NAME.fullmatch(bare.replace("'", "").replace("’", "")):
        return OTHER
    if "_" in bare or any(one.isdigit() for one in bare) or _INNER_CAPITAL.search(bare):
        return IDENTIFIER
    return WORD_START if text[0].isspace() or bare[0].isupper() else WORD_PART


def is_word(kind: str) -> bool:
    """Whether tokens of the class are made of letters."""
    return kind in (WORD_START, WORD_PART, IDENTIFIER)
