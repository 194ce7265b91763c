"""Faults of the verifiers."""

from tests.mutants.faults.fault import CHAIN, PAIR, RULES, Edits, edit, proved

FAULTS: Edits = {
    ("specviz/verifiers/sequential.py", *proved(PAIR.format("sequential"))): {
        "sequential: Q of a later sibling is not adjusted": edit(
            "return without(proposal, drawn)[0] if drawn and proposal is not None else None", "return None"
        )
    },
    ("specviz/verifiers/sequential.py", *proved("ngram(gamma=2)-sequential-T=0.8")): {
        "sequential: a rejected point mass stays in the residual": edit(
            "left, mass = without(target, [token])", "left, mass = without(target, [])"
        )
    },
    ("specviz/core/draws.c", "tests/proof/test_compiled_walk.py"): {
        "compiled walk: what is left is left by another place's draft": edit(
            "rest(end, down->drawn + passed * vocab", "rest(end, down->drawn"
        ),
        "compiled walk: a rejected point mass stays in what is left": edit("  left[token] = 0.0f;\n", ""),
        "compiled walk: a candidate passes with q over p": edit(
            "q[i] > 0.0 ? (p[i] / q[i] < 1.0 ? p[i] / q[i] : 1.0)",
            "p[i] > 0.0 ? (q[i] / p[i] < 1.0 ? q[i] / p[i] : 1.0)",
        ),
    },
    ("specviz/core/draws.c", f"{RULES}/test_compiled_walk.py"): {
        "compiled walk: where nothing is left the last token is drawn from nothing": edit(
            "if (came_to[1] > 0.0) end = left;", "end = left;"
        ),
        "compiled walk: the last number is that of the first place": edit(
            "uniform(down->target, down->position + i, 0)", "uniform(down->target, down->position, 0)"
        ),
    },
    ("specviz/verifiers/sequential.py", f"{RULES}/test_compiled_walk.py"): {
        "sequential: a rule that accepts otherwise is judged by the compiled walk": edit(
            " or type(self).level is not SequentialVerifier.level:", ":"
        ),
    },
    ("specviz/engine/scoring.py", f"{RULES}/test_compiled_walk.py"): {
        "compiled walk: the target's candidates have the draft's probabilities": edit(
            "self.walked, self._candidates = walked, [1.0, *walked.p]",
            "self.walked, self._candidates = walked, [1.0, *walked.q]",
        ),
    },
    ("specviz/verifiers/naive.py", f"{RULES}/test_greedy_and_naive.py"): {
        "naive: only the first sibling is looked at": edit(
            "            for child in children:", "            for child in children[:1]:"
        )
    },
    ("specviz/drafters/drafting/growing.py", "tests/proof/test_coupled.py"): {
        "coupled: the draft runs the race of another place": edit(
            "(RACE, len(self.context.tokens) - 1 + self._depth, lane)",
            "(RACE, len(self.context.tokens) + self._depth, lane)",
        )
    },
    ("specviz/verifiers/gls.py", "tests/proof/test_lists.py"): {
        "gls: the target runs in one lane, whatever is asked for": edit(
            "return RACES, position, int(self.options.lists)", "return RACES, position, 1"
        )
    },
    ("specviz/core/randomness.py", "tests/proof/test_coupled.py"): {
        "race: times are compared with probabilities upside down": edit(
            "arrivals = times / row", "arrivals = times * row"
        )
    },
    ("specviz/verifiers/ensemble.py", f"{RULES}/test_frontier.py"): {
        "ensemble: the weight counts for the drafter": edit(
            "mixed = self.weight * p + (1.0 - self.weight) * q", "mixed = self.weight * q + (1.0 - self.weight) * p"
        )
    },
    ("specviz/verifiers/cascade.py", f"{RULES}/test_frontier.py"): {
        "cascade: the target decides where the drafter is surer": edit(
            "return sure < 1.0 - alpha", "return sure >= 1.0 - alpha"
        )
    },
    ("specviz/verifiers/fly.py", f"{RULES}/test_frontier.py"): {
        "fly: a mismatch in the window does not count": edit(
            "or not all(following.accepted for following in window)",
            "or not any(following.accepted for following in window)",
        )
    },
    ("specviz/verifiers/greedy.py", f"{RULES}/test_greedy_and_naive.py"): {
        "greedy: the first candidate passes": edit(
            "hit = tree.tokens[child] == best", "hit = tree.tokens[child] == best or child == 1"
        )
    },
    ("specviz/verifiers/candidates.py", *proved(CHAIN.format("block"))): {
        "block: the probability of a path forgets what is above": edit(
            "return min(reach * p / q, 1.0)", "return min(p / q, 1.0)"
        ),
        "block, traversal: what is left is weighed without the reach": edit(
            "below = left + 1.0 - reach", "below = left + 1.0"
        ),
    },
    ("specviz/verifiers/candidates.py", *proved(PAIR.format("traversal"))): {
        "traversal: the draft of a later sibling is not adjusted": edit(
            "return without(proposal, taken)[0] if taken and proposal is not None else proposal", "return proposal"
        )
    },
    ("specviz/verifiers/kseq.py", f"{RULES}/test_rules.py"): {
        "kseq: the probability of one candidate not held to one": edit(
            "return min(1.0, float(np.minimum(p / rho, q).sum()))", "return float(np.minimum(p / rho, q).sum())"
        )
    },
    ("specviz/verifiers/kseq.py", *proved("model(branching=(2, 1),draw=iid)-kseq-T=0.8")): {
        "kseq: the correction is drawn as if one candidate had been tried": edit(
            "return _any_of(self.beta, self.siblings)", "return _any_of(self.beta, 1)"
        )
    },
    ("specviz/verifiers/block.py", f"{RULES}/test_rules.py"): {
        "block: the final draw under another key": edit('("target", position + node, 0)', '("target", position, 0)')
    },
    ("specviz/verifiers/traversal.py", f"{RULES}/test_rules.py"): {
        "traversal: the final draw under another key": edit(
            '("target", position + depth, 0)', '("target", position, depth)'
        )
    },
    ("specviz/verifiers/lenience.py", f"{RULES}/test_lossy.py"): {
        "lenience: at temperature 0 the bar itself does not pass": edit(
            "float(share >= self.lenience)", "float(share > self.lenience)"
        )
    },
    ("specviz/verifiers/typical.py", f"{RULES}/test_lossy.py"): {
        "typical: the entropy raises the bar": edit(
            "self.options.delta * exp(-entropy)", "self.options.delta * exp(entropy)"
        )
    },
    ("specviz/verifiers/candidates.py", f"{RULES}/test_lossy.py"): {
        "longest path: of equally long ones the last is kept": edit("worth(node), -node)", "worth(node), node)")
    },
}
