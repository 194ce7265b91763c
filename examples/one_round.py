"""One round of speculative decoding, from a prompt to the verdict, once on an exact toy and once on the bundled pair.

Run it as `python examples/one_round.py`. The engine does the same (`specviz/engine/session.py`), round after round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from specviz.core.randomness import RandomSource, SeededRandom
from specviz.core.sampling import Sampling, transform
from specviz.core.tree import ROOT, DraftTree
from specviz.engine.scoring import ScoredTree, score
from specviz.lm.base import LanguageModel
from specviz.lm.load import load
from specviz.lm.table import TableModel
from specviz.verifiers.base import VERIFIERS

GAMMA = 4  # the speculation length: candidates drafted per round
SEED = 3
SAMPLING = Sampling(temperature=1.0)


def draft(drafter: LanguageModel, text: Sequence[int], random: RandomSource) -> DraftTree:
    """Draw GAMMA tokens one after the other. Each is kept with q, the distribution that it was drawn from."""
    tree, node = DraftTree.from_root(text[-1]), ROOT
    cache, new = drafter.new_cache(), list(text)
    for index in range(GAMMA):
        q = transform(drafter.forward(new, cache, last_only=True)[-1], SAMPLING)
        token = random.draw(q, ("draft", 0, index)).token
        node = tree.add(node, token, "iid", q, "drafter")
        new = [token]
    return tree


@torch.inference_mode()
def one_round(
    target: LanguageModel, drafter: LanguageModel, text: Sequence[int], name: Callable[[int], str]
) -> list[int]:
    """Draft, score in one target pass, judge, commit: the tokens that this round adds to the text."""
    random = SeededRandom(SEED)
    tree = draft(drafter, text, random)

    cache = target.new_cache()  # holds the text but its last token, which is the tree's root
    if len(text) > 1:
        target.forward(text[:-1], cache, last_only=True)
        cache.keep(range(len(text) - 1))
    rows = ScoredTree(tree, score(target, cache, tree), SAMPLING)  # p after the root and after every candidate

    rule = VERIFIERS.get("sequential").of({})  # accept with probability min(1, p / q); else norm(max(0, p - q))
    verdict = rule.judge(tree, rows, random, len(text))
    for trial in verdict.trials:
        word = "accepted" if trial.accepted else "rejected"
        print(
            f"  {name(tree.tokens[trial.node])!r:>12}  p {trial.target_prob:.3g}  q {trial.draft_prob:.3g}  "
            f"acceptance probability {trial.threshold:.3g}  u {trial.u:.3g}  {word}"
        )
    print(f"  {name(verdict.token)!r:>12}  {verdict.origin}")
    committed = [tree.tokens[node] for node in verdict.path] + [verdict.token]
    cache.keep([len(text) - 1, *(len(text) - 1 + node for node in verdict.path)])  # rejected rows are rolled back
    return committed


def main() -> None:
    """Two rounds: one whose numbers are exact, one of real models."""
    print("toy: two tables over eight tokens")
    one_round(TableModel(8, seed=1), TableModel(8, seed=2), [3, 5], str)
    print("bundled pair: def mean(values):")
    target, drafter = load("target", dtype="float32"), load("drafter", dtype="float32")
    text = target.tokenizer
    one_round(target.model, drafter.model, text.encode("def mean(values):"), lambda token: text.decode([token]))


if __name__ == "__main__":
    main()
