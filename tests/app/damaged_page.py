"""Builds the page over a copy of the repository's assets in which files are damaged: `python damaged_page.py COPY`.

A process of its own, because shipped files are read as modules are imported. Prints what the page says was left out.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    sys.path.insert(0, sys.argv[1])
    from specviz.cli.commands.app import load_page
    from specviz.resources import LEFT_OUT, ROOT

    assert str(ROOT).startswith(sys.argv[1]), "the copy is not what is read."
    page = load_page()
    [said] = [one for one in page.demo.blocks.values() if getattr(one, "elem_id", "") == "sv-damage"]
    sys.stdout.write(json.dumps({"left_out": sorted(LEFT_OUT), "said": said.value, "visible": said.visible}))


if __name__ == "__main__":
    main()
