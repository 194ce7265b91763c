"""The commands of the README and the issue on the real engine, with tiny random checkpoints in the bundled names."""

import io
import json
import re
import shlex
from pathlib import Path

import pytest

from specviz.cli.main import COMMANDS
from specviz.trace import codec
from tests.cli.conftest import Call

ROOT = Path(__file__).parents[2]
WORDS = "w1 w2 w3 w4 w1 w2 w3"
METHODS = {
    "none": ["--drafter", "none"],
    "chain": ["--drafter", "model", "--gamma", "3"],
    "tree": ["--drafter", "model", "--branching", "3,2,1"],
    "ngram": ["--drafter", "ngram", "--gamma", "3"],
}
SMALLER = {
    "run": ["--max-new-tokens", "4"],
    "bench": ["--max-new-tokens", "4", "--prompts", "1", "--repeats", "1", "--quick", "--no-transformers"],
    "site": ["--sweeps", "none"],
}
SERVED_OR_LONG = {"app", "train", "record"}


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Random Llamas of a few thousand parameters, two layers and one, one tokenizer."""
    from tests.lm.tiny_models import random_model, write_tokenizer

    folders = {}
    for name, layers in (("target", 2), ("drafter", 1)):
        folders[name] = tmp_path_factory.mktemp(name)
        random_model("llama", num_hidden_layers=layers, max_position_embeddings=2048).save_pretrained(folders[name])
        write_tokenizer(folders[name])
    return folders


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch, bundled: dict[str, Path], tmp_path: Path) -> None:
    """The bundled names mean the tiny models, and the working folder is an empty one."""
    monkeypatch.setattr("specviz.lm.place.bundled_models", lambda: bundled)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("temperature", ["0", "1"])
def test_every_method_writes_a_trace_that_check_passes(specviz: Call, method: str, temperature: str) -> None:
    arguments = [*METHODS[method], "--temperature", temperature, "--max-new-tokens", "12", "--trace", "t.json.gz"]
    result = specviz("run", "--prompt", WORDS, *arguments)
    assert result.code == 0, result.err
    checked = specviz("check", "t.json.gz")
    assert (checked.code, checked.err) == (0, "")
    assert specviz("replay", "t.json.gz").code == 0


def test_all_methods_decode_the_same_text_at_temperature_0(specviz: Call) -> None:
    outputs = [
        json.loads(specviz("run", "--prompt", WORDS, *arguments, "--max-new-tokens", "16", "--json").out)["output_ids"]
        for arguments in METHODS.values()
    ]
    assert len(outputs[0]) > 0
    assert outputs == [outputs[0]] * 4


def test_the_same_seed_gives_the_same_text(specviz: Call) -> None:
    def text(seed: int) -> str:
        arguments = ["--temperature", "1", "--seed", seed, "--max-new-tokens", "16", "--json"]
        return str(json.loads(specviz("run", "--prompt", WORDS, *arguments).out)["text"])

    assert text(1) == text(1)
    assert text(1) != text(2), "false alarm: 16 equal draws from 60 words of random models"


def test_json_with_a_prompt_from_standard_input(specviz: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(WORDS))
    data = json.loads(specviz("run", "--prompt", "-", "--max-new-tokens", "3", "--json").out)
    assert {"text", "output_ids", "summary"} <= set(data)
    assert data["prompt"] == WORDS


def test_resuming_with_a_forced_token_puts_it_next(specviz: Call) -> None:
    specviz("run", "--prompt", WORDS, "--max-new-tokens", "12", "--trace", "a.json")
    forced = ["--resume", "a.json", "--round", "1", "--force-token", "5", "--drafter", "none", "--trace", "b.json"]
    assert specviz("run", *forced).code == 0
    first, branch = codec.read("a.json"), codec.read("b.json")
    assert (branch.started.branch.run_id, branch.started.branch.round) == (first.started.run_id, 1)
    assert branch.finished.output_ids[0] == 5


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--drafter", "modle"], "modle"),
        (["--gamma", "0"], "gamma is 0"),
        (["--gamma", "four"], "gamma is 'four', but must be a whole number"),
        (["--verifier", "greedy", "--temperature", "1"], "greedy"),
        (["--target", "nowhere"], "there is no model 'nowhere'"),
        (["--temperature", "-1"], "temperature is -1.0"),
        (["--device", "toaster"], "there is no device 'toaster'"),
    ],
)
def test_what_cannot_run_is_refused_before_it_starts(specviz: Call, arguments: list[str], sentence: str) -> None:
    result = specviz("run", "--prompt", WORDS, *arguments)
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err
    assert result.err.count("\n") == 1


def outputs(name: str, *classes: list[dict]) -> dict[str, tuple[int, int]]:
    """Per contestant its runs, and those that gave plain decoding's tokens, over both classes of texts."""
    found: dict[str, tuple[int, int]] = {}
    for row in (row for rows in classes for row in rows):
        runs, same = found.get(row[name], (0, 0))
        found[row[name]] = (runs + row["statistics"]["runs"], same + row["statistics"]["same_output"])
    return found


@pytest.mark.slow
def test_bench_measures_everyone_and_writes_its_report(specviz: Call) -> None:
    arguments = ["--max-new-tokens", "4", "--gammas", "3", "--prompts", "1", "--repeats", "1", "--json", "b.json"]
    result = specviz("bench", *arguments)
    assert result.code == 0, result.err
    report = json.loads(Path("b.json").read_text())
    greedy, drawn = report["parts"]
    assert (greedy["temperature"], drawn["temperature"]) == (0.0, 0.8)
    found = outputs("name", greedy["rows"], greedy["repeating"])
    assert next(iter(found)) == "specviz: plain"
    assert {"transformers: generate", "specviz: ngram γ=3", "specviz: model tree 3,2,1"} <= set(found)
    assert set(found.values()) == {(13, 13)}, "float32 greedy outputs are equal, one prompt of each family"
    assert report["complete"] is True
    assert (greedy["rows"] or greedy["repeating"])[0]["ratio"]["median"] == 1.0
    assert "| specviz: plain |" in result.out


