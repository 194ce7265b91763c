"""A drafter whose tokenizer has other special tokens than the target's: what can be drafted, what it reads in their
place, and that the text keeps the target's law."""

from dataclasses import dataclass

import pytest
import torch

from specviz.core.sampling import Sampling
from specviz.errors import VocabularyMismatch
from specviz.live.models import in_the_targets_tokens
from specviz.live.source import LiveSource, collect
from specviz.lm.load import LoadedModel
from specviz.lm.table import TableModel
from specviz.lm.text import TextCodec, shared_ids
from specviz.lm.vocabulary import TranslatedModel
from specviz.proof.exhaustive import ProofCase, toy
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check
from tests.lm.test_text import byte_level
from tests.proof.walked import error


def codec(*special: str, name: str = "some") -> TextCodec:
    """258 shared ids, then special tokens."""
    tokenizer = byte_level("ab")
    tokenizer.add_special_tokens(list(special))
    return TextCodec(tokenizer, name)


def test_tokens_that_one_of_them_has_beyond_the_others_are_left_out():
    plain, chat = codec(), codec("<user>", "<model>")
    assert shared_ids(plain, chat) == shared_ids(chat, plain) == list(range(258))


def test_special_tokens_of_other_names_are_left_out():
    assert shared_ids(codec("<user>", "<end-of-turn>"), codec("<reserved>", "<end-of-turn>")) == [*range(258), 259]


def test_an_id_that_means_two_ordinary_tokens_is_refused():
    with pytest.raises(VocabularyMismatch, match="id 257 is 'ab' in one and 'ba' in the other"):
        shared_ids(codec(), TextCodec(byte_level("ba"), "other"))


def test_a_special_token_in_one_that_is_a_word_in_the_other_is_refused():
    with pytest.raises(VocabularyMismatch, match="id 258 is '<user>' in one and 'bc' in the other"):
        shared_ids(codec("<user>"), TextCodec(byte_level("ab", "bc"), "other"))


def test_logits_are_those_of_the_model_and_minus_infinity_elsewhere():
    inner = TableModel(5, 2)
    model = TranslatedModel(inner, [0, 2], [0, 2], 3)
    logits = model.forward([2], model.new_cache())[0]
    assert model.info.vocab_size == 3
    assert logits.tolist() == [*inner.exact_logits([2]).tolist()[:1], -torch.inf, inner.exact_logits([2]).tolist()[2]]


def test_a_token_it_does_not_know_is_read_as_another():
    inner = TableModel(5, 2, eos_ids=[2])
    model = TranslatedModel(inner, [0, 2], [0, 2], 7)
    cache = model.new_cache()
    logits = model.forward([0, 6], cache)[1]
    assert cache.tokens == [0, 2]
    assert logits[0] == inner.exact_logits([0, 2])[0]


@dataclass(frozen=True)
class SharedCase(ProofCase):
    """The drafter has more tokens, or fewer, than the target's three, and shares two of them."""

    drafter_size: int = 5

    def models(self):
        target, drafter = toy(self.vocab_size, 1), toy(self.drafter_size, 2)
        shared = [0, 1] if self.drafter_size == 2 else [0, 2]
        return target, TranslatedModel(drafter, shared, shared, self.vocab_size)


@pytest.mark.parametrize("size", [2, 5], ids=["the target has more", "the drafter has more"])
@pytest.mark.parametrize(
    ("verifier", "options"),
    [
        ("sequential", (("gamma", 2),)),
        ("sequential", (("branching", (2, 1)),)),
        ("sequential", (("branching", (2,)), ("draw", "iid"))),
        ("block", (("gamma", 2),)),
        ("kseq", (("branching", (2,)), ("draw", "iid"))),
        ("traversal", (("branching", (2, 1)),)),
        ("naive", (("gamma", 2),)),
    ],
    ids=str,
)
def test_the_text_keeps_the_targets_law(size, verifier, options):
    assert error(SharedCase("model", verifier, options, length=2, drafter_size=size)) < 1e-12


def test_greedy_text_is_the_targets():
    for size in (2, 5):
        case = SharedCase("model", "greedy", (("gamma", 2),), Sampling(0.0), drafter_size=size)
        assert error(case) == 0.0


def loaded(made: TextCodec, seed: int, extra: int = 0) -> LoadedModel:
    model = TableModel(made.size + extra, seed, order=3, spread=6.0)
    return LoadedModel(model, made, model.info)


def test_a_drafter_of_the_same_tokens_is_taken_as_it_is():
    target, drafter = loaded(codec(), 1), loaded(codec(), 2)
    assert in_the_targets_tokens(target, drafter) is drafter


def test_rows_of_a_model_beyond_its_tokenizer_are_left_out_too():
    target, drafter = loaded(codec(), 1), loaded(codec(), 2, extra=6)
    assert in_the_targets_tokens(target, drafter).model.info.vocab_size == 258


@pytest.mark.parametrize("chat_is", ["target", "drafter"])
def test_a_run_with_extra_special_tokens_on_either_side_is_sound(chat_is):
    codecs = {name: codec(*(["<user>"] if name == chat_is else []), name=name) for name in ("target", "drafter")}

    def load(name: str, **_: str) -> LoadedModel:
        return loaded(codecs[name], 1)

    request = RunRequest(
        "ab<user>c", drafter=Choice("model", {"branching": (2, 1)}), temperature=0.9, max_new_tokens=12
    )
    trace = collect(LiveSource(load=load, measure=False), request)
    assert check(trace) == []
    drafted = {node.token for this in trace.rounds for node in this.nodes[1:]}
    assert drafted
    assert max(drafted) < 258
