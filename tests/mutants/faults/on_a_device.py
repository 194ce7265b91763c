"""Faults that only show on a device, each a forgotten `.to(device)` or its like, and faults of replayed passes."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

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


FAULTS: tuple[Fault, ...] = (
    Fault(
        "on a device: tokens stay on the CPU",
        "specviz/lm/llama/model.py",
        "return self._embedded(torch.tensor(tokens, device=self.device))",
        "return self._embedded(torch.tensor(tokens))",
        PASSES,
    ),
    Fault(
        "on a device: a tree's mask stays on the CPU",
        "specviz/lm/llama/rows.py",
        "visible = torch.from_numpy(placement.visible).to(self.device)",
        "visible = torch.from_numpy(placement.visible)",
        PASSES,
    ),
    Fault(
        "on a device: the rows to be moved are named on the CPU",
        "specviz/lm/llama/rows.py",
        "index = torch.tensor(rows, device=self._kv.device)",
        "index = torch.tensor(rows)",
        PASSES,
    ),
    Fault(
        "on a device: the mask of a batch stays on the CPU",
        "specviz/lm/llama/batch.py",
        "hidden = torch.from_numpy(~visible).to(self.storage.device)",
        "hidden = torch.from_numpy(~visible)",
        (f"{FAKE}::test_texts_of_a_batch_share_passes_on_the_device",),
    ),
    Fault(
        "on a device: the tokens of a trimmed head stay on the CPU",
        "specviz/lm/vocabulary.py",
        "self._kept = torch.tensor(kept, device=model.device)",
        "self._kept = torch.tensor(kept)",
        (f"{FAKE}::test_trimmed_heads_hidden_states_features_and_keys_stay_on_the_device",),
    ),
    Fault(
        "on a device: a draw looks for mass on the CPU",
        "specviz/core/randomness.py",
        "torch.arange(last + 1, device=probs.device)",
        "torch.arange(last + 1)",
        (f"{FAKE}::test_distributions_and_what_rejections_leave_of_them_stay_on_the_device",),
    ),
    Fault(
        "on a device: ranks are counted against tokens on the CPU",
        "specviz/engine/measured.py",
        "candidates = torch.tensor(tokens, device=logits.device).unsqueeze(1)",
        "candidates = torch.tensor(tokens).unsqueeze(1)",
        runs("model"),
    ),
    Fault(
        "on a device: the record waits for ranks by themselves",
        "specviz/engine/recorder.py",
        "ask_ranks(fetch, scored.logits, tree)",
        "ask_ranks(Fetch(), scored.logits, tree)",
        judged("sequential-0.9"),
    ),
    Fault(
        "on a device: verdicts wait for the numbers of their trials by themselves",
        "specviz/verifiers/foreseen.py",
        "self._seen = target.fetch.leave(torch.cat(numbers, dim=1))",
        "self._seen = type(target.fetch)().leave(torch.cat(numbers, dim=1))",
        judged("sequential-0.9"),
    ),
    Fault(
        "on a device: Q of a later sibling is not adjusted",
        "specviz/verifiers/foreseen.py",
        "        if taken:",
        "        if taken is None:",
        BEFOREHAND,
    ),
    Fault(
        "on a device: a rejected leaf leaves its parent's reach as it was",
        "specviz/verifiers/foreseen.py",
        "torch.where(below > 0.0, mass / below, torch.ones_like(below))",
        "reach",
        BEFOREHAND,
    ),
    Fault(
        "on a device: a point mass lies on the CPU",
        "specviz/engine/scoring.py",
        "point = torch.zeros(self._logits.shape[-1], device=self._logits.device)",
        "point = torch.zeros(self._logits.shape[-1])",
        judged("cascade-0.0"),
    ),
    Fault(
        "on a device: tokens drafted from states stay on the CPU",
        "specviz/drafters/learned/eagle_network.py",
        "ids = torch.tensor(placement.tokens, device=self.block.device)",
        "ids = torch.tensor(placement.tokens)",
        runs("eagle"),
    ),
    Fault(
        "on a device: positions of a cross-attending drafter stay on the CPU",
        "specviz/drafters/cross_kv.py",
        "entering = self._lean.embedded(torch.tensor(fresh, device=device))",
        "entering = self._lean.embedded(torch.tensor(fresh))",
        runs("cross_kv"),
    ),
    Fault(
        "replay: a padded row is written over the last new one",
        "specviz/lm/llama/replay.py",
        "numbers[2] = np.arange(width) + np.array(asked.starts)[:, None]",
        "numbers[2] = np.minimum(np.arange(width), asked.most - 1) + np.array(asked.starts)[:, None]",
        (REPLAY,),
    ),
    Fault(
        "replay: a row stands where its place in the pass says",
        "specviz/lm/llama/replay.py",
        "numbers[1, lane, :n] = placement.tokens, placement.positions",
        "numbers[1, lane, :n] = placement.tokens, range(placement.start, placement.stop)",
        (REPLAY,),
    ),
    Fault(
        "replay: a storage is not moved when a text outgrows it",
        "specviz/lm/llama/replay.py",
        "self._kv[:, :, : self.length] = old.kv[:, :, 0, : self.length]",
        "self._kv[:, :, : self.base] = old.kv[:, :, 0, : self.base] * 0.0",
        (REPLAY,),
    ),
    Fault(
        "replay: a trimmed head's pass is taken for the whole head's",
        "specviz/lm/llama/model.py",
        "replays.run((id(self), depths, read), body, placement, cache)",
        "replays.run((depths, read), body, placement, cache)",
        (REPLAY,),
    ),
    Fault(
        "replay: logits are those that the next pass writes over",
        "specviz/lm/llama/model.py",
        "return (logits[-1:] if last_only else logits).clone()",
        "return logits[-1:] if last_only else logits",
        (REPLAY,),
    ),
    Fault(
        "replay: of a text read in parts only the last part's states are held",
        "specviz/lm/llama/model.py",
        "            cache.see_all(torch.cat(seen))",
        "            pass",
        (REPLAY,),
    ),
    Fault(
        "replay: a search among layers records each choice",
        "specviz/lm/llama/replay.py",
        "known = chosen in self._chosen",
        "known = True",
        (REPLAY,),
    ),
    Fault(
        "replay: room is made after what waits for its other layers was written",
        "specviz/lm/llama/model.py",
        "rows = cache.room(placement.start + (width_for(n) if replays else n))",
        "rows = cache.room(placement.stop)",
        (REPLAY,),
    ),
    Fault(
        "replay: states that are drafted from are those that the next pass writes over",
        "specviz/lm/llama/model.py",
        "x = replays.run((id(self), chosen), body, placement, cache)[0].clone()",
        "x = replays.run((id(self), chosen), body, placement, cache)[0]",
        (REPLAY,),
    ),
    Fault(
        "replay: the rows of every lane are written into the first",
        "specviz/lm/llama/replay.py",
        "numbers[2] += np.arange(self._lanes)[:, None] * room",
        "numbers[2] += 0",
        (BATCH,),
    ),
    Fault(
        "replay: a chain sees what stands in the lanes before its own",
        "specviz/lm/llama/replay.py",
        "unseen = self._places > rows[:, None] - self._firsts",
        "unseen = self._places > rows[:, None]",
        (BATCH,),
    ),
    Fault(
        "replay: padded rows are written over the draft of who asks nothing",
        "specviz/lm/llama/batch.py",
        "*(cache.length for cache in self._caches)",
        "*(cache.base for cache in self._caches)",
        (BATCH,),
    ),
    Fault(
        "replay: a batch's logits are those that its next pass writes over",
        "specviz/lm/llama/batch.py",
        "return {lane: logits.clone() for lane, (logits,) in found.items()}",
        "return {lane: logits for lane, (logits,) in found.items()}",
        (BATCH,),
    ),
    Fault(
        "on a device: the lanes of a replayed batch are counted on the CPU",
        "specviz/lm/llama/replay.py",
        "self._firsts = torch.arange(lanes, device=device)",
        "self._firsts = torch.arange(lanes)",
        (f"{FAKE}::test_texts_of_a_batch_share_passes_on_the_device",),
    ),
)
