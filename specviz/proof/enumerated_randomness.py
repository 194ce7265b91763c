"""A random source that plays given outcomes and keeps the weight of every other: what a proof walks with.

Place in the flow: the engine's sessions draw with it, `exhaustive` replays it outcome by outcome.
"""

from __future__ import annotations

from torch import Tensor

from specviz.core.randomness import AcceptDraw, TokenDraw
from specviz.errors import ProofError
from specviz.trace.uniform_draws import Key

SLIVER = 1e-14
"""bounds of a uniform number that are closer are one number, rounded twice"""


def check_probability(probability: float) -> None:
    """Raises ProofError for what no probability is."""
    if not -1e-12 <= probability <= 1 + 1e-12:
        raise ProofError(f"something is to be accepted with probability {probability:g}; this is its verifier's fault.")


class EnumeratedRandom:
    """Plays a given sequence of outcomes and goes on with the first possible ones; keeps every alternative's weight.

    An outcome of probability zero is never played. Using a key twice is the fault it looks like.
    """

    def __init__(self, script: tuple[int, ...]) -> None:
        self._script = script
        self.options: list[list[tuple[int, float]]] = []
        self.played: list[int] = []
        self._keys: set[Key] = set()
        self._noise: dict[Key, tuple[float, float]] = {}
        """between which bounds the uniform number of a key lies, as far as it was looked at"""

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        check_probability(probability)
        return AcceptDraw(bool(self._choose([(1, probability), (0, 1.0 - probability)], key)), None)

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        if key in self._noise:
            self._use(key)
            return TokenDraw(self._look(probs, key), None)
        return TokenDraw(self._choose(list(enumerate(probs.tolist())), key), None)

    def peek(self, probs: Tensor, key: Key) -> int:
        if key in self._keys:
            raise ProofError(f"the noise of {key} is looked at after it was used; a guess comes before the decision.")
        return self._look(probs, key)

    def _look(self, probs: Tensor, key: Key) -> int:
        """Branch over the tokens that the uniform number may pick, and keep the bounds that the choice implies.

        Draws with one number from several distributions are thereby joined as `chance.pick` joins them.
        """
        low, high = self._noise.get(key, (0.0, 1.0))
        pieces, below = dict[int, tuple[float, float]](), 0.0
        for token, p in enumerate(probs.tolist()):
            piece = max(low, below), min(high, below + p)
            if piece[1] - piece[0] > SLIVER:
                pieces[token] = piece
            below += p
        token = self._play([(token, (b - a) / (high - low)) for token, (a, b) in pieces.items()])
        self._noise[key] = pieces[token]
        return token

    def _choose(self, outcomes: list[tuple[int, float]], key: Key) -> int:
        self._use(key)
        return self._play(outcomes)

    def _use(self, key: Key) -> None:
        if key in self._keys:
            raise ProofError(f"the noise of {key} is used twice, so that two decisions are one; use each key once.")
        self._keys.add(key)

    def _play(self, outcomes: list[tuple[int, float]]) -> int:
        possible = [(outcome, weight) for outcome, weight in outcomes if weight > 0.0]
        step = len(self.played)
        chosen = self._script[step] if step < len(self._script) else 0
        self.options.append(possible)
        self.played.append(chosen)
        return possible[chosen][0]

    def weight(self, since: int = 0) -> float:
        """Probability of the outcomes played, from the `since`-th on."""
        product = 1.0
        for options, chosen in zip(self.options[since:], self.played[since:], strict=True):
            product *= options[chosen][1]
        return product

    def next_script(self, fixed: int) -> tuple[int, ...] | None:
        """The next sequence in order with the first `fixed` outcomes as they are; None after the last."""
        for step in reversed(range(fixed, len(self.played))):
            if self.played[step] + 1 < len(self.options[step]):
                return (*self.played[:step], self.played[step] + 1)
        return None
