"""Faults of the verifiers."""

from __future__ import annotations

from tests.mutants.faults.fault import CHAIN, PAIR, RULES, Fault, proved

FAULTS: tuple[Fault, ...] = (
    Fault(
        "sequential: Q of a later sibling is not adjusted",
        "specviz/verifiers/sequential.py",
        "return without(proposal, drawn)[0] if drawn and proposal is not None else None",
        "return None",
        proved(PAIR.format("sequential")),
    ),
    Fault(
        "sequential: a rejected point mass stays in the residual",
        "specviz/verifiers/sequential.py",
        "left, mass = without(target, [token])",
        "left, mass = without(target, [])",
        proved("ngram(gamma=2)-sequential-T=0.8"),
    ),
    Fault(
        "naive: only the first sibling is looked at",
        "specviz/verifiers/naive.py",
        "            for child in children:",
        "            for child in children[:1]:",
        (f"{RULES}/test_greedy_and_naive.py",),
    ),
    Fault(
        "coupled: the draft runs the race of another place",
        "specviz/drafters/drafting/growing.py",
        "(RACE, len(self.context.tokens) - 1 + self._depth, lane)",
        "(RACE, len(self.context.tokens) + self._depth, lane)",
        ("tests/proof/test_coupled.py",),
    ),
    Fault(
        "race: times are compared with probabilities upside down",
        "specviz/core/randomness.py",
        "return int((times / row).argmin())",
        "return int((times * row).argmin())",
        ("tests/proof/test_coupled.py",),
    ),
    Fault(
        "greedy: the first candidate passes",
        "specviz/verifiers/greedy.py",
        "hit = tree.tokens[child] == best",
        "hit = tree.tokens[child] == best or child == 1",
        (f"{RULES}/test_greedy_and_naive.py",),
    ),
    Fault(
        "block: the probability of a path forgets what is above",
        "specviz/verifiers/candidates.py",
        "return min(1.0, reach * p / q)",
        "return min(1.0, p / q)",
        proved(CHAIN.format("block")),
    ),
    Fault(
        "block, traversal: what is left is weighed without the reach",
        "specviz/verifiers/candidates.py",
        "below = left + 1.0 - reach",
        "below = left + 1.0",
        proved(CHAIN.format("block")),
    ),
    Fault(
        "traversal: the draft of a later sibling is not adjusted",
        "specviz/verifiers/candidates.py",
        "return without(proposal, taken)[0] if taken and proposal is not None else proposal",
        "return proposal",
        proved(PAIR.format("traversal")),
    ),
    Fault(
        "kseq: the probability of one candidate not held to one",
        "specviz/verifiers/kseq.py",
        "return min(1.0, float(np.minimum(p / rho, q).sum()))",
        "return float(np.minimum(p / rho, q).sum())",
        (f"{RULES}/test_rules.py",),
    ),
    Fault(
        "kseq: the correction is drawn as if one candidate had been tried",
        "specviz/verifiers/kseq.py",
        "return _any_of(self.beta, self.siblings)",
        "return _any_of(self.beta, 1)",
        proved("model(branching=(2, 1),draw=iid)-kseq-T=0.8"),
    ),
    Fault(
        "block: the final draw under another key",
        "specviz/verifiers/block.py",
        '("target", position + node, 0)',
        '("target", position, 0)',
        (f"{RULES}/test_rules.py",),
    ),
    Fault(
        "traversal: the final draw under another key",
        "specviz/verifiers/traversal.py",
        '("target", position + depth, 0)',
        '("target", position, depth)',
        (f"{RULES}/test_rules.py",),
    ),
    Fault(
        "lenience: at temperature 0 the bar itself does not pass",
        "specviz/verifiers/lenience.py",
        "float(share >= self.lenience)",
        "float(share > self.lenience)",
        (f"{RULES}/test_lossy.py",),
    ),
    Fault(
        "typical: the entropy raises the bar",
        "specviz/verifiers/typical.py",
        "self.options.delta * exp(-entropy)",
        "self.options.delta * exp(entropy)",
        (f"{RULES}/test_lossy.py",),
    ),
    Fault(
        "longest path: of equally long ones the last is kept",
        "specviz/verifiers/candidates.py",
        "worth(node), -node)",
        "worth(node), node)",
        (f"{RULES}/test_lossy.py",),
    ),
)
