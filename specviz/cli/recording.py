"""What `specviz record` does beyond recording: it finds the run that opens the page, and fills in older recordings.

The opening is the shortest run that is right, shows the method and is twice as fast as plain decoding. What a recording
lacks because its format did not have it yet is taken over from the same run made again; rounds, draws and times stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, starmap
from pathlib import Path

from specviz.corpus.plain_english.truth import untrue
from specviz.errors import OptionError
from specviz.protocol.plain import WHOLE, run_beside_plain
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.theory.speedup import gain
from specviz.trace.check import check, errors
from specviz.trace.codec import assemble
from specviz.trace.events import VERSION, Node, Round, Trace

OPENING = "opening"
"""name of the recording"""
GAMMAS = (4, 5, 6, 7)
DTYPE = "bfloat16"
"""number format of the run and of plain decoding beside it: a pass over a draft costs less beside one over one token"""
LEAST_GAIN = 2.0
WAYS = ((0.0, (7,)), (0.6, tuple(range(1, 9))), (1.0, tuple(range(1, 9))))
"""temperatures, the plainest story first, and the seeds tried at each; at 0 the seed changes nothing"""
TOKENS = 64
FEWEST, MOST = 12, 48
"""tokens of a story: enough for a few rounds, few enough to be read at once"""
TIMED = 12
"""so many of the shortest stories are timed beside plain decoding, until one is fast enough"""


@dataclass(frozen=True, slots=True)
class Opening:
    """A run that tells the story."""

    card: PromptCard
    request: RunRequest
    trace: Trace

    @property
    def sentence(self) -> str:
        tokens, passes = self.trace.summary.num_output_tokens, self.trace.summary.num_target_passes
        ratio = gain(self.trace)
        timed = "" if ratio is None else f", {ratio:.2f}× plain decoding"
        return f"{self.card.id}, T {self.request.temperature:g}, seed {self.request.seed}: {tokens} tokens in " \
               f"{passes} passes{timed}"  # fmt: skip


def find_opening(source: TraceSource) -> Opening:
    """The shortest run that tells the story and is twice as fast as plain decoding, the plainest temperature first.
    Raises OptionError where the prompts and seeds give none."""
    cards = [card for card in source.catalog().prompts if is_prose(card.text)]
    for temperature, seeds in WAYS:
        stories = sorted(
            _stories(source, cards, temperature, seeds), key=lambda opening: len(opening.trace.finished.output_ids)
        )
        for story in stories[:TIMED]:
            timed = replace(story, trace=run_beside_plain(source, story.request))
            if (gain(timed.trace) or 0) >= LEAST_GAIN:
                return timed
    raise OptionError(
        f"none of the {len(cards)} prompts in plain English gives a short, true run with an acceptance, a rejection "
        f"and a bonus in its first three rounds that is {LEAST_GAIN:g} times as fast as plain decoding; add prompts, "
        "or record another opening."
    )


def _stories(
    source: TraceSource, cards: Sequence[PromptCard], temperature: float, seeds: Sequence[int]
) -> Iterator[Opening]:
    for card, gamma, seed in product(cards, GAMMAS, seeds):
        request = RunRequest(
            prompt=card.text, prompt_name=card.id, drafter_options={"gamma": gamma}, temperature=temperature,
            seed=seed, max_new_tokens=TOKENS, dtype=DTYPE,
        )  # fmt: skip
        trace = assemble(source.run(request))
        if tells(trace):
            yield Opening(card, request, trace)


def is_prose(text: str) -> bool:
    """Whether a prompt is one short line of plain English: words, sums and their punctuation, no code, no table."""
    plain = re.fullmatch(r"[A-Za-z0-9 ,.;:'’\"!?+=\-\n]+", text) is not None
    return plain and len(text) <= 160 and text.count("\n") <= 2


def tells(trace: Trace) -> bool:
    """Whether the run is short and true, ends by itself, and shows a full acceptance, some acceptance and a rejection
    in its first three rounds, none of them cut."""
    length = len(trace.finished.output_ids)
    if trace.finished.reason not in WHOLE[:2] or not FEWEST <= length <= MOST:
        return False
    early = [this for this in trace.rounds[:3] if not this.committed.trimmed]
    ends = {this.judged.origin for this in early}
    kept_some = any(this.judged.origin == "correction" and this.judged.path for this in early)
    if untrue(trace.started.prompt_text, trace.finished.text):
        return False
    return is_prose(trace.finished.text) and kept_some and {"bonus", "correction"} <= ends


def write_opening(path: Path, opening: Opening) -> None:
    """Put the run into the list as its first entry, in place of an earlier one, and let it open the page."""
    request, gamma = opening.request, opening.request.drafter_options["gamma"]
    entry = (
        f'[[recording]]\nname = "{OPENING}"\nprompt = {json.dumps(opening.card.id)}\ndrafter = "{request.drafter}"\n'
        f"options = {{ gamma = {gamma} }}\ntemperature = {request.temperature}\nseed = {request.seed}\n"
        f'max_new_tokens = {request.max_new_tokens}\ndtype = "{request.dtype}"\n\n'
    )
    text = path.read_text(encoding="utf-8")
    text = re.sub(rf'\[\[recording\]\]\nname = "{OPENING}"\n(?:[^\[\n][^\n]*\n)*\n*', "", text)
    text = re.sub(r"(?m)^first = .*$", f'first = "{OPENING}"', text, count=1)
    at = text.index("[[recording]]")
    path.write_text(text[:at] + entry + text[at:], encoding="utf-8")


NEAR = 1e-4
"""how far a probability may move from one process to another, and the run still be the same"""


def filled_in(recorded: Trace, again: Trace) -> Trace | None:
    """The recording with the ranks and agreements of `again`; None where the two are not the same run, or where the
    numbers would contradict what the recording holds."""
    pairs = list(zip(recorded.rounds, again.rounds, strict=False))
    if len(recorded.rounds) != len(again.rounds) or not all(starmap(_same, pairs)):
        return None
    rounds = [replace(was, nodes=list(map(_with_numbers, was.nodes, made.nodes))) for was, made in pairs]
    trace = replace(recorded, version=VERSION, rounds=rounds)
    return None if errors(check(trace)) else trace


def _with_numbers(was: Node, made: Node) -> Node:
    return replace(was, rank=made.rank, agreement=made.agreement, agreement_raw=made.agreement_raw)


def _same(was: Round, made: Round) -> bool:
    same_end = (was.judged.path, was.judged.token) == (made.judged.path, made.judged.token)
    return same_end and len(was.nodes) == len(made.nodes) and all(map(_same_node, was.nodes, made.nodes))


def _same_node(was: Node, made: Node) -> bool:
    same = (was.token, was.parent, was.kind, was.source) == (made.token, made.parent, made.kind, made.source)
    return same and _near(was.target_prob, made.target_prob) and _near(was.draft_prob, made.draft_prob)


def _near(was: float | None, made: float | None) -> bool:
    return was == made if was is None or made is None else abs(was - made) <= NEAR
