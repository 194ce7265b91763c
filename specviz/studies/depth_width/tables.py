"""The documentation's tables of depth against width: both families, both sets, every γ, the model and the engine."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.bench.core.report import or_dash
from specviz.studies.depth_width.findings import Modelled, best, by_set, correlations, finding, modelled, together
from specviz.studies.depth_width.networks import DISTILLED, FAMILIES, TEXT, DepthWidths, Network, TextSet, Times
from specviz.studies.study import Table


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
        *_origins(study),
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
            f"`{network.name}`",
            *(
                f"{count / 1e6:.2f} M"
                for count in (network.block_parameters, network.running_parameters, network.trained_parameters)
            ),
            f"{network.perplexity:.1f}",
            f"{network.agreement:.3f}",
            f"{network.acceptance:.3f}",
            _ms(network.step),
        ]
        for network in own
    ]
    return Table(head, rows).markdown()


def _matched(study: DepthWidths) -> str:
    gammas = [gamma for gamma in SHOWN if gamma in study.gammas]
    rows = []
    for network in study.networks:
        cells = [
            f"{found.value:.2f} [{found.low:.2f}–{found.high:.2f}]"
            for found in (network.matched[g - 1] for g in gammas)
        ]
        needed = [f"{modelled(study, network, gamma).needed:.2f}" for gamma in gammas]
        rows.append([f"{network.family} `{network.name}`", *cells, *needed])
    head = ("network", *(f"γ = {gamma}" for gamma in gammas), *(f"needed, γ = {gamma}" for gamma in gammas))
    return Table(head, rows).markdown()


def _throughput(study: DepthWidths) -> str:
    rows = []
    for network in study.networks:
        found = best(study, network)
        low, high = found.tokens_per_s.low, found.tokens_per_s.high
        rows.append(
            [
                f"{network.family} `{network.name}`",
                str(found.gamma),
                f"{found.tokens_per_s.value:.0f} [{low:.0f}–{high:.0f}]",
                f"{found.speedup:.2f}",
                f"{found.share:.0%}",
            ]
        )
    return Table(("network", "best γ", "tokens/s", "× plain", "drafting"), rows).markdown()


def _measured(study: DepthWidths) -> str:
    by_name = {network.name: network for network in study.networks}
    rows = []
    for one in study.measured:
        value = modelled(study, by_name[one.name], one.gamma)
        speed, gain = one.tokens_per_s, one.speedup
        rows.append(
            [
                f"`{one.name}`",
                str(one.gamma),
                f"{speed.value:.0f} [{speed.low:.0f}–{speed.high:.0f}]",
                f"{value.tokens_per_s.value:.0f}",
                f"{gain.value:.2f} [{gain.low:.2f}–{gain.high:.2f}]",
                f"{value.speedup:.2f}",
                f"{one.matched:.2f}",
                f"{one.same_text} of {one.runs}",
            ]
        )
    head = ("network", "γ", "tokens/s", "modelled", "× plain", "modelled", "matched", "same text")
    return Table(head, rows).markdown()


def _ms(times: Times) -> str:
    return f"{times.median_ms:.2f} [{times.low_ms:.2f}–{times.high_ms:.2f}]"


def _origins(study: DepthWidths) -> list[str]:
    if not study.times_origin:
        return [f"{study.origin}{_load(study)} Made by `{study.command}`."]
    return [
        f"Trained and replayed: {study.origin} Made by `{study.command}`.",
        f"Times and runs: {study.times_origin}{_load(study)} Made by `specviz study depth-width --times --write`. "
        "Shapes were timed untrained, for a pass takes as long whatever its weights say; the shipped two were run.",
    ]


def _load(study: DepthWidths) -> str:
    return "" if study.load is None else f" Load of the machine: {study.load:.1f}."


SHOWN = (1, 2, 4, 8)
"""γ of the tables"""


def second_set(study: DepthWidths) -> list[str]:
    """Paragraphs and tables; nothing where there is one set."""
    second = study.text_set
    if second is None:
        return []
    sets = by_set(study)
    return [
        f"**The second set, {TEXT}**",
        _what_second(study, second),
        "Rank correlations over a set's networks, each at its best γ, of throughput with step time and with "
        "perplexity, and of layers with perplexity:",
        _correlations(sets),
        f"The networks of {TEXT}; tokens per second are *modelled* from the times of the same shapes, those of "
        f"*{DISTILLED}* stand beside them, modelled likewise. Matched tokens are *replayed* [95 % over resampled "
        "prompts].",
        _second_networks(study, sets[DISTILLED], sets[TEXT]),
        f"The second set: {second.origin} Made by `{second.command}`.",
    ]


def _what_second(study: DepthWidths, second: TextSet) -> str:
    return (
        f"The same twelve shapes from the same batches, places, seed, optimiser and learning rates, {second.tokens:,} "
        f"tokens each, by cross entropy to the text's own next token (`{second.loss}`): the target is not asked. "
        f"{second.written_share:.0%} of those tokens stand in rows that the target had written behind beginnings of "
        "the corpus, as for the first set, so that this is no drafter that never met its target; the rest is the "
        "corpus'. Perplexity, agreement, α and matched tokens are measured as those of the first set, on the same "
        f"texts ({study.replayed_tokens:,} tokens after {study.replayed_prompts} prompts). **Nothing of this set was "
        "timed or run in the engine**: networks of one shape take one time, so step and passes are the first set's."
    )


def _correlations(sets: dict[str, list[Modelled]]) -> str:
    both = [one for found in sets.values() for one in found]
    rows = []
    for name, found in {**sets, "both": both}.items():
        seen = correlations(found)
        count = len({(one.network.name, one.network.perplexity) for one in found})
        rows.append([name, str(count), *(or_dash(one, "{:+.2f}") for one in (seen.step, seen.perplexity, seen.depth))])
    return Table(("set", "networks", "step time", "perplexity", "layers and perplexity"), rows).markdown()


def _second_networks(study: DepthWidths, first: Sequence[Modelled], second: Sequence[Modelled]) -> str:
    gammas = [gamma for gamma in SHOWN if gamma in study.gammas]
    rows = []
    for beside, one in zip(first, second, strict=True):
        own = one.network
        matched = [own.matched[gamma - 1] for gamma in gammas]
        rows.append(
            [
                f"{own.family} `{own.name}`",
                f"{own.perplexity:.1f}",
                f"{own.agreement:.3f}",
                f"{own.acceptance:.3f}",
                *(f"{found.value:.2f} [{found.low:.2f}–{found.high:.2f}]" for found in matched),
                str(one.gamma),
                f"{one.tokens_per_s.value:.0f} [{one.tokens_per_s.low:.0f}–{one.tokens_per_s.high:.0f}]",
                f"{one.speedup:.2f}",
                f"{beside.tokens_per_s.value:.0f}",
            ]
        )
    head = ("network", "perplexity", "agreement", "α", *(f"matched, γ = {gamma}" for gamma in gammas), "best γ",
            "tokens/s", "× plain", DISTILLED)  # fmt: skip
    return Table(head, rows).markdown()
