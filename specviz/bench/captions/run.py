"""Every caption drafter on held-out scenes, counted by `theory.grounding`.

Greedy decoding: no draw is in it, and no clock, so the numbers are those of the weights alone. Place in the flow: a
trace source runs, the rows go into a report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from specviz.protocol.captions import DRAFTERS, SPLITS, CaptionRow
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.protocol.sweeps.intervals import ratio_of_sums
from specviz.scenes.generator import Split as Scenes
from specviz.scenes.generator import scene_of
from specviz.theory.grounding import Split, split
from specviz.trace.assemble import assemble
from specviz.trace.events import Trace

TARGET = "captioner"
MOST_TOKENS = 48
FIRST_SEED = 10_000
"""of the scenes: the model card's accuracy is told of others"""
SPLIT_NAMES: tuple[Scenes, ...] = ("chance", "combination")


def measure(
    source: TraceSource, scenes: int, gamma: int, cancelled: Callable[[], bool] = lambda: False
) -> Iterator[tuple[CaptionRow, Trace]]:
    """A row per kind of scenes and drafter as soon as it is there, with its last run; ends early where cancelled."""
    for name in SPLIT_NAMES:
        requests = [
            RunRequest("", target=TARGET, scene=str(scene_of(name, FIRST_SEED + place)), max_new_tokens=MOST_TOKENS)
            for place in range(scenes)
        ]
        plain = [_run(source, replace(one, drafter="none")) for one in requests]
        for drafter in DRAFTERS:
            runs: list[Trace] = []
            for one in requests:
                if cancelled():
                    return
                runs.append(_run(source, replace(one, drafter_model=drafter, drafter_options={"gamma": gamma})))
            yield row(drafter, name, runs, plain), runs[-1]


def row(drafter: str, scenes: str, runs: Sequence[Trace], plain: Sequence[Trace]) -> CaptionRow:
    """One drafter's runs, beside plain decoding's of the same scenes."""
    splits = [split(one) for one in runs]
    total = sum(splits, Split())
    assert scenes in SPLITS, "only named kinds of scenes are reported."
    return CaptionRow(
        drafter=drafter,
        split=scenes,
        scenes=len(runs),
        grammar=ratio_of_sums([(one.grammar.accepted, one.grammar.judged) for one in splits]),
        grounded=ratio_of_sums([(one.grounded.accepted, one.grounded.judged) for one in splits]),
        judged=(total.grammar.judged, total.grounded.judged),
        tokens_per_pass=ratio_of_sums([(one.summary.num_output_tokens, one.summary.num_target_passes) for one in runs]),
        same_output=sum(
            one.finished.output_ids == other.finished.output_ids for one, other in zip(runs, plain, strict=True)
        ),
    )


def _run(source: TraceSource, request: RunRequest) -> Trace:
    return assemble(source.run(replace(request, record=False)))
