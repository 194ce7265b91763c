"""Tokens as bytes: the truth even where a token ends inside a character."""

import json

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from specviz.errors import ModelError, VocabularyMismatch
from specviz.lm.text import TextCodec, check_vocabularies


def byte_level(*merged: str) -> Tokenizer:
    """Byte-level BPE: `<end>` is id 0, the 256 bytes follow, then the merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {"<end>": 0} | {character: i + 1 for i, character in enumerate(alphabet)}
    merges = [(token[:1], token[1:]) for token in merged]
    tokenizer = Tokenizer(models.BPE(vocab | {token: len(vocab) + i for i, token in enumerate(merged)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<end>"])
    return tokenizer


def sentencepiece_like() -> Tokenizer:
    vocab = {"<unk>": 0, "</s>": 1, "▁the": 2, "cat": 3, "<0xF0>": 4, "<0x9F>": 5, "<0x90>": 6, "<0x88>": 7, "▁": 8}
    tokenizer = Tokenizer(models.BPE(vocab, [], unk_token="<unk>", byte_fallback=True))
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    return tokenizer


@pytest.fixture
def codec() -> TextCodec:
    return TextCodec(byte_level("ab"), "bytes", eos_ids=[0])


def test_an_emoji_split_over_four_tokens_keeps_its_bytes(codec):
    ids = codec.encode("🐈")
    assert [codec.token_bytes(i) for i in ids] == [b"\xf0", b"\x9f", b"\x90", b"\x88"]
    assert codec.decode(ids) == "🐈"
    assert codec.token_text(ids[0]) == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("text", ["", " a  b\n\tc", "é\u0000\u00ad", "a <script>alert(1)</script>", "日本 e\u0301"])
def test_text_round_trips_byte_by_byte(codec, text):
    assert b"".join(map(codec.token_bytes, codec.encode(text))) == text.encode()
    assert codec.decode(codec.encode(text)) == text


def test_the_tokens_that_encoding_adds_before_a_text_are_told_from_the_text():
    tokenizer = byte_level()
    tokenizer.post_processor = processors.TemplateProcessing(single="<end> $A", special_tokens=[("<end>", 0)])
    codec = TextCodec(tokenizer, "bytes", eos_ids=[0])
    a, b = codec.encode("ab")[1:]
    assert codec.encode("ab") == [0, a, b]
    assert codec.without_added([0, a, 0, b]) == [a, 0, b]
    assert codec.without_added([a, 0, b]) == [a, 0, b]
    assert codec.without_added([]) == []


def test_a_merge_is_one_token(codec):
    assert [codec.token_bytes(i) for i in codec.encode("abb")] == [b"ab", b"b"]


def test_a_special_token_is_its_literal(codec):
    assert codec.encode("<end>") == [0]
    assert codec.token_bytes(0) == b"<end>"
    assert codec.special_ids == (0,)
    assert codec.eos_ids == (0,)


def test_a_padding_row_has_a_name_of_its_own(codec):
    assert codec.size == 258
    assert codec.token(300) is None
    assert codec.token_bytes(300) == b"<unused 300>"


def test_sentencepiece_spaces_and_byte_tokens():
    codec = TextCodec(sentencepiece_like(), "pieces")
    words, piece = [b"</s>", b" the", b"cat"], [b"\xf0", b"\x9f", b"\x90", b"\x88"]
    assert [codec.token_bytes(i) for i in range(1, 9)] == [*words, *piece, b" "]
    assert codec.decode([2, 4, 5, 6, 7]) == " the🐈"


@pytest.mark.parametrize(
    ("target", "drafter", "sentence"),
    [(["ab"], ["ba"], "id 257 is 'ab' in one and 'ba'"), ([], ["ab"], "id 257 is None in one and 'ab' in the other")],
    ids=["another token", "one that only one has"],
)
def test_a_token_that_differs_is_named(target, drafter, sentence):
    with pytest.raises(VocabularyMismatch, match=sentence):
        check_vocabularies(TextCodec(byte_level(*target), "target"), TextCodec(byte_level(*drafter), "drafter"))


def test_equal_tokens_under_other_merges_pass():
    """Only the meaning of ids matters for speculative decoding; how text is cut into tokens is the target's affair."""
    left, right = byte_level("ab"), byte_level("ab")
    right.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    check_vocabularies(TextCodec(left, "target"), TextCodec(right, "drafter"))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"config.json": {"eos_token_id": 3}}, (3,)),
        ({"config.json": {"eos_token_id": 3}, "generation_config.json": {"eos_token_id": [5, 4]}}, (4, 5)),
        ({"tokenizer_config.json": {"eos_token": "<end>"}}, (0,)),
        ({"tokenizer_config.json": {"eos_token": {"content": "<end>"}}}, (0,)),
        ({}, ()),
    ],
)
def test_end_of_text_ids_come_from_the_first_file_that_names_one(tmp_path, files, expected):
    byte_level().save(str(tmp_path / "tokenizer.json"))
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    assert TextCodec.from_folder(tmp_path, "x").eos_ids == expected


def test_a_missing_and_a_broken_tokenizer_are_errors(tmp_path):
    with pytest.raises(ModelError, match=r"tiny has no tokenizer\.json"):
        TextCodec.from_folder(tmp_path, "tiny")
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match=r"the tokenizer\.json of tiny cannot be read"):
        TextCodec.from_folder(tmp_path, "tiny")
