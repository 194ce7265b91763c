"""Faults that only show on a device, each a forgotten `.to(device)` or its like, and faults of replayed passes."""

from tests.mutants.faults.fault import Edits, edit

FAKE = "tests/gpu/test_fake_cuda.py"
RUNS = f"{FAKE}::test_every_drafter_drafts_and_repairs_on_the_device_what_it_does_on_the_cpu"
REPLAY = "tests/lm/test_replay.py"
BATCH = "tests/lm/test_replayed_batch.py"
BEFOREHAND = (f"{FAKE}::test_what_was_worked_out_beforehand_is_what_a_walk_works_out_step_by_step",)
PASSES = (f"{FAKE}::test_chains_trees_and_kept_paths_have_the_numbers_of_the_cpu",)


def runs(drafter: str, *temperatures: str) -> tuple[str, ...]:
    """Whole runs of a drafter."""
    return tuple(f"{RUNS}[{drafter}-0-{temperature}]" for temperature in temperatures or ("0.0", "0.9"))


def judged(rule: str) -> tuple[str, ...]:
    """Whole runs of a rule at a temperature."""
    return (
        f"{FAKE}::test_every_rule_judges_on_the_device_as_on_the_cpu_and_waits_once_for_verdicts_and_record[{rule}]",
    )


