"""The planted faults: small edits that read well and are wrong, each with the tests that must see it.

A new fault is one entry. `find` stands exactly once in the file; `tests/mutants/test_faults.py` holds that.
"""

from __future__ import annotations

from dataclasses import dataclass

SAMPLING = "tests/core/test_randomness_and_sampling.py"
TREE = "tests/core/test_tree.py"
RULES = "tests/verifiers"
ROWS = "tests/lm/test_rows.py"
LLAMA = "tests/lm/test_llama.py"
POLICIES = "tests/tree_policies/test_tree_policies.py"
RECORDER = "tests/engine/test_recorder.py"
CHECK = "tests/trace/test_check.py"
SCRIPTS = "tests/js/test_js.py::test_the_pure_functions"


@dataclass(frozen=True, slots=True)
class Fault:
    """One edit of one file."""

    name: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]

    def planted(self, text: str) -> str:
        """The file's text with the fault in it. Raises ValueError where its place is not found exactly once."""
        if text.count(self.find) != 1:
            raise ValueError(f"{self.find!r} stands {text.count(self.find)} times in {self.file}, not once.")
        return text.replace(self.find, self.replace)


def proved(*cases: str) -> tuple[str, ...]:
    """Exact walks of these cases of the proof."""
    return tuple(f"tests/proof/test_lossless.py::test_the_committed_text_has_the_targets_law[{case}]" for case in cases)


