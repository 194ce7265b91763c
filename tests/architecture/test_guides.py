"""The guides tell the truth: their examples work as printed, and every part of SpecViz has its line.

The examples are written to a package of their own, with entry points and nothing else, and found everywhere.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDES = {
    "drafters": ("adding_a_drafter.md", "echo"),
    "verifiers": ("adding_a_verifier.md", "cautious"),
    "tree_policies": ("adding_a_tree_policy.md", "comb"),
    "stop_policies": ("adding_a_stop_policy.md", "unlikely_path"),
}
"""folder of the methods, and so group of entry points → guide and the method it adds"""
ADDED = {name for _, name in GUIDES.values()}
SUMMARIES = {
    "echo": "drafter echo gamma=3",
    "cautious": "verifier cautious most=1",
    "comb": "tree policy comb budget=0 width=2 depth=2",
    "unlikely_path": "stop policy unlikely_path longest=0 bar=0.5",
}
"""what the run of each guide says of itself"""


def guide(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def block(name, language):
    """The guide's first block in this language."""
    return re.search(rf"```{language}\n(.*?)```", guide(name), re.DOTALL).group(1)


def commands():
    """What the guides tell to type, without the program's name: the runs, and the proofs that take seconds."""
    runs = []
    for page, name in GUIDES.values():
        run, prove = block(page, "sh").splitlines()
        runs.append(shlex.split(run.removeprefix("specviz ")))
        assert prove == f"specviz prove --only {name}"
    return [*runs, ["prove", "--only", "echo", "unlikely_path"]]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What a process with the guides' package on its path finds."""
    site = tmp_path_factory.mktemp("site")
    package, info = site / "guided", site / "guided-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text("")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guided\nVersion: 1.0\n")
    points = []
    for folder, (page, name) in GUIDES.items():
        (package / f"{name}.py").write_text(block(page, "python"), encoding="utf-8")
        points += [f"[specviz.{folder}]", f"{name} = guided.{name}"]
        assert f'[project.entry-points."specviz.{folder}"]\n{name} = "your_package.{name}"' in block(page, "toml")
    (info / "entry_points.txt").write_text("\n".join(points) + "\n")
    traces = [str(site / f"{name}.json") for _, name in GUIDES.values()]
    runs, proofs = commands()[: len(traces)], commands()[len(traces) :]
    typed = [[*words, "--trace", trace] for words, trace in zip(runs, traces, strict=True)]
    lines = [*typed, *proofs, ["check", "--json", *traces]]
    done = subprocess.run(
        [sys.executable, "-m", "tests.architecture.found_everywhere", *map(json.dumps, lines)],
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_guides_commands_do_what_they_say(found):
    """Each run with its new flag, and the proof, whose exit code is 0 only where every row holds."""
    typed = {f"specviz {' '.join(words)}": done for words, done in zip(commands(), found["commands"], strict=False)}
    assert {line: done["err"] for line, done in typed.items() if done["code"] != 0} == {}
    shown = "".join(done["out"] for line, done in typed.items() if line.startswith("specviz run"))
    assert [said for said in SUMMARIES.values() if said not in shown] == []
    assert "| the target's |" in typed["specviz prove --only echo unlikely_path"]["out"]


UNKNOWN = {
    "echo": "whether the drafts are those of the drafter 'echo', which is unknown here",
    "cautious": "verdicts, thresholds and the lossless mark of the verifier 'cautious', which is unknown here",
    "comb": "whether the drafts are those of the tree policy 'comb', which is unknown here",
    "unlikely_path": "whether the drafts are those of the stop policy 'unlikely_path', which is unknown here",
}
"""what the check says of the trace of each guide's run: the methods of another package are not in its files"""


@pytest.mark.slow
@pytest.mark.parametrize(("place", "folder"), list(enumerate(GUIDES)))
def test_the_trace_of_a_plug_in_passes_the_check_which_says_what_it_does_not_know(found, place, folder):
    _, name = GUIDES[folder]
    report = json.loads(found["commands"][-1]["out"])["files"][place]
    assert (report["ok"], report["problems"]) == (True, [])
    assert UNKNOWN[name] in report["not_recomputed"]
    assert report["verdict"] == ("not recomputed" if name == "cautious" else "sound")


@pytest.mark.slow
@pytest.mark.parametrize("folder", GUIDES)
def test_a_plug_in_is_listed_with_its_options_and_its_package(found, folder):
    _, name = GUIDES[folder]
    (card,) = [one for one in found["listed"][folder] if one["name"] == name]
    assert (card["package"], card["lossless"]) == ("guided", True)
    assert card["options"][-1]["name"] == {"echo": "gamma", "cautious": "most", "comb": "depth"}.get(name, "bar")


@pytest.mark.slow
def test_the_page_offers_every_plug_in_before_the_engine_is_made(found):
    assert set(found["page"]) >= ADDED | {"model", "sequential"}


@pytest.mark.slow
def test_the_proof_walks_every_plug_in_and_the_examples_are_lossless(found):
    assert set(found["proof"]) == ADDED
    assert {name: error for name, error in found["proof"].items() if error > 1e-12} == {}


@pytest.mark.slow
def test_the_comparisons_measure_every_plug_in(found):
    measured = {name for names in found["bench"].values() for name in names}
    assert measured >= ADDED - {"unlikely_path"}, "stop policies are compared in sweeps, which name them"


@pytest.mark.slow
def test_what_is_written_into_the_repository_holds_no_plug_in(found):
    assert "ngram" in found["written"]
    assert ADDED.isdisjoint(found["written"])


def test_every_part_has_its_line_in_the_architecture():
    """If this fails: add a row to the table in docs/architecture.md."""
    parts = [path.name for path in (ROOT / "specviz").iterdir() if path.suffix in ("", ".py") and path.name[0] != "_"]
    rows = [line for line in guide("architecture.md").splitlines() if line.startswith("| `")]
    places = " ".join(row.split("|")[1] for row in rows)
    assert len(parts) > 20
    assert [part for part in sorted(parts) if not re.search(rf"[`/]{re.escape(part)}[`/]", places)] == []


@pytest.mark.parametrize("fate", ["root", "accepted", "rejected", "unreached", "correction", "bonus"])
def test_every_fate_and_origin_is_in_the_glossary(fate):
    assert f"| **{fate}" in guide("glossary.md")
