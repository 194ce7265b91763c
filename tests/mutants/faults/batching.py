"""Faults of batches and of drafting beside the target: who sees whom, who is answered with what, who leaves."""

from tests.mutants.faults.fault import Edits, edit

PASSES = "tests/lm/test_llama_batch.py"
ROOM = f"{PASSES}::test_a_call_fills_its_room_for_logits_and_writes_nothing_behind_it"
TEXTS = "tests/batch/test_together.py"
BUDGET = "tests/batch/test_budget.py"
BESIDE = "tests/asynchronous/test_simulation.py"

FAULTS: Edits = {
    ("specviz/lm/llama/batch.py", PASSES): {
        "batch: the mask does not end where the text does": edit(
            "visible[lane, 0, :rows, : placement.stop] = placement.mask()", "visible[lane, 0, :rows] = True"
        ),
        "batch: a masked row may be anything, NaN too": edit(
            "return Storage(torch.zeros(size,", "return Storage(torch.full(size, float('nan'),"
        ),
        "batch: a compiled call takes any number of rows": edit(
            "            if rows > self._model.at_once:\n", "            if not calls:\n"
        ),
    },
    ("specviz/lm/llama/few_rows.py", ROOM): {
        "batch: a call has room for one row of logits too few": edit(
            "self._logits(sum(text.wanted for text in texts))", "self._logits(sum(text.wanted for text in texts) - 1)"
        ),
        "batch: a call has room for one row of logits too many": edit(
            "self._logits(sum(text.wanted for text in texts))", "self._logits(sum(text.wanted for text in texts) + 1)"
        ),
    },
    ("specviz/lm/llama/few_rows.c", PASSES): {
        "batch: a second text reads the first one's queries": edit("    qkv += share->n * stride;\n", ""),
        "batch: of every text the last rows of all are read out": edit(
            "    end += shares[k].n * hidden;\n", "    end = room.x + pass.n * hidden;\n"
        ),
    },
    ("specviz/lm/llama/batch.py", PASSES, TEXTS): {
        "batch: who moves into a free lane leaves its rows behind": edit(
            "self.storage[:, :, own.lane, : last.length] = self.storage[:, :, last.lane, : last.length]", "pass"
        )
    },
    ("specviz/batch/together.py", TEXTS): {
        "batch: the target reads before all drafts are made": edit(
            "turn = min(member.run.asked.turn for member in waiting)",
            "turn = max(member.run.asked.turn for member in waiting)",
        ),
        "batch: each text leaves the inference mode that all are in": edit("@torch.inference_mode()", ""),
        "batch: who is over still stands in it": edit("                member.leave()\n", ""),
        "batch: a round that drafts nothing is a draft": edit(
            "written.drafts += bool(candidates)", "written.drafts += 1"
        ),
        "batch: a round in which all nodes ride along is a draft": edit(
            "written.drafts += bool(candidates)", "written.drafts += bool(record.proposal.tree.drafted)"
        ),
        "batch: what rode along counts as accepted": edit(
            "len(candidates.intersection(record.verdict.path))", "len(record.verdict.path)"
        ),
        "batch: what was drafted counts as accepted": edit(
            "len(candidates.intersection(record.verdict.path))", "len(candidates)"
        ),
    },
    ("specviz/batch/budget.py", BUDGET): {
        "budget: the queue is left where it loses first": edit(
            "            best, least = count, seconds\n",
            "            best, least = count, seconds\n        else:\n            break\n",
        ),
        "budget: a pass of the drafter that was made is paid again": edit(
            "1.0 if level else wishes[asker].unread", "1.0"
        ),
        "budget: what the drafter missed is read for nothing": edit("1.0 + (self._unread - 1) / rounds", "1.0"),
        "budget: a token is worth as much to whoever is ahead": edit("-chance * saved", "-chance"),
        "budget: handling a candidate is free": edit("spent += lost + handling_s", "spent += lost"),
        "budget: where nothing pays it is asked in every round": edit("[-rest] * len(granted)", "granted"),
        "budget: a batch that has shrunk rests on": edit("            self.news += 1\n", ""),
        "budget: at a glance only one more candidate is seen": edit("- more * best >= least", "- best >= least"),
        "budget: what a round has granted takes no row": edit("self.rows += sum(map(bool, granted))", "pass"),
        "budget: candidates that the target did not come to count as refused": edit(
            "self._seen += min(drafted, accepted + 1)", "self._seen += drafted"
        ),
        "budget: a round that rests forgets nothing": edit(
            "        self._rest -= 1\n        self._forget()\n", "        self._rest -= 1\n"
        ),
        "budget: each candidate is as likely as if all before it were taken": edit(
            "        self._reached = chance\n", ""
        ),
        "budget: a text's last token is drafted": edit("self._tokens - 1) - depth", "self._tokens) - depth"),
    },
    ("specviz/batch/pass_times.py", "tests/batch/test_pass_times.py"): {
        "pass times: texts have hardly begun": edit(
            "cached = max(1, min(CACHED_ROWS, model.info.context_length - levels - 1))", "cached = 1"
        ),
        "pass times: rows that do not come out even are left out": edit("each + (lane < more)", "each"),
        "pass times: a pass reads what the one before it left": edit("share.cache.keep([])", "pass"),
        "pass times: the first pass counts": edit("                if repeat:\n", "                if True:\n"),
        "pass times: the first switch counts": edit("median(taken[1:])", "median(taken)"),
        "pass times: a switch may bring seconds": edit("max(0.0, median(taken[1:]))", "median(taken[1:])"),
    },
    ("specviz/studies/batches/measure.py", "tests/studies/test_batches_measured.py"): {
        "batch: every text draws with the first one's seed": edit(
            "SeededRandom(plan.seed + number)", "SeededRandom(plan.seed)"
        )
    },
    ("specviz/asynchronous/machines.py", BESIDE): {
        "amusd: a drafter may be as far ahead as the text is long": edit(
            "min(len(text) + ahead, reach.draft)", "reach.draft"
        ),
        "amusd: the text's last token is drafted": edit("min(len(text) + ahead, reach.draft)", "len(text) + ahead"),
        "amusd: a draft of another text is verified": edit(" or board.draft(0, len(text)) != list(text):", ":"),
        "amusd: of a draft only the last token before its tail is compared": edit(
            "board.draft(0, len(text)) != list(text)", "board.draft(len(text) - 1, len(text)) != list(text)[-1:]"
        ),
        "amusd: a wholly right draft is taken back": edit("if accepted < len(tail):", "if accepted <= len(tail):"),
        "amusd: all of a draft is thrown away that differs at its end": edit(
            "dropped = len(draft) - same", "dropped = len(draft)"
        ),
    },
}
