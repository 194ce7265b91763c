"""`specviz study depth-width --second-set` puts a second set beside the kept result, and only beside its own first."""

import argparse
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from specviz.cli.commands.study import add_flags
from specviz.drafters.small_model import STUDIED
from specviz.errors import BenchError
from specviz.studies.depth_width import measure as depth_width
from specviz.studies.depth_width.result import STUDY as DECLARED
from specviz.studies.depth_width.runs import RecordedText
from specviz.studies.depth_width.training import folder_of
from tests.studies.depth_width.sample import STUDY, TWO_SETS

PLACE = SimpleNamespace(args=argparse.Namespace(work_dir=Path("a_folder")), say=None, row=None)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A first set of 1,000 tokens, three texts of 64, a second set that is there at once; what was done with it."""
    did = list[str]()
    second = SimpleNamespace(train=lambda report: did.append("trained"))
    first = SimpleNamespace(tokens=1000, from_the_text=lambda out: did.append(str(out)) or second)
    model = SimpleNamespace(info=SimpleNamespace(weights_sha256="0" * 64))
    here = SimpleNamespace(source=None, prompts=[], request=None, target=SimpleNamespace(model=model))
    monkeypatch.setattr(depth_width, "_first", lambda workplace: first)
    monkeypatch.setattr(depth_width, "_at_hand", lambda workplace: here)
    monkeypatch.setattr(depth_width, "_text_set", lambda *given: TWO_SETS.text_set)
    monkeypatch.setattr(depth_width, "written", lambda *given: [RecordedText("one", tuple(range(66)), 2)] * 3)
    return did


def test_the_second_set_leaves_everything_else_of_the_kept_result_as_it_is(trained: list[str]) -> None:
    assert depth_width._with_second(PLACE, STUDY) == TWO_SETS
    assert trained == [str(Path("a_folder") / "networks_text"), "trained"]


def test_another_first_set_or_other_texts_than_the_kept_are_refused_before_an_hour_of_training(
    trained: list[str],
) -> None:
    with pytest.raises(BenchError, match=r"a_folder holds a training of 1,000 tokens, but .* learnt from 2,000"):
        depth_width._with_second(PLACE, replace(STUDY, tokens=2000))
    with pytest.raises(BenchError, match="wrote 192 tokens after 3 prompts, but the first set was replayed on 191"):
        depth_width._with_second(PLACE, replace(STUDY, replayed_tokens=191))
    with pytest.raises(BenchError, match="another target"):
        depth_width._with_second(PLACE, replace(STUDY, models={"target": "1" * 64}))
    assert not trained


def test_the_first_set_is_trained_alone_and_its_extremes_are_shipped_where_it_is_to_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = SimpleNamespace(out=tmp_path / "networks", train=lambda report: 1000)
    for name in map(folder_of, STUDIED):
        (first.out / name).mkdir(parents=True)
        (first.out / name / "module.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(depth_width, "_first", lambda workplace: first)
    monkeypatch.setattr(depth_width, "MODULES", tmp_path / "shipped")
    parser = argparse.ArgumentParser()
    add_flags(parser, DECLARED)
    said = list[str]()

    def measured(*words: str) -> object:
        return depth_width.measure(SimpleNamespace(args=parser.parse_args(words), show=said.append, row=None))

    assert measured("--train") is None
    assert not (tmp_path / "shipped").exists()
    assert measured("--train", "--write") is None
    assert len(list((tmp_path / "shipped").glob("*/module.json"))) == 2
    assert said == ["Each network learnt from 1,000 tokens."] * 2


def test_only_one_part_of_the_study_is_asked_for_at_a_time() -> None:
    parser = argparse.ArgumentParser()
    add_flags(parser, DECLARED)
    with pytest.raises(SystemExit):
        parser.parse_args(["--second-set", "--tables"])
