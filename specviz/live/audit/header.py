"""What a header says of its checkpoints, and the text of a run against the tokenizer of its target.

Where a text ends, how many weights a pass reads, words a picture decides; ids of the prompt, bytes of tokens, output.
Lanes and exhibits are no model's answers: `specviz check` holds them against the trace, and here they are named.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from specviz.live.audit.checkpoints import Checkpoint
from specviz.live.audit.tally import Tally
from specviz.lm.text import TextCodec
from specviz.protocol.audits import HEADER, TEXT
from specviz.trace.events import Trace
from specviz.trace.header import GROUNDED

TRIMS = "vocabtrim"
"""its model's head is smaller than the checkpoint's"""


def header(trace: Trace, codec: TextCodec, target: Checkpoint, drafters: Sequence[Checkpoint], tally: Tally) -> None:
    """End ids, sizes of the models, ids that a picture decides."""
    started = trace.started
    ends = sorted(set(codec.eos_ids))
    tally.compare(HEADER, "started.eos_ids", sorted(started.eos_ids) == ends, started.eos_ids, ends)
    _sizes("started.target", target, tally)
    for index, checkpoint in enumerate(drafters):
        place = "started.drafter.model" if index == 0 else f"started.drafter.further_models[{index - 1}]"
        _sizes(place, checkpoint, tally, trimmed=started.drafter.name == TRIMS)
    if started.scene is not None:
        ids = [token for token in range(codec.size) if codec.token_text(token).strip() in GROUNDED]
        tally.compare(HEADER, "started.scene.grounded", started.scene.grounded == ids, started.scene.grounded, ids)
    _named(trace, tally)


def _sizes(place: str, checkpoint: Checkpoint, tally: Tally, trimmed: bool = False) -> None:
    counted = checkpoint.weights()
    if counted is None:
        tally.skip(f"how many weights {checkpoint.card.name} has: parts of it are no part of the plain model")
        return
    parameters, read = counted
    tally.compare(
        HEADER, f"{place}.parameters", checkpoint.card.parameters == parameters, checkpoint.card.parameters, parameters
    )
    if checkpoint.card.read_per_pass and not trimmed:
        same = checkpoint.card.read_per_pass == read
        tally.compare(HEADER, f"{place}.read_per_pass", same, checkpoint.card.read_per_pass, read)


def _named(trace: Trace, tally: Tally) -> None:
    drafted = [this.drafted for this in trace.rounds]
    if any(one.lanes for one in drafted):
        tally.skip("when a drafter beside the target drafted: its lanes are held against the trace alone")
    if any(one.knew or one.learned for one in drafted):
        tally.skip("what a drafter shows of what it knew and learnt: exhibits are held against the trace alone")
    if trace.started.drafter.model is None and any(one.passes for one in drafted):
        tally.skip(f"how many weights '{trace.started.drafter.name}' has of its own, and what its options make of them")


def text(trace: Trace, codec: TextCodec, tally: Tally) -> None:
    """Ids of the prompt, bytes of every token that is named, and the decoded output."""
    started, finished = trace.started, trace.finished
    if started.branch is None and started.prompt_text:
        chat = started.chat_message is not None
        ids = codec.encode_rendered(started.prompt_text) if chat else codec.encode(started.prompt_text)
        if started.scene is not None:
            ids = [*started.scene.places, *ids]
        tally.compare(TEXT, "started.prompt_ids", ids == started.prompt_ids, started.prompt_ids, ids)
    for key, entry in trace.vocab.items():
        due = base64.b64encode(codec.token_bytes(int(key))).decode("ascii")
        tally.compare(TEXT, f"vocab[{key}].bytes", entry.bytes == due, entry.bytes, due)
    special = set(codec.special_ids)
    whole = b"".join(codec.token_bytes(token) for token in finished.output_ids if token not in special)
    ends = [len(whole)]
    if finished.reason == "stop":  # the text ends with its stop string, the last token may not
        ends += [at + len(stop) for stop in map(str.encode, started.stop) if (at := whole.find(stop)) >= 0]
    due_text = whole[: min(ends)].decode("utf-8", errors="replace")
    tally.compare(TEXT, "finished.text", finished.text == due_text, repr(finished.text), repr(due_text))
