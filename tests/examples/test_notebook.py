"""The notebook runs from its first cell to its last, and shows what it says."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "why_tokens_are_rejected.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook after a run in an empty folder."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(ROOT))
        patched.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}})
        return client.execute()


def shown(executed: Any, words: str) -> str:
    """Everything that the code cell which begins with or holds `words` printed or showed as text."""
    (cell,) = [one for one in executed.cells if one.cell_type == "code" and words in one.source]
    parts = [out.get("text") or out.get("data", {}).get("text/plain", "") for out in cell.outputs]
    return "\n".join(parts)


def test_it_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert [cell for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")] == []


@pytest.mark.slow
def test_it_loads_runs_analyses_compares_and_plots(executed: Any) -> None:
    assert "model-tree-story <Trace " in shown(executed, "recorded = {")
    assert "<Trace " in shown(executed, "chain = specviz.run(")
    assert "rejected" in shown(executed, "groupby")
    reasons = shown(executed, "failure.words")
    assert len(re.findall(r"^\d+% [a-z ]+: ", reasons, re.MULTILINE)) == 3
    assert re.search(r"Σ min\(p, q\) promises 0\.\d\d, measured 0\.\d\d", shown(executed, "distances ="))
    assert re.search(r"token  0: chain +\d of 4, tree +\d of \d+", shown(executed, "compare(("))
    figures = [out for cell in executed.cells for out in cell.get("outputs", []) if "data" in out]
    assert sum("application/vnd.plotly.v1+json" in out["data"] for out in figures) == 2
