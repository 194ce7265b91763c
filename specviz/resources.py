"""Where the shipped files are: models, prompts, recorded traces, scripts and styles under `assets/`.

Knows nothing about what is in them.
"""

from __future__ import annotations

from pathlib import Path

from specviz.errors import SpecVizError

ROOT = Path(__file__).resolve().parent.parent / "assets"
ACCEPTANCE_VECTOR = "acceptance_vector.json"
"""how often each sibling is the accepted one, as `specviz bench vector` measured it on the bundled pair"""


def asset_path(*parts: str) -> Path:
    """The path of a shipped file or folder. Raises SpecVizError where it is missing."""
    path = ROOT.joinpath(*parts)
    if not path.exists():
        raise SpecVizError(
            f"{Path('assets', *parts)} is missing; SpecViz runs from its repository "
            "(git clone, then `make app`), which carries the assets folder."
        )
    return path
