"""Text to token ids and back, and the exact bytes behind every token.

A token may end in the middle of a character, so bytes are the truth and text is for display. Reads `tokenizer.json`
through the tokenizers library alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.errors import ModelError, PromptError, VocabularyMismatch
from specviz.lm.chat import ChatTemplate
from specviz.resources import file_sha256

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SHOWN = 3
"""differing tokens that a refusal names"""
BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_of_character() -> dict[str, int]:
    """Byte-level BPE's alphabet (Radford et al. 2019): printable Latin-1 as itself, other bytes as U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


class TextCodec:
    """A tokenizer with bytes."""

    def __init__(self, tokenizer: Tokenizer, name: str, eos_ids: Iterable[int] = ()) -> None:
        document = tokenizer.to_str()
        settings = json.loads(document)
        self._tokenizer = tokenizer
        self._before: list[int] = tokenizer.encode("").ids
        self.name = name
        self.sha256 = hashlib.sha256(document.encode()).hexdigest()
        self.size = 1 + max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        self.eos_ids = tuple(sorted(set(eos_ids)))
        self.special_ids = tuple(sorted(t["id"] for t in settings.get("added_tokens") or () if t["special"]))
        self.chat: ChatTemplate | None = None
        """of an instruct checkpoint"""
        self._added: dict[int, bytes] = {t["id"]: t["content"].encode() for t in settings.get("added_tokens") or ()}
        self._bytes: dict[int, bytes] = {}
        parts = json.dumps([settings.get("decoder"), settings.get("pre_tokenizer")])
        self._byte_of = _byte_of_character() if '"ByteLevel"' in parts else None

    @classmethod
    def from_folder(cls, folder: Path, name: str) -> TextCodec:
        """Read the tokenizer of a checkpoint folder. Raises ModelError where there is none."""
        from tokenizers import Tokenizer

        path = folder / "tokenizer.json"
        if not path.is_file():
            raise ModelError(f"{name} has no tokenizer.json; save its tokenizer in the fast format beside the weights.")
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for any malformed file
            raise ModelError(f"the tokenizer.json of {name} cannot be read ({error}); download it again.") from error
        codec = cls(tokenizer, name, _eos_ids(folder, tokenizer))
        codec.sha256 = file_sha256(path)
        codec.chat = ChatTemplate.from_folder(folder)
        return codec

    def encode(self, text: str) -> list[int]:
        """Ids, with the leading special tokens the tokenizer itself adds."""
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def without_added(self, ids: Sequence[int]) -> Sequence[int]:
        """Ids of a text without the leading special tokens that `encode` adds, where it begins with them."""
        length = len(self._before)
        return ids[length:] if list(ids[:length]) == self._before else ids

    def rendered(self, message: str) -> str:
        """A user's message in the checkpoint's chat template. Raises PromptError where there is none."""
        if self.chat is None:
            raise PromptError(
                f"{self.name} has no chat template: it is no instruct model; leave chat off, or choose one that is."
            )
        return self.chat.render(message, self.name)

    def encode_rendered(self, text: str) -> list[int]:
        """Ids of a text alone: of what `rendered` gave, which names its special tokens, or of one that goes on."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the joined bytes; bytes that are no character (yet) become U+FFFD."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", errors="replace")

    def token(self, token: int) -> str | None:
        """The vocabulary's own string for an id; None for a padding row."""
        string: str | None = self._tokenizer.id_to_token(token)
        return string

    def token_bytes(self, token: int) -> bytes:
        """Exact bytes; a special token gives its literal, a padding row `<unused id>`."""
        known = self._bytes.get(token)
        if known is None:
            known = self._bytes[token] = self._read_bytes(token)
        return known

    def _read_bytes(self, token: int) -> bytes:
        if token in self._added:
            return self._added[token]
        string = self.token(token)
        if string is None:
            return f"<unused {token}>".encode()
        if self._byte_of is not None:
            return b"".join(
                bytes([self._byte_of[character]]) if character in self._byte_of else character.encode()
                for character in string
            )
        byte = BYTE_TOKEN.fullmatch(string)
        return bytes([int(byte[1], 16)]) if byte else string.replace("▁", " ").encode()

    def token_text(self, token: int) -> str:
        """For display alone: bytes that are no character become U+FFFD."""
        return self.token_bytes(token).decode("utf-8", errors="replace")


def _eos_ids(folder: Path, tokenizer: Tokenizer) -> list[int]:
    """End-of-text ids, from the first of generation_config, config and tokenizer_config that names one."""
    for file, key in (
        ("generation_config.json", "eos_token_id"),
        ("config.json", "eos_token_id"),
        ("tokenizer_config.json", "eos_token"),
    ):
        path = folder / file
        value: Any = json.loads(path.read_text(encoding="utf-8")).get(key) if path.is_file() else None
        if isinstance(value, dict):
            value = value.get("content")
        if isinstance(value, str):
            value = tokenizer.token_to_id(value)
        if value is not None:
            return [value] if isinstance(value, int) else list(value)
    return []


def check_vocabularies(target: TextCodec, drafter: TextCodec) -> None:
    """Raise VocabularyMismatch unless both give every id the same token.

    Sizes may differ by padding rows of the models alone; those have no token in either tokenizer.
    """
    if target.sha256 == drafter.sha256:
        return
    differing: list[int] = []
    for token in range(max(target.size, drafter.size)):
        if target.token(token) != drafter.token(token):
            differing.append(token)
            if len(differing) == SHOWN:
                break
    if differing:
        raise VocabularyMismatch(
            f"{target.name} and {drafter.name} do not share a vocabulary: {_describe(target, drafter, differing)}; "
            "choose a drafter that was trained with the target's tokenizer, or the drafter 'cross_vocabulary'."
        )


def shared_ids(target: TextCodec, drafter: TextCodec) -> list[int]:
    """The ids that mean the same in both, ascending.

    An id that only one of them has is left out, and so is one that is a special token of another name in each. Raises
    VocabularyMismatch where an id means two different ordinary tokens: then the two tokenizers cut text differently.
    """
    size = min(target.size, drafter.size)
    if target.sha256 == drafter.sha256:
        return list(range(size))
    special = {*target.special_ids} & {*drafter.special_ids}
    shared, differing = list[int](), list[int]()
    for token in range(size):
        left, right = target.token(token), drafter.token(token)
        if left is not None and left == right:
            shared.append(token)
        elif left is not None and right is not None and token not in special:
            differing.append(token)
            if len(differing) == SHOWN:
                break
    if differing or not shared:
        raise VocabularyMismatch(
            f"{target.name} and {drafter.name} do not share a vocabulary: {_describe(target, drafter, differing)}; "
            "choose a drafter that was trained with the target's tokenizer, or the drafter 'cross_vocabulary'."
        )
    return shared


def _describe(target: TextCodec, drafter: TextCodec, ids: Sequence[int]) -> str:
    return ", ".join(f"id {i} is {target.token(i)!r} in one and {drafter.token(i)!r} in the other" for i in ids)
