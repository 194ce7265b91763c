"""The study of long contexts as Markdown: passes and bytes by context, then acceptance by context."""

from __future__ import annotations

from specviz.bench.core.report import DASH, markdown_table
from specviz.protocol.long_contexts import ContextCost, LongContexts


def markdown(study: LongContexts) -> str:
    """Both tables, what was measured on what, and the command."""
    contexts = list(dict.fromkeys(one.context for one in study.costs))
    names = list(dict.fromkeys(one.drafter for one in study.costs))
    found = {(one.drafter, one.context): one for one in study.costs}
    head = ["drafter", *(f"{context:,}".replace(",", " ") for context in contexts)]
    times = [[f"`{name}`", *(_time(found.get((name, context))) for context in contexts)] for name in names]
    sizes = [[f"`{name}`", *(_size(found.get((name, context))) for context in contexts)] for name in names]
    places = list(dict.fromkeys((one.shortest, one.longest) for one in study.acceptance))
    rows = {(one.anchors, one.shortest): one.acceptance for one in study.acceptance}
    accepted = [
        [
            f"{'with' if anchors else 'without'} anchors, depth {depth + 1}",
            *(f"{rows[anchors, shortest][depth]:.3f}" for shortest, _ in places),
        ]
        for depth in (0, len(study.acceptance[0].acceptance) - 1)
        for anchors in (False, True)
    ]
    return "\n\n".join(
        (
            f"Milliseconds that the processor works for one pass over one new token (one thread), median of "
            f"{study.repeats} drafts [quartiles], by context in tokens. Target and `model` have their context raised "
            f"to {study.raised_context} tokens by a larger rotary base; the text is random tokens and the networks are "
            "untrained, which changes neither time nor bytes.",
            markdown_table(head, times),
            "MiB that each keeps of the text for itself (the presets read the target's beside it).",
            markdown_table(head, sizes),
            f"Acceptance by the context of the draft, on held-out text of the trained target (context "
            f"{study.trained_context}, nothing raised): the shipped `longspec` network and one trained alike but "
            f"for the anchors, on {study.trained_tokens:,} tokens each in texts of {study.window}.",
            markdown_table(["network", *(f"{low}–{high}" for low, high in places)], accepted),
            f"{study.origin} Made by `{study.command}`.",
        )
    )


def _time(cost: ContextCost | None) -> str:
    return DASH if cost is None else f"{cost.median_ms:.2f} [{cost.low_ms:.2f}–{cost.high_ms:.2f}]"


def _size(cost: ContextCost | None) -> str:
    return DASH if cost is None else f"{cost.bytes / 2**20:.2f}"
