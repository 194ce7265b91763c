"""One trace, round by round: the checkpoints are held against the header's hashes, then everything is recomputed.

Of the header: where a text ends, how many weights a pass reads, words a picture decides. Of the text, against the
target's tokenizer: ids of the prompt, bytes of tokens, output.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from specviz.errors import ModelError, TraceError
from specviz.live.audit.checkpoints import Checkpoint, Says, drafts_through, tokenizer_of
from specviz.live.audit.heads import DRAWS_AS_THEY_ARE, ModelsSay, agreements, heads
from specviz.live.audit.laws import SLACKS, Tally
from specviz.live.audit.trials import Trials
from specviz.lm.text import TextCodec
from specviz.protocol.audits import HEADER, TEXT, Audit
from specviz.trace.check import check, errors
from specviz.trace.events import Trace
from specviz.trace.header import GROUNDED, ModelCard, Started
from specviz.trace.rules.scene import Scene

TRIMS = "vocabtrim"
"""its model's head is smaller than the checkpoint's"""


def header(trace: Trace, codec: TextCodec, target: Checkpoint, drafters: Sequence[Checkpoint], tally: Tally) -> None:
    """End ids, sizes of the models, ids that a picture decides."""
    started = trace.started
    ends = sorted(set(codec.eos_ids))
    tally.compare(HEADER, "started.eos_ids", sorted(started.eos_ids) == ends, started.eos_ids, ends)
    _sizes("started.target", target, tally)
    for index, checkpoint in enumerate(drafters):
        where = "started.drafter.model" if index == 0 else f"started.drafter.further_models[{index - 1}]"
        _sizes(where, checkpoint, tally, trimmed=started.drafter.name == TRIMS)
    if started.scene is not None:
        ids = [token for token in range(codec.size) if codec.token_text(token).strip() in GROUNDED]
        tally.compare(HEADER, "started.scene.grounded", started.scene.grounded == ids, started.scene.grounded, ids)
    _named(trace, tally)


def _sizes(where: str, checkpoint: Checkpoint, tally: Tally, trimmed: bool = False) -> None:
    counted = checkpoint.weights()
    if counted is None:
        tally.skip(f"how many weights {checkpoint.card.name} has: parts of it are no part of the plain model")
        return
    parameters, read = counted
    tally.compare(
        HEADER, f"{where}.parameters", checkpoint.card.parameters == parameters, checkpoint.card.parameters, parameters
    )
    if checkpoint.card.read_per_pass and not trimmed:
        same = checkpoint.card.read_per_pass == read
        tally.compare(HEADER, f"{where}.read_per_pass", same, checkpoint.card.read_per_pass, read)


def _named(trace: Trace, tally: Tally) -> None:
    drafted = [this.drafted for this in trace.rounds]
    if any(draft.lanes for draft in drafted):
        tally.skip("when a drafter beside the target drafted: its lanes are held against the trace alone")
    if any(draft.knew or draft.learned for draft in drafted):
        tally.skip("what a drafter shows of what it knew and learnt: exhibits are held against the trace alone")
    if trace.started.drafter.model is None and any(draft.passes for draft in drafted):
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


def audit(
    trace: Trace,
    cancelled: Callable[[], bool] = lambda: False,
    places: Mapping[str, str] | None = None,
    lane: AbstractContextManager[object] | None = None,
) -> Iterator[Audit]:
    """See `Audits.audit`; `lane` is held while a round is computed and given back between rounds."""
    refuse_what_cannot_be(trace)
    lane = lane if lane is not None else nullcontext()
    with lane:
        target = _checkpoint(trace.started.target, places or {})
        drafting = _own(trace.started, places or {})
        if trace.started.scene is not None:
            for checkpoint in (target, *drafting):
                checkpoint.see(trace.started.scene)
        drafters = _drafters(trace.started, target, drafting)
        codec = tokenizer_of(target, trace.started.tokenizer)
    tally = Tally(len(trace.rounds), how(trace.started))
    text(trace, codec, tally)
    header(trace, codec, target, drafting, tally)
    yield tally.so_far(0)
    context = tuple(trace.started.prompt_ids)
    for index, this in enumerate(trace.rounds):
        if cancelled():
            return
        scene = Scene(f"rounds[{index}]", trace.started, this, context)
        with lane:
            _round(ModelsSay(scene, target, drafters), tally)
        context += tuple(token.token for token in this.committed.tokens)
        yield tally.so_far(index + 1)


def _round(say: ModelsSay, tally: Tally) -> None:
    heads(say, tally)
    agreements(say, tally)
    rule, judged = say.scene.rule, say.scene.round.judged
    if rule is not None:
        Trials(say, tally, rule).audit()
    elif judged.origin != "forced":
        tally.skip(f"verdicts of the verifier {judged.rule!a}, which declares no rule here")


def refuse_what_cannot_be(trace: Trace) -> None:
    """Raises TraceError for a run without checkpoints behind it, or one that contradicts itself."""
    if trace.started.source == "simulated" or trace.started.target.adapter == "table":
        raise TraceError("no checkpoint stands behind this run (it was simulated, or ran on a toy table).")
    if trace.started.target.dtype not in SLACKS:
        raise TraceError(
            f"its target computed in {trace.started.target.dtype[:40]}, and nothing but the browser's engine does; run "
            "it again in float32."
        )
    for problem in errors(check(trace)):
        raise TraceError(f"it contradicts itself before anything is recomputed: {problem} See `specviz check`.")


def _own(started: Started, places: Mapping[str, str]) -> list[Checkpoint]:
    """The drafter's models, held against their hashes, also where the drafter changed them before it drew."""
    card = started.drafter
    return [
        _checkpoint(further_model, places)
        for further_model in (card.model, *card.further_models)
        if further_model is not None
    ]


def _drafters(started: Started, target: Checkpoint, drafting: Sequence[Checkpoint]) -> dict[str, Says]:
    """What candidates are marked with → what they were drawn from."""
    as_they_are: dict[str, Says] = dict(zip(DRAWS_AS_THEY_ARE.get(started.drafter.name, ()), drafting, strict=False))
    return as_they_are or drafts_through(started, target, drafting)


def _checkpoint(card: ModelCard, places: Mapping[str, str]) -> Checkpoint:
    folder = places.get(card.name, card.name)
    try:
        return Checkpoint(card, folder)
    except ModelError as error:
        if folder == card.name and str(error).startswith("there is no model"):
            raise ModelError(f"{error} Say where it lies with `specviz audit --model {card.name}=FOLDER`.") from error
        raise


def how(started: Started) -> tuple[str, ...]:
    """With what it is recomputed, and how close counts as equal."""
    from transformers import __version__

    eyes = ("What the eyes make of the picture was computed by SpecViz's own code, on the scene of the header.",)
    ran = started.target.dtype
    slack = SLACKS.get(ran, SLACKS["bfloat16"])
    sentences = (
        f"Recomputed with transformers {__version__} in float32, one full forward per text and path, without a cache.",
        f"The run computed in {ran}: its logits may lie {slack:.2g} from these, its records are rounded to six "
        "decimals; what follows from both counts as equal.",
        *(eyes if started.scene is not None else ()),
    )
    if ran != "float32":
        return (*sentences, f"A run in {ran} is only held to that format: small changes of its numbers are not found.")
    return sentences
