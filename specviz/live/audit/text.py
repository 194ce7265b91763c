"""The text of a run against the tokenizer of its target: prompt, vocabulary, output."""

from __future__ import annotations

import base64

from specviz.live.audit.tally import Tally
from specviz.lm.text import TextCodec
from specviz.protocol.audits import TEXT
from specviz.trace.events import Trace


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
