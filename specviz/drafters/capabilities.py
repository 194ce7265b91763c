"""What a drafter can do beside proposing: one small protocol each, asked for with `isinstance` and nothing else.

    follow ─► use (─► translate, join) ─► attach ─► tune ─► recall ─► consult ─► read_prompt, read_features ─► begin
           ─► (propose ─► observe ─► lanes) … ─► release

Whoever has the methods has the capability; a drafter names the protocols it means in its class line, so that a type
checker compares the signatures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor

from specviz.core.tree import DraftTree
from specviz.datastore.store import Datastore
from specviz.drafters.base import Drafter, DraftPolicies, RoundOutcome
from specviz.errors import ModelError
from specviz.lm.base import Cache, GivesFeatures, LanguageModel
from specviz.lm.text import TextCodec
from specviz.options import Options
from specviz.trace.events import LaneSpan, Option
from specviz.trace.header import Exhibit
from specviz.tree_policies.base import StepCosts

Texts = tuple[TextCodec, TextCodec, int]
"""the target's tokenizer, that of the drafter's model, and the number of the target's tokens"""


class Capability(type(Protocol)):  # type: ignore[misc]  # the metaclass of protocols, whose name is private
    """Asks the class, and so once: Python 3.11 lists a protocol's methods anew at each `isinstance`, which was a fifth
    of the time of a round on a small model."""

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), cls)


@runtime_checkable
class UsesModel(Protocol, metaclass=Capability):
    """It drafts with a language model of its own, `RunRequest.drafter_model`."""

    def use(self, model: LanguageModel) -> None:
        """Called once, before any text is read. Raises OptionError where the options do not fit the model."""
        ...

    def drafting_model(self) -> LanguageModel:
        """The model as it drafts with it, after `use`."""
        ...


@runtime_checkable
class Translates(UsesModel, Protocol):
    """Its model may have a tokenizer of its own."""

    def translate(self, target: TextCodec, own: TextCodec, vocab_size: int) -> None:
        """Called once, after `use`, with both tokenizers and the number of the target's tokens. Raises
        VocabularyMismatch where they have nothing in common."""
        ...


@runtime_checkable
class UsesFurtherModels(UsesModel, Protocol):
    """It drafts with more than one language model."""

    def further(self) -> Sequence[str]:
        """Names of the models beside `RunRequest.drafter_model`, from its options."""
        ...

    def join(self, models: Sequence[LanguageModel]) -> None:
        """Called once, after `use`, with the models of `further` in that order."""
        ...


@runtime_checkable
class Attaches(Protocol, metaclass=Capability):
    """It drafts with parts of the target."""

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        """Called once, before `begin`, with the target and the run's own cache of it. What is written to the cache must
        be dropped again, but for what the target's pass over the tree takes over."""
        ...


@runtime_checkable
class Grows(Protocol, metaclass=Capability):
    """Its drafts are made by a tree policy and ended by a stop policy (see `drafting/growing.py`)."""

    def follow(self, draft_policies: DraftPolicies) -> None:
        """Called once, as soon as it is made, with the policies of the run."""
        ...

    def policies(self) -> DraftPolicies:
        """What it follows; the default before it was told."""
        ...

    def gives_hidden(self) -> bool:
        """Whether a stop policy may look at the hidden states of its model."""
        ...


@runtime_checkable
class Tunes(Protocol, metaclass=Capability):
    """It makes something of what passes cost on this machine."""

    def tune(self, costs: StepCosts) -> None:
        """Told once, after `attach`. What it makes of that belongs into `options`, and so into the header."""
        ...


@runtime_checkable
class Remembers(Protocol, metaclass=Capability):
    """It can hand what it learnt to a later run."""

    def remembered_for(self) -> Mapping[str, Option]:
        """The options that a memory depends on, none that `tune` may change; with these alike it is shared."""
        ...

    def recall(self, memory: bytes) -> None:
        """Called before `begin` with what an earlier run's `memory` gave. Raises MemoryFileError where it does not
        fit the options."""
        ...

    def memory(self) -> bytes:
        """All it learnt, for `recall` of a later run with the same options."""
        ...


@runtime_checkable
class Retrieves(Protocol, metaclass=Capability):
    """It looks continuations up in a datastore."""

    def retrieves(self) -> bool:
        """Whether it does with its options."""
        ...

    def consult(self, datastore: Datastore) -> None:
        """Called before `begin` with the datastore of the target's tokenizer, where `retrieves` says so."""
        ...


