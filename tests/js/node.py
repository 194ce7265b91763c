"""The node that the scripts' tests run under: playwright's own copy, installed with what the tests require."""

import subprocess
from pathlib import Path

import playwright

ROOT = Path(__file__).parents[2]
NODE = Path(playwright.__file__).parent / "driver" / "node"


def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """node with these arguments, in the repository's folder."""
    return subprocess.run([str(NODE), *arguments], cwd=ROOT, capture_output=True, text=True, check=False, input=stdin)
