"""Trees over a block as it is shipped, over two that went on learning, one of them as causal, and over that read again.

What is counted does not depend on the machine, and all of it stands in traces. Place in the flow: `specviz study
branches` hands in the engine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from specviz.bench.core.contest import first_prompts
from specviz.drafters.learned.weights import read_card
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.protocol.trainings import SHIPPED
from specviz.resources import ROOT
from specviz.studies.branches.result import FORMAT, VERSION, BranchesFile, Depth, Example, Tree
from specviz.studies.study import Workplace
from specviz.trace.codec import assemble
from specviz.trace.events import Node, Round, TopK
from specviz.training.modules.texts import TextOptions
from specviz.training.modules.train import Lines, ModuleTraining, Wanted, train_modules

DRAFTER = "dflash"
FIRST = 2
"""the least depth of a candidate that stands behind another"""
AGAINST, LIKELY = 0.01, 0.1
"""below the first the target rules a candidate out, from the second on it may well say it"""
Decoded = Callable[[Sequence[int]], str]


def measure(workplace: Workplace) -> BranchesFile:
    args = workplace.args
    target = workplace.model("target")
    report = Lines(workplace.row)
    causal = args.weights or _trained(args.tokens, args.work_dir / "causal", report, causal=True)
    control = args.control or _trained(args.tokens, args.work_dir / "control", report, causal=False)
    source = workplace.source(measure=False)
    cards = first_prompts(source.catalog(), args.prompts)

    def runs(folder: str, rescore: bool) -> Iterable[list[Round]]:
        for card in cards:
            request = RunRequest(
                card.text,
                drafter=Choice(DRAFTER, {"weights": folder}),
                tree_policy=Choice("ddtree", {"budget": args.budget, "rescore": rescore}),
                max_new_tokens=args.max_new_tokens,
                dtype="float32",
                device="cpu",
            )
            yield assemble(source.run(request)).rounds

    trees = []
    for name, folder, rescore in (
        ("marginals", SHIPPED, False),
        ("control", str(control), False),
        ("causal", str(causal), False),
        ("read_again", str(causal), True),
    ):
        trees.append(counted(name, runs(folder, rescore), target.tokenizer.decode))
        workplace.say(name)
    tokens = (_learnt_from(control), _learnt_from(causal))
    models = {"target": target.info.weights_sha256}
    return BranchesFile(FORMAT, VERSION, tuple(trees), args.budget, len(cards), args.max_new_tokens, tokens, models)


def _learnt_from(weights: Path) -> int:
    return int(read_card(weights).training["tokens"])


def _trained(tokens: int, work_dir: Path, report: Lines, causal: bool) -> Path:
    """The shipped block after so many tokens more; causal: in which rows see none behind them. Raises TrainingError."""
    training = ModuleTraining(
        (Wanted(DRAFTER, {"causal": causal}),),
        minutes=0.0,
        tokens=tokens,
        texts=TextOptions(rows=8),
        lr=0.003,
        work_dir=work_dir,
        start=ROOT / "modules",
    )
    train_modules(training, work_dir / "weights", report)
    return work_dir / "weights" / DRAFTER


def counted(name: str, runs: Iterable[Sequence[Round]], decoded: Decoded) -> Tree:
    """What the trees of these runs hold; rounds without candidates are left out."""
    depths: defaultdict[int, list[Depth]] = defaultdict(list)
    rounds = accepted = 0
    example: Example | None = None
    for run in runs:
        for round in run:
            nodes = round.nodes
            if len(nodes) == 1:
                continue
            rounds, accepted = rounds + 1, accepted + len(round.judged.path)
            for node in nodes[1:]:
                if node.depth < FIRST:
                    continue
                against = said(nodes[node.parent], node.token) < AGAINST
                others = [other for other in nodes if against and belongs(node, other)]
                depths[node.depth].append(Depth(1, int(against), int(bool(others))))
                if others and example is None and fits(nodes, node.parent):
                    example = Example(
                        *(decoded([*path(nodes, end), node.token]) for end in (node.parent, others[0].id))
                    )
    return Tree(name, rounds, accepted, tuple(_summed(depths[depth]) for depth in sorted(depths)), example)


def said(node: Node, token: int) -> float:
    """What the target says of this token behind this node, at most: tokens beyond those that a trace keeps share what
    is left."""
    head = _head(node)
    shares = dict(zip(head.tokens, head.probs, strict=True))
    return shares.get(token, min(head.rest, min(head.probs)))


def belongs(node: Node, other: Node) -> bool:
    """Whether a candidate would well follow this node of its parent's depth."""
    head = _head(other)
    shares = dict(zip(head.tokens, head.probs, strict=True))
    return other.depth == node.depth - 1 and shares.get(node.token, 0.0) >= LIKELY


def fits(nodes: Sequence[Node], node: int) -> bool:
    """Whether the target may well say all of a branch up to this node."""
    while node:
        if said(nodes[nodes[node].parent], nodes[node].token) < LIKELY:
            return False
        node = nodes[node].parent
    return True


def path(nodes: Sequence[Node], node: int) -> list[int]:
    """Tokens of a branch, the root's first."""
    above = path(nodes, nodes[node].parent) if node else []
    return [*above, nodes[node].token]


def _head(node: Node) -> TopK:
    """The target's distribution behind a node, before sampling: at temperature 0 that has only one token."""
    head = node.target_raw or node.target
    assert head is not None, "the trace keeps no distributions."
    return head


def _summed(depths: Sequence[Depth]) -> Depth:
    return Depth(*(sum(getattr(depth, name) for depth in depths) for name in ("drafted", "against", "of_others")))