@runtime_checkable
class ReadsPrompt(Protocol, metaclass=Capability):
    """It wants the target's logits at every position of the prompt."""

    def read_prompt(self, tokens: Sequence[int], logits: Tensor) -> None:
        """Called before `begin`, once per stretch of the prompt in order: logits [n, V] are what the target says
        follows each of the n `tokens`. Its time counts as prefill."""
        ...


@runtime_checkable
class ReadsFeatures(Attaches, Protocol):
    """It drafts from the target's states, which the target's own passes leave: those of the prompt, and of every round
    in `RoundOutcome.features`, accepted or not."""

    def depths(self) -> Sequence[int]:
        """After how many layers the target is read, as in `lm.base.GivesFeatures`; none, where with its options it
        reads no states. Asked once, after `attach`."""
        ...

    def read_features(self, tokens: Sequence[int], features: Tensor) -> None:
        """Called before `begin`, once per stretch of the prompt but its last token, in order: features
        [n, depths, H] of the n `tokens`. Only good until it returns: keep a copy of what is needed. Its time counts as
        prefill."""
        ...


@runtime_checkable
class ReadsBranches(Protocol, metaclass=Capability):
    """It drafts all places at once, and a second pass can be told what stands before each: for tree policies with
    `rereads`."""

    def read_branches(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        """Logits [len(nodes), V] of what follows each node, told the tokens of its own branch and no others: one pass.
        The nodes come in order, and with a node all above it."""
        ...


@runtime_checkable
class Begins(Protocol, metaclass=Capability):
    """It reads the prompt before the first round."""

    def begin(self, tokens: Sequence[int]) -> None:
        """Called once with the text so far. Its time counts as prefill."""
        ...


@runtime_checkable
class Observes(Protocol, metaclass=Capability):
    """It learns from the target's answers."""

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        """Called after every round; returns what that changed, for showing. Its time counts as drafting."""
        ...


@runtime_checkable
class DraftsBeside(Protocol, metaclass=Capability):
    """It drafts while the target's passes run."""

    def lanes(self) -> list[LaneSpan]:
        """Called at the end of every round: what its lane did since it was last asked, on the engine's clock
        (`DraftContext.start_s`), which stands still from now until the next `propose`. So must the drafter, or it
        would draft in time that no one counts."""
        ...


@runtime_checkable
class Releases(Protocol, metaclass=Capability):
    """It holds something that outlives a run, such as a process."""

    def release(self) -> None:
        """Called once the run is over, however it ended. May be called more than once, or without a run."""
        ...


def retrieves(drafter: Drafter[Options]) -> bool:
    """Whether this drafter, with its options, wants a datastore."""
    return isinstance(drafter, Retrieves) and drafter.retrieves()


def model_of(drafter: Drafter[Options]) -> LanguageModel | None:
    """The model it drafts with, where it has one of its own."""
    return drafter.drafting_model() if isinstance(drafter, UsesModel) else None


def policies_of(drafter: Drafter[Options]) -> DraftPolicies:
    """The policies that its drafts follow; the default where it grows none."""
    return drafter.policies() if isinstance(drafter, Grows) else DraftPolicies()


def further_models(drafter: Drafter[Options]) -> Sequence[str]:
    """Names of the models that it drafts with beside its first."""
    return drafter.further() if isinstance(drafter, UsesFurtherModels) else ()


def with_model(
    drafter: Drafter[Options],
    model: LanguageModel | None,
    further: Sequence[LanguageModel] = (),
    texts: Texts | None = None,
) -> Drafter[Options]:
    """The drafter, once it has been given its model where it uses one, those of `further_models`, and the tokenizers
    where it translates."""
    if isinstance(drafter, UsesModel):
        assert model is not None, f"the drafter '{drafter.name}' needs a model."
        drafter.use(model)
    if isinstance(drafter, Translates):
        assert texts is not None, f"the drafter '{drafter.name}' needs both tokenizers."
        drafter.translate(*texts)
    if isinstance(drafter, UsesFurtherModels):
        assert len(further) == len(drafter.further()), f"the drafter '{drafter.name}' needs all of its models."
        drafter.join(further)
    return drafter


def reading(target: LanguageModel, drafter: str) -> GivesFeatures:
    """The target as one whose states can be read. Raises ModelError where they cannot."""
    if isinstance(target, GivesFeatures):
        return target
    raise ModelError(
        f"the drafter '{drafter}' drafts from the target's states, but the adapter '{target.info.adapter}' of "
        f"{target.info.name} does not give them; choose another drafter."
    )
