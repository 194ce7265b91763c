"""How a model is called beside its role: the bundled target is named `target`, and nobody says that twice.

Place in the flow: used wherever a line names the models of a run.
"""

from __future__ import annotations


def in_role(role: str, name: str) -> str:
    """`target` for the target of that name, `target gpt2` for another one."""
    return role if name == role else f"{role} {name}"
