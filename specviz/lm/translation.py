"""Two tokenizers side by side: which tokens are the same bytes in both, and a text of the one in the ids of the other.

Place in the flow: what a drafter needs that drafts for a target of another vocabulary. Knows no model.
"""

from __future__ import annotations

from collections.abc import Sequence

from specviz.errors import VocabularyMismatch
from specviz.lm.text import BYTE_TOKEN, TextCodec

Key = tuple[bool, bytes]
"""(special, bytes): a special token is the same only as another special one"""


def token_pairs(target: TextCodec, own: TextCodec) -> list[tuple[int, int]]:
    """(target's id, own id) of every token that is the same bytes in both, by the target's id; each id once. The first
    end-of-text tokens are a pair whatever they are called.

    Raises VocabularyMismatch where there is none."""
    theirs, mine = _ids(target), _ids(own)
    if target.eos_ids and own.eos_ids:
        ends = target.eos_ids[0], own.eos_ids[0]
        theirs = {key: token for key, token in theirs.items() if token != ends[0]}
        mine = {key: token for key, token in mine.items() if token != ends[1]}
        theirs[True, b""], mine[True, b""] = ends
    pairs = sorted((theirs[key], mine[key]) for key in theirs.keys() & mine.keys())
    if not pairs:
        raise VocabularyMismatch(
            f"{target.name} and {own.name} have no token in common, so that nothing could be drafted; choose another "
            "drafter."
        )
    return pairs


def _ids(codec: TextCodec) -> dict[Key, int]:
    """Every token once; of two with the same bytes the one that is not a lone byte of byte fallback."""
    special, found = frozenset(codec.special_ids), dict[Key, int]()
    for token in range(codec.size):
        string = codec.token(token)
        if string is None:
            continue
        key = (token in special, codec.token_bytes(token))
        if key not in found or BYTE_TOKEN.fullmatch(codec.token(found[key]) or ""):
            found[key] = token
    return found


class Reencoder:
    """Texts of the target in own ids. The whole text is encoded anew each time, as tokens at a seam would differ; that
    is a small share of a pass, and its time counts as drafting."""

    def __init__(self, target: TextCodec, own: TextCodec) -> None:
        self._target, self._own = target, own
        known = {own.token_bytes(token) for token in own.special_ids}
        self._dropped = frozenset(token for token in target.special_ids if target.token_bytes(token) not in known)

    def __call__(self, tokens: Sequence[int]) -> list[int]:
        """Own ids of the text: special tokens that only the target has are left out, those that either tokenizer puts
        before a text are put there by `own`, and the bytes of an unfinished character wait for its end."""
        kept = (token for token in self._target.without_added(tokens) if token not in self._dropped)
        data = b"".join(map(self._target.token_bytes, kept))
        return self._own.encode(data.decode("utf-8", errors="ignore"))
