"""Runs of the engine: request → loaded models → session → steps, with what drafters remember and retrieve."""

from __future__ import annotations

from collections.abc import Iterator

from specviz.core.randomness import SeededRandom
from specviz.datastore.retrieval import Datastores
from specviz.drafters.base import Drafter
from specviz.drafters.capabilities import (
    Retrieves,
    Tunes,
    model_of,
    policies_of,
    with_model,
)
from specviz.engine.decode import Cancelled, decode
from specviz.engine.header import Participants, started
from specviz.engine.memory import Memories
from specviz.engine.recorder import Recorder
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import OptionError, PromptError
from specviz.live.models import Models, prompt_of, shown
from specviz.live.plan import make_plan
from specviz.lm.base import SeesPictures
from specviz.lm.text import TextCodec
from specviz.options import Options
from specviz.protocol.runs import Resume, RunRequest
from specviz.trace.events import Step
from specviz.trace.header import DatastoreCard
from specviz.tree_policies.base import Pair, StepCosts


class Runs:
    """Decodes requests, and keeps what drafters learn from one run to the next."""

    def __init__(self, models: Models, measure: bool, datastores: Datastores) -> None:
        """Without `measure` headers carry no step times."""
        self._models = models
        self._measure = measure
        self._memories = Memories()
        self._datastores = datastores

    def run(self, request: RunRequest, cancelled: Cancelled, resume: Resume | None) -> Iterator[Step]:
        """See `TraceSource.run`. An empty prompt starts from the tokenizer's end-of-text token. A resumed run
        counts `max_new_tokens` from the branching point.

        Raises SpecVizError before the first step where the request cannot be run.
        """
        plan = make_plan(request)
        who = shown(self._models.participants(request, plan.drafter), request)
        prompt_ids = _encode(who, request) if resume is None else _context(resume, who.target.tokenizer)
        method = Method(_equipped(plan.drafter, who), plan.verifier, plan.sampling, SeededRandom(request.seed))
        start = Start(prompt_ids) if resume is None else Start(prompt_ids, resume.forced_token, resume.round)
        session = Session(who.target.model, method, start, _ending(request, who))
        self._prepare(request, who, method.drafter)
        recorder = Recorder(who.target.tokenizer, request.top, request.record)
        header = started(request, who, method, prompt_ids, resume)
        yield from decode(header, session, recorder, cancelled, self._models.lane, request.stepwise)
        if request.memory != "cold":
            text = who.target.tokenizer
            self._memories.keep(method.drafter, text.sha256, who.memory is None, request.memory_file)

    def _prepare(self, request: RunRequest, who: Participants, drafter: Drafter[Options]) -> None:
        """Tell the tree policy which pair it grows for, and everyone what passes cost on this machine; give the drafter
        what earlier runs left and what it retrieves from."""
        tree_policy = policies_of(drafter).tree_policy
        if tree_policy is not None and who.drafter is not None:
            target, draft = (loaded.info.weights_sha256 for loaded in (who.target, who.drafter))
            tree_policy.prepare(Pair(target, draft, request.temperature))
        who.drafting = model_of(drafter)
        if self._measure:
            with self._models.lane:
                who.measure(model_of(drafter))
            _tune(drafter, who)
        text = who.target.tokenizer
        if request.memory == "warm":
            who.memory = self._memories.recall(drafter, text.sha256, request.memory_file)
        if isinstance(drafter, Retrieves) and drafter.retrieves():
            who.datastore = self._consult(request, text, drafter)

    def _consult(self, request: RunRequest, text: TextCodec, drafter: Retrieves) -> DatastoreCard:
        """Hand over the datastore to a drafter that retrieves; what it is."""
        store = self._datastores.get(text, request.target, request.datastore, self._models.say)
        drafter.consult(store)
        return store.card


def _equipped(drafter: Drafter[Options], who: Participants) -> Drafter[Options]:
    """The drafter with the models and tokenizers that were loaded for it."""
    further = [loaded.model for loaded in who.further]
    if who.drafter is None:
        return with_model(drafter, None, further)
    texts = (who.target.tokenizer, who.drafter.tokenizer, who.target.info.vocab_size)
    return with_model(drafter, who.drafter.model, further, texts)


def _ending(request: RunRequest, who: Participants) -> Ending:
    """When the text is over; special tokens have no bytes in which a stop string could be found."""
    text, eos = who.target.tokenizer, frozenset(who.target.info.eos_ids)
    special = frozenset(text.special_ids)
    limits = Limits(request.max_new_tokens, eos, request.stop, special - eos)
    return Ending(limits, lambda token: b"" if token in special else text.token_bytes(token))


def _tune(drafter: Drafter[Options], who: Participants) -> None:
    """Tell drafter and tree policy what passes cost here; what they make of it is in their options, and so in the
    header."""
    costs = StepCosts([(step_time.rows, step_time.median_s) for step_time in who.step_times], who.draft_step_s or 0.0)
    if costs.target and isinstance(drafter, Tunes):
        drafter.tune(costs)
    tree_policy = policies_of(drafter).tree_policy
    if tree_policy is not None and who.draft_step_s is not None:  # parts of the target cost what no one measured
        tree_policy.tune(costs)


def _encode(who: Participants, request: RunRequest) -> list[int]:
    """Prompt ids, never empty. Raises PromptError where an empty prompt has
    nothing to start from, where a chat is asked for without a template, and for words a captioner does not have."""
    text, model = who.target.tokenizer, who.target.model
    if isinstance(model, SeesPictures):
        return prompt_of(request, model, text)
    ids = text.encode_rendered(text.rendered(request.prompt)) if request.chat else text.encode(request.prompt)
    if not ids and not text.eos_ids:
        raise PromptError("the prompt is empty and the tokenizer has no end-of-text token to start from; write a word.")
    return ids or [text.eos_ids[0]]


def _context(resume: Resume, text: TextCodec) -> list[int]:
    """The text as it stood when the round began. Raises OptionError where the trace cannot be continued here."""
    trace = resume.trace
    if trace.started.tokenizer.sha256 != text.sha256:
        raise OptionError(
            f"the trace was made with the tokenizer of {trace.started.tokenizer.name}, which is not that of "
            f"{text.name}; continue it with its own target."
        )
    if not 0 <= resume.round <= len(trace.rounds):
        raise OptionError(f"there is no round {resume.round} in this trace; choose 0 to {len(trace.rounds)}.")
    ids = list(trace.started.prompt_ids)
    for one in trace.rounds[: resume.round]:
        ids += [committed.token for committed in one.committed.tokens]
    return ids
