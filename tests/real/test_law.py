"""The exact law of a real model's first tokens as the engine draws them, against what transformers says of them.

Nothing is sampled: every outcome of every draw of a run is walked (`specviz.proof.exhaustive`), and what each weighs is
added up. The most probable tokens alone may come (`top_k`), so that the ways are few.
"""

from dataclasses import dataclass
from functools import cache

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.core.sampling import Sampling
from specviz.lm.base import LanguageModel
from specviz.lm.load import load
from specviz.proof.exhaustive import Law, ProofCase, law

pytestmark = [pytest.mark.real, pytest.mark.slow]

SAMPLING = Sampling(temperature=0.8, top_k=2)
TOKENS = 2
MESSAGE = "Name a colour."
ROUNDED = 1e-4
"""what two programs in single precision may differ by, in the probability of a text"""


@cache
def target() -> LanguageModel:
    return load("smollm2", dtype="float32").model


@dataclass(frozen=True)
class RealCase(ProofCase):
    """On the real model, with the weights that are shipped for it."""

    def models(self) -> tuple[LanguageModel, LanguageModel]:  # type: ignore[override]
        return target(), target()


@pytest.fixture(scope="module")
def prompt(tokenizer: PreTrainedTokenizerFast) -> tuple[int, ...]:
    asked = [{"role": "system", "content": "Be short."}, {"role": "user", "content": MESSAGE}]
    return tuple(tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=True)["input_ids"])


@pytest.fixture(scope="module")
def expected(reference: LlamaForCausalLM, prompt: tuple[int, ...]) -> Law:
    """Of the texts of two tokens, by transformers: the most probable tokens of each place, at that temperature."""
    texts: Law = {(): 1.0}
    for _ in range(TOKENS):
        longer: Law = {}
        for text, weight in texts.items():
            with torch.inference_mode():
                logits = reference(torch.tensor([[*prompt, *text]])).logits[0, -1]
            kept = logits.topk(SAMPLING.top_k)
            probs = (kept.values / SAMPLING.temperature).softmax(-1)
            longer |= {
                (*text, int(token)): weight * float(prob) for token, prob in zip(kept.indices, probs, strict=True)
            }
        texts = longer
    return texts


@pytest.mark.parametrize(
    ("drafter", "options"),
    [
        ("ngram", {"gamma": 2, "min_ngram": 1}),
        ("eagle", {"gamma": 1}),
        ("small_model", {"gamma": 1}),
        ("dspark", {"gamma": 1}),
        ("medusa", {"nodes": 0, "gamma": 1}),
    ],
)
def test_the_first_tokens_have_exactly_the_law_that_transformers_gives_them(
    drafter: str, options: dict[str, object], prompt: tuple[int, ...], expected: Law
) -> None:
    judged = list[int]()
    case = RealCase(drafter, "sequential", tuple(options.items()), SAMPLING, prompt, TOKENS)
    found = law(case, watch=lambda record, weight: judged.append(len(record.verdict.trials)))
    assert found == pytest.approx(expected, abs=ROUNDED)
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-6)
    assert sum(judged), "a walk in which nothing is drafted shows nothing"
