"""Any text survives encoding and decoding."""

import pytest
from transformers import PreTrainedTokenizerFast

from specviz.corpus.standard_library import Corpus
from specviz.training.windows import END_OF_TEXT, train_tokenizer


@pytest.fixture(scope="module")
def tokenizer(mini_corpus: Corpus) -> PreTrainedTokenizerFast:
    return train_tokenizer([document.text for document in mini_corpus.train], 320)


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return x\n",
        "\t\tif a:\r\n\t\t\tb = 1  \n\n\n        c",
        "naïve Ünïcode – “quotes” 漢字 🙂👩‍🚀",
        "\x00\x01\x7f binary-looking \ufffd text",
        "   leading and trailing   ",
        "1234567890 0xdeadbeef _private__name",
    ],
)
def test_text_round_trips_exactly(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == f"{END_OF_TEXT}{text}"


def test_special_tokens_have_the_first_two_numbers(tokenizer: PreTrainedTokenizerFast) -> None:
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (0, 0, 1)


def test_a_prompt_begins_with_the_end_of_text_token_and_nothing_else_is_added(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    assert tokenizer.decode(tokenizer("x")["input_ids"]) == f"{END_OF_TEXT}x"
    assert tokenizer("")["input_ids"] == [0]


def test_digits_stay_single(tokenizer: PreTrainedTokenizerFast) -> None:
    assert len(tokenizer("1234", add_special_tokens=False)["input_ids"]) == 4


def test_a_line_end_and_its_indentation_are_one_token(tokenizer: PreTrainedTokenizerFast) -> None:
    assert len(tokenizer("\n    ", add_special_tokens=False)["input_ids"]) == 1
