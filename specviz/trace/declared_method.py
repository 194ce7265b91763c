"""What a drafter and a tree policy say of their drafts, as plain data: read by the check of a trace.

Kept in `assets/methods.json`, which `make generate` writes from the methods' own files.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a trace shows of a drafter's candidates."""

    sources: tuple[str, ...] | None = None
    """what they are marked with; None: with the drafter's name"""
    found: tuple[str, ...] = ()
    """marks of point masses that were found somewhere and merged into what its model drafts"""
    most: str = ""
    """the option that bounds them per round"""
    deepest: str = ""
    """the option that bounds their depth"""
    hybrid: bool = False
    """it has a model, and candidates of it, where its option `fallback` says `model`"""
    merged: bool = False
    """several models draft, one mark each, and their trees are merged: what hangs below a candidate may depend on a
    later sibling, and siblings may come from several distributions"""
    evenly: bool = False
    """each is drawn i.i.d. from the whole vocabulary, every token as likely as any other, at any temperature"""
    planned: str = ""
    """the option that, where it is set, bounds them per round and makes them point masses of a shape of the drafter's
    own, whatever `gamma` and `draw` say"""
    from_states: bool = False
    """its passes read the target's states and keep no rows of their own"""
    pairs: bool = False
    """a row of its cache belongs to a token and the target's state before it: the first token has none"""
    own_tokens: bool = False
    """its model reads the text in tokens of its own: its cached rows are not the text's"""
    riding: str = ""
    """mark of the nodes that ride along in the target's pass and are no drafts"""
    beside: bool = False
    """its passes are made beside the target's: they stand on the lanes of its rounds, and not among their passes"""


@dataclass(frozen=True, slots=True)
class Trees:
    """What a trace shows of a tree policy's trees, beside what its options and `kinds` say."""

    even: bool = False
    """every node of a level gets as many children as `branching` says there; without that option one, down to `length`
    levels"""
    in_order: bool = False
    """the n-th candidate is the n-th draw of its round"""
    drops: bool = False
    """candidates below which the model was asked may be left out of the tree"""
