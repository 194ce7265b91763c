"""`make gpu`: the most important comes first, nothing is done twice, nothing takes the others' time, and it fits a
small checkout without the page's packages."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.gpu import __main__ as gpu
from tests.gpu.__main__ import DONE, FAILED, LATE, run, summary
from tests.gpu.jobs import Job, jobs

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 60 << 20
ONE_BY_ONE = """
import sys
from pathlib import Path
from specviz.cli.main import main
from tests.gpu import equality
from tests.gpu.jobs import jobs
for job in jobs(Path(sys.argv[1]), "cpu", small=True):
    module, words = job.words[1], job.words[2:]
    if module != "pytest":
        assert (main(words) if module == "specviz" else equality.main(words)) == 0, job.name
        print("done:", job.name)
"""
"""in one process, because torch takes seconds to import; one more as `make gpu` runs it"""
SAYS = "import sys; print('7 tokens'); open(sys.argv[1], 'a').write('x')"


def job(name, code, *words, limit_s=20.0):
    return Job(name, f"what {name} tells", ("-c", code, *map(str, words)), limit_s)


def test_what_is_done_is_not_done_again_and_what_failed_is(tmp_path):
    out, done, failed = tmp_path / "out", tmp_path / "done", tmp_path / "failed"
    out.mkdir()
    wanted = [job("first", SAYS, done), job("second", f"{SAYS}; sys.exit(5)", failed)]
    for _ in range(2):
        found = run(wanted, out, 60.0)
    assert (done.read_text(), failed.read_text()) == ("x", "xx")
    seen = {name: (one.state, one.exit_status) for name, one in found.items()}
    assert seen == {"first": (DONE, 0), "second": (FAILED, 5)}


def test_a_job_of_other_words_is_done_anew(tmp_path):
    run([job("first", SAYS, tmp_path / "a")], tmp_path, 60.0)
    run([job("first", SAYS, tmp_path / "b")], tmp_path, 60.0)
    assert (tmp_path / "b").read_text() == "x"


def test_a_job_is_stopped_at_its_limit_and_none_begins_when_time_is_up(tmp_path):
    slow = job("slow", "import time; print('begun', flush=True); time.sleep(60)", limit_s=1.0)
    found = run([slow, job("next", SAYS, tmp_path / "next")], tmp_path, 60.0)
    assert [one.state for one in found.values()] == [LATE, DONE]
    assert "begun\n\nstopped after 1 s\n" in (tmp_path / "slow.log").read_text()
    found = run([job("last", SAYS, tmp_path / "last")], tmp_path, 0.0)
    assert found["last"].state == LATE
    assert not (tmp_path / "last").exists()


def test_the_summary_says_how_each_ended_in_its_own_words(tmp_path):
    progress = (
        "import sys; sys.stderr.write(' 50%' '|#####     | 1/2\\r100%' '|##########| 2/2\\n'); print('31 tokens/s ```')"
    )
    known = run([job("bench", progress), job("worse", "sys.exit(2)")], tmp_path, 60.0)
    text = (tmp_path / "summary.md").read_text()
    assert text == summary(known, tmp_path)
    assert "| bench | what bench tells | done | 0 |" in text
    assert "| worse | what worse tells | failed | 0 |" in text
    assert "31 tokens/s '''" in text
    assert "%|" not in text
    assert "NameError" in text
    assert [one["job"] for one in json.loads((tmp_path / "results.json").read_text())["jobs"]] == ["bench", "worse"]
    with zipfile.ZipFile(tmp_path / "everything.zip") as packed:
        assert {"summary.md", "results.json", "bench.log", "worse.log"} <= set(packed.namelist())


def test_right_answers_come_before_speed_and_speed_before_pictures(tmp_path):
    names = [one.name for one in jobs(tmp_path, "cuda", small=False)]
    assert names == [
        "tests", "equality", "bench-bfloat16-graphs", "bench-float32-graphs", "bench-bfloat16-eager",
        "bench-float32-eager", "profile-target", "profile-target-eager", "profile-135m", "profile-0.5b", "profile-1.5b",
        "profile-7b", "profile-14b", "opening", "race",
    ]  # fmt: skip
    devices = {one.name: "eager:cuda" in one.words for one in jobs(tmp_path, "cuda", small=False)}
    assert [name for name, eager in devices.items() if eager] == [name for name in names if name.endswith("eager")]


def test_what_is_missing_is_said_in_a_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(gpu, "NEEDS", {"torch": "torch", "no_such_module": "such-package"})
    assert gpu.main(["--out", str(tmp_path)]) == 2
    assert "lacks such-package: pip install such-package;" in capsys.readouterr().out
    monkeypatch.undo()
    monkeypatch.setattr(gpu, "_cuda", lambda: "")
    assert gpu.main(["--out", str(tmp_path)]) == 2
    assert "no CUDA device here" in capsys.readouterr().out
    assert gpu.main(["--out", str(tmp_path), "--only", "profile,race"]) == 2
    assert "No job's name contains profile,race; --list shows them" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def sparse() -> list[str]:
    """The files of the checkout that docs/gpu.md describes."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    known = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    rules = ["git", "ls-files", "--cached", "--ignored", "--exclude-from", "tests/gpu/sparse.txt"]
    chosen = subprocess.run(rules, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted({*chosen, *(name for name in known if name.startswith(("specviz/", "tests/")))})


def test_the_small_checkout_is_small():
    assert 0 < sum((ROOT / name).stat().st_size for name in sparse()) <= MOST_BYTES


def test_every_profile_fits_into_the_context_of_its_model(tmp_path):
    contexts = {
        one.name: one.words[one.words.index("--contexts") + 1]
        for one in jobs(tmp_path, "cuda", small=False)
        if one.name.startswith("profile")
    }
    assert contexts["profile-target"] == contexts["profile-target-eager"] == "128,512"
    assert contexts["profile-7b"] == "128,1024"


@pytest.mark.slow
def test_everything_runs_small_on_a_cpu_from_the_small_checkout_without_the_pages_packages(tmp_path):
    tree, out, blocked = tmp_path / "tree", tmp_path / "out", tmp_path / "blocked"
    for name in sparse():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    for folder in {path.parent for path in tree.rglob("*.py")}:  # what is compiled already need not be compiled again
        if (compiled := ROOT / folder.relative_to(tree) / "__pycache__").is_dir():
            shutil.copytree(compiled, folder / "__pycache__")
    blocked.mkdir()
    (blocked / "sitecustomize.py").write_text(
        "import sys\nsys.modules |= dict.fromkeys(('gradio', 'plotly', 'jsonschema', 'playwright'))\n"
    )
    runs = ["-m", "tests.gpu", "--device", "cpu", "--small", "--out", str(out), "--only", "tests"]
    how = {"cwd": tree, "env": os.environ | {"PYTHONPATH": f"{tree}{os.pathsep}{blocked}"}, "capture_output": True}
    commands = (runs, ["-c", ONE_BY_ONE, str(out)])
    done, others = [subprocess.run([sys.executable, *words], text=True, check=False, **how) for words in commands]
    states = {one["job"]: one["state"] for one in json.loads((out / "results.json").read_text())["jobs"]}
    assert states == {"tests": DONE}, (out / "summary.md").read_text()
    assert (done.returncode, others.returncode) == (0, 0), others.stderr
    said = re.findall("^done: (.+)$", others.stdout, re.MULTILINE)
    assert said == ["equality", "bench-bfloat16-graphs", "profile-135m", "opening", "race"]
    assert (out / "traces" / "opening.json.gz").is_file()
    assert (out / "race.json.gz").is_file()
    assert "1 prompts, 8 tokens: equal" in others.stdout