FAULTS: Edits = {
    ("specviz/lm/llama/model.py", *PASSES): {
        "on a device: tokens stay on the CPU": edit(
            "return self._embedded(torch.tensor(tokens, device=self.device))",
            "return self._embedded(torch.tensor(tokens))",
        )
    },
    ("specviz/lm/llama/rows.py", *PASSES): {
        "on a device: a tree's mask stays on the CPU": edit(
            "visible = torch.from_numpy(placement.visible).to(self.device)",
            "visible = torch.from_numpy(placement.visible)",
        ),
        "on a device: the rows to be moved are named on the CPU": edit(
            "index = torch.tensor(rows, device=self._kv.device)", "index = torch.tensor(rows)"
        ),
    },
    ("specviz/lm/llama/batch.py", f"{FAKE}::test_texts_of_a_batch_share_passes_on_the_device"): {
        "on a device: the mask of a batch stays on the CPU": edit(
            "hidden = torch.from_numpy(~visible).to(self.storage.device)", "hidden = torch.from_numpy(~visible)"
        )
    },
    ("specviz/lm/vocabulary.py", f"{FAKE}::test_trimmed_heads_hidden_states_features_and_keys_stay_on_the_device"): {
        "on a device: the tokens of a trimmed head stay on the CPU": edit(
            "self._kept = torch.tensor(kept, device=model.device)", "self._kept = torch.tensor(kept)"
        )
    },
    (
        "specviz/core/randomness.py",
        f"{FAKE}::test_distributions_and_what_rejections_leave_of_them_stay_on_the_device",
    ): {
        "on a device: a draw looks for mass on the CPU": edit(
            "torch.arange(last + 1, device=probs.device)", "torch.arange(last + 1)"
        )
    },
    ("specviz/engine/measured.py", *runs("model")): {
        "on a device: ranks are counted against tokens on the CPU": edit(
            "candidates = torch.tensor(tokens, device=logits.device).unsqueeze(1)",
            "candidates = torch.tensor(tokens).unsqueeze(1)",
        )
    },
    ("specviz/engine/recorder.py", *judged("sequential-0.9")): {
        "on a device: the record waits for ranks by themselves": edit(
            "self._sweep.ask_ranks(fetch,", "self._sweep.ask_ranks(Fetch(),"
        )
    },
    ("specviz/verifiers/foreseen.py", *judged("sequential-0.9")): {
        "on a device: verdicts wait for the numbers of their trials by themselves": edit(
            "self._seen = target.fetch.leave(torch.cat(numbers, dim=1))",
            "self._seen = type(target.fetch)().leave(torch.cat(numbers, dim=1))",
        )
    },
    ("specviz/verifiers/foreseen.py", *BEFOREHAND): {
        "on a device: Q of a later sibling is not adjusted": edit("        if taken:", "        if taken is None:"),
        "on a device: a rejected leaf leaves its parent's reach as it was": edit(
            "torch.where(below > 0.0, mass / below, torch.ones_like(below))", "reach"
        ),
    },
    ("specviz/engine/scoring.py", *judged("cascade-0.0")): {
        "on a device: a point mass lies on the CPU": edit(
            "point = torch.zeros(self._logits.shape[-1], device=self._logits.device)",
            "point = torch.zeros(self._logits.shape[-1])",
        )
    },
    ("specviz/drafters/learned/eagle_network.py", *runs("eagle")): {
        "on a device: tokens drafted from states stay on the CPU": edit(
            "ids = torch.tensor(placement.tokens, device=self.block.device)", "ids = torch.tensor(placement.tokens)"
        )
    },
    ("specviz/drafters/cross_kv.py", *runs("cross_kv")): {
        "on a device: positions of a cross-attending drafter stay on the CPU": edit(
            "entering = self._lean.embedded(torch.tensor(fresh, device=device))",
            "entering = self._lean.embedded(torch.tensor(fresh))",
        )
    },
    ("specviz/lm/llama/replay.py", REPLAY): {
        "replay: a padded row is written over the last new one": edit(
            "numbers[2] = np.arange(width) + np.array(asked.starts)[:, None]",
            "numbers[2] = np.minimum(np.arange(width), asked.most - 1) + np.array(asked.starts)[:, None]",
        ),
        "replay: a row stands where its place in the pass says": edit(
            "numbers[1, lane, :n] = placement.tokens, placement.positions",
            "numbers[1, lane, :n] = placement.tokens, range(placement.start, placement.stop)",
        ),
        "replay: a storage is not moved when a text outgrows it": edit(
            "self._kv[:, :, : self.length] = old.kv[:, :, 0, : self.length]",
            "self._kv[:, :, : self.base] = old.kv[:, :, 0, : self.base] * 0.0",
        ),
        "replay: a search among layers records each choice": edit("known = chosen in self._chosen", "known = True"),
    },
    ("specviz/lm/llama/model.py", REPLAY): {
        "replay: a trimmed head's pass is taken for the whole head's": edit(
            "replays.run((id(self), depths, read), body, placement, cache)",
            "replays.run((depths, read), body, placement, cache)",
        ),
        "replay: logits are those that the next pass writes over": edit(
            "return (logits[-1:] if last_only else logits).clone()", "return logits[-1:] if last_only else logits"
        ),
        "replay: of a text read in parts only the last part's states are held": edit(
            "            cache.see_all(torch.cat(seen))", "            pass"
        ),
        "replay: room is made after what waits for its other layers was written": edit(
            "rows = cache.room(placement.start + (width_for(n) if replays else n))", "rows = cache.room(placement.stop)"
        ),
        "replay: states that are drafted from are those that the next pass writes over": edit(
            "x = replays.run((id(self), chosen), body, placement, cache)[0].clone()",
            "x = replays.run((id(self), chosen), body, placement, cache)[0]",
        ),
    },
    ("specviz/lm/llama/replay.py", BATCH): {
        "replay: the rows of every lane are written into the first": edit(
            "numbers[2] += np.arange(self._lanes)[:, None] * room", "numbers[2] += 0"
        ),
        "replay: a chain sees what stands in the lanes before its own": edit(
            "unseen = self._places > rows[:, None] - self._firsts", "unseen = self._places > rows[:, None]"
        ),
    },
    ("specviz/lm/llama/batch.py", BATCH): {
        "replay: padded rows are written over the draft of who asks nothing": edit(
            "*(cache.length for cache in self._caches)", "*(cache.base for cache in self._caches)"
        ),
        "replay: a batch's logits are those that its next pass writes over": edit(
            "return {lane: logits.clone() for lane, (logits,) in found.items()}",
            "return {lane: logits for lane, (logits,) in found.items()}",
        ),
    },
    ("specviz/lm/llama/replay.py", f"{FAKE}::test_texts_of_a_batch_share_passes_on_the_device"): {
        "on a device: the lanes of a replayed batch are counted on the CPU": edit(
            "self._firsts = torch.arange(lanes, device=device)", "self._firsts = torch.arange(lanes)"
        )
    },
}
