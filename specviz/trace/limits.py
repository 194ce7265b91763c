"""How large a trace may be: read by the guard before parsing, by the structure rules after it.

A trace comes from strangers (an upload, a download, a link), so every count that a reader loops over has a ceiling here
and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.options import LARGEST_INTEGER

MAX_INTEGER = LARGEST_INTEGER
"""largest integer that every JSON reader, JavaScript's included, holds exactly"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings, all inclusive. The defaults suit a file on one's own disk."""

    what: str = "a trace"
    """what the file is meant to be, for the guard's sentences"""
    stored_bytes: int = 64 * 2**20
    """as it lies on disk, compressed or not"""
    text_bytes: int = 256 * 2**20
    """after decompression"""
    nesting: int = 16
    """JSON containers inside one another; the format itself needs 9"""
    containers: int = 8_000_000
    """JSON objects and arrays in the whole file"""
    string_chars: int = 4_000_000
    """one string, as written in the file"""
    number_chars: int = 40
    """one number, as written in the file"""
    rounds: int = 5_000
    nodes_per_round: int = 1_024
    """the root is one of them"""
    nodes: int = 500_000
    """in the whole trace"""
    top: int = 1_024
    """entries of one distribution's head"""
    vocab: int = 300_000
    prompt_ids: int = 1_000_000


STANDARD = Limits()

UPLOAD = Limits(
    stored_bytes=8 * 2**20,
    text_bytes=24 * 2**20,
    containers=1_500_000,
    string_chars=500_000,
    rounds=2_000,
    nodes_per_round=513,  # as many candidates as a tree policy drafts at most, and the root
    nodes=60_000,
    top=256,
    vocab=60_000,
    prompt_ids=100_000,
)
"""For a file that a visitor hands to a shared server."""
