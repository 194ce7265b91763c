"""Small real models, and one way to run the engine on them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.datastore.store import Datastore, from_ids
from specviz.drafters.base import DRAFTERS
from specviz.drafters.capabilities import further_models, retrieves, with_model
from specviz.engine.pairing import follow
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.live.plan import make_policies
from specviz.lm.load import LoadedModel, load
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.verifiers.base import VERIFIERS
from tests.lm.tiny_models import VOCABULARY, random_model, random_tokens, write_tokenizer

CONTEXT = 160
SCALE = 3.0
NOISE = 0.01


@cache
def some_text() -> Datastore:
    """A text to retrieve from: two random tokens, then what often follows them."""
    documents = [(f"text {seed}", [*random_tokens(seed % 7, 40), 1, 2, 3, 1, 2]) for seed in range(12)]
    return from_ids("some", documents, "", VOCABULARY)


class OneDatastore:
    """The same for every run."""

    def get(self, codec, target, file, status):
        return some_text()


@dataclass(frozen=True)
class Pair:
    """A target, a drafter that often agrees with it, and the target again as transformers runs it."""

    target: LoadedModel
    drafter: LoadedModel
    reference: object
    known: dict[object, list[int]] = field(default_factory=dict)

    def session(self, request: RunRequest, prompt_ids: Sequence[int], eos: Sequence[int] = ()) -> Session:
        """The session that a request asks for; prompts are ids here, and nothing but `eos` ends a text early."""
        drafter, verifier = DRAFTERS.get(request.drafter.name), VERIFIERS.get(request.verifier.name)
        made = drafter.of(request.drafter.options)
        method = Method(
            with_model(
                made,
                self.drafter.model,
                [self.drafter.model for _ in further_models(made)],
                (self.target.tokenizer, self.drafter.tokenizer, self.target.info.vocab_size),
            ),
            verifier.of(request.verifier.options),
            Sampling(request.temperature, request.top_k, request.top_p),
            SeededRandom(request.seed),
        )
        follow(method.drafter, make_policies(request))
        if retrieves(method.drafter):
            method.drafter.consult(some_text())
        ending = Ending(Limits(request.max_new_tokens, frozenset(eos)), lambda token: b"")
        return Session(self.target.model, method, Start(list(prompt_ids)), ending)

    def plain_output(self, request: RunRequest, prompt_ids: Sequence[int]) -> list[int]:
        """The output ids of the same request without drafting; each is computed once."""
        request = replace(request, drafter=Choice("none", {}))
        key = (tuple(prompt_ids), repr(request))
        if key not in self.known:
            self.known[key] = self.output(request, prompt_ids)
        return self.known[key]

    def output(self, request: RunRequest, prompt_ids: Sequence[int], eos: Sequence[int] = ()) -> list[int]:
        """Run to the end; the output ids."""
        session = self.session(request, prompt_ids, eos)
        session.begin()
        while session.finished is None:
            session.round()
        return session.tokens[len(prompt_ids) :]


@pytest.fixture(scope="session")
def pair(tmp_path_factory) -> Pair:
    torch.set_num_threads(1)
    folders = {}
    for name, noise in (("target", 0.0), ("drafter", NOISE)):
        model = _talkative(noise)
        folders[name] = tmp_path_factory.mktemp(name)
        model.save_pretrained(folders[name])
        write_tokenizer(folders[name])
    loaded = {name: load(str(folder), device="cpu", dtype="float32") for name, folder in folders.items()}
    reference = _talkative(0.0)
    reference.generation_config.eos_token_id = None
    return Pair(loaded["target"], loaded["drafter"], reference)


def _talkative(noise: float):
    """A random model with weights so large that its greedy text does not fall into a loop at once."""
    model = random_model("llama", max_position_embeddings=CONTEXT, num_key_value_heads=2)
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                parameter.mul_(SCALE).add_(torch.randn_like(parameter), alpha=noise)
    return model


@pytest.fixture
def new_source(pair):
    """Makes live sources on the small pair, each a process of its own as far as memories go."""
    from specviz.live.source import LiveSource

    loaded = {"target": pair.target, "drafter": pair.drafter, "drafter-weak": pair.drafter}
    return lambda: LiveSource(load=lambda name, device, dtype: loaded[name], measure=False, datastores=OneDatastore())


@pytest.fixture
def source(new_source):
    return new_source()
