"""A target that sees is sampled exactly: every branch of every round, on a random captioner of four tokens."""

import itertools

import pytest
import torch

from specviz.core.sampling import transform
from specviz.lm.llama.captioner import Captioner, Eyes, EyesShape
from specviz.lm.llama.shape import LlamaShape
from specviz.proof.exhaustive import WARM, ProofCase, law
from specviz.proof.small_models import small_pair

SHAPE = LlamaShape(
    layers=1, hidden_size=16, heads=2, kv_heads=1, head_size=8, vocab_size=4, context_length=32, norm_eps=1e-6,
    rope_theta=10000.0, tied=False, ffn_size=24,
)  # fmt: skip
PICTURE = 3
"""the token that stands for the picture, which is one cell"""
SINGLE = 2e-6
"""of single precision, over three tokens"""


def _captioner(model, seed: int) -> Captioner:
    """The model with eyes: its own weights are taken over, the eyes are random."""
    torch.manual_seed(seed)
    eyes = Eyes(EyesShape(PICTURE, places=1, cells=1, side=8, width=8, heads=2, layers=1), SHAPE.hidden_size)
    seeing = Captioner.__new__(Captioner)
    seeing.__dict__ |= model.__dict__
    seeing._eyes = eyes.requires_grad_(False)
    return seeing


@pytest.fixture(scope="module")
def pair():
    target, drafter = small_pair(shape=SHAPE)
    picture = torch.randint(0, 256, (8, 8, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    return _captioner(target, 1).seeing(picture), _captioner(drafter, 2).seeing(picture), target


def _case(pair, **changes) -> ProofCase:
    class Seen(ProofCase):
        def models(self):
            return pair[:2]

    return Seen(**{"drafter": "model", "verifier": "sequential", "prompt": (PICTURE,), "vocab_size": 4} | changes)


def _expected(model, case: ProofCase) -> dict[tuple[int, ...], float]:
    found = {}
    for text in itertools.product(range(4), repeat=case.length):
        rows = transform(model.forward([*case.prompt, *text], model.new_cache()).double(), case.sampling)
        found[text] = float(torch.stack([rows[place, token] for place, token in enumerate(text)]).prod())
    return found


def _error(case: ProofCase, model) -> float:
    found, expected = law(case), _expected(model, case)
    return max(abs(found.get(text, 0.0) - prob) for text, prob in expected.items())


@pytest.mark.parametrize(
    ("verifier", "options"),
    [("naive", (("gamma", 2),)), ("sequential", (("gamma", 2),)), ("sequential", (("branching", (2, 1)),))],
    ids=["naive chain", "chain", "tree"],
)
def test_the_caption_has_the_law_of_the_target_that_sees(pair, verifier, options):
    case = _case(pair, verifier=verifier, options=options, sampling=WARM)
    assert _error(case, pair[0]) < SINGLE


def test_the_walk_would_see_a_target_that_looks_away(pair):
    """The law is the seeing target's, and not that of the same weights without a picture."""
    case = _case(pair, options=(("gamma", 2),))
    assert _error(case, pair[2]) > 1e-3
