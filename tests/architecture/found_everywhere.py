"""Where plug-ins of another package are found: run with that package on its path, it prints one JSON object.

Arguments are the command lines of the guides, each a JSON list. One process for all, because torch and gradio take
seconds to import.
"""

import contextlib
import io
import json
import sys
from typing import Any

from specviz.cli.main import main

KINDS = ("drafters", "verifiers", "tree_policies", "stop_policies")


def command(arguments: list[str]) -> dict[str, Any]:
    """Exit code and what was printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def page() -> list[str]:
    """Every name that a control of *Watch* offers, where methods are chosen."""
    from pathlib import Path
    from unittest.mock import patch

    from specviz.app import tab
    from specviz.app.form.request import Limits
    from specviz.app.page.build import build
    from specviz.app.runs.deferred import DeferredSource
    from specviz.app.runs.gallery import Gallery
    from specviz.live import catalog

    def never() -> Any:
        raise AssertionError("the page is drawn before the engine is made")

    watch = tuple(each for each in tab.found() if each.name == "watch")
    with patch.object(tab, "found", lambda: watch):
        demo = build(DeferredSource(never, catalog.at_once()), Gallery(Path(), (), None), Limits())
    choices = [one["props"].get("choices") or [] for one in demo.config["components"]]
    return sorted({str(value) for offered in choices for _, value in offered})


def proof() -> dict[str, float]:
    """Methods of other packages that the proof's table has rows of → the error of one row of each, the first on a
    drafter without a model where there is one."""
    from specviz.live import catalog
    from specviz.proof.table import cases, measure, names_of

    mine = {one.name for kind in KINDS for one in getattr(catalog.build(), kind) if one.package != catalog.OWN}
    found = {}
    for name in mine:
        rows = sorted((case for case in cases() if name in names_of(case)), key=lambda case: case.drafter != "ngram")
        if rows:
            found[name] = measure(rows[0]).error
    return found


def bench() -> dict[str, list[str]]:
    """The methods that the comparisons would measure."""
    from specviz.bench.drafters.plan import chosen
    from specviz.bench.trees.plan import TreePlan
    from specviz.bench.trees.plan import cases as tree_cases
    from specviz.cli.sources import live_source
    from specviz.protocol.runs import RunRequest

    source = live_source()
    plan = TreePlan((2,), (6,), (0.0, 1.0), 3, (0.6, 0.2, 0.1), RunRequest(prompt="", max_new_tokens=8))
    trees = tree_cases(source, plan)
    return {
        "drafters": [one.name for one in chosen(source.catalog(), ())],
        "tree_policies": sorted({one.tree_policy for one in trees}),
        "verifiers": sorted({one.verifier for one in trees}),
    }


def written() -> list[str]:
    """The methods in the catalogue that is kept in the repository, as it would be written now."""
    from specviz.live import catalog

    kinds = json.loads(catalog.catalog_to_json(catalog.build()))
    return [one["name"] for methods in kinds.values() for one in methods]


if __name__ == "__main__":
    found = {
        "commands": [command(json.loads(line)) for line in sys.argv[1:]],
        "listed": json.loads(command(["list", "--json"])["out"]),
        "page": page(),
        "proof": proof(),
        "bench": bench(),
        "written": written(),
    }
    sys.stdout.write(json.dumps(found))
