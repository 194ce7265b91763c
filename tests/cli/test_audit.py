"""`specviz audit`: what was compared and what differs, exit codes a script can trust."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from specviz.cli.named_weights import bundled, named, part_of
from specviz.errors import ModelError
from specviz.protocol.audits import KINDS, Audit, Count, Difference
from specviz.resources import ROOT, asset_path
from tests.cli.conftest import Call


class Auditor:
    """Answers for the source: `wrong` of the 7 values, or a refusal."""

    def __init__(self, wrong: int = 0, refused: str = "", done: int = 8) -> None:
        self.wrong, self.refused, self.done = wrong, refused, done
        self.places: Mapping[str, str] | None = None

    def audit(
        self, trace: object, cancelled: object = None, places: Mapping[str, str] | None = None
    ) -> Iterator[Audit]:
        self.places = places
        if self.refused:
            raise ModelError(self.refused)
        counts = {kind: Count(1, int(index < self.wrong)) for index, kind in enumerate(KINDS)}
        found = tuple(Difference("rounds[0].nodes[0].target.probs[0]", "0.5", "0.25") for _ in range(self.wrong))
        yield Audit(self.done, 8, counts, found, ("q of \x1b[31mpoint masses",), ("Recomputed in float32.",))


@pytest.fixture
def auditor(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Auditor]:
    def put(**how: Any) -> Auditor:
        made = Auditor(**how)
        monkeypatch.setattr("specviz.cli.commands.audit.live_source", lambda: made)
        return made

    return put


def test_a_run_that_the_checkpoints_give_passes(specviz: Call, golden: Path, auditor: Callable[..., Auditor]) -> None:
    auditor()
    result = specviz("audit", golden)
    assert result.code == 0
    assert "audited, 8 of 8 rounds: 9 values compared, 0 wrong" in result.out
    assert "verdicts: 1 compared, 0 wrong" in result.out
    assert "not recomputed: q of" in result.out
    assert "\x1b" not in result.out
    assert result.err == ""


def test_a_difference_is_printed_with_both_values_and_the_code_is_1(
    specviz: Call, golden: Path, auditor: Callable[..., Auditor]
) -> None:
    auditor(wrong=1)
    result = specviz("audit", golden)
    assert result.code == 1
    assert "differs: rounds[0].nodes[0].target.probs[0] is 0.5, but the checkpoints give 0.25." in result.err
    assert "9 values compared, 1 wrong" in result.err


def test_an_audit_that_was_stopped_early_does_not_pass(
    specviz: Call, golden: Path, auditor: Callable[..., Auditor]
) -> None:
    auditor(done=3)
    result = specviz("audit", golden)
    assert (result.code, "stopped early, 3 of 8 rounds" in result.err) == (1, True)


def test_what_cannot_be_recomputed_is_a_sentence_and_the_code_is_2(
    specviz: Call, golden: Path, auditor: Callable[..., Auditor]
) -> None:
    auditor(refused="the run was made with other weights.")
    result = specviz("audit", golden, golden)
    assert result.code == 2
    assert result.err.count("not audited: the run was made with other weights.") == 2


def test_json_holds_counts_differences_and_gaps(specviz: Call, golden: Path, auditor: Callable[..., Auditor]) -> None:
    auditor(wrong=2)
    result = specviz("audit", golden, "--json")
    report = json.loads(result.out)
    assert (result.code, report["ok"]) == (1, False)
    (file,) = report["files"]
    assert (file["compared"], file["wrong"], file["recomputed"], file["rounds"]) == (9, 2, 8, 8)
    assert file["counts"]["verdicts"] == {"compared": 1, "wrong": 0}
    assert file["differences"][0]["recomputed"] == "0.25"
    assert file["refused"] is None


def test_models_may_lie_elsewhere(specviz: Call, golden: Path, auditor: Callable[..., Auditor]) -> None:
    made = auditor()
    specviz("audit", golden, "--model", "target=./a=b", "--model", "drafter=c")
    assert made.places == {"target": "./a=b", "drafter": "c"}
    assert "must be a name in the header and where it lies" in specviz("audit", golden, "--model", "target").err


def test_a_simulated_run_has_nothing_behind_it(specviz: Call, golden: Path) -> None:
    result = specviz("audit", golden)
    assert result.code == 2
    assert "no checkpoint stands behind this run" in result.err


def test_what_was_found_in_a_folder_is_written_into_the_page_with_the_weights(
    specviz: Call, tmp_path: Path, auditor: Callable[..., Auditor]
) -> None:
    runs, page = tmp_path / "runs", tmp_path / "page.md"
    runs.mkdir()
    for name in ("opening", "model-tree-story"):
        (runs / f"{name}.json.gz").write_bytes(asset_path(f"traces/{name}.json.gz").read_bytes())
    (runs / "index.json").write_text("[]", encoding="utf-8")
    page.write_text("before\n<!-- audit -->\nold\n<!-- /audit -->\nafter\n", encoding="utf-8")
    auditor(wrong=1)
    assert specviz("audit", runs, "--write", page).code == 1
    text = page.read_text(encoding="utf-8")
    assert "all 2 recorded runs (2 of target): 18 values compared, 2 wrong." in text
    assert part_of(text, "audit").count("sha256") == 2
    assert bundled(ROOT / "models")["target"] in named(page, "audit")
    auditor(refused="the run was made with other weights.")
    assert specviz("audit", runs, "--write", page).code == 2
    assert page.read_text(encoding="utf-8") == text, "what could not be recomputed is not told as found"
    page.write_text("no marks\n", encoding="utf-8")
    assert "has no place for the tables" in specviz("audit", runs, "--write", page).err
