"""The study of long contexts as Markdown: passes and bytes by context, then acceptance by context."""

from __future__ import annotations

from specviz.bench.core.report import DASH, markdown_table
from specviz.protocol.long_contexts import Beyond, ContextCost, LongContexts


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
            f"{study.trained_context}, nothing raised): two fresh `longspec` networks, trained alike but for "
            f"the anchors, on {study.trained_tokens:,} tokens each in texts of {study.window}.",
            markdown_table(["network", *(f"{low}–{high}" for low, high in places)], accepted),
            *([] if study.beyond is None else _beyond(study.beyond, study.trained_context)),
            *_origins(study),
        )
    )


def _origins(study: LongContexts) -> list[str]:
    if not study.acceptance_origin:
        return [f"{study.origin} Made by `{study.command}`."]
    return [
        f"Time and bytes: {study.origin} Made by `{study.command}`.",
        f"Acceptance: {study.acceptance_origin} Made by `{study.command} --keep-costs`.",
    ]


def _beyond(beyond: Beyond, trained: int) -> list[str]:
    """How the target was raised, and what it accepts so."""
    rows = [
        [f"{one.base:,.0f}".replace(",", " "), _division(one.divided_by), *(f"{nats:.2f}" for nats in one.nats)]
        for one in beyond.losses
    ]
    depths = (0, len(beyond.contexts[0].with_anchors) - 1)
    head = ["context", "target", "target's loss"]
    head += [f"{which}, depth {depth + 1}" for depth in depths for which in ("without anchors", "with anchors")]
    accepted = [
        [
            f"{one.context:,}".replace(",", " "),
            "raised" if one.raised else "as trained",
            f"{one.nats:.2f}",
            *(f"{network[depth]:.3f}" for depth in depths for network in (one.without_anchors, one.with_anchors)),
            f"{one.gain.value:+.3f} [{one.gain.low:+.3f} to {one.gain.high:+.3f}]",
        ]
        for one in beyond.contexts
    ]
    return [
        f"Beyond its context of {trained} tokens the target was never trained: what follows is accepted by a raised "
        "target, which says other things than the trained one. Its own loss on held-out text, nats per token, by the "
        "base of its rotary positions and the stretch of positions. (Texts differ from one stretch to the next: "
        "compare within a column.)",
        markdown_table(["base", "positions", *(f"{first}–{last}" for first, last in beyond.places)], rows, words=2),
        f"Acceptance by context against the target raised by base {beyond.base:,.0f}".replace(",", " ")
        + f", the best of these beyond {trained}: {beyond.drafts} drafts at the end of each of {beyond.texts} held-out "
        "texts, half English, half Python. The same tokens are drafted in every row; only how much text stands before "
        "them differs. The networks' queries turn by the target's base. Last column: depth 1, with anchors less "
        "without [95 % by resampling texts; one network of each, so it says nothing about another training].",
        markdown_table([*head, "gain by anchors"], accepted, words=2),
    ]


def _division(by: float) -> str:
    return "as they are" if by == 1 else f"÷ {by:g}"


def _time(cost: ContextCost | None) -> str:
    return DASH if cost is None else f"{cost.median_ms:.2f} [{cost.low_ms:.2f}–{cost.high_ms:.2f}]"


def _size(cost: ContextCost | None) -> str:
    return DASH if cost is None else f"{cost.bytes / 2**20:.2f}"
