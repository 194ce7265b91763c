"""The study of depth against width as Markdown: what was found, both families, γ, and the engine beside the model."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.bench.core.report import markdown_table
from specviz.bench.depth_width.sets import SHOWN, second_set
from specviz.protocol.depth_widths import DISTILLED, FAMILIES, DepthWidths, Network, Times
from specviz.theory.depth_widths import best, finding, modelled, together


def markdown(study: DepthWidths) -> str:
    """All tables, what is modelled and what measured, and the command."""
    first = f"**The first set, {DISTILLED}**, which all tables up to the second set's are of"
    parts = [*([] if study.text_set is None else [together(study), first]), *finding(study), _what(study)]
    for family, meaning in FAMILIES.items():
        parts += [f"**Family {family}**: {meaning}.", _networks(study.family(family))]
    parts += [
        f"Tokens matched per round by γ, *replayed* on {study.replayed_tokens:,} tokens that the target wrote once "
        f"after {study.replayed_prompts} prompts, greedy [95 % over resampled prompts]; and what a deeper network "
        "would have to match to be as fast as its family's shallowest.",
        _matched(study),
        "*Modelled* throughput at each network's best γ, (matched + 1) / (γ t_d + t_v(γ + 1)) from the medians above, "
        "and the share of the round spent drafting, which is the elasticity of throughput to the step time.",
        _throughput(study),
        f"*Measured* in the engine, by the processor's time of whole rounds, beside plain decoding of the same prompts "
        f"in the same run ({study.plain_tokens_per_s.value:.0f} tokens/s "
        f"[{study.plain_tokens_per_s.low:.0f}–{study.plain_tokens_per_s.high:.0f}]); the model leaves out all but the "
        "passes.",
        _measured(study),
        f"Target's pass by rows: {', '.join(f'{rows}: {_ms(times)}' for rows, times in study.passes.items())} ms.",
        f"{study.origin}{_load(study)} Made by `{study.command}`.",
        *second_set(study),
    ]
    return "\n\n".join(parts)


def _what(study: DepthWidths) -> str:
    return (
        f"Every network learnt from the same {study.tokens:,} tokens (`{study.loss}`, same texts, places and seed). "
        f"Perplexity is per token of held-out text of the corpus (the target's: {study.target_perplexity:.1f}); "
        "agreement and α are on held-out text of the target. A step and the target's passes are processor "
        f"milliseconds, median [quartiles] of {study.repeats} rounds in turns."
    )


def _networks(own: Sequence[Network]) -> str:
    head = ("network", "blocks", "as it runs", "trained", "perplexity", "agreement", "α", "step, ms")
    rows = [
        [
            f"`{one.name}`",
            *(
                f"{count / 1e6:.2f} M"
                for count in (one.block_parameters, one.running_parameters, one.trained_parameters)
            ),
            f"{one.perplexity:.1f}",
            f"{one.agreement:.3f}",
            f"{one.acceptance:.3f}",
            _ms(one.step),
        ]
        for one in own
    ]
    return markdown_table(head, rows)


def _matched(study: DepthWidths) -> str:
    gammas = [gamma for gamma in SHOWN if gamma in study.gammas]
    rows = []
    for one in study.networks:
        cells = [
            f"{found.value:.2f} [{found.low:.2f}–{found.high:.2f}]" for found in (one.matched[g - 1] for g in gammas)
        ]
        needed = [f"{modelled(study, one, gamma).needed:.2f}" for gamma in gammas]
        rows.append([f"{one.family} `{one.name}`", *cells, *needed])
    head = ("network", *(f"γ = {gamma}" for gamma in gammas), *(f"needed, γ = {gamma}" for gamma in gammas))
    return markdown_table(head, rows)


def _throughput(study: DepthWidths) -> str:
    rows = []
    for one in study.networks:
        found = best(study, one)
        low, high = found.tokens_per_s.low, found.tokens_per_s.high
        rows.append(
            [f"{one.family} `{one.name}`", str(found.gamma), f"{found.tokens_per_s.value:.0f} [{low:.0f}–{high:.0f}]",
             f"{found.speedup:.2f}", f"{found.share:.0%}"]
        )  # fmt: skip
    return markdown_table(("network", "best γ", "tokens/s", "× plain", "drafting"), rows)


def _measured(study: DepthWidths) -> str:
    by_name = {one.name: one for one in study.networks}
    rows = []
    for one in study.measured:
        value = modelled(study, by_name[one.name], one.gamma)
        speed, gain = one.tokens_per_s, one.speedup
        rows.append(
            [f"`{one.name}`", str(one.gamma), f"{speed.value:.0f} [{speed.low:.0f}–{speed.high:.0f}]",
             f"{value.tokens_per_s.value:.0f}", f"{gain.value:.2f} [{gain.low:.2f}–{gain.high:.2f}]",
             f"{value.speedup:.2f}", f"{one.matched:.2f}", f"{one.same_text} of {one.runs}"]
        )  # fmt: skip
    head = ("network", "γ", "tokens/s", "modelled", "× plain", "modelled", "matched", "same text")
    return markdown_table(head, rows)


def _ms(times: Times) -> str:
    return f"{times.median_ms:.2f} [{times.low_ms:.2f}–{times.high_ms:.2f}]"


def _load(study: DepthWidths) -> str:
    return "" if study.load is None else f" Load of the machine: {study.load:.1f}."
