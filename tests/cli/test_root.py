"""The root: commands, exit codes, sentences, and what is not imported."""

import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from specviz import __version__
from specviz.cli import commands
from specviz.cli.main import COMMANDS, _commands, main
from tests.cli.conftest import Call


def test_help_names_every_command(specviz: Call) -> None:
    result = specviz("--help")
    assert result.code == 0
    assert all(name in result.out for name in COMMANDS)


def test_every_module_of_the_commands_is_one_or_belongs_to_one() -> None:
    """If this fails: begin its docstring with "`specviz <name>`: what it does."."""
    modules = {one.name for one in pkgutil.iter_modules(commands.__path__)}
    assert set(COMMANDS) <= modules
    assert [name for name in modules - set(COMMANDS) if name.partition("_")[0] not in COMMANDS] == []


def test_a_new_module_is_a_command_with_the_sentence_of_its_docstring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "greet.py").write_text('"""`specviz greet`: say hello.\n\nMore.\n"""\nraise RuntimeError\n')
    (tmp_path / "greet_parts.py").write_text('"""What greet shares."""\n')
    monkeypatch.setattr(commands, "__path__", [str(tmp_path)])
    assert list(_commands()) == [("greet", "say hello")]


def test_version(specviz: Call) -> None:
    assert specviz("--version") == (0, f"specviz {__version__}\n", "")


@pytest.mark.parametrize(
    "arguments", [[], ["frobnicate"], ["check"], ["replay", "t.json", "--round", "x"], ["check", "--jso", "t.json"]]
)
def test_wrong_usage_is_one_line_with_the_cure_and_exit_code_2(specviz: Call, arguments: list[str]) -> None:
    result = specviz(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert "--help" in result.err


def test_what_is_wrong_with_the_arguments_is_cut_where_it_is_a_whole_text(specviz: Call) -> None:
    said = specviz("run", "--max-new-tokens", "x" * 5000).err
    assert len(said) < 600
    assert said.startswith("specviz run: argument --max-new-tokens: invalid int value: 'xxx")
    assert said.endswith("x…; `specviz run --help` shows the options.\n")


def test_a_flag_that_is_no_finite_number_is_named(specviz: Call) -> None:
    for word in ("nan", "inf"):
        assert specviz("run", "--prompt", "a", "--gamma", word).err == (
            f"specviz: gamma is '{word}', but must be a whole number.\n"
        )


def test_an_interrupt_leaves_with_one_word_and_no_traceback(
    specviz: Call, monkeypatch: pytest.MonkeyPatch, golden: Path
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("specviz.trace.codec.read", interrupted)
    assert specviz("check", golden) == (1, "", "specviz: stopped.\n")


def test_a_folder_that_cannot_be_written_is_a_sentence(
    specviz: Call, monkeypatch: pytest.MonkeyPatch, golden: Path
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "there.json")

    monkeypatch.setattr("specviz.trace.codec.read", refused)
    result = specviz("replay", golden)
    assert result.code == 2
    assert result.err == "specviz: cannot use 'there.json': Permission denied; check the path and its permissions.\n"


def test_a_closed_pipe_ends_quietly(golden: Path) -> None:
    """`specviz replay t.json | head -1`."""
    command = f"{sys.executable} -m specviz replay {golden} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.stdout.count("\n") == 1


def test_main_returns_instead_of_exiting() -> None:
    assert main(["--version"]) == 0
