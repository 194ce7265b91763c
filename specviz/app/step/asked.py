"""What a class asks of the page, as data: what to look for, and what the runs of a question change in the controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specviz.app.form.methods import AUTO

Values = Mapping[str, Any]
"""of the form, by name"""
USUAL: Values = {"tree_policy": AUTO, "stop_policy": "fixed", "verifier": AUTO}
CHAIN: Values = {**USUAL, "drafter": "model", "drafter.model.branching": ""}


@dataclass(frozen=True, slots=True)
class Question:
    """One chip."""

    label: str
    line: str
    """what to look for"""
    steps: tuple[Values, ...] = ()
    """what each run changes in the controls; none: the line is the whole answer"""
    recording: str = ""
    """the recorded run that answers it where nothing can run, by its name"""

    @property
    def drafters(self) -> set[str]:
        """That its runs need."""
        return {str(step["drafter"]) for step in self.steps}


QUESTIONS = (
    Question(
        "random drafter",
        "Every token is as likely to be drafted as any other, so nearly all are rejected and a round is one token: "
        "slower than plain decoding, and the text still has the target's law. At temperature 2, where the "
        "target is nearly as undecided, that changes.",
        ({**USUAL, "drafter": "random", "drafter.random.gamma": 4},),
        "drafter-random",
    ),
    Question(
        "γ 20",
        "Twenty guesses ahead, all in one pass: see how deep they hold. What stands below the first rejection was "
        "drafted and scored in vain.",
        ({**CHAIN, "drafter.model.gamma": 20},),
    ),
    Question(
        "temperature 2",
        "Both models spread over the vocabulary: fewer guesses hold than at 0.8, and the text goes to pieces. That is "
        "no fault of the drafting: this is the target's own law at temperature 2.",
        ({**CHAIN, "temperature": 2.0},),
    ),
    Question(
        "chain against tree",
        "The same prompt twice: one guess per place, then three, two and one. The first run stays above the player: "
        "compare the tokens per pass, and what a wider pass costs.",
        ({**CHAIN, "drafter.model.gamma": 3}, {**CHAIN, "drafter.model.branching": "3,2,1"}),
        "model-tree-story",
    ),
    Question(
        "what would Medusa do",
        "No second model: heads on the target's last state guess several places at once, blind of each other. See how "
        "wide the tree is, how little of the round its drafting takes, and where its words do not fit together.",
        ({**USUAL, "drafter": "medusa"},),
        "medusa-story",
    ),
    Question(
        "what would token recycling do",
        "No second model and no training: a table remembers which tokens stood high after which in the target's own "
        "passes, and a tree of those is drafted. It begins empty: see how little the first rounds draft.",
        ({**USUAL, "drafter": "token_recycling"},),
    ),
    Question("with a real model", ""),
)
