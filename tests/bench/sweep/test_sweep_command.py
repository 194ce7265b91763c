"""`specviz bench sweep` over a source whose every time is chosen by hand: stopped, continued, refused."""

import csv
import gzip
import json
import lzma
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from specviz.bench.sweep.workplace import trace_name
from specviz.cli import experiment as bench_parts
from specviz.cli.commands.bench import sweep as bench_sweep
from specviz.cli.main import main
from specviz.protocol.runs import MethodDescription, RunRequest
from specviz.protocol.sweeps import store as sweep_store
from specviz.trace.events import Step, VocabEntry
from tests.fake_source import MODEL_DRAFTER, NO_DRAFTER, FakeSource

FILE = 'drafters = ["model", "needy"]\ngammas = [1, 3]\nmax_new_tokens = 8\n'


@dataclass
class Drafters(FakeSource):
    """Offers `model` and one that lacks something."""

    output: tuple[int, ...] = tuple(range(8))
    drafters: tuple[MethodDescription, ...] = (MODEL_DRAFTER, MethodDescription("needy", "", "", True, ()), NO_DRAFTER)

    def explain(self, request: RunRequest) -> str | None:
        return "there is no datastore; build one." if request.drafter.name == "needy" else None


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Drafters:
    found = Drafters()
    monkeypatch.setattr(bench_sweep, "live_source", lambda models, threads: found)
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(FILE, encoding="utf-8")
    return found


def bench(*arguments: str) -> int:
    return main(["bench", "sweep", "own.toml", *arguments])


def test_a_sweep_says_who_cannot_run_and_gives_table_result_and_csv(source: Drafters, capsys: Any) -> None:
    assert bench("--out", "r.json", "--csv", "r.csv") == 0
    said = capsys.readouterr()
    assert "left out: needy: there is no datastore; build one." in said.err
    assert "3 of 6 runs, about" in said.err
    assert "| model | 1 | 0 | 2.00 | 2.00 to 2.00 | 1.00 | 2.00 | 2.00 | 1.0 | 2 | 2/2 |" in said.out
    result = sweep_store.read("r.json")
    assert (result.complete, result.provenance.command) == (True, "specviz bench sweep own.toml")
    assert [(one.name, one.reason) for one in result.absent] == [("needy", "there is no datastore; build one.")]
    assert len(list(csv.DictReader(Path("r.csv").read_text(encoding="utf-8").splitlines()))) == 6


