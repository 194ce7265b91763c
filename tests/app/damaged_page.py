"""Builds the page over copies of the repository in which assets are damaged: `python damaged_page.py COPY …`.

For each copy a process of its own, because shipped files are read as modules are imported; what comes from elsewhere is
imported once for all. `told.json` in a copy says what the page left out, `log` what was logged.
"""

import importlib
import json
import os
import sys
from pathlib import Path


def told(copy: Path) -> None:
    """Build the page of this copy."""
    sys.path.insert(0, str(copy))
    log = os.open(copy / "log", os.O_CREAT | os.O_WRONLY)
    os.dup2(log, sys.stderr.fileno())
    os.chdir(copy)
    from specviz.cli.commands.app import load_page
    from specviz.resources import LEFT_OUT, ROOT

    assert str(ROOT).startswith(str(copy)), "the copy is not what is read."
    page = load_page()
    [said] = [each for each in page.demo.blocks.values() if getattr(each, "elem_id", "") == "sv-damage"]
    answer = {"left_out": sorted(LEFT_OUT), "said": said.value, "visible": said.visible}
    (copy / "told.json").write_text(json.dumps(answer), encoding="utf-8")


def main() -> int:
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    for name in ("gradio", "plotly.graph_objects", "scipy.stats"):
        importlib.import_module(name)
    assert "specviz" not in sys.modules, "its files would be read before they are damaged."
    codes = []
    for copy in map(Path, sys.argv[1:]):
        process = os.fork()
        if process == 0:
            told(copy)
            sys.stderr.flush()
            os._exit(0)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
