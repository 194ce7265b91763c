"""Faults of what checks: the rules of `specviz check`, the audit, the pairing check, options, and the proof itself."""

from tests.mutants.faults.fault import AUDIT, CHECK, PAIRINGS, Edits, edit

TOYS = "tests/proof/test_toys.py::test_{}"

FAULTS: Edits = {
    ("specviz/trace/rules/verdicts.py", CHECK): {
        "checker: accepted at equality is let pass": edit(
            "if trial.accepted != (trial.u < trial.threshold):", "if trial.accepted != (trial.u <= trial.threshold):"
        ),
        "checker: fates are not looked at": edit("if node.fate != fate:", "if node.fate == 'root':"),
        "checker: the order of siblings is not looked at": edit(
            "if tried != drawn[: len(tried)]:", "if set(tried) != set(drawn[: len(tried)]):"
        ),
    },
    ("specviz/trace/rules/distributions.py", CHECK): {
        "checker: a head may sum to anything": edit(
            "if abs(total - 1) > (len(top.probs) + 1) * HALF_DIGIT + SINGLE:", "if abs(total - 1) > 1:"
        )
    },
    ("specviz/trace/rules/commit.py", CHECK): {
        "checker: dropped cache rows need not add up": edit(
            "if this.cache_kept + this.cache_dropped != this.cache_before + rows:",
            "if this.cache_kept + this.cache_dropped > this.cache_before + rows:",
        )
    },
    ("specviz/live/audit/heads.py", AUDIT): {
        "audit: every candidate is taken for the first model's": edit(
            "logits = self._logits[source][node]", "logits = self._logits[next(iter(self.drafters))][node]"
        )
    },
    ("specviz/drafters/base.py", "tests/proof/test_coverage.py"): {
        "proof: nodes that ride along count as drafts": edit(
            "return [node for node in range(1, len(self.tree)) if node not in riding]",
            "return [node for node in range(1, len(self.tree)) if node not in riding or node]",
        )
    },
    ("specviz/engine/pairing.py", PAIRINGS): {
        "pairing: everything is refused": edit(
            'if verifier.temperatures == "zero" and not sampling.greedy:', "if verifier.temperatures:"
        ),
        "pairing: no kind of candidate is refused": edit(
            "unknown = sorted(drafter.kinds(sampling) - verifier.judges)",
            "unknown = sorted(drafter.kinds(sampling) - drafter.kinds(sampling))",
        ),
    },
    ("specviz/options.py", PAIRINGS): {
        "options: what was written is not read": edit(
            "values[name] = _parse(known[name], value)", "_parse(known[name], value)"
        )
    },
    ("specviz/record/rounds.py", "tests/record/test_changed_internals.py"): {
        "recording: what generate committed is not held against what was seen": edit(
            "if not this.committed or verified[: len(this.committed)] != this.committed:", "if not this.committed:"
        )
    },
    ("specviz/record/watch.py", "tests/record/test_recording.py"): {
        "recording: the target's logits are not copied before generate sharpens them in place": edit(
            "this.target_raw = rows.float().clone()", "this.target_raw = rows.float()"
        )
    },
    ("specviz/protocol/acceptance.py", "tests/protocol/acceptance/test_acceptance.py"): {
        "acceptance records: a histogram need not add up to its steps": edit(
            "if steps != counts.spec_steps:", "if steps > counts.spec_steps:"
        )
    },
    (
        "specviz/proof/exhaustive.py",
        TOYS.format("no_two_kinds_of_heads_say_the_same_and_one_alone_says_what_the_target_said"),
    ): {
        "proof: the toys' heads all say what the target said": edit(
            "        move_weights(drafting, case.models()[0])\n", "        pass\n"
        )
    },
    ("specviz/lm/table.py", TOYS.format("a_toy_that_skips_layers_says_something_else_than_one_that_stops_early")): {
        "proof: a toy that skips layers is one that stops early": edit(
            "choice = 1 if blocks == Blocks.first(len(blocks.mlp)) else 2 + run", "choice = 1"
        )
    },
}