CHAIN = "model(gamma=2)-{}-T=0.8"
PAIR = "model(branching=(2, 1))-{}-T=0.8"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "nucleus not normalised below a mass of one half",
        "specviz/core/sampling.py",
        "probs = probs / probs.sum(-1, keepdim=True)",
        "probs = probs / probs.sum(-1, keepdim=True).clamp(min=0.5)",
        (SAMPLING,),
    ),
    Fault(
        "nucleus keeps one token more than it needs",
        "specviz/core/sampling.py",
        "size = int((before < top_p).sum())",
        "size = int((before <= top_p).sum())",
        (SAMPLING,),
    ),
    Fault(
        "temperature multiplies the logits",
        "specviz/core/sampling.py",
        "logits = logits / sampling.temperature",
        "logits = logits * sampling.temperature",
        (SAMPLING,),
    ),
    Fault(
        "top-k keeps one more",
        "specviz/core/sampling.py",
        "kept = logits.topk(sampling.top_k, dim=-1)",
        "kept = logits.topk(sampling.top_k + 1, dim=-1)",
        (SAMPLING,),
    ),
    Fault(
        "residual not divided by its mass",
        "specviz/core/sampling.py",
        "return left.div_(mass), mass",
        "return left, mass",
        (SAMPLING,),
    ),
    Fault(
        "only the first of several drawn tokens taken out",
        "specviz/core/sampling.py",
        "    for token in tokens:\n        left[token] = 0.0",
        "    for token in tokens[:1]:\n        left[token] = 0.0",
        (SAMPLING,),
    ),
    Fault(
        "accepts at equality",
        "specviz/core/randomness.py",
        "u < probability, u)",
        "u <= probability, u)",
        (SAMPLING,),
    ),
    Fault(
        "picks from the block before",
        "specviz/core/randomness.py",
        "before = cumulative[block - 1] if block else 0.0",
        "before = cumulative[block - 2] if block > 1 else 0.0",
        (SAMPLING,),
    ),
    Fault(
        "uniform draws share their index",
        "specviz/trace/uniform_draws.py",
        "state = _mix(state ^ (index & _MASK))",
        "state = _mix(state)",
        (SAMPLING,),
    ),
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
        "greedy: the first candidate passes",
        "specviz/verifiers/greedy.py",
        "hit = tree.tokens[child] == best",
        "hit = tree.tokens[child] == best or child == 1",
        (f"{RULES}/test_greedy_and_naive.py",),
    ),
    Fault(
        "block: the probability of a path forgets what is above",
        "specviz/verifiers/parts/candidates.py",
        "return min(1.0, reach * p / q)",
        "return min(1.0, p / q)",
        proved(CHAIN.format("block")),
    ),
    Fault(
        "block, traversal: what is left is weighed without the reach",
        "specviz/verifiers/parts/candidates.py",
        "below = left + 1.0 - reach",
        "below = left + 1.0",
        proved(CHAIN.format("block")),
    ),
    Fault(
        "traversal: the draft of a later sibling is not adjusted",
        "specviz/verifiers/parts/candidates.py",
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
        "specviz/verifiers/parts/longest.py",
        "worth(node), -node)",
        "worth(node), node)",
        (f"{RULES}/test_lossy.py",),
    ),
    Fault(
        "cache: a kept path moves to the wrong row",
        "specviz/lm/rows.py",
        "self._move_rows(list(rows[settled:]), base + settled)",
        "self._move_rows(list(rows[settled:]), base)",
        (ROWS, LLAMA),
    ),
    Fault(
        "cache: a row beside the spine stands one position too far",
        "specviz/lm/rows.py",
        "positions.append(limit + len(seen))",
        "positions.append(limit + len(seen) + 1)",
        (ROWS,),
    ),
    Fault(
        "cache: a node sees its siblings",
        "specviz/lm/rows.py",
        "visible[:, base:] = self.masks.of([parent - base for parent in tree])[-n:]",
        "visible[:, base:] = True",
        (ROWS, LLAMA),
    ),
    Fault(
        "cache: rows of a rejected path stay behind",
        "specviz/lm/rows.py",
        "self.tokens[start:] = kept",
        "self.tokens[start : start + len(kept)] = kept",
        (ROWS,),
    ),
    Fault(
        "session: the row of the last accepted token is kept twice",
        "specviz/engine/session.py",
        "for node in tree.path(end)[: kept - 1]",
        "for node in tree.path(end)[:kept]",
        ("tests/tree_policies/test_target_init.py",),
    ),
    Fault(
        "siblings: the mass left to later ones assigned instead of multiplied",
        "specviz/tree_policies/parts/siblings.py",
        "self._left *= mass",
        "self._left = mass",
        ("tests/tree_policies/test_siblings.py",),
    ),
    Fault(
        "drawing without replacement puts the token back",
        "specviz/tree_policies/parts/draws.py",
        "left, mass = without(left, [token])",
        "left, mass = left, mass",
        (POLICIES, *proved(PAIR.format("sequential"))),
    ),
    Fault(
        "levels: the budget cuts a node too late",
        "specviz/tree_policies/parts/level_wise.py",
        "whole, rest = divmod(most - draft.tree.drafted, width)",
        "whole, rest = divmod(most + 1 - draft.tree.drafted, width)",
        ("tests/tree_policies/test_budget.py", POLICIES),
    ),
    Fault(
        "dyspec: a later sibling is worth as much as the first",
        "specviz/tree_policies/dyspec.py",
        "heapq.heappush(slots, (-value * family.left, node))",
        "heapq.heappush(slots, (-value, node))",
        (POLICIES,),
    ),
    Fault(
        "rsd_s: a path races with the mass of its whole family",
        "specviz/tree_policies/rsd_s.py",
        "path.prob * self.below[path.node].left if",
        "path.prob if",
        (POLICIES,),
    ),
    Fault(
        "token recycling: every rank hits as often",
        "specviz/drafters/token_recycling.py",
        "HITS = (0.671, 0.060, 0.026, 0.016, 0.010, 0.009, 0.007, 0.006)",
        "HITS = (0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)",
        ("tests/drafters/test_token_recycling.py",),
    ),
    Fault(
        "token recycling: of several nodes with one token the first writes its row",
        "specviz/drafters/token_recycling.py",
        "ROOT, *path]",
        "*path, ROOT]",
        ("tests/drafters/test_token_recycling.py",),
    ),
    Fault(
        "suffix: the score of a match is ignored",
        "specviz/drafters/suffix.py",
        "return sum(one.share for one in self.found)",
        "return 0.0",
        ("tests/drafters/test_suffix.py",),
    ),
    Fault(
        "ngram: the shortest match first",
        "specviz/drafters/ngram.py",
        "for n in reversed(self._lengths):",
        "for n in self._lengths:",
        ("tests/drafters/test_ngram.py",),
    ),
    Fault(
        "ngram: a candidate declared as drawn",
        "specviz/drafters/ngram.py",
        '"point_mass"',
        '"iid"',
        ("tests/contracts/test_pairings.py", *proved("ngram(gamma=2)-sequential-T=0.8")),
    ),
    Fault(
        "best first: an end of the text does not count",
        "specviz/drafters/parts/continuations.py",
        "total = sum(times for _, times, _ in following)",
        "total = sum(times for token, times, _ in following if token >= 0)",
        ("tests/drafters/test_suffix.py",),
    ),
    Fault(
        "jacobi: the answers start one position late",
        "specviz/drafters/jacobi.py",
        "self._answers = outcome.logits[accepted + 1 :]",
        "self._answers = outcome.logits[accepted + 2 :]",
        ("tests/drafters/test_jacobi.py",),
    ),
    Fault(
        "recorder: the target's own head as the residual",
        "specviz/engine/recorder.py",
        "residual=None if residual is None else top_rows(residual.unsqueeze(0), self._top)[0],",
        "residual=None if residual is None else top_rows("
        "record.scored.probs(verdict.path[-1] if verdict.path else 0).unsqueeze(0), self._top)[0],",
        (RECORDER,),
    ),
    Fault(
        "recorder: raw rows in another order",
        "specviz/engine/recorder.py",
        "return dict(enumerate(found[:n])), dict(zip(drafted, found[n:], strict=True))",
        "return dict(enumerate(found[:n][::-1])), dict(zip(drafted, found[n:], strict=True))",
        (RECORDER,),
    ),
    Fault(
        "recorder: raw rows of the draft in another order",
        "specviz/engine/recorder.py",
        "drafted = [node for level, _ in draft_logits for node in level]",
        "drafted = [node for level, _ in draft_logits for node in reversed(level)]",
        (RECORDER,),
    ),
    Fault(
        "recorder: time stamps half as long again",
        "specviz/engine/recorder.py",
        "start_s=record.start_s,",
        "start_s=1.5 * record.start_s,",
        (RECORDER,),
    ),
    Fault(
        "recorder: a candidate keeps the probability of its sibling",
        "specviz/engine/recorder.py",
        "target_prob=round(record.scored.candidate_prob(i), DIGITS) if i else None,",
        "target_prob=round(record.scored.candidate_prob(max(1, i - 1)), DIGITS) if i else None,",
        (RECORDER,),
    ),
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
        "player: the probability of a path may exceed one",
        "assets/js/sibling_rules.js",
        "const atMostOne = (x) => Math.min(1, x);",
        "const atMostOne = (x) => x;",
        (SCRIPTS,),
    ),
    Fault(
        "player: the typical bar rises with the entropy",
        "assets/js/path_rules.js",
        "delta * Math.exp(-entropy)",
        "delta * Math.exp(entropy)",
        (SCRIPTS,),
    ),
    Fault(
        "player: the probability that any of K siblings passes forgets K",
        "assets/js/sibling_rules.js",
        "1 - (1 - beta) ** facts.siblings",
        "1 - (1 - beta)",
        (SCRIPTS,),
    ),
    Fault(
        "player: judging again ignores the number of levels asked for",
        "assets/js/rejudge.js",
        "(gamma === null || node.depth <= gamma)",
        "(gamma === null || node.depth >= 0)",
        (SCRIPTS,),
    ),
    Fault(
        "player: a probability just below one is shown as one",
        "assets/js/numbers.js",
        'if (p > 0.9999 && p < 1) return ">0.9999";',
        'if (p > 0.9999 && p < 1) return "1";',
        (SCRIPTS,),
    ),
)
