"""Faults of the target's passes: cache, mask, session and recorder."""

from __future__ import annotations

from tests.mutants.faults.fault import ADAPTERS, RECORDER, ROWS, Fault

FAULTS: tuple[Fault, ...] = (
    Fault(
        "cache: a kept path moves to the wrong row",
        "specviz/lm/rows.py",
        "self._move_rows(list(rows[settled:]), base + settled)",
        "self._move_rows(list(rows[settled:]), base)",
        (ROWS, ADAPTERS),
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
        (ROWS, ADAPTERS),
    ),
    Fault(
        "cache: rows of a rejected path stay behind",
        "specviz/lm/rows.py",
        "self.tokens[start:] = kept",
        "self.tokens[start : start + len(kept)] = kept",
        (ROWS,),
    ),
    Fault(
        "few rows: a row of a chain sees the one after it",
        "specviz/lm/llama/few_rows.c",
        "cache->start + r % n + 1,",
        "cache->start + r % n + 2,",
        ("tests/lm/test_few_rows.py",),
    ),
    Fault(
        "few rows: rows of a tree turn as if they were a chain",
        "specviz/lm/llama/few_rows.c",
        "(positions ? positions[i] : start + i)",
        "(start + i)",
        ("tests/lm/test_few_rows.py",),
    ),
    Fault(
        "few rows: weights read as they are stored forget the norm's factor",
        "specviz/lm/llama/few_rows.py",
        "return None if norm.absorbed and not self.as_stored else",
        "return None if norm.absorbed else",
        ("tests/lm/test_few_rows.py",),
    ),
    Fault(
        "few rows: a row beyond the first four has the numbers of one before it",
        "specviz/lm/llama/few_rows.c",
        "const float *rows = x + i * ins,",
        "const float *rows = x + i / 8 * ins,",
        ("tests/lm/test_few_rows.py",),
    ),
    Fault(
        "session: the row of the last accepted token is kept twice",
        "specviz/engine/session.py",
        "for node in tree.path(end)[: kept - 1]",
        "for node in tree.path(end)[:kept]",
        ("tests/tree_policies/test_target_init.py",),
    ),
    Fault(
        "recorder: the target's own head as the residual",
        "specviz/engine/recorder.py",
        "residual=None if residual is None else self._sweep.head(residual),",
        "residual=None if residual is None else self._sweep.head("
        "record.scored.probs(verdict.path[-1] if verdict.path else 0)),",
        (RECORDER,),
    ),
    Fault(
        "recorder: raw rows in another order",
        "specviz/engine/measured.py",
        "return Swept(heads[:n], dict(zip(asked, heads[n:], strict=True)), _agreements(columns, asked))",
        "return Swept(heads[:n][::-1], dict(zip(asked, heads[n:], strict=True)), _agreements(columns, asked))",
        (RECORDER,),
    ),
    Fault(
        "recorder: raw rows of the draft in another order",
        "specviz/engine/measured.py",
        "asked = [node for nodes, _ in drafts for node in nodes]",
        "asked = [node for nodes, _ in drafts for node in reversed(nodes)]",
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
        "ranks: others keep the rows that rank 0 drops",
        "specviz/lm/ranks.py",
        'team().say("keep", self.number, list(rows))',
        'team().say("keep", self.number, [])',
        ("tests/lm/test_spread.py",),
    ),
    Fault(
        "loading: a file stays open while its tensors are converted",
        "specviz/lm/checkpoint.py",
        '        try:\n            return safe_open(path, framework="pt")',
        '        try:\n            return self.__dict__.setdefault(str(path), safe_open(path, framework="pt"))',
        ("tests/lm/test_loading_memory.py",),
    ),
    Fault(
        "loading: the scales of quantised weights count as parameters",
        "specviz/lm/hub/load.py",
        "for name, one in model.named_parameters() if not name.endswith(BESIDE_WEIGHTS))",
        "for name, one in model.named_parameters())",
        ("tests/lm/test_quantised.py",),
    ),
    Fault(
        "long texts: the rows before a text's end are not seen",
        "specviz/drafters/learned/cross_network.py",
        "torch.arange(-before, len(gaps), device=gaps.device) < self.root[:, None]",
        "torch.arange(-before, len(gaps), device=gaps.device) + before < self.root[:, None]",
        ("tests/studies/long_context/test_training.py",),
    ),
    Fault(
        "long texts: the base that serves the target worst is taken",
        "specviz/studies/long_context/training.py",
        "key=lambda one: sum(losses[one].nats[1:])",
        "key=lambda one: -sum(losses[one].nats[1:])",
        ("tests/studies/long_context/test_training.py",),
    ),
)