@pytest.mark.slow
def test_bench_trees_writes_its_tables_between_the_marks(specviz: Call, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- bench trees -->\n<!-- /bench trees -->\n", encoding="utf-8")
    flags = shlex.split(
        "--lengths 2 --budgets= --temperatures 0 --max-new-tokens 3 --level-candidates 2 --level-step 64"
    )
    result = specviz("bench", "trees", *flags, "--speed", "--write", page)
    assert result.code == 0, result.err
    parts = ("**Fixed speculation length 2, temperature 0**", "| rsd_c | 2,2 | greedy |", "**Acceptance of one level")
    assert [part for part in parts if part not in result.out or part not in page.read_text(encoding="utf-8")] == []


def test_bench_trees_asks_for_the_marks_before_it_measures(specviz: Call, tmp_path: Path) -> None:
    result = specviz("bench", "trees", "--write", tmp_path / "none.md")
    assert (result.code, result.out) == (2, "")
    assert "none.md has no place" in result.err


def test_bench_drafters_runs_every_drafter_or_says_why_not(specviz: Call) -> None:
    flags = "--prompts 1 --warm-up-prompts 1 --max-new-tokens 3 --drafters none,ngram,suffix,early_exit --json -"
    result = specviz("bench", "drafters", *shlex.split(flags))
    assert result.code == 0, result.err
    report = json.loads(result.out)
    greedy = report["parts"][0]
    rows = greedy["sections"][0]["rows"] or greedy["repeating"]["rows"]
    ran = [(row["drafter"], row["memory"]) for row in rows]
    assert ran == [("none", ""), ("ngram", ""), ("suffix", "cold"), ("suffix", "warm")]
    every = outputs("drafter", greedy["sections"][0]["rows"], greedy["repeating"]["rows"])
    assert every == {"none": (13, 13), "ngram": (13, 13), "suffix": (26, 26)}, "float32 greedy outputs are equal"
    assert "exit_layer is 2" in report["absent"]["early_exit"], "the tiny target has two layers"


def test_bench_vector_says_on_what_it_was_measured(specviz: Call) -> None:
    result = specviz("bench", "vector", "--width", "3", "--step", "64", "--prompts", "1", "--json", "-")
    data = json.loads(result.out)
    assert [(one["temperature"], len(one["vector"])) for one in data["vectors"]] == [(0, 3), (0.6, 3), (0.8, 3), (1, 3)]
    assert all(0.0 < sum(one["vector"]) <= 1.0 for one in data["vectors"][1:])
    assert (data["step"], data["target"]["name"]) == (64, "target")


def test_a_bench_without_time_says_so(specviz: Call) -> None:
    result = specviz("bench", "--quick", "--no-transformers", "--max-minutes", "0.000001")
    assert result.code == 2
    assert "not a single plain run was finished" in result.err


def test_recording_writes_traces_and_the_index(specviz: Call, tmp_path: Path) -> None:
    (tmp_path / "recordings.toml").write_text(
        'openings = ["one"]\n[[recording]]\nname = "one"\nprompt = "code-uuid-fields"\ndrafter = "ngram"\n'
        'options = { gamma = 2 }\nmax_new_tokens = 5\ncomment = "made up"\n'
    )
    result = specviz("record", "--folder", tmp_path)
    assert result.code == 0, result.err
    trace = codec.read(tmp_path / "one.json.gz")
    assert trace.started.source == "recorded"
    assert specviz("check", tmp_path / "one.json.gz").code == 0
    index = json.loads((tmp_path / "index.json").read_text())
    assert (index["first"], index["traces"][0]["comment"]) == ("one.json.gz", "made up")


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ('name = "a"\nprompt = "nowhere"', "names prompt 'nowhere'"),
        ('name = "a"\nprompt = "code-uuid-fields"\ncolour = 1', "unknown setting 'colour'"),
    ],
)
def test_a_recording_that_cannot_be_is_named(specviz: Call, tmp_path: Path, entry: str, sentence: str) -> None:
    (tmp_path / "recordings.toml").write_text(f"[[recording]]\n{entry}\n")
    result = specviz("record", "--folder", tmp_path)
    assert result.code == 2
    assert sentence in result.err


def readme_commands() -> list[str]:
    """Lines of the README's code blocks that call `specviz`."""
    blocks = re.findall(r"```(?:bash|sh|console|text)?\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    lines = [
        line.strip().removeprefix("$ ").partition("  #")[0].strip() for block in blocks for line in block.splitlines()
    ]
    return [line for line in lines if line.startswith("specviz ")]


@pytest.mark.slow
def test_every_readme_command_works_as_written(specviz: Call) -> None:
    """In the order of the README, so that what one writes the next may read; shorter, and on the tiny models."""
    for line in readme_commands():
        name, *arguments = shlex.split(line)[1:]
        assert name in COMMANDS, line
        if name in SERVED_OR_LONG:
            assert specviz(name, "--help").code == 0, line
        else:
            result = specviz(name, *arguments, *SMALLER.get(name, []))
            assert result.code == 0, f"{line}\n{result.err}"
