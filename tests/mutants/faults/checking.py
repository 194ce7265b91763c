"""Faults of what checks: the rules of `specviz check`, the audit, the pairing check, options, and the proof itself."""

from __future__ import annotations

from tests.mutants.faults.fault import AUDIT, CHECK, PAIRINGS, Fault

TOYS = "tests/proof/test_toys.py::test_{}"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "checker: accepted at equality is let pass",
        "specviz/trace/rules/verdicts.py",
        "if trial.accepted != (trial.u < trial.threshold):",
        "if trial.accepted != (trial.u <= trial.threshold):",
        ("tests/trace/test_equality_is_rejection.py",),
    ),
    Fault(
        "checker: fates are not looked at",
        "specviz/trace/rules/verdicts.py",
        "if node.fate != fate:",
        "if node.fate == 'root':",
        (CHECK,),
    ),
    Fault(
        "checker: the order of siblings is not looked at",
        "specviz/trace/rules/verdicts.py",
        "if tried != drawn[: len(tried)]:",
        "if set(tried) != set(drawn[: len(tried)]):",
        (CHECK,),
    ),
    Fault(
        "checker: a head may sum to anything",
        "specviz/trace/rules/distributions.py",
        "if abs(total - 1) > (len(top.probs) + 1) * HALF_DIGIT + SINGLE:",
        "if abs(total - 1) > 1:",
        (CHECK,),
    ),
    Fault(
        "checker: dropped cache rows need not add up",
        "specviz/trace/rules/commit.py",
        "if this.cache_kept + this.cache_dropped != this.cache_before + rows:",
        "if this.cache_kept + this.cache_dropped > this.cache_before + rows:",
        (CHECK,),
    ),
    Fault(
        "audit: every candidate is taken for the first model's",
        "specviz/live/audit/heads.py",
        "logits = self._logits[source][node]",
        "logits = self._logits[next(iter(self.drafters))][node]",
        (AUDIT,),
    ),
    Fault(
        "proof: nodes that ride along count as drafts",
        "specviz/drafters/base.py",
        "return [node for node in range(1, len(self.tree)) if node not in riding]",
        "return [node for node in range(1, len(self.tree)) if node not in riding or node]",
        ("tests/proof/test_coverage.py",),
    ),
    Fault(
        "pairing: everything is refused",
        "specviz/engine/pairing.py",
        'if verifier.temperatures == "zero" and not sampling.greedy:',
        "if verifier.temperatures:",
        (PAIRINGS,),
    ),
    Fault(
        "pairing: no kind of candidate is refused",
        "specviz/engine/pairing.py",
        "unknown = sorted(drafter.kinds(sampling) - verifier.judges)",
        "unknown = sorted(drafter.kinds(sampling) - drafter.kinds(sampling))",
        (PAIRINGS,),
    ),
    Fault(
        "options: what was written is not read",
        "specviz/options.py",
        "values[name] = _parse(known[name], value)",
        "_parse(known[name], value)",
        (PAIRINGS,),
    ),
    Fault(
        "recording: what generate committed is not held against what was seen",
        "specviz/record/rounds.py",
        "if not this.committed or verified[: len(this.committed)] != this.committed:",
        "if not this.committed:",
        ("tests/record/test_changed_internals.py",),
    ),
    Fault(
        "recording: the target's logits are not copied before generate sharpens them in place",
        "specviz/record/watch.py",
        "this.target_raw = rows.float().clone()",
        "this.target_raw = rows.float()",
        ("tests/record/test_recording.py",),
    ),
    Fault(
        "acceptance records: a histogram need not add up to its steps",
        "specviz/protocol/acceptance.py",
        "if steps != counts.spec_steps:",
        "if steps > counts.spec_steps:",
        ("tests/protocol/acceptance/test_acceptance.py",),
    ),
    Fault(
        "proof: the toys' heads all say what the target said",
        "specviz/proof/exhaustive.py",
        "        move_weights(drafting, case.models()[0])\n",
        "        pass\n",
        (TOYS.format("no_two_kinds_of_heads_say_the_same_and_one_alone_says_what_the_target_said"),),
    ),
    Fault(
        "proof: a toy that skips layers is one that stops early",
        "specviz/lm/table.py",
        "choice = 1 if blocks == Blocks.first(len(blocks.mlp)) else 2 + run",
        "choice = 1",
        (TOYS.format("a_toy_that_skips_layers_says_something_else_than_one_that_stops_early"),),
    ),
)
