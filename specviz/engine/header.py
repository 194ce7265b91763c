"""The header of a run: who took part, on which machine, with which settings; everything needed to run it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from specviz.drafters.capabilities import policies_of
from specviz.engine.session import Method
from specviz.lm.base import LanguageModel, ModelInfo
from specviz.lm.load import LoadedModel
from specviz.lm.step_time import draft_pass_s, machine, step_times
from specviz.options import Options, in_effect
from specviz.protocol.runs import Resume, RunRequest
from specviz.stop_policies.base import StopOptions, StopPolicy
from specviz.trace.header import (
    Branch,
    DatastoreCard,
    MemoryCard,
    MethodCard,
    ModelCard,
    SamplingCard,
    SceneCard,
    Started,
    StepTime,
    TokenizerCard,
    seal,
)
from specviz.tree_policies.base import TreePolicy
from specviz.verifiers.base import Verifier
from specviz.version import __version__


@dataclass(slots=True)
class Participants:
    """The loaded models of a run, how fast they are, and what they were given to go by."""

    target: LoadedModel
    drafter: LoadedModel | None
    further: Sequence[LoadedModel] = ()
    """models that draft beside `drafter`"""
    step_times: list[StepTime] = field(default_factory=list)
    draft_step_s: float | None = None
    drafting: LanguageModel | None = None
    """the drafter's model as it drafts with it: its head may be smaller than that of the one loaded for it"""
    scene: SceneCard | None = None
    """the picture that they were shown"""
    memory: MemoryCard | None = None
    """what the drafter brought along from earlier runs"""
    datastore: DatastoreCard | None = None
    """what it retrieves from"""

    def measure(self, drafting: LanguageModel | None = None) -> None:
        """Time bare passes (once per model and process; later calls only look them up). `drafting` is the drafter's
        model as it drafts with it, where that is not the one loaded for it."""
        self.step_times = step_times(self.target.model)
        if drafting is None and self.drafter is not None:
            drafting = self.drafter.model
        self.drafting = drafting
        self.draft_step_s = draft_pass_s(drafting, self.target.model) if drafting is not None else None


def started(
    request: RunRequest, who: Participants, method: Method, prompt_ids: Sequence[int], resume: Resume | None
) -> Started:
    """The header; its id is a hash over all the rest, time of creation included."""
    info, text = who.target.info, who.target.tokenizer
    draft_policies = policies_of(method.drafter)
    header = Started(
        run_id="",
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        producer=f"specviz {__version__}",
        source="live",
        target=model_card(info),
        drafter=MethodCard(
            method.drafter.name,
            in_effect(method.drafter.options, has_policy=draft_policies.tree_policy is not None),
            method.drafter.lossless,
            _drafter_card(who),
            further_models=[model_card(loaded_model.info) for loaded_model in who.further],
            pass_reads=method.drafter.pass_reads,
            learnt_from=method.drafter.learnt_from,
        ),
        verifier=_card(method.verifier),
        sampling=SamplingCard(float(method.sampling.temperature), method.sampling.top_k, float(method.sampling.top_p)),
        tokenizer=TokenizerCard(text.name, text.size, text.sha256, list(text.special_ids)),
        machine=machine(who.target.model.device, info.dtype),
        seed=request.seed,
        max_new_tokens=request.max_new_tokens,
        eos_ids=list(info.eos_ids),
        stop=list(request.stop),
        prompt_text=_prompt_text(request, who, prompt_ids, resume),
        chat_message=request.prompt if resume is None and request.chat else None,
        prompt_ids=list(prompt_ids),
        prompt_name=request.prompt_name,
        step_times=who.step_times,
        draft_step_s=who.draft_step_s,
        tree_policy=None if draft_policies.tree_policy is None else _card(draft_policies.tree_policy),
        stop_policy=None
        if draft_policies.stop_policy.does_nothing()
        else replace(_card(draft_policies.stop_policy), deployable=draft_policies.stop_policy.deployable),
        memory=who.memory,
        datastore=who.datastore,
        scene=who.scene,
        branch=None if resume is None else Branch(resume.trace.started.run_id, resume.round, resume.forced_token),
    )
    return replace(header, run_id=seal(header))


def _prompt_text(request: RunRequest, who: Participants, prompt_ids: Sequence[int], resume: Resume | None) -> str:
    """What the target reads first: the text so far, the prompt, or the chat template around it; without what the
    tokenizer or a picture puts before a prompt."""
    text = who.target.tokenizer
    if request.scene:
        return text.decode(token for token in prompt_ids if token not in text.special_ids)
    if resume is not None:
        return text.decode(prompt_ids if request.chat else text.without_added(prompt_ids))
    return text.rendered(request.prompt) if request.chat else request.prompt


def _card(method: Verifier[Options] | TreePolicy[Options] | StopPolicy[StopOptions]) -> MethodCard:
    return MethodCard(method.name, in_effect(method.options), method.lossless)


def _drafter_card(who: Participants) -> ModelCard | None:
    """The drafter's own model, with what a pass of it reads as it drafts."""
    if who.drafter is None:
        return None
    card = model_card(who.drafter.info)
    return card if who.drafting is None else replace(card, read_per_pass=who.drafting.info.read_per_pass)


def model_card(info: ModelInfo) -> ModelCard:
    """Which weights were really used."""
    fields = {name: getattr(info, name) for name in ModelCard.__dataclass_fields__}
    return ModelCard(**fields)
