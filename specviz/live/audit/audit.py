"""One trace, round by round: the checkpoints are held against the header's hashes, then everything is recomputed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from specviz.errors import ModelError, TraceError
from specviz.live.audit.checkpoints import Checkpoint, tokenizer_of
from specviz.live.audit.header import header, text
from specviz.live.audit.heads import agreements, heads
from specviz.live.audit.laws import SLACKS
from specviz.live.audit.models_say import DRAWS_AS_THEY_ARE, ModelsSay
from specviz.live.audit.tally import Tally
from specviz.live.audit.trials import Trials
from specviz.live.audit.views import Says, drafts_through
from specviz.protocol.audits import Audit
from specviz.trace.check import check, errors
from specviz.trace.events import Trace
from specviz.trace.header import ModelCard, Started
from specviz.trace.rules.scene import Scene


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
        own = _own(trace.started, places or {})
        if trace.started.scene is not None:
            for one in (target, *own):
                one.see(trace.started.scene)
        drafters = _drafters(trace.started, target, own)
        codec = tokenizer_of(target, trace.started.tokenizer)
    tally = Tally(len(trace.rounds), how(trace.started))
    text(trace, codec, tally)
    header(trace, codec, target, own, tally)
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


def _drafters(started: Started, target: Checkpoint, own: Sequence[Checkpoint]) -> dict[str, Says]:
    """What candidates are marked with → what they were drawn from."""
    as_they_are: dict[str, Says] = dict(zip(DRAWS_AS_THEY_ARE.get(started.drafter.name, ()), own, strict=False))
    return as_they_are or drafts_through(started, target, own)


def _checkpoint(card: ModelCard, places: Mapping[str, str]) -> Checkpoint:
    place = places.get(card.name, card.name)
    try:
        return Checkpoint(card, place)
    except ModelError as error:
        if place == card.name and str(error).startswith("there is no model"):
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
