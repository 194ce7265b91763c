"""`specviz study depth-width --second-set` puts a second set beside the kept result, and only beside its own first."""

import argparse
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from specviz.cli.commands.study import add_flags
from specviz.drafters.small_model import STUDIED
from specviz.errors import BenchError
from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.depth_width import measure as depth_width
from specviz.studies.depth_width.networks import Measured, Times
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


def test_times_measured_anew_leave_what_was_trained_and_replayed_as_it_is(
    trained: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    step, half = Times(0.5, 0.25, 0.75), Estimate(0.5, 0.25, 0.75)
    ran = SimpleNamespace(plain=lambda: half, measured=lambda: iter([Measured("1x320", 2, half, half, 0.5, 5, 5)]))
    shapes, timed = list[str](), SimpleNamespace(steps={"1x20": step, "16x5": step, "1x12": step}, passes={1: step})
    place = SimpleNamespace(args=argparse.Namespace(repeats=1), say=lambda line: None)
    monkeypatch.setattr(depth_width, "untrained", lambda target, names: shapes.extend(names))
    monkeypatch.setattr(depth_width, "time_passes", lambda *given: timed)
    monkeypatch.setattr(
        depth_width, "run_short", lambda source, folders, *given: [*folders] == ["1x320", "16x80"] and ran
    )
    monkeypatch.setattr(depth_width, "origin_here", lambda target: "Today.")
    anew = depth_width._timed_anew(place, TWO_SETS)
    assert shapes == ["1x20", "16x5", "1x12"]
    assert {network.step for network in anew.networks} == {step}
    assert (anew.passes, anew.plain_tokens_per_s, anew.measured[0].name) == ({1: step}, half, "1x320")
    assert anew.times_origin == "Today."
    for before, after in zip(TWO_SETS.networks, anew.networks, strict=True):
        assert replace(after, step=before.step) == before
    kept = ("text_set", "origin", "command", "tokens", "replayed_tokens", "target_perplexity")
    assert [getattr(anew, name) for name in kept] == [getattr(TWO_SETS, name) for name in kept]
    with pytest.raises(BenchError, match="another target"):
        depth_width._timed_anew(place, replace(STUDY, models={"target": "1" * 64}))


def test_only_one_part_of_the_study_is_asked_for_at_a_time() -> None:
    parser = argparse.ArgumentParser()
    add_flags(parser, DECLARED)
    with pytest.raises(SystemExit):
        parser.parse_args(["--second-set", "--tables"])
