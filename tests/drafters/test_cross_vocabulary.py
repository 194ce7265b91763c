"""A drafter of another vocabulary: which tokens are the same, what it reads, and that the run is sound."""

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from specviz.drafters.drafting.draft_model import ReencodedCache
from specviz.errors import VocabularyMismatch
from specviz.live.source import LiveSource, collect
from specviz.lm.load import LoadedModel
from specviz.lm.table import TableModel
from specviz.lm.text import TextCodec
from specviz.lm.vocabulary import Reencoder, TranslatedModel, token_pairs
from specviz.proof.exhaustive import ProofCase
from specviz.proof.small_models import toy_texts
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace.check import check
from tests.lm.test_text import byte_level, sentencepiece_like
from tests.proof.walked import error


def codec(*merges: str, special: tuple[str, ...] = (), eos: tuple[int, ...] = (), name: str = "some") -> TextCodec:
    tokenizer = byte_level(*merges)
    tokenizer.add_special_tokens(list(special))
    return TextCodec(tokenizer, name, eos)


def test_tokens_are_the_same_where_their_bytes_are():
    target, own = codec("ab", "cd"), codec("cd", "ef")
    pairs = dict(token_pairs(target, own))
    assert len(pairs) == 1 + 256 + 1
    assert pairs[258] == 257, "cd"
    assert 257 not in pairs, "ab is in the target alone"


def test_spaces_and_bytes_are_the_same_however_a_tokenizer_writes_them():
    target, own = codec(), TextCodec(sentencepiece_like(), "pieces")
    by_bytes = {target.token_bytes(their): own.token(mine) for their, mine in token_pairs(target, own)}
    assert by_bytes == {b"\xf0": "<0xF0>", b"\x9f": "<0x9F>", b"\x90": "<0x90>", b"\x88": "<0x88>", b" ": "▁"}


def test_of_two_tokens_with_the_same_bytes_the_one_that_is_no_lone_byte_is_meant():
    words = {"<0x61>": 0, "a": 1, "<unk>": 2}
    own = TextCodec(Tokenizer(models.BPE(words, [], unk_token="<unk>", byte_fallback=True)), "own")
    target = codec()
    assert [own.token(mine) for _, mine in token_pairs(target, own)] == ["a"]


def test_special_tokens_are_the_same_only_among_each_other_and_the_ends_are_a_pair():
    """Ids after `<end>` and the bytes: the target has <a> 257, <turn> 258, <z> 259, the other ab 257, <turn> 258,
    <over> 259."""
    target, own = (
        codec(special=("<a>", "<turn>", "<z>"), eos=(259,)),
        codec("ab", special=("<turn>", "<over>"), eos=(259,)),
    )
    pairs = dict(token_pairs(target, own))
    assert {their: mine for their, mine in pairs.items() if their == 0 or their > 256} == {0: 0, 258: 258, 259: 259}


def test_vocabularies_with_nothing_in_common_are_refused():
    words = toy_texts(4)[0]
    with pytest.raises(VocabularyMismatch, match="some and target have no token in common"):
        token_pairs(codec(), words)


def test_the_text_is_encoded_as_a_whole_without_what_only_the_target_has():
    target, own = codec(special=("<turn>",)), codec("ab")
    read = Reencoder(target, own)
    assert read([257, *target.encode("xab")]) == own.encode("xab")
    assert read(target.encode("é")[:1]) == [], "half a character waits for its end"


def three_in_one() -> TextCodec:
    """Bytes, `bc`, and `abc` made of `a` and `bc`."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {letter: i for i, letter in enumerate([*alphabet, "bc", "abc"])}
    tokenizer = Tokenizer(models.BPE(vocab, [("b", "c"), ("a", "bc")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return TextCodec(tokenizer, "own")


def test_the_cache_follows_an_encoding_that_changes_as_the_text_grows():
    """`x a b`, then `c` after it: the last three become one token, and the row of `a`, long settled, must go."""
    target, own = codec(), three_in_one()
    inner = TableModel(own.size, 2)
    pairs = token_pairs(target, own)
    model = TranslatedModel(inner, [one for one, _ in pairs], [one for _, one in pairs], target.size)
    cache = ReencodedCache(model, Reencoder(target, own))
    text = target.encode("xab")
    cache.begin(text)
    lengths = []
    for more in ("", "c", "d", "ab", "c"):
        text += target.encode(more)
        read = own.encode(target.decode(text))
        cache.settle(text)
        logits = cache.catch_up(text)[0]
        lengths.append(cache.length)
        shared = torch.tensor([one for one, _ in pairs])
        assert torch.equal(logits[shared], inner.exact_logits(read)[[one for _, one in pairs]])
    assert lengths == [3, 2, 3, 5, 4]


@pytest.mark.parametrize("tree_policy", ["dyspec", "rsd_s", "sequoia"])
def test_every_tree_policy_stays_lossless(tree_policy):
    case = ProofCase(
        "cross_vocabulary", "sequential", length=2, tree_policy=tree_policy, tree_policy_options=(("budget", 3),)
    )
    assert error(case) < 1e-12


def source(own: TextCodec) -> LiveSource:
    target = codec("th", "he", name="target")

    def load(name: str, **_: str) -> LoadedModel:
        made = own if name == "drafter" else target
        model = TableModel(made.size, seed=1, order=2, spread=5.0)
        return LoadedModel(model, made, model.info)

    return LiveSource(load=load, measure=False)


@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("options", [{"gamma": 3}, {"branching": (2, 1)}], ids=str)
def test_a_run_is_sound_and_drafts_shared_tokens_alone(options, temperature):
    own = codec("ab", "he", name="drafter")
    request = RunRequest(
        "abthe é", drafter=Choice("cross_vocabulary", options), temperature=temperature, max_new_tokens=12
    )
    trace = collect(source(own), request)
    drafted = {node.token for this in trace.rounds for node in this.nodes[1:]}
    assert check(trace) == []
    assert drafted
    assert 257 not in drafted, "th is in the target alone"
    assert trace.rounds[0].drafted.note["shared_tokens"] == 258


def test_greedy_text_is_plain_decodings():
    made = source(codec("ab", name="drafter"))
    plain = collect(made, RunRequest("abthe", drafter=Choice("none"), max_new_tokens=12))
    found = collect(made, RunRequest("abthe", drafter=Choice("cross_vocabulary"), max_new_tokens=12))
    assert found.finished.output_ids == plain.finished.output_ids


def test_the_drafter_model_names_it_as_the_cure():
    with pytest.raises(VocabularyMismatch, match="or the drafter 'cross_vocabulary'"):
        collect(source(codec("ab", name="drafter")), RunRequest("abc"))
