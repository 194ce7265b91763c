"""Faults of tree policies and drafters."""

from tests.mutants.faults.fault import PAIR, POLICIES, RECORDER, Edits, edit, proved

HEADS = "tests/drafters/test_heads.py::test_{}"
SUREST = HEADS.format("refinement_shows_the_surest_slots_and_counts_what_each_pass_got_right")
BLOCK = HEADS.format("a_block_sees_nothing_where_the_text_has_not_begun_and_everything_that_is_there")
TREE = "tests/core/test_tree.py"
STOPPING = "tests/stop_policies/test_stop_policies.py"
CROSS_KV = "tests/drafters/test_cross_kv.py"
HUB_HEAD = "tests/drafters/test_hub_head.py"

FAULTS: Edits = {
    ("specviz/drafters/learned/published.py", HUB_HEAD): {
        "published: a head that names no depths reads the target a layer too early": edit(
            "named or (2, layers // 2, layers - 3)", "named or (1, layers // 2 - 1, layers - 4)"
        ),
        "published: what a pickle asks for is done": edit(
            'torch.load(file, "cpu", weights_only=True)', 'torch.load(file, "cpu", weights_only=False)'
        ),
    },
    ("specviz/drafters/learned/published.py", "tests/drafters/test_published_eagle.py"): {
        "published: a folder that training wrote is taken for one of others": edit(
            '(folder / "config.json").is_file() and not (folder / CARD).is_file()', '(folder / "config.json").is_file()'
        ),
    },
    ("specviz/drafters/learned/flash_published.py", "tests/drafters/test_flash_published.py"): {
        "published: a block may draft the first token that the target has not": edit(
            "int(tokens.max()) >= vocabulary", "int(tokens.max()) > vocabulary"
        ),
        "published: a block's mask may be the first token that the target has not": edit(
            "not 0 <= mask < len(module.embedding)", "not 0 <= mask <= len(module.embedding)"
        ),
        "published: rows that pad the vocabulary stay in the selector": edit(
            "selector[name][: module.target.vocab_size].T", "selector[name].T"
        ),
    },
    ("specviz/drafters/random.py", "tests/drafters/test_random.py"): {
        "random: every candidate of a round is drawn with one number": edit(
            '("draft", context.round, index)', '("draft", context.round, 0)'
        )
    },
    ("specviz/tree_policies/drawing.py", "tests/tree_policies/test_siblings.py"): {
        "siblings: the mass left to later ones assigned instead of multiplied": edit(
            "self._left *= mass", "self._left = mass"
        )
    },
    ("specviz/tree_policies/drawing.py", "tests/drafters/test_chains_in_one_call.py"): {
        "chain: a tree is written by one call as if it were one": edit(
            "set(widths) == {1} and not options.budget and draw", "not options.budget and draw"
        ),
    },
    ("specviz/tree_policies/drawing.py", POLICIES, *proved(PAIR.format("sequential"))): {
        "drawing without replacement puts the token back": edit(
            "left, mass = without(left, [token])", "left, mass = left, mass"
        )
    },
    ("specviz/tree_policies/drawing.py", "tests/tree_policies/test_budget.py", POLICIES): {
        "levels: the budget cuts a node too late": edit(
            "whole, rest = divmod(most - draft.tree.drafted, width)",
            "whole, rest = divmod(most + 1 - draft.tree.drafted, width)",
        )
    },
    ("specviz/tree_policies/dyspec.py", POLICIES): {
        "dyspec: a later sibling is worth as much as the first": edit(
            "heapq.heappush(slots, (-value * family.left, node))", "heapq.heappush(slots, (-value, node))"
        )
    },
    ("specviz/tree_policies/ddtree.py", "tests/tree_policies/test_ddtree.py"): {
        "ddtree: a sibling is worth as much as the token before it": edit(
            "sibling = cost - family.costs[rank] + family.costs[rank + 1]", "sibling = cost"
        ),
        "ddtree: a branch that was read anew goes on from another node": edit(
            'kept.append(children.get((parent, token)) or draft.add(parent, token, "point_mass", None))',
            'kept.append(draft.add(parent, token, "point_mass", None))',
        ),
    },
    ("specviz/drafters/learned/flash_network.py", "tests/drafters/test_flash.py"): {
        "a block: its rows see the root's own state, which no draft has": edit(
            "seen = torch.arange(length, device=step.device) < roots.at[..., None, None]",
            "seen = torch.arange(length, device=step.device) <= roots.at[..., None, None]",
        ),
        "a block: a row is mixed with the one behind it, which no causal convolution sees": edit(
            "functional.pad(rows, (0, 0, 1, -1))", "functional.pad(rows, (0, 0, -1, 1))"
        ),
    },
    ("specviz/drafters/learned/flash_drafting.py", "tests/drafters/test_flash.py"): {
        "a block: it writes its rows one token too early": edit(
            "cached[:, -rows:] = heads[sizes.heads :]", "cached[:, -rows - 1 : -1] = heads[sizes.heads :]"
        ),
        "a block: what is told of the token before is told of the first that was asked about": edit(
            "return self.behind(self.slots[rows], self.states[rows], tokens)",
            "return self.behind(self.slots[rows], self.states[rows], tokens[:1] * len(slots))",
        ),
    },
    ("specviz/drafters/learned/flash_drafting.py", "tests/drafters/test_flash_branches.py"): {
        "a block: a branch that is read anew sees those beside it": edit(
            "visible[:, text.length :] = build([-1, *above])", "visible[:, text.length :] = True"
        )
    },
    ("specviz/drafters/dflash.py", "tests/drafters/test_flash.py"): {
        "a block: what a selector or a table says of a node is taken for all of its level": edit(
            "return self.followers is None", "return True"
        )
    },
    ("specviz/tree_policies/rsd_s.py", POLICIES): {
        "rsd_s: a path races with the mass of its whole family": edit(
            "path.prob * self.below[path.node].left if", "path.prob if"
        )
    },
    ("specviz/drafters/token_recycling.py", "tests/drafters/test_token_recycling.py"): {
        "token recycling: every rank hits as often": edit(
            "HITS = (0.671, 0.060, 0.026, 0.016, 0.010, 0.009, 0.007, 0.006)",
            "HITS = (0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)",
        ),
        "token recycling: of several nodes with one token the first writes its row": edit(
            "ROOT, *path]", "*path, ROOT]"
        ),
    },
    ("specviz/drafters/suffix.py", "tests/drafters/test_suffix.py"): {
        "suffix: the score of a match is ignored": edit("return sum(one.share for one in self.found)", "return 0.0")
    },
    ("specviz/drafters/ngram.py", "tests/drafters/test_ngram.py"): {
        "ngram: the shortest match first": edit("for n in reversed(self._lengths):", "for n in self._lengths:")
    },
    ("specviz/drafters/ngram.py", "tests/contracts/test_pairings.py", *proved("ngram(gamma=2)-sequential-T=0.8")): {
        "ngram: a candidate declared as drawn": edit('"point_mass"', '"iid"')
    },
    ("specviz/drafters/drafting/matching.py", "tests/drafters/test_suffix.py"): {
        "best first: an end of the text does not count": edit(
            "total = sum(times for _, times, _ in following)",
            "total = sum(times for token, times, _ in following if token >= 0)",
        )
    },
    ("specviz/drafters/jacobi.py", "tests/drafters/test_jacobi.py"): {
        "jacobi: the answers start one position late": edit(
            "self._answers = outcome.logits[accepted + 1 :]", "self._answers = outcome.logits[accepted + 2 :]"
        )
    },
    ("specviz/drafters/drafting/beside.py", "tests/drafters/test_beside.py"): {
        "amusd, pearl: the drafter's process goes on while the engine's clock stands still": edit(
            "self._side.clock.stop()", "self._side.tell()"
        )
    },
    ("specviz/asynchronous/foresight.py", "tests/asynchronous/test_simulation.py"): {
        "ssd: a verdict is looked up without the token that follows what was accepted": edit(
            "foreseen.met(tuple(known[len(foreseen.text) :]))", "foreseen.met(tuple(known[len(foreseen.text) : -1]))"
        ),
        "ssd: a branch is drafted further than there is room": edit(
            "plan.longest - len(known) - kept - 1)", "plan.longest - len(known) - kept)"
        ),
    },
    ("specviz/asynchronous/side.py", "tests/asynchronous/test_pair.py"): {
        "ssd: a branch hangs below one accepted token too many": edit(
            "len(text) + len(path) - 2 if", "len(text) + len(path) - 1 if"
        ),
        "ssd: the drafted token is a verdict that is drafted for": edit(
            "[token for token in ranked if token != drawn][:count]", "[token for token in ranked][:count]"
        ),
    },
    ("specviz/asynchronous/child.py", "tests/drafters/test_beside.py"): {
        "amusd, pearl: what was computed while the engine's clock stood still is given away at once": edit(
            "while (left := end - clock.now()) > 0:", "while (left := end - clock.now()) > 1e9:"
        )
    },
    ("specviz/drafters/drafting/beside.py", "tests/live/test_audit.py"): {
        "amusd, pearl: the row shown at a node is the one of the node before": edit(
            "side.row(length + index) for index", "side.row(length + max(0, index - 1)) for index"
        )
    },
    ("specviz/drafters/drafting/draft_model.py", "tests/drafters/test_cross_vocabulary.py"): {
        "cross_vocabulary: rows stay whose token became another one as the text grew": edit(
            "if agree < rows.base:", "if agree > rows.base:"
        )
    },
    ("specviz/lm/vocabulary.py", "tests/drafters/test_cross_vocabulary.py"): {
        "cross_vocabulary: a lone byte stands for the token with the same bytes": edit(
            'if key not in found or BYTE_TOKEN.fullmatch(codec.token(found[key]) or ""):', "if key not in found:"
        )
    },
    ("specviz/lm/vocabulary.py", "tests/lm/test_shared.py"): {
        "a model in the target's ids: what is not shared may be drafted": edit(
            "self._info.vocab_size), -torch.inf)", "self._info.vocab_size), 0.0)"
        )
    },
    ("specviz/lm/hub/load.py", "tests/lm/test_windows.py"): {
        "sliding windows: the context is that of the positions": edit(
            "min(context_length, window) if window else context_length", "context_length"
        )
    },
    ("specviz/drafters/cross_kv.py", CROSS_KV): {
        "cross_kv: text and tree are merged with their shares swapped": edit(
            "torch.sigmoid(attended.mass - other.mass)", "torch.sigmoid(other.mass - attended.mass)"
        ),
        "cross_kv: a full window keeps the oldest rows": edit(
            "torch.cat([old, new], 2)[:, :, -self._most :]", "torch.cat([old, new], 2)[:, :, : self._most]"
        ),
        "cross_kv: drafted rows stand one place too early": edit(
            "self._position + len(line) - 1 for line in new", "self._position + len(line) - 2 for line in new"
        ),
    },
    ("specviz/drafters/learned/cross_network.py", CROSS_KV): {
        "cross_kv: training sees the target's row of the root": edit(
            "device=gaps.device) < self.root[:, None]", "device=gaps.device) <= self.root[:, None]"
        )
    },
    ("specviz/lm/llama/model.py", CROSS_KV): {
        "lean forward: a stranger's queries are not put into pair order": edit(
            "queries.unflatten(-1, (2, -1)).permute(1, 0, 3, 2)", "queries.unflatten(-1, (-1, 2)).permute(1, 0, 2, 3)"
        )
    },
    ("specviz/drafters/learned/eagle_network.py", "tests/drafters/test_weights_read.py"): {
        "weights read: what fuses states counts in every pass": edit(
            "return bytes_of(self) - bytes_of(self.fuse) - looked_up", "return bytes_of(self) - looked_up"
        )
    },
    ("specviz/drafters/drafting/target_layers.py", "tests/contracts/test_weights_read.py"): {
        "weights read: layers handed to the target's pass are read twice": edit(
            "read=None if self._reads is None else 0", "read=self._reads"
        )
    },
    ("specviz/engine/recorder.py", "tests/contracts/test_weights_read.py"): {
        "weights read: the trace forgets it": edit(
            "Drafted(made.passes,", "Drafted([replace(pass_, read=None) for pass_ in made.passes],"
        )
    },
    ("specviz/theory/metrics.py", "tests/theory/test_metrics.py"): {
        "mbsu: a pass that nobody counted reads nothing": edit(
            "return None if any(pass_.read is None for pass_ in passes) else sum", "return sum"
        )
    },
    ("specviz/core/tree.py", TREE): {
        "tree: arranged nodes keep the sources of others": edit(
            '("tokens", "depths", "kinds", "proposals", "sources")', '("tokens", "depths", "kinds", "proposals")'
        ),
        "tree: arranged nodes keep the depths of others": edit(
            '("tokens", "depths", "kinds", "proposals", "sources")', '("tokens", "kinds", "proposals", "sources")'
        ),
        "tree: arranged nodes stand in the order of their old numbers": edit(
            "setattr(self, name, [values[node] for node in nodes])",
            "setattr(self, name, [values[node] for node in sorted(nodes)])",
        ),
        "tree: the probabilities of arranged nodes are those of before": edit(
            "[values[node] for node in nodes])\n        self._drawn_probs = []", "[values[node] for node in nodes])"
        ),
    },
    ("specviz/tree_policies/eagle2.py", POLICIES): {
        "eagle2: the least probable of all that were scored are kept": edit(
            "key=lambda node: (-scores[node], node))\n        draft.arrange",
            "key=lambda node: (scores[node], node))\n        draft.arrange",
        ),
        "eagle2: of equally probable nodes the last is kept": edit(
            "key=lambda node: (-scores[node], node))\n        draft.arrange",
            "key=lambda node: (-scores[node], -node))\n        draft.arrange",
        ),
        "eagle2: a node is worth its own probability, without its path's": edit(
            "scores[child] = scores[node] + gain", "scores[child] = gain"
        ),
    },
    ("specviz/drafters/drafting/growing.py", STOPPING): {
        "stopping: a token that is left open counts as the target's own": edit(
            "committed if context.target_proposal is not None else committed[:-1]", "committed[:-1]"
        ),
        "stopping: more were accepted than the draft had levels": edit(
            "self._followed(self.tree, accepted))", "len(accepted))"
        ),
    },
    ("specviz/engine/recorder.py", RECORDER): {
        "recorder: the token that ends a round has no name": edit(
            "tokens = [event.judged.token]", "tokens = list[int]()"
        )
    },
    ("specviz/stop_policies/heuristic.py", STOPPING): {
        "heuristic: a draft that had no room counts as long as it was meant": edit(
            "self._levels = drafted + self.options.longer", "self._levels = self._levels + self.options.longer"
        )
    },
    ("specviz/stop_policies/specdecpp.py", STOPPING): {
        "specdecpp: a level more is drafted in any case": edit(
            "draft.depth(node) < self.options.least", "draft.depth(node) <= self.options.least"
        ),
        "specdecpp: it stops at its threshold already": edit(
            "1.0 - self._survives[node] <= self.threshold", "1.0 - self._survives[node] < self.threshold"
        ),
    },
    ("specviz/drafters/masked_block.py", SUREST): {
        "masked block: the least sure guesses are kept": edit(
            "probs.topk(keep).indices", "probs.topk(keep, largest=False).indices"
        ),
        "masked block: the first guesses are kept": edit("probs.topk(keep).indices", "torch.arange(keep)"),
    },
    ("specviz/drafters/learned/block_network.py", BLOCK): {
        "masked block: it looks at places before the text's beginning": edit(
            'self.places.masked_fill(unseen, float("-inf"))', "self.places"
        ),
        "masked block: a slot does not know how far what it looks at is": edit(
            'scores = self.places.masked_fill(unseen, float("-inf"))',
            'scores = torch.zeros_like(self.places).masked_fill(unseen, float("-inf"))',
        ),
    },
    ("specviz/drafters/merged.py", "tests/drafters/test_merged.py"): {
        "merged: all models' drafts teach one stop policy": edit(
            "*(deepcopy(shared) for _ in self._drafts[1:])", "*(shared for _ in self._drafts[1:])"
        )
    },
    ("specviz/lm/llama/model.py", "tests/lm/test_trimmed.py"): {
        "trimmed head: the last one serves for other tokens too": edit(
            "if known is None or known[0] != key:", "if known is None:"
        )
    },
}
