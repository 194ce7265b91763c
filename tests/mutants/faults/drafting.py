"""Faults of tree policies and drafters."""

from __future__ import annotations

from tests.mutants.faults.fault import PAIR, POLICIES, Fault, proved

CROSS_KV = "tests/drafters/test_cross_kv.py"

FAULTS: tuple[Fault, ...] = (
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
        "cross_vocabulary: rows stay whose token became another one as the text grew",
        "specviz/drafters/parts/reencoded_cache.py",
        "if agree < rows.base:",
        "if agree > rows.base:",
        ("tests/drafters/test_cross_vocabulary.py",),
    ),
    Fault(
        "cross_vocabulary: a lone byte stands for the token with the same bytes",
        "specviz/lm/translation.py",
        'if key not in found or BYTE_TOKEN.fullmatch(codec.token(found[key]) or ""):',
        "if key not in found:",
        ("tests/drafters/test_cross_vocabulary.py",),
    ),
    Fault(
        "a model in the target's ids: what is not shared may be drafted",
        "specviz/lm/translated.py",
        "self._info.vocab_size), -torch.inf)",
        "self._info.vocab_size), 0.0)",
        ("tests/lm/test_shared.py",),
    ),
    Fault(
        "sliding windows: the context is that of the positions",
        "specviz/lm/hub_load.py",
        "min(context_length, window) if window else context_length",
        "context_length",
        ("tests/lm/test_windows.py",),
    ),
    Fault(
        "cross_kv: text and tree are merged with their shares swapped",
        "specviz/drafters/parts/merged_attention.py",
        "torch.sigmoid(one.mass - other.mass)",
        "torch.sigmoid(other.mass - one.mass)",
        (CROSS_KV,),
    ),
    Fault(
        "cross_kv: training sees the target's row of the root",
        "specviz/drafters/parts/cross_network.py",
        "self.target = place < self.root[:, None]",
        "self.target = place <= self.root[:, None]",
        (CROSS_KV,),
    ),
    Fault(
        "cross_kv: a full window keeps the oldest rows",
        "specviz/drafters/parts/cross_rows.py",
        "torch.cat([old, new], 2)[:, :, -self._most :]",
        "torch.cat([old, new], 2)[:, :, : self._most]",
        (CROSS_KV,),
    ),
    Fault(
        "cross_kv: drafted rows stand one place too early",
        "specviz/drafters/parts/cross_rows.py",
        "self._position + len(line) - 1 for line in new",
        "self._position + len(line) - 2 for line in new",
        (CROSS_KV,),
    ),
    Fault(
        "lean forward: a stranger's queries are not put into pair order",
        "specviz/lm/llama.py",
        "queries.unflatten(-1, (2, -1)).permute(1, 0, 3, 2)",
        "queries.unflatten(-1, (-1, 2)).permute(1, 0, 2, 3)",
        (CROSS_KV,),
    ),
)
