"""Faults of the target's passes: cache, mask, session and recorder."""

from tests.mutants.faults.fault import ADAPTERS, RECORDER, ROWS, Edits, edit

FEW_ROWS = "tests/lm/test_few_rows.py"
DEEP = "tests/drafters/test_chains_in_one_call.py::test_a_tree_of_a_network_is_as_deep_as_its_stop_policy_allows"

FAULTS: Edits = {
    ("specviz/lm/rows.py", ROWS, ADAPTERS): {
        "cache: a kept path moves to the wrong row": edit(
            "self._move_rows(list(rows[settled:]), base + settled)", "self._move_rows(list(rows[settled:]), base)"
        ),
        "cache: a node sees its siblings": edit(
            "visible[:, base:] = self.masks.of([parent - base for parent in tree])[-n:]", "visible[:, base:] = True"
        ),
    },
    ("specviz/lm/rows.py", ROWS): {
        "cache: a row beside the spine stands one position too far": edit(
            "positions.append(limit + len(seen))", "positions.append(limit + len(seen) + 1)"
        ),
        "cache: rows of a rejected path stay behind": edit(
            "self.tokens[start:] = kept", "self.tokens[start : start + len(kept)] = kept"
        ),
    },
    ("specviz/lm/llama/few_rows.c", FEW_ROWS): {
        "few rows: a row of a chain sees the one after it": edit(
            "share->start + r % n + 1,", "share->start + r % n + 2,"
        ),
        "few rows: rows of a tree turn as if they were a chain": edit(
            "(share->visible ? share->positions[i] : share->start + i)", "(share->start + i)"
        ),
        "few rows: keys beyond the first sixteen score as those do": edit(
            "keys->weight + t * bytes, 0, 0, count", "keys->weight, 0, 0, count"
        ),
    },
    ("specviz/lm/products.h", "tests/lm/test_team.py"): {
        "team: every thread writes its outputs where the first ones belong": edit(
            "float *y = all->y + first;", "float *y = all->y;"
        ),
    },
    ("specviz/core/compiled.py", f"{FEW_ROWS}::test_a_row_is_the_same_bit_for_bit_alone_and_beside_others"): {
        "few rows: the compiler chooses which products are rounded twice": edit(
            '    "--param=avoid-fma-max-bits=0",\n', ""
        ),
    },
    ("specviz/lm/products.h", "tests/lm/test_products.py"): {
        "products: a row that asks for its weights forgets what it is added to": edit(
            "ask_alone(by, x, y, add);", "ask_alone(by, x, y, 0);"
        ),
        "tiles: rows of weights stand half as far apart": edit(
            "_tile_loadd(3, at + k * 64, by->ins * 2);", "_tile_loadd(3, at + k * 64, by->ins);"
        ),
        "tiles: of sixteen rows the last is missing": edit(
            "const int some = n - i < SIDE ? n - i : SIDE;", "const int some = n - i < SIDE ? n - i : SIDE - 1;"
        ),
        "tiles: what is left of a number after two parts is lost": edit(
            "(parts == 3 ? load(sums[2][out]) + fine : fine)", "fine"
        ),
        "tiles: outputs behind the last sixteen are those of the first": edit(
            "all.first = all.last;\n", "all.first = 0;\n"
        ),
    },
    ("specviz/lm/products.h", "tests/lm/test_team.py", FEW_ROWS): {
        "tiles: threads that help have no shapes": edit(
            "  TileShapes before;\n  begin_tiles(&before);\n}", "  TileShapes before = {0};\n  (void)before;\n}"
        ),
    },
    ("specviz/lm/llama/few_rows.c", FEW_ROWS, "tests/lm/test_team.py"): {
        "tiles: attention mixes the first components of wide heads alone": edit(
            "values + (t * size + d + b * SIDE) * 2", "values + (t * size + b * SIDE) * 2"
        ),
        "tiles: attention takes every other value": edit("row += 2, at += 4 * size)", "row += 2, at += 8 * size)"),
        "tiles: keys behind the first sixteen are not scored": edit(
            "keys.outs = padded_rows;", "keys.outs = padded_rows - SIDE;"
        ),
    },
    ("specviz/lm/llama/few_rows.c", "tests/lm/test_team.py"): {
        "team: threads share the room for scores": edit("own.scores += hand * own.scores_of,", "own.scores += 0,"),
    },
    ("specviz/lm/team.h", "tests/lm/test_team.py"): {
        "team: a second call takes part of the first one's team": edit(
            "threads < 2 || atomic_exchange(&team.taken, 1)", "threads < 2"
        ),
        "team: a forked process waits for threads that it has not": edit(
            "team.workers = 0, team.taken = 0, team.left = 0;", "team.taken = 0;"
        ),
        "team: nobody is asked to help": edit("while (team.watching && team.workers + 1 < threads", "while (0"),
    },
    ("specviz/lm/llama/few_rows.py", FEW_ROWS): {
        "few rows: weights read as they are stored forget the norm's factor": edit(
            "return None if norm.absorbed and behind.short is None else", "return None if norm.absorbed else"
        ),
    },
    (
        "specviz/lm/llama/few_rows.py",
        f"{FEW_ROWS}::test_weights_are_asked_for_by_the_bytes_in_which_a_pass_reads_them",
        f"{FEW_ROWS}::test_embeddings_are_looked_up_where_none_of_their_numbers_need_be_rounded",
    ): {
        "few rows: weights of two bytes count as four": edit("(2 if at.half else 4) for", "4 for"),
        "few rows: embeddings are rounded where they are looked up": edit(
            "(table.dtype == torch.float32 and not self._model.half_rows)", "table.dtype == torch.float32"
        ),
    },
    ("specviz/lm/llama/few_rows.c", "tests/lm/test_write_chain.py"): {
        "chain: a step stands where the text's two last tokens did": edit("rows.start += rows.n;", "rows.start += 1;"),
    },
    ("specviz/lm/llama/few_rows.c", "tests/drafters/test_eagle.py"): {
        "eagle: a chain goes on from the first of the text's rows": edit(
            "states = outputs + (rows.n - 1) * wide;", "states = outputs;"
        ),
        "eagle: a smaller head speaks of the first tokens, whichever it knows": edit(
            "logits[join->known[k]] = said[k];", "logits[k] = said[k];"
        ),
        "eagle: embeddings of two bytes a number are read as if they had four": edit(
            "if (join->half_words) look_up(share->tokens, join->words, 1,",
            "if (0) look_up(share->tokens, join->words, 1,",
        ),
    },
    ("specviz/lm/llama/few_rows.c", "tests/drafters/test_fspad.py"): {
        "fspad: a word's gate stands where what it adds does": edit(
            "said + i * (wide + hidden) + wide, (size_t)hidden", "said + i * (wide + hidden), (size_t)hidden"
        ),
    },
    ("specviz/core/draws.c", "tests/core/test_draws.py"): {
        "draws: temperature multiplies the logits": edit("(x - top) / temperature;", "(x - top) * temperature;"),
        "draws: a block of tokens forgets those before it": edit("sum = block ? up_to[block - 1] : 0.0;", "sum = 0.0;"),
    },
    ("specviz/drafters/learned/heads.py", DEEP): {
        "heads: a stop policy's levels are nothing to a tree": edit(
            "self.options.gamma, stop_policy.levels() or self.options.gamma)", "self.options.gamma)"
        ),
    },
    ("specviz/drafters/learned/flash_drafting.py", DEEP): {
        "a block: a stop policy's levels are nothing to a tree": edit(
            "slots, stop_policy.levels() or slots)", "slots)"
        ),
    },
    ("specviz/drafters/drafting/growing.py", "tests/drafters/test_chains_in_one_call.py"): {
        "chain: a later round draws with the noise of the first": edit(
            "again(steps, context.round,", "again(steps, 0,"
        ),
        "chain: a draft behind another of its round draws with the same noise": edit(
            "context.round, draws))", "context.round, 0))"
        ),
        "chain: a seed draws in place of whatever else decides": edit(
            "type(randomness) is not SeededRandom", "not isinstance(randomness, SeededRandom)"
        ),
        "chain: the stop policy is not asked": edit("chain is None or not stop_policy.does_nothing()", "chain is None"),
        "chain: the target's race is drawn as if it were none": edit(
            "not sampling.uncut or context.noise == RACE or", "not sampling.uncut or"
        ),
    },
    ("specviz/drafters/drafting/draft_model.py", "tests/drafters/test_chains_in_one_call.py"): {
        "chain: rows of a draft that was rejected stay": edit("cached[row] == tokens[row]", "True"),
        "chain: whoever drafts next is not told which noise was used": edit(
            "self.draws += 0 if proposal.tree.block is None else proposal.tree.drafted", "self.draws += 0"
        ),
    },
    ("specviz/lm/pages.py", FEW_ROWS): {
        "few rows: a cache holds a thousandth of what is stated": edit(
            '.removesuffix("K")) << 10', '.removesuffix("K"))'
        ),
        "few rows: nobody asks for large pages": edit("self._room.madvise(mmap.MADV_HUGEPAGE)", "pass"),
        "few rows: a weight is written over the one before it": edit(
            "self._next += -(-size // LINE) * LINE", "self._next += size // LINE"
        ),
    },
    ("specviz/lm/products.h", FEW_ROWS): {
        "few rows: a row beyond the first six has the numbers of one before it": edit(
            "const float *rows = x + i * apart(ins, mode),", "const float *rows = x + i / 8 * apart(ins, mode),"
        ),
    },
    ("specviz/lm/llama/few_rows.c", "tests/lm/test_products.py"): {
        "few rows: a drafter's block reads its residual stream in place of its inputs": edit(
            "attend(model, pass, 0, inputs, room->x,", "attend(model, pass, 0, room->x, room->x,"
        ),
    },
    ("specviz/lm/llama/few_rows.c", "tests/drafters/test_flash.py"): {
        "few rows: keys of a drafter's context turn as if the text began with them": edit(
            "rotate(keys, model->turns, share,", "rotate(keys, model->turns, &(Share){.n = n},"
        ),
    },
    ("specviz/drafters/learned/head_passes.c", "tests/drafters/test_head_passes.py"): {
        "heads: a reading block takes what stands for its gate as what it gates": edit(
            "add_silu(room->sums, room->sums + hidden,", "add_silu(room->sums + hidden, room->sums,"
        ),
    },
    ("specviz/drafters/learned/head_passes.c", "tests/drafters/test_chains_in_one_call.py"): {
        "heads: each head of a chain reads the root alone": edit(
            "look_up_normed(heads, step ? chosen + step - 1 : &root,", "look_up_normed(heads, &root,"
        ),
    },
    ("specviz/lm/chains.c", "tests/drafters/test_chains_in_one_call.py"): {
        "chain: a table adds what follows the root at each place": edit(
            "const int64_t token = step ? chosen[step - 1] : root;", "const int64_t token = root;"
        ),
    },
    ("specviz/drafters/learned/block_network.c", "tests/drafters/test_head_passes.py"): {
        "masked block: what lies near the block counts as if it lay at the window's beginning": edit(
            "* wide + block->window - seen,", "* wide,"
        ),
        "masked block: what is known of its slots is not told": edit(
            "const float *row = known[i] ? word : block->masked;", "const float *row = i ? block->masked : word;"
        ),
    },
    ("specviz/lm/chains.py", "tests/drafters/test_head_passes.py"): {
        "heads: they go on with the weights that they had at first": edit(
            "if known is None or known[0] != versions:", "if known is None:"
        ),
    },
    ("specviz/lm/llama/few_rows.c", "tests/lm/test_features.py"): {
        "few rows: what is watched behind the last layer is not normed": edit(
            "if (reached < model->count) memcpy(", "if (reached <= model->count) memcpy("
        ),
    },
    ("specviz/lm/products.py", FEW_ROWS): {
        "few rows: weights in float32 take as wide a pass as tiles do": edit(
            "return MOST_ROWS if (half and compiled.tiles()) or", "return MOST_ROWS if compiled.tiles() or"
        ),
    },
    ("specviz/lm/products.py", "tests/lm/test_products.py"): {
        "products: a weight of whole numbers forgets its rows' scales": edit(
            "scales = None if short is None or short.scales is None else", "scales = None if short is None or True else"
        ),
        "products: a layer goes on with the weights that it had at first": edit(
            "if known is None or known[0] != version:", "if known is None:"
        ),
    },
    ("specviz/engine/session.py", "tests/tree_policies/test_target_init.py"): {
        "session: the row of the last accepted token is kept twice": edit(
            "for node in tree.path(end)[: kept - 1]", "for node in tree.path(end)[:kept]"
        ),
    },
    ("specviz/engine/header.py", "tests/engine/test_decode.py"): {
        "branch: its prompt shows what the tokenizer puts before one": edit(
            "text.without_added(prompt_ids)", "prompt_ids"
        ),
    },
    ("specviz/engine/decode.py", "tests/engine/test_decode.py"): {
        "decode: what a drafter shows late is drawn up after its next draft": edit(
            "if last.proposal.late_exhibits or not", "if not"
        ),
        "decode: rounds that wait for the end of a run are lost": edit(
            "steps = recorder.rounds(waiting)\n        yield", "steps = []\n        yield"
        ),
    },
    ("specviz/engine/recorder.py", RECORDER): {
        "recorder: the target's own head as the residual": edit(
            "ask_head(fetch, rest)", "ask_head(fetch, scored.probs(0))"
        ),
        "recorder: time stamps half as long again": edit("start_s=record.start_s,", "start_s=1.5 * record.start_s,"),
        "recorder: a step leaves out what its heads name first": edit(
            "*fresh, *_mentioned(event)", "*_mentioned(event)"
        ),
    },
    ("specviz/engine/forming.py", RECORDER): {
        "recorder: a candidate keeps the probability of its sibling": edit(
            "self._of_target += scored.candidate_probs()",
            "self._of_target += [*scored.candidate_probs()[1:], 0.0]",
        ),
        "recorder: all rounds have the nodes of the first": edit(
            "self._nodes[self._starts[number] : self._starts[number + 1]]",
            "self._nodes[self._starts[0] : self._starts[1]]",
        ),
        "recorder: a verdict falls on the first round's nodes": edit(
            "fates[root + trial.node] =", "fates[trial.node] ="
        ),
    },
    ("specviz/engine/measured.py", RECORDER): {
        "recorder: raw rows in another order": edit(
            "return Swept(heads[:n], list", "return Swept(heads[:n][::-1], list"
        ),
        "recorder: raw rows of the draft in another order": edit(
            "[node for nodes, _ in drafts for node in nodes]",
            "[node for nodes, _ in drafts for node in reversed(nodes)]",
        ),
    },
    ("specviz/engine/waiting.py", "tests/engine/test_measured.py"): {
        "recorder: all rounds have the heads of the first": edit("Swept(heads[first:end],", "Swept(heads[:nodes],"),
        "recorder: ranks in the rows of another round": edit(
            "[first + parent for parent in parents]", "[parent for parent in parents]"
        ),
        "recorder: a chain's draft has the heads of the target's logits": edit(
            "PROBABILITIES, judged, first + n)", "PROBABILITIES, judged, first)"
        ),
    },
    ("specviz/engine/measured.c", "tests/engine/test_measured.py"): {
        "recorder: a head leaves out what reaches its bound and no more": edit(
            "floor = nextafterf(reached_by(top, groups, each), -INFINITY);", "floor = reached_by(top, groups, each);"
        ),
        "recorder: logarithms at another temperature than the probabilities": edit(
            "/ p->sum * p->scale - p->level;", "/ p->sum - p->level;"
        ),
        "recorder: a divergence at another temperature than the probabilities": edit(
            "apart = below_p * p->scale - below_q * q->scale;", "apart = below_p - below_q;"
        ),
    },
    ("specviz/lm/ranks.py", "tests/lm/test_spread.py"): {
        "ranks: others keep the rows that rank 0 drops": edit(
            'team().say("keep", self.number, list(rows))', 'team().say("keep", self.number, [])'
        ),
    },
    ("specviz/lm/checkpoint.py", "tests/lm/test_loading_memory.py"): {
        "loading: a file stays open while its tensors are converted": edit(
            '        try:\n            return safe_open(path, framework="pt")',
            '        try:\n            return self.__dict__.setdefault(str(path), safe_open(path, framework="pt"))',
        ),
    },
    ("specviz/lm/hub/load.py", "tests/lm/test_quantised.py"): {
        "loading: the scales of quantised weights count as parameters": edit(
            "for name, one in model.named_parameters() if not name.endswith(BESIDE_WEIGHTS))",
            "for name, one in model.named_parameters())",
        ),
    },
    ("specviz/drafters/learned/cross_network.py", "tests/studies/long_context/test_training.py"): {
        "long texts: the rows before a text's end are not seen": edit(
            "torch.arange(-before, len(gaps), device=gaps.device) < self.root[:, None]",
            "torch.arange(-before, len(gaps), device=gaps.device) + before < self.root[:, None]",
        ),
    },
    ("specviz/studies/long_context/training.py", "tests/studies/long_context/test_training.py"): {
        "long texts: the base that serves the target worst is taken": edit(
            "key=lambda one: sum(losses[one].nats[1:])", "key=lambda one: -sum(losses[one].nats[1:])"
        ),
    },
}
