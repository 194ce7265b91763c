"""Every substring of a text with its number of occurrences, kept up to date token by token.

The suffix automaton (Blumer et al. 1985): at most two states per token, all strings of a state end at the same places.
It answers what a suffix tree does, for matches of any length, and grows with the text.
"""

from __future__ import annotations

from collections.abc import Iterator

START = 0
"""state of the empty string"""


class SuffixAutomaton:
    """Grows by `extend`; amortised constant time per token, apart from the counts of a text that repeats itself."""

    def __init__(self) -> None:
        self.following: list[dict[int, int]] = [{}]
        """per state: token → state"""
        self.shorter = [-1]
        """per state: that of its longest suffix which ends at more places; -1 for the empty string"""
        self.length = [0]
        """per state: length of its longest string"""
        self.count = [0]
        """per state: how often its strings occur"""
        self.first_end = [-1]
        """per state: index of the last token of the first occurrence"""
        self.whole = START
        """state of the text itself"""
        self._size = 0

    def extend(self, token: int) -> None:
        """Append one token."""
        new = self._add({}, self.length[self.whole] + 1, 0, self._size)
        state = self.whole
        while state >= 0 and token not in self.following[state]:
            self.following[state][token] = new
            state = self.shorter[state]
        if state < 0:
            self.shorter[new] = START
        else:
            self.shorter[new] = self._ending_alike(state, token)
        self.whole, self._size = new, self._size + 1
        while new >= 0:
            self.count[new] += 1
            new = self.shorter[new]

    def suffixes(self, state: int, longest: int) -> Iterator[tuple[int, int]]:
        """(length, state) of `state`'s string cut to `longest` tokens and of its ever shorter suffixes with more
        occurrences each."""
        while state > START:
            shorter = self.shorter[state]
            if self.length[shorter] < longest:
                yield min(self.length[state], longest), state
            state = shorter

    def after(self, state: int) -> list[tuple[int, int, int]]:
        """(token, how often, state) for all that followed a string of `state`."""
        return [(token, self.count[other], other) for token, other in self.following[state].items()]

    def _ending_alike(self, state: int, token: int) -> int:
        """The state of the longest string of `state` followed by `token`, split off where it is not a state's own."""
        reached = self.following[state][token]
        length = self.length[state] + 1
        if self.length[reached] == length:
            return reached
        split = self._add(dict(self.following[reached]), length, self.count[reached], self.first_end[reached])
        self.shorter[split], self.shorter[reached] = self.shorter[reached], split
        while state >= 0 and self.following[state].get(token) == reached:
            self.following[state][token] = split
            state = self.shorter[state]
        return split

    def _add(self, following: dict[int, int], length: int, count: int, first_end: int) -> int:
        self.following.append(following)
        self.shorter.append(START)
        self.length.append(length)
        self.count.append(count)
        self.first_end.append(first_end)
        return len(self.length) - 1


class Cursor:
    """The longest suffix of another text that occurs in an automaton, kept up to date as that text grows."""

    def __init__(self, automaton: SuffixAutomaton) -> None:
        self._automaton = automaton
        self.state = START
        self.length = 0

    def step(self, token: int) -> None:
        """The other text goes on with `token`."""
        automaton = self._automaton
        while self.state != START and token not in automaton.following[self.state]:
            self.state = automaton.shorter[self.state]
            self.length = automaton.length[self.state]
        reached = automaton.following[self.state].get(token)
        if reached is not None:
            self.state, self.length = reached, self.length + 1
