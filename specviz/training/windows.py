"""From texts to training windows: the byte-level BPE tokenizer of target and drafter, and the packed token stream.

Place in the flow: between the corpus and the training loop. Any text round-trips, byte by byte. A batch is a pure
function of the step, so resuming needs no data cursor beyond the step number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from specviz.errors import TrainingError
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


TokenStream = NDArray[np.uint16]


@dataclass(frozen=True)
class Batch:
    """Token ids, int64 [batch, length + 1], and for distillation the teacher's last state [batch, length, D]."""

    ids: torch.Tensor
    teacher: torch.Tensor | None = None

    @property
    def n_tokens(self) -> int:
        """Predicted tokens."""
        return self.ids.shape[0] * (self.ids.shape[1] - 1)

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        return Batch(self.ids.to(device), None if self.teacher is None else self.teacher.to(device))


class Batches(Protocol):
    """Anything that yields the batch of a step."""

    def batch(self, step: int) -> Batch:
        """The batch of one optimiser step; a pure function of the step."""


def pack(texts: Sequence[str], tokenizer: PreTrainedTokenizerFast, seed: int | None) -> TokenStream:
    """Encodes texts and joins them, each followed by end-of-text; `seed` shuffles their order. uint16 [tokens]."""
    order = range(len(texts)) if seed is None else np.random.default_rng(seed).permutation(len(texts))
    pieces: list[TokenStream] = []
    end = np.array([tokenizer.eos_token_id], dtype=np.uint16)
    for index in order:
        ids = tokenizer(texts[int(index)], add_special_tokens=False, verbose=False)["input_ids"]
        pieces += [np.asarray(ids, dtype=np.uint16), end]
    return np.concatenate(pieces)


def save_stream(path: Path, stream: TokenStream) -> None:
    """Writes a stream as .npy."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, stream)


def load_stream(path: Path) -> TokenStream:
    """Maps a stream from disk; raises where it has not been prepared."""
    if not path.is_file():
        raise TrainingError(f"No token stream {path.name} in the work folder: run `specviz train prepare` first.")
    stream: TokenStream = np.load(path, mmap_mode="r")
    return stream


def twice(window: TokenStream, draw: np.random.Generator, share: float) -> TokenStream:
    """With probability `share` the window's first part (an eighth to a half) and then the window again, cut to length;
    else the window as it is. [n] -> [n]."""
    if draw.random() >= share:
        return window
    first = int(draw.integers(len(window) // 8, len(window) // 2 + 1))
    return np.concatenate([window[:first], window[: len(window) - first]])


class Windows:
    """Shuffled windows of one stream; every epoch starts at a new random offset.

    In a share of the windows, `copies`, the passage stands there twice: its first part, then the passage again from
    its beginning. So little text holds few exact repetitions that a model would not learn to copy from it otherwise.
    """

    def __init__(self, stream: TokenStream, length: int, batch_size: int, seed: int, copies: float = 0.0) -> None:
        """`length` is the number of predicted tokens per window; `copies` lies in [0, 1]."""
        if not 0 <= copies <= 1:
            raise TrainingError(f"The share of copy windows is {copies}: choose --copies between 0 and 1.")
        self.stream, self.length, self.batch_size, self.seed = stream, length, batch_size, seed
        self.copies = copies
        self.per_epoch = (len(stream) - length - 1) // length
        if self.per_epoch < batch_size:
            raise TrainingError(
                f"{len(stream)} tokens are too few for batches of {batch_size} windows of {length}: "
                "use a shorter window, a smaller batch or more text."
            )

    def batch(self, step: int) -> Batch:
        """Token ids without a teacher."""
        first = step * self.batch_size
        rows = [self._window(first + index) for index in range(self.batch_size)]
        return Batch(torch.from_numpy(np.stack(rows).astype(np.int64)))

    def _window(self, index: int) -> TokenStream:
        epoch, place = divmod(index, self.per_epoch)
        generator = np.random.default_rng((self.seed, epoch))
        offset = int(generator.integers(self.length))
        start = offset + int(generator.permutation(self.per_epoch)[place]) * self.length
        window = self.stream[start : start + self.length + 1]
        return window if self.copies == 0 else twice(window, np.random.default_rng((self.seed, 1, index)), self.copies)


class Rotation:
    """Takes turns between sources: step s asks source s mod n for its own next batch."""

    def __init__(self, sources: Sequence[Batches]) -> None:
        """`sources` may repeat one object to weight it."""
        self.sources = list(sources)

    def batch(self, step: int) -> Batch:
        """The next batch of the source whose turn it is."""
        return self.sources[step % len(self.sources)].batch(step // len(self.sources))


def held_out_batches(stream: TokenStream, length: int, batch_size: int, most: int | None = None) -> list[torch.Tensor]:
    """Consecutive windows for evaluation, evenly spread when only `most` windows are wanted. Each [batch, length+1]."""
    starts = np.arange(0, len(stream) - length, length)
    if most is not None and most < len(starts):
        starts = starts[np.linspace(0, len(starts) - 1, most).astype(int)]
    rows = [torch.from_numpy(stream[s : s + length + 1].astype(np.int64)) for s in starts]
    return [torch.stack(rows[i : i + batch_size]) for i in range(0, len(rows), batch_size)]
