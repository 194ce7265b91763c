"""The kinds of method a run is put together from, and what must be said about a choice of them.

A drafter and a verifier always; a tree and a stop policy where the drafter grows its drafts by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specviz.protocol.runs import Catalog, MethodDescription, RunRequest

AUTO = "auto"
"""the choice that the source makes itself"""


@dataclass(frozen=True, slots=True)
class Kind:
    """One choice of the form."""

    group: str
    """its name among the form's values and in `RunRequest`"""
    label: str
    methods: tuple[MethodDescription, ...]
    default: str
    auto: str
    """what `auto` means, where it may be chosen; empty: it may not"""
    for_growing: bool = False
    """only for drafters that grow their drafts"""
    instead: str = ""
    """what any choice but `auto` sets aside, as a sentence"""


def kinds(catalog: Catalog) -> tuple[Kind, ...]:
    """The kinds this catalog has methods of, in the order of the form."""
    standard = RunRequest(prompt="")
    found = (
        Kind("drafter", "drafter", catalog.drafters, standard.drafter, ""),
        Kind(
            "tree_policy",
            "tree policy",
            catalog.tree_policies,
            standard.tree_policy,
            "as the drafter's options say",
            True,
            "The drafter's own options of shape are set aside.",
        ),
        Kind("stop_policy", "stop policy", catalog.stop_policies, standard.stop_policy, "", True),
        Kind("verifier", "verifier", catalog.verifiers, standard.verifier, "greedy at temperature 0, sequential above"),
    )
    return tuple(kind for kind in found if kind.methods)


def grows(catalog: Catalog, drafter: str) -> bool:
    """Whether this drafter has a tree and a stop policy."""
    return any(method.grows for method in catalog.drafters if method.name == drafter)


def remembers(catalog: Catalog, drafter: str) -> bool:
    """Whether this drafter can go on with what earlier runs taught it."""
    return any(method.remembers for method in catalog.drafters if method.name == drafter)


def retrieves(catalog: Catalog, drafter: str) -> bool:
    """Whether this drafter looks continuations up in a datastore."""
    return any(method.retrieves for method in catalog.drafters if method.name == drafter)


def choices(kind: Kind) -> list[tuple[str, str]]:
    """(label, name) pairs; a lossy method, one for temperature 0 alone and a mere bound say so in their label."""
    standard_first = sorted(kind.methods, key=lambda method: method.name != kind.default)
    listed = labelled(standard_first)
    return [(AUTO, AUTO), *listed] if kind.auto else listed


def labelled(methods: Sequence[MethodDescription]) -> list[tuple[str, str]]:
    """(label, name) pairs of any methods."""
    return [(_label(method), method.name) for method in methods]


IN_WORDS = {
    "amusd": "drafting beside verifying",
    "fspad": "EAGLE on sampled features",
    "pearl": "the next draft during the pass",
    "rasd": "a model's tree and what is looked up",
    "rest": "looked up in a datastore",
}
"""methods whose names are letters to who meets them first"""


def _label(method: MethodDescription) -> str:
    words = f" ({IN_WORDS[method.name]})" if method.name in IN_WORDS else ""
    lossy = "" if method.lossless else " · lossy"
    bound = "" if method.deployable else " · upper bound, not deployable"
    return f"{method.name}{words}{lossy}{' · temperature 0' if method.temperatures == 'zero' else ''}{bound}"


def note(kind: Kind, name: str) -> str:
    """The one-line summary of the chosen method, and what measurements say of it."""
    if name == AUTO and kind.auto:
        return f"Auto: {kind.auto}."
    said = [part for method in kind.methods if method.name == name for part in (method.summary, method.standing)]
    return " ".join(filter(None, [*said, kind.instead]))


def is_lossless(kind: Kind, name: str) -> bool | None:
    """Whether the chosen method keeps the target's distribution; None where the source chooses."""
    return next((method.lossless for method in kind.methods if method.name == name), None)


def growing_title(names: Sequence[str]) -> str:
    """What stands on the folded choices of tree and stop policy: the choices themselves."""
    return f"How the draft grows and ends: {', '.join(names)}"


def lossless_note(catalog: Catalog, names: Mapping[str, str]) -> tuple[bool, str]:
    """Whether the chosen methods together keep the target's distribution, and the sentence that says so."""
    growing = grows(catalog, names.get("drafter", ""))
    chosen = [
        method
        for kind in kinds(catalog)
        if growing or not kind.for_growing
        for method in kind.methods
        if method.name == names.get(kind.group)
    ]
    lossy = [method.name for method in chosen if not method.lossless]
    if lossy:
        return False, f"lossy: {' and '.join(lossy)} may change the target's distribution"
    return True, "lossless: the text follows the target's distribution exactly"
