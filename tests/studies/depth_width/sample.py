"""A study of depth against width with small round numbers."""

from dataclasses import replace

from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.depth_width.networks import DepthWidths, Measured, Network, TextNetwork, TextSet, Times


def network(family: str, layers: int, size: int, step_ms: float, perplexity: float) -> Network:
    """Matches half a token of one and one of two."""
    return Network(
        family, f"{layers}x{size}", layers, size, 1000, 2000, 1500, perplexity, 0.5, 0.4,
        (Estimate(0.5, 0.25, 0.75), Estimate(1.0, 0.5, 1.5)), Times(step_ms, step_ms - 0.5, step_ms + 0.5),
    )  # fmt: skip


STUDY = DepthWidths(
    networks=(
        network("blocks", 1, 20, 1.0, 30.0),
        network("blocks", 16, 5, 5.0, 40.0),
        network("whole", 1, 12, 2.0, 35.0),
    ),
    target_perplexity=10.0,
    passes={1: Times(8.0, 7.5, 8.5), 2: Times(9.0, 8.5, 9.5), 3: Times(10.0, 9.5, 10.5)},
    plain_tokens_per_s=Estimate(100.0, 90.0, 110.0),
    measured=(Measured("16x5", 2, Estimate(80.0, 70.0, 90.0), Estimate(0.8, 0.7, 0.9), 0.9, 5, 6),),
    tokens=1000,
    loss="fkl",
    replayed_prompts=3,
    replayed_tokens=192,
    repeats=7,
    load=1.5,
    models={"target": "0" * 64},
    command="the command",
    origin="A <machine>, a day.",
)


def text_network(name: str, perplexity: float, matched: float) -> TextNetwork:
    """Matches as many of one as of two."""
    return TextNetwork(name, perplexity, 0.25, 0.2, (Estimate(matched, matched, matched),) * 2)


TWO_SETS = replace(
    STUDY,
    text_set=TextSet(
        networks=(text_network("1x20", 20.0, 0.0), text_network("16x5", 50.0, 0.25), text_network("1x12", 25.0, 1.0)),
        tokens=1000,
        loss="ce-text",
        written_share=0.6,
        command="another command",
        origin="Another day.",
    ),
)
"""The second 1x20 is a better language model than the first and the slower drafter; 16x5 and 1x12 are not so"""
