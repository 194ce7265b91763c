"""PEARL (2408.11850): drafter and target work at the same time on the same text, and meet after every round.

    pre-verify   the drafter drafts γ tokens; the target says what the first of them must be
    post-verify  the target reads the γ drafted before, while the drafter drafts γ more

A draft whose first token is right is read in the next round; one that is wrong costs that round alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from specviz.asynchronous.machines import shared, until_end


@dataclass(frozen=True, slots=True)
class Both:
    """Wants both at once: `count` drafted tokens after text + pending, and what the target says from the end of `text`
    on, one token more than `pending` has."""

    text: Sequence[int]
    pending: Sequence[int]
    count: int


@dataclass(frozen=True, slots=True)
class Met:
    """What a round came to: tokens that became text, how many of them were drafted, and drafted tokens thrown away."""

    mode: str
    committed: int
    accepted: int
    thrown: int


Rounds = Generator[Both | Met, tuple[Sequence[int], Sequence[int]] | None, list[int]]


def pearl(prompt: Sequence[int], length: int, gamma: int, ends: Callable[[int], bool]) -> Rounds:
    """The rounds of one text of at most `length` tokens, prompt included; returns it. Sent: (drafted, said)."""
    text, pending = list(prompt), list[int]()
    while len(text) < length and not (len(text) > len(prompt) and ends(text[-1])):
        answer = yield Both(text, pending, gamma)
        assert answer is not None, "a round was not answered."
        drafted, said = answer
        accepted = shared(pending, said)
        is_right = accepted == len(pending) and len(drafted) > 0 and drafted[0] == said[accepted]
        new = [*pending[:accepted], *([] if is_right else [said[accepted]])]
        thrown = 0 if is_right else len(pending) - accepted + len(drafted)
        mode = "post-verify" if pending else "pre-verify"
        pending = list(drafted) if is_right else []
        new = until_end(new, ends)[: length - len(text)]
        text += new
        yield Met(mode, len(new), min(accepted, len(new)), thrown)
    return text