def test_a_stopped_sweep_keeps_what_is_done_and_the_same_command_runs_the_rest(
    source: Drafters, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = count()
    clock = SimpleNamespace(monotonic=lambda: float(next(seconds)))
    for module in (bench_sweep, bench_parts):
        monkeypatch.setattr(module, "time", clock)
    assert bench("--out", "r.json.gz", "--max-minutes", "0.6") == 0
    kept = sweep_store.read("r.json.gz")
    assert 1 <= len(kept.points) < 6
    assert f"stopped: {len(kept.points)} of 6 runs are done; the same command goes on." in capsys.readouterr().err
    source.requests.clear()
    assert bench("--out", "r.json.gz", "--json") == 0
    whole = sweep_store.read("r.json.gz")
    assert json.loads(capsys.readouterr().out)["points"][0]["drafter"] == "none"
    assert (len(whole.points), whole.points[: len(kept.points)]) == (6, kept.points)
    assert len(source.requests) < 2 + 6 + 1


def test_another_sweep_and_a_place_that_cannot_be_written_are_refused_before_anything_runs(
    source: Drafters, capsys: Any
) -> None:
    assert bench("--out", "r.json") == 0
    source.requests.clear()
    Path("own.toml").write_text(FILE + "seed = 8\n", encoding="utf-8")
    for arguments, words in (
        (("--out", "r.json"), "the result holds the runs of another sweep"),
        (("--out", "r.txt"), "r.txt: a sweep result is written to a name ending in .json or .json.gz"),
        (("--out", "none/r.json"), "there is no folder 'none'"),
    ):
        assert bench(*arguments) == 2
        assert words in capsys.readouterr().err
    assert source.requests == []


def test_the_report_has_winners_and_repetition_and_sets_looping_texts_apart(source: Drafters, capsys: Any) -> None:
    Path("own.toml").write_text(FILE + "temperatures = [0.0, 0.8]\n", encoding="utf-8")
    assert bench() == 0
    said = capsys.readouterr().out
    assert "| family | fastest, temperature 0 | fastest, temperature 0.8 |" in said
    assert "| code | model γ=1 2.00× | model γ=1 2.00× |" in said
    assert "Different drafters among them: 1 at temperature 0, 1 at temperature 0.8." in said
    assert "Of the 2 texts of plain decoding 2 repeat at most 25% of their 4-grams" in said
    assert "| one | 8, 0% | 8, 0% |" in said
    source.output = (1,) * 8
    assert bench() == 0
    said = capsys.readouterr().out
    assert said.startswith("Not measured: there is no text here that does not repeat itself.")
    assert "Texts that repeat more than 25% of their 4-grams:" in said
    assert "| one | 8, **80%** | 8, **80%** |" in said


def test_a_result_of_another_sweep_is_begun_anew_where_asked(source: Drafters, capsys: Any) -> None:
    assert bench("--out", "r.json") == 0
    Path("own.toml").write_text(FILE + "seed = 8\n", encoding="utf-8")
    assert bench("--out", "r.json", "--replace") == 0
    assert sweep_store.read("r.json").definition.seed == 8
    source.requests.clear()
    assert bench("--out", "r.json", "--replace") == 0
    assert len(source.requests) == 2, "the warm-up alone: a result of this sweep is gone on with"
    result = sweep_store.read("r.json")
    other = replace(result, provenance=replace(result.provenance, tokenizer_sha256="other"))
    sweep_store.write(other, Path("r.json"))
    assert bench("--out", "r.json") == 2
    assert "was measured with another tokenizer" in capsys.readouterr().err
    assert bench("--out", "r.json", "--replace") == 0
    assert "begun anew: the result was measured with another tokenizer" in capsys.readouterr().err
    assert sweep_store.read("r.json").complete


def test_repeats_have_seeds_of_their_own_and_the_number_format_may_be_another(source: Drafters) -> None:
    Path("own.toml").write_text(FILE + "repeats = 2\n", encoding="utf-8")
    assert bench("--dtype", "bfloat16") == 0
    assert {one.seed for one in source.requests} == {7, 8}
    assert {one.dtype for one in source.requests} == {"bfloat16"}


def test_a_drafter_may_have_weights_of_its_own(source: Drafters, capsys: Any) -> None:
    Path("own.toml").write_text(
        'drafters = ["model", { name = "model", drafter_model = "weak", lengths = [1] }]\ngammas = [1]\n',
        encoding="utf-8",
    )
    assert bench() == 0
    assert "| model with weak | 1 |" in capsys.readouterr().out
    assert {one.drafter_model for one in source.requests} == {"drafter", "weak"}


def test_the_traces_of_all_runs_are_kept_where_that_is_asked_for(source: Drafters) -> None:
    """Two prompts, plain decoding and two lengths: six runs, recorded with distributions, beside the same result."""
    assert bench("--out", "r.json", "--keep-traces", "runs") == 0
    names = sorted(path.name.rpartition("-")[0] for path in Path("runs").iterdir())
    assert names == [
        "model-1-one-t0-r0",
        "model-1-two-t0-r0",
        "model-3-one-t0-r0",
        "model-3-two-t0-r0",
        "none-one-t0-r0",
        "none-two-t0-r0",
    ]
    (path,) = Path("runs").glob("model-3-one-*")
    assert len(json.loads(gzip.decompress(path.read_bytes()))["rounds"]) == 4
    assert [one.record for one in source.requests if one.prompt_name][-6:] == [True] * 6
    assert len(sweep_store.read("r.json").points) == 6


def test_without_asking_nothing_is_kept_and_nothing_recorded(source: Drafters) -> None:
    assert bench() == 0
    assert not any(one.record for one in source.requests)


def test_runs_that_differ_in_marks_alone_have_files_of_their_own(source: Drafters) -> None:
    assert bench("--out", "r.json") == 0
    point = sweep_store.read("r.json").points[0]
    names = {trace_name(replace(point, label=label)) for label in ("tree 3,2", "tree 3 2", "tree 3-2")}
    assert len(names) == 3


class Spoken(Drafters):
    """Its traces have a vocabulary, so that they can be read."""

    def run(self, *asked: Any, **how: Any) -> Iterator[Step]:
        vocab = {str(token): VocabEntry("YQ==", "a") for token in range(8)}
        yield from (replace(step, vocab=vocab) for step in super().run(*asked, **how))


def test_each_drafters_failures_are_written_where_a_page_has_marks(
    source: Drafters, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Length 3 accepts one of three in every round: four rounds of two texts, each ended by another token."""
    monkeypatch.setattr(bench_sweep, "live_source", lambda models, threads: Spoken())
    assert bench("--write-failures", "page.md") == 2
    assert "page.md has no place for the tables" in capsys.readouterr().err
    Path("page.md").write_text("a\n<!-- sweep failures -->\n<!-- /sweep failures -->\nb\n", encoding="utf-8")
    assert bench("--write-failures", "page.md") == 0
    text = Path("page.md").read_text(encoding="utf-8")
    assert text.startswith(
        "a\n<!-- sweep failures -->\nCounted by `specviz bench sweep own.toml --write-failures` over 6 of 6 runs"
    )
    assert "- 100 % (8 of 8) *" in text
    assert text.count("http://127.0.0.1:7860/#ask=") == 1


def test_the_traces_behind_the_shares_are_packed_for_the_page(
    source: Drafters, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(bench_sweep, "live_source", lambda models, threads: Spoken())
    assert bench("--zip-traces", "t.zip.xz") == 2
    assert "--zip-traces packs what --write-failures counts; give that too" in capsys.readouterr().err
    Path("page.md").write_text("<!-- sweep failures -->\n<!-- /sweep failures -->\n", encoding="utf-8")
    assert bench("--write-failures", "page.md", "--zip-traces", "t.zip.xz", "--keep-traces", "kept") == 0
    with lzma.open("t.zip.xz") as packed, zipfile.ZipFile(packed) as archive:
        inside = sorted(name.removesuffix(".json") for name in archive.namelist())
        assert json.loads(archive.read(archive.namelist()[0]))["format"] == "specviz-trace"
    assert inside == sorted(path.name.removesuffix(".json.gz") for path in Path("kept").iterdir())
    assert len(inside) == 6
