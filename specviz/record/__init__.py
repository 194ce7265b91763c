"""Traces of runs that another engine made: `specviz.record.transformers` watches a `model.generate`.

The engine that is watched decides everything; what it drafted, believed and drew is written down as one of our traces
and held against the trace's own rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specviz.record.recording import Recording

TOP = 10
"""entries of a recorded distribution, as in our own runs"""


def transformers(model: Any, tokenizer: Any, *, top: int = TOP) -> Recording:
    """Record what `model.generate` does while it drafts and verifies.

        with specviz.record.transformers(model, tokenizer) as recording:
            model.generate(**inputs, assistant_model=small, do_sample=True, max_new_tokens=64)
        specviz.write(recording.trace, "run.json.gz")

    Recorded are runs with `assistant_model`, `prompt_lookup_num_tokens`, `assistant_early_exit`, `use_mtp` or
    `speculation_type="dflash"`, greedy or sampled with temperature, top-k and top-p, and with a Gemma assistant at
    temperature 0. Watching draws no random number, so that the text is the one that generate gives
    without it. `tokenizer` is the target's, in its fast form; `top` is how many entries of p and q are kept.

    Raises RecordError with one sentence: at once where these models or this release of transformers cannot be
    recorded, inside generate before it computes where its settings cannot, and when the block ends where nothing was
    recorded or the trace would contradict itself. What generate returned is never lost. Needs the extra `engine`.
    """
    from specviz.record.recording import Recording

    return Recording(model, tokenizer, top)
