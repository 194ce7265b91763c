"""What a new method needs and takes a model or minutes: a recorded run, and rows of the proof's table."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from specviz.cli.main import main
from specviz.drafters.base import DRAFTERS
from specviz.proof.document import section
from specviz.proof.table import ELSEWHERE
from specviz.resources import ROOT as ASSETS
from specviz.stop_policies.base import STOP_POLICIES
from specviz.trace import codec
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS
from tests.proof.planted_list import DOCUMENT

FOLDER = ASSETS / "traces"
NEVER_STOPPING = "fixed"
"""the stop policy of a run that has none; no header and no table names it"""


def record(folder: Path = FOLDER) -> int:
    """Add every method without a recorded run to the list of recordings, and record it; the exit code."""
    plan = folder / "recordings.toml"
    added = []
    for kind, name, settings in unrecorded(folder):
        title = f"{kind}-{name.replace('_', '-')}"
        lines = ["", "[[recording]]", f'name = "{title}"', 'prompt = "code-uuid-fields"', *settings]
        with plan.open("a", encoding="utf-8") as file:
            file.write("\n".join([*lines, "max_new_tokens = 20", "top = 5"]) + "\n")
        added += ["--only", title]
    return main(["record", "--folder", str(folder), *added]) if added else 0


def unrecorded(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Kind, name and settings for each method that no trace of the list was made with."""
    names = [one["name"] for one in tomllib.loads((folder / "recordings.toml").read_text("utf-8"))["recording"]]
    headers = [codec.read(folder / f"{name}.json.gz").started for name in names]
    for name in set(DRAFTERS.names()) - {one.drafter.name for one in headers}:
        yield "drafter", name, [f'drafter = "{name}"']
    for name in set(TREE_POLICIES.names()) - {one.tree_policy.name for one in headers if one.tree_policy}:
        yield "growth", name, ['drafter = "model"', f'tree_policy = "{name}"']
    for name in (
        set(STOP_POLICIES.names()) - {one.stop_policy.name for one in headers if one.stop_policy} - {NEVER_STOPPING}
    ):
        yield "stop", name, ['drafter = "model"', f'stop_policy = "{name}"']
    for name in set(VERIFIERS.names()) - {one.verifier.name for one in headers}:
        yield "verifier", name, ['drafter = "model"', f'verifier = "{name}"', "temperature = 0.8"]


def prove() -> int:
    """Walk every method that the table of docs/losslessness.md does not name, and write its rows; the exit code."""
    page = section(DOCUMENT.read_text(encoding="utf-8"), "exact")
    names = {name for registry in (DRAFTERS, TREE_POLICIES, STOP_POLICIES, VERIFIERS) for name in registry.names()}
    new = sorted(name for name in names - ELSEWHERE - {NEVER_STOPPING} if f"| `{name}` |" not in page)
    return main(["prove", "--write", *(word for name in new for word in ("--only", name))]) if new else 0
