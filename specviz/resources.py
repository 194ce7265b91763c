"""Where the shipped files are: models, prompts, recorded traces, scripts and styles.

In the repository they lie in `assets/` at the top; a wheel carries the same folder inside the package.
"""

from __future__ import annotations

from pathlib import Path

from specviz.errors import SpecVizError

_PACKAGE = Path(__file__).resolve().parent
INSTALLED = (_PACKAGE / "assets").is_dir()
"""whether this SpecViz was installed from a wheel and has no repository around it"""
ROOT = (_PACKAGE if INSTALLED else _PACKAGE.parent) / "assets"
SPACE_SETTINGS = (ROOT if INSTALLED else ROOT.parent) / "spaces_config.yaml"
ACCEPTANCE_VECTOR = "acceptance_vector.json"
"""how often each sibling is the accepted one, as `specviz bench vector` measured it on the bundled pair"""
RECORDINGS = "recordings.toml"
"""beside the recorded runs: what `specviz record` makes, with a comment where the text of a run is wrong"""
BATCHES = ROOT / "batches" / "opening.json.gz"
"""speedup against batch size, as `specviz bench batch` measured it"""
STYLES = ROOT / "studies" / "styles.json.gz"
"""the same questions in several prompt styles, as `specviz bench styles` measured them"""


def asset_path(*parts: str) -> Path:
    """The path of a shipped file or folder. Raises SpecVizError where it is missing."""
    path = ROOT.joinpath(*parts)
    if not path.exists():
        raise SpecVizError(
            f"{Path('assets', *parts)} is missing, which SpecViz is shipped with; install it again, or restore the "
            "file in your clone with `git checkout assets`."
        )
    return path
