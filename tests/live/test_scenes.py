"""Runs on a scene: the same caption with every drafter, the picture in the header, and what is refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.errors import ModelError, PromptError
from specviz.live.audit.audit import audit
from specviz.live.source import LiveSource, collect
from specviz.protocol.choice import Choice, with_choices
from specviz.protocol.runs import Resume, RunRequest, request_of
from specviz.scenes.captions import GROUNDED
from specviz.trace import codec
from specviz.trace.check import check
from specviz.trace.header import seal
from tests.scenes.tiny_captioner import write_captioner

SCENE = "large red circle at 8,8; small blue square at 24,20"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A target with eyes; drafters with the same words, without eyes and with small ones."""
    folder = tmp_path_factory.mktemp("captioners")
    return {
        "target": str(write_captioner(folder / "captioner")),
        "blind": str(write_captioner(folder / "blind", seed=1, sees=False)),
        "seeing": str(write_captioner(folder / "seeing", seed=2, cells=4)),
    }


@pytest.fixture(scope="module")
def source() -> LiveSource:
    return LiveSource(measure=False)


@pytest.fixture
def request_(models) -> RunRequest:
    return RunRequest("", target=models["target"], drafter=Choice("none"), scene=SCENE, max_new_tokens=24)


DRAFTERS = [
    {"drafter": "model", "drafter_model": "blind", "drafter_options": {"gamma": 3}},
    {"drafter": "model", "drafter_model": "seeing", "drafter_options": {"branching": "3,2,1"}},
    {"drafter": "model", "drafter_model": "target", "drafter_options": {"gamma": 4}},
    {"drafter": "ngram"},
    {"drafter": "early_exit", "drafter_options": {"exit_layer": 1}},
    {"drafter": "token_recycling"},
    {"drafter": "lookahead"},
]


@pytest.mark.parametrize("changes", DRAFTERS, ids=lambda one: f"{one['drafter']} {one.get('drafter_model', '')}")
def test_every_drafter_gives_plain_decodings_caption(source, models, request_, changes):
    if "drafter_model" in changes:
        changes = {**changes, "drafter_model": models[changes["drafter_model"]]}
    plain, drafted = collect(source, request_), collect(source, replace(request_, **with_choices(changes)))
    assert drafted.finished.output_ids == plain.finished.output_ids
    assert check(drafted) == []


def test_a_drafter_with_the_targets_weights_sees_the_same_picture(source, models, request_):
    """Were it shown none, or another one, something would be rejected."""
    same = replace(request_, drafter=Choice("model", {"gamma": 4}), drafter_model=models["target"])
    assert collect(source, same).summary.draft_acceptance_rate == 1.0


def test_another_picture_gives_another_caption(source, request_):
    other = replace(request_, scene="large white cross at 20,20")
    assert collect(source, other).finished.output_ids != collect(source, request_).finished.output_ids


def test_the_header_holds_the_picture_and_the_request_comes_back_from_it(source, request_):
    trace = collect(source, replace(request_, prompt="There is a"))
    scene = trace.started.scene
    assert [(one.colour, one.shape, one.x) for one in scene.shapes] == [("red", "circle", 8), ("blue", "square", 24)]
    assert trace.started.prompt_ids[:16] == scene.places
    assert trace.started.prompt_text == " there is a"
    words = {trace.vocab[str(one)].text for one in trace.finished.output_ids if one in scene.grounded}
    assert words <= {f" {one}" for one in GROUNDED}
    assert not {f" {one}" for one in ("there", "is", "a", "picture")} & words
    again = request_of(trace.started)
    assert (again.scene, again.prompt) == (SCENE, " there is a")
    assert codec.loads(codec.dumps(trace).encode()).started.scene == scene


def test_a_run_on_a_picture_goes_on_from_one_of_its_rounds(source, request_):
    whole = collect(source, request_)
    rest = collect(source, replace(request_of(whole.started), target=request_.target), resume=Resume(whole, 5))
    assert check(rest) == []
    before = sum(len(one.committed.tokens) for one in whole.rounds[:5])
    texts = [whole.vocab[str(token)].text for token in whole.finished.output_ids[:before]]
    assert rest.started.prompt_text == whole.started.prompt_text + "".join(texts)
    assert rest.finished.output_ids[: 24 - before] == whole.finished.output_ids[before:]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scene": ""}, "captions a picture; name its scene"),
        ({"scene": "a circle"}, "is no shape of a scene"),
        ({"prompt": "there is a giraffe"}, "'giraffe' is not among them"),
        ({"prompt": "<image3> red"}, "is not among them"),
        ({"chat": True}, "a picture is no chat message"),
    ],
)
def test_what_cannot_be_captioned_is_refused(source, request_, changes, message):
    with pytest.raises(PromptError, match=message):
        collect(source, replace(request_, **with_choices(changes)))


def test_a_scene_for_a_target_that_sees_nothing_is_refused_before_anything_is_loaded(source, models, request_):
    request = replace(request_, target=models["blind"])
    assert "sees no pictures" in str(source.explain(request))
    with pytest.raises(PromptError, match="sees no pictures; leave the scene out or choose 'captioner'"):
        collect(source, request)
    assert "captions a picture" in str(source.explain(replace(request_, scene="")))


def test_an_audit_recomputes_what_the_captioner_saw(source, models, request_):
    trace = collect(source, replace(request_, drafter=Choice("model"), drafter_model=models["seeing"]))
    places = {"captioner": models["target"], "seeing": models["seeing"]}
    last = list(audit(trace, places=places))[-1]
    assert last.wrong == 0
    assert any("eyes" in sentence for sentence in last.how)
    scene = trace.started.scene
    moved = replace(scene, shapes=[replace(scene.shapes[0], colour="white"), scene.shapes[1]])
    forged = replace(trace, started=replace(trace.started, scene=moved))
    forged = replace(forged, started=replace(forged.started, run_id=seal(forged.started)))
    assert check(forged) == []
    assert list(audit(forged, places=places))[-1].wrong > 0


def test_an_audit_refuses_other_eyes(source, models, request_, tmp_path: Path):
    trace = collect(source, request_)
    other = Path(shutil.copytree(models["target"], tmp_path / "captioner"))
    shutil.copy(write_captioner(tmp_path / "fresh", seed=9) / "eyes.safetensors", other)
    with pytest.raises(ModelError, match="nothing was recomputed"):
        list(audit(trace, places={"captioner": str(other)}))


def _broken(trace, change) -> list[str]:
    data = json.loads(codec.dumps(trace))
    change(data["started"]["scene"])
    broken = codec.loads(json.dumps(data).encode())
    sealed = replace(broken, started=replace(broken.started, run_id=seal(broken.started)))
    return [str(problem) for problem in check(sealed)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda scene: scene["shapes"][0].update(colour="pink"), "which no picture shows"),
        (lambda scene: scene["shapes"][0].update(x=3), "does not fit into 32 × 32 pixels"),
        (lambda scene: scene.update(shapes=[]), "has 0 shapes"),
        (lambda scene: scene.update(places=scene["places"][::-1]), "not what the prompt begins with"),
        (lambda scene: scene.update(grounded=[5, 5]), "not an ascending list"),
        (lambda scene: scene.update(grounded=[99999]), "not an ascending list"),
    ],
)
def test_a_picture_that_cannot_be_is_found_by_the_check(source, request_, change, message):
    trace = collect(source, replace(request_, max_new_tokens=3))
    assert any(message in problem for problem in _broken(trace, change))
