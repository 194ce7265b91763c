"""Trains the byte-level BPE tokenizer shared by target and drafter.

Place in the flow: after the corpus, before the packed windows. Any text round-trips, byte by byte.
"""

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from specviz.training.options import VOCABULARY_SIZE

END_OF_TEXT = "<|endoftext|>"
PADDING = "<|pad|>"

# Order matters: line ends keep their indentation, words keep one leading space and their underscores,
# digits stay single (numbers then cost what their length suggests), punctuation runs stay together.
PIECES = r"(?:\r?\n)+[ \t]*| ?[\p{L}_]+| ?\p{N}| ?[^\s\p{L}\p{N}_]+|[ \t]+(?=\r?\n)|[ \t]+(?! )|\s+"


def train_tokenizer(texts: Iterable[str], vocabulary_size: int = VOCABULARY_SIZE) -> PreTrainedTokenizerFast:
    """Trains byte-level BPE (Sennrich et al. 2016, on bytes as in GPT-2) and wraps it for transformers."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[END_OF_TEXT, PADDING],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    begin_with_end_of_text(tokenizer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=END_OF_TEXT,
        eos_token=END_OF_TEXT,
        pad_token=PADDING,
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
    )


def begin_with_end_of_text(tokenizer: Tokenizer) -> None:
    """Puts the end-of-text token before every text that is encoded as a prompt, as it stands before every document of
    the training text but a window's first: what a text's first token is attends to nothing, and is read badly."""
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END_OF_TEXT} $A",
        pair=f"{END_OF_TEXT} $A {END_OF_TEXT} $B:1",
        special_tokens=[(END_OF_TEXT, tokenizer.token_to_id(END_OF_TEXT))],
    )


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Loads a saved tokenizer without touching the network."""
    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
    return tokenizer
