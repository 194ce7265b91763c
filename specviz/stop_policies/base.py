"""What a stop policy is: it decides, node by node, whether a draft goes on.

Asked by the draft under way (`drafters/drafting/growing.py`), so that it works with every tree policy. One file per
policy. Knows nothing about models, verifiers or the shape of trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from torch import Tensor

from specviz.errors import OptionError
from specviz.options import Options, option
from specviz.registry import PlugIn, Registry
from specviz.trace.declared_method import Stops
from specviz.trace.events import Option


class DraftView(Protocol):
    """What a stop policy may look at: the draft so far, in numbers."""

    def prob(self, node: int) -> float:
        """Probability that the drafter gave to this candidate; at temperature 0 by its own softmax."""
        ...

    def entropy(self, node: int) -> float:
        """Entropy in nats of what the drafter says follows the node; at temperature 0 of its own softmax."""
        ...

    def parent(self, node: int) -> int: ...

    def depth(self, node: int) -> int:
        """0 for the root."""
        ...

    def head(self, node: int, count: int) -> list[float]:
        """The `count` largest probabilities of what the drafter says follows the node, decreasing; fewer where the
        vocabulary is smaller."""
        ...

    def hidden(self, node: int) -> Tensor | None:
        """The drafter's last hidden state [H] once it has read this node, on the CPU in float32; None where it gives
        none, or has not read the node yet."""
        ...

    def confidence(self, node: int) -> float | None:
        """How likely the drafter itself expects the target to take what it draws below the node, said before anything
        is drawn there; None where it says nothing of that."""
        ...

    def text(self, node: int) -> list[int]:
        """The whole text so far and the drafted path to the node, itself included."""
        ...


LONGEST = 32
"""levels of a draft"""


@dataclass(frozen=True)
class StopOptions(Options):
    """What every policy can be held to."""

    longest: int = option(
        0,
        help="levels at most; a chain goes on to here, also beyond its own length; 0: its own length",
        minimum=0,
        maximum=LONGEST,
    )


TargetSays = Callable[[Sequence[int]], int]
"""the token that the target holds most probable after a text, by a pass of its own"""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the classifier of a stop policy is trained by `specviz.training.stop_classifiers`."""

    widths: Sequence[int]
    """its hidden layers"""
    from_hidden: bool
    """it reads the drafter's hidden state at a candidate; otherwise numbers of `learned.features`"""
    features: Sequence[int] | None = None
    """which of those numbers; None: all"""
    reject_weight: float = 1.0
    """how many times more than an acceptance a rejection counts in training"""
    whole_path: bool = False
    """its threshold bounds the risk that something on the path is rejected, asked once the drafter has read the
    candidate; otherwise it is the least probability of the candidate alone"""
    whole_level: bool = False
    """a level goes on below all its candidates while any of them reaches the threshold, otherwise each by itself"""
    least: int = 0
    """levels that are drafted in any case"""
    steps: int = 400
    learning_rate: float = 0.01


StopOptionsT_co = TypeVar("StopOptionsT_co", bound=StopOptions, covariant=True)


class StopPolicy(PlugIn[StopOptionsT_co]):
    """Lives for one run and may remember earlier rounds. A policy derives from this class and overrides what it needs.

    Adaptedness: both questions are asked before anything is drawn below the node, and a candidate that was drawn is
    always submitted, so that no rule can bias the text whatever it looks at.
    """

    options_type: ClassVar[type[Options]] = StopOptions
    temperatures: ClassVar[str] = "any"
    """`any` or `zero`"""
    deployable: ClassVar[bool] = True
    """False: it asks the target before the draft is judged (`consult`). Nobody can decode like that; its runs show what
    the best stop policy could reach, and no speed is taken from them"""
    recipe: ClassVar[Recipe | None] = None
    """set where it goes by trained weights: shipped ones, or those of `use`"""
    stops: ClassVar[Stops] = Stops()
    """what a trace shows of where it ends a draft; the check goes by it"""
    needs_hidden: ClassVar[bool] = False
    """it looks at the drafter's hidden states"""

    def does_nothing(self) -> bool:
        """Whether it is what a run has that names no stop policy."""
        return False

    def learn(self, drafted: int, accepted: int) -> None:
        """Told before each round but the first how many levels the last draft had and how many were accepted."""
        return

    def rests(self) -> bool:
        """Whether this round drafts nothing, as was settled in one before that had no draft. It then costs what plain
        decoding does: nothing is looked at, and `learn` is not told of it."""
        return False

    def levels(self) -> int | None:
        """The draft of this round shall be no deeper than this, and a chain may go on to here, beyond the length that
        its tree policy gives it; None: as deep as that makes it."""
        return self.options.longest or None

    def goes_below(self, draft: DraftView, node: int) -> bool:
        """Whether to ask the drafter what follows this candidate, which is kept in any case. Not asked of the root."""
        return True

    def going_on(self, draft: DraftView, nodes: Sequence[int]) -> list[int]:
        """Those of some candidates, asked about together, below which the drafter is asked what follows."""
        return [node for node in nodes if self.goes_below(draft, node)]

    def draws_at(self, draft: DraftView, node: int) -> bool:
        """Whether to draw candidates below this node, now that it is known what the drafter says there."""
        return True

    def consult(self, target_says: TargetSays) -> None:
        """Called once, before the first round, where the policy is not `deployable`."""
        return

    def use(self, weights: Mapping[str, Any]) -> None:
        """Called once, before the first round, with other weights than the shipped ones. Raises OptionError where
        they do not fit, or where the policy learns nothing."""
        raise OptionError(f"the stop policy '{self.name}' has no weights to replace; leave them out.")

    @classmethod
    def standing(cls) -> str:
        """What measurements say of it, as a sentence for a page; empty where nothing was measured."""
        return ""

    def why_not(self, hidden_size: int, drafter_sha256: str) -> str | None:
        """Why it cannot work with a drafter of these weights, as a clause; None where it can."""
        return None

    def state(self) -> dict[str, Option]:
        """What it goes by in this round, for the trace."""
        return {}


STOP_POLICIES: Registry[type[StopPolicy[StopOptions]]] = Registry("stop policy", package="specviz.stop_policies")
